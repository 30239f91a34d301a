package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/e2e/workload"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// eachMySQL runs fn on a new database of each MySQL and MariaDB that tests share.
func eachMySQL(t *testing.T, fn func(t *testing.T, db *mysqltest.DB)) {
	t.Helper()
	servers.Require(t)
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) { fn(t, mysqltest.Open(t, s)) })
}

func connectMySQL(t *testing.T, address string) *client.Conn {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	conn, err := client.ConnectWithTimeout(u.Host, u.User.Username(), password, strings.TrimPrefix(u.Path, "/"), 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ownMySQL runs fn on a server of the test's own for each MySQL and MariaDB, the
// newest of each kind outside of the full tier.
func ownMySQL(t *testing.T, settings []string, fn func(t *testing.T, p *mysqltest.PrivateServer, db *mysqltest.DB)) {
	t.Helper()
	servers.Require(t)
	names := []string{"MySQL97", "MariaDB118"}
	if servers.Full() {
		names = append(names, "MySQL80", "MariaDB1011")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p := mysqltest.Private(t, name, settings...)
			fn(t, p, mysqltest.Open(t, p.Server))
		})
	}
}

// mysqlOrders makes a table with rows and returns a function that changes it, over
// a connection of its own each time: the server may have been away.
func mysqlOrders(t *testing.T, db *mysqltest.DB) func() {
	t.Helper()
	db.Exec("CREATE TABLE orders (id int PRIMARY KEY, v varchar(200))",
		"INSERT INTO orders SELECT i, CONCAT('first ', i) FROM "+workload.MySQLSeries(1, 1000))
	next := 1000
	return func() {
		t.Helper()
		next += 100
		db.NewSession().Exec("INSERT INTO orders SELECT i, 'later' FROM "+workload.MySQLSeries(next-99, next),
			"UPDATE orders SET v = CONCAT(v, '.') WHERE id % 7 = 0",
			fmt.Sprintf("DELETE FROM orders WHERE id = %d", next-1000))
	}
}

// newestBinlog returns the name of the server's newest binlog file.
func newestBinlog(s *mysqltest.Session) string {
	files := s.Query("SHOW BINARY LOGS")
	return files[len(files)-1][0]
}
