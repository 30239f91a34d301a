package e2e

import (
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestFaultMySQLAtStart starts pipelines that can't work. Each must end by itself,
// soon, and name the cause.
func TestFaultMySQLAtStart(t *testing.T) {
	eachMySQL(t, func(t *testing.T, db *mysqltest.DB) {
		db.Exec("CREATE TABLE orders (id int PRIMARY KEY, v text)", "INSERT INTO orders VALUES (1, 'a')",
			"CREATE TABLE hidden (id int PRIMARY KEY, secret text)")
		client := "REPLICATION CLIENT"
		if db.MariaDB {
			client = "BINLOG MONITOR"
		}
		readOnly := db.Account(t, "SELECT ON "+db.Database+".*")
		noStatus := db.Account(t, "SELECT ON "+db.Database+".*", "REPLICATION SLAVE ON *.*")
		noSelect := db.Account(t, "REPLICATION SLAVE, "+client+" ON *.*")
		oneTable := db.Account(t, "REPLICATION SLAVE, "+client+" ON *.*", "SELECT (id) ON "+db.Database+".hidden", "SELECT ON "+db.Database+".orders")
		login := func(s *mysqltest.Server) map[string]string {
			return map[string]string{"username": s.User, "password": s.Password}
		}
		for _, c := range []struct {
			name   string
			source map[string]string
			words  []string
		}{
			{"wrong password", map[string]string{"password": "not-the-password-at-all"}, []string{"denied", "root", "password"}},
			{"unreachable host", map[string]string{"port": "1", "connect.max-retries": "0"}, []string{"connect", "127.0.0.1"}},
			{"unknown host", map[string]string{"hostname": "no-such-host.invalid", "connect.max-retries": "0"}, []string{"no-such-host.invalid"}},
			{"no table matches", map[string]string{"tables": db.Database + `.nothing_like_it\.*`}, []string{"nothing_like_it"}},
			{"no privilege to replicate", login(readOnly), []string{readOnly.User, "GRANT", "REPLICATION SLAVE"}},
			{"no privilege to ask", login(noStatus), []string{noStatus.User, "GRANT", client}},
			{"no privilege to read", login(noSelect), []string{db.Database, "SELECT"}},
			{"no privilege to read a table", login(oneTable), []string{"hidden", "GRANT SELECT", oneTable.User}},
			{"server id of the server", map[string]string{"server-id": "1"}, []string{"server-id", "the server itself"}},
		} {
			t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
				fails(t, newPipeline(t, "fault-start", db.URL(), func(p *process.Pipeline) { p.Source = c.source }), c.words...)
			})
		}
	})
}

// TestFaultMySQLServerSettings starts on servers that are not set up for it.
func TestFaultMySQLServerSettings(t *testing.T) {
	for _, c := range []struct {
		name, server string
		settings     []string
		words        []string
	}{
		{"no-binlog", "MySQL97", []string{"skip-log-bin", "skip-log-replica-updates"}, []string{"log_bin"}},
		{"no-binlog", "MariaDB118", []string{"skip-log-bin"}, []string{"log_bin"}},
		{"statement", "MySQL97", []string{"binlog-format=STATEMENT"}, []string{"binlog_format", "ROW"}},
		{"mixed", "MariaDB118", []string{"binlog-format=MIXED"}, []string{"binlog_format", "ROW"}},
		{"no-gtid", "MySQL97", []string{"gtid-mode=OFF", "enforce-gtid-consistency=OFF"}, []string{"gtid_mode", "scan.snapshot.accept-without-gtid"}},
		{"ignored", "MariaDB118", []string{"binlog-ignore-db=ignored"}, []string{"ignored", "binlog-ignore-db"}},
	} {
		t.Run(c.name+"-"+c.server, func(t *testing.T) {
			p := mysqltest.Private(t, c.server, c.settings...)
			p.Connect(t).Exec("CREATE DATABASE ignored", "CREATE TABLE ignored.orders (id int PRIMARY KEY)")
			fails(t, newPipeline(t, "fault-settings", p.URL+"ignored", nil), c.words...)
		})
	}
}

// TestFaultMySQLWithoutGTID accepts what a snapshot can't promise without GTIDs,
// and is right where nothing is in flight.
func TestFaultMySQLWithoutGTID(t *testing.T) {
	own := mysqltest.Private(t, "MySQL97", "gtid-mode=OFF", "enforce-gtid-consistency=OFF")
	db := mysqltest.Open(t, own.Server)
	change := mysqlOrders(t, db)
	p := newPipeline(t, "fault-no-gtid", db.URL(), func(p *process.Pipeline) {
		p.Source["scan.snapshot.accept-without-gtid"] = "true"
	})
	for range 3 {
		catchUp(t, p)
		change()
	}
	own.Kill()
	own.Start()
	change()
	catchUp(t, p)
	equal(t, p, db.Database+".orders")
}
