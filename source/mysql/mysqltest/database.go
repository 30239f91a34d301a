package mysqltest

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

// connectTimeout bounds a login on a busy machine.
const connectTimeout = 30 * time.Second

// DB is a database of the test's own and a connection to it. Not safe for
// concurrent use; Session opens more connections.
type DB struct {
	*Server
	// Database is the database's name; URL of the server has none.
	Database string
	*Session
}

// Session is a connection of the account that may do everything.
type Session struct {
	// Conn speaks the protocol, for what the methods don't offer.
	Conn *client.Conn
	t    testing.TB
}

var (
	number   atomic.Int64
	notInSQL = regexp.MustCompile(`[^a-z0-9]+`)
)

// unique makes a name that no other test uses, of at most 32 characters: the
// longest that an account may have.
func unique(t testing.TB) string {
	test := notInSQL.ReplaceAllString(strings.ToLower(t.Name()), "_")
	test = strings.TrimPrefix(test, "test")
	return fmt.Sprintf("t%d_%d_%.18s", os.Getpid(), number.Add(1), test)
}

// Open creates an empty database, which the end of the test drops.
func Open(t testing.TB, s *Server) *DB {
	t.Helper()
	name := unique(t)
	admin := s.connect(t, "")
	admin.Exec("CREATE DATABASE " + name)
	t.Cleanup(func() {
		conn, err := client.ConnectWithTimeout(s.Addr(), s.User, s.Password, "", connectTimeout)
		if err != nil {
			return // the test ended its server
		}
		defer conn.Close()
		if _, err := conn.Execute("DROP DATABASE IF EXISTS " + name); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
	return &DB{Server: s, Database: name, Session: s.connect(t, name)}
}

// URL is the connection URL of the database.
func (d *DB) URL() string { return d.url(d.User, d.Password, d.Database) }

// NewSession opens another connection to the database.
func (d *DB) NewSession() *Session {
	d.t.Helper()
	return d.connect(d.t, d.Database)
}

// Connect opens a connection without a database.
func (s *Server) Connect(t testing.TB) *Session {
	t.Helper()
	return s.connect(t, "")
}

func (s *Server) connect(t testing.TB, database string) *Session {
	t.Helper()
	conn, err := client.ConnectWithTimeout(s.Addr(), s.User, s.Password, database, connectTimeout)
	if err != nil {
		t.Fatalf("connect to %s: %v", s.Name, err)
	}
	t.Cleanup(func() { conn.Close() })
	return &Session{Conn: conn, t: t}
}

// Account creates an account with the privileges of each "PRIVILEGES ON OBJECT" and
// returns a copy of the server that logs in with it. The end of the test drops it.
func (s *Server) Account(t testing.TB, grants ...string) *Server {
	t.Helper()
	name := unique(t)
	account := *s
	account.User, account.Password = name, "never-show-9Wq3"
	account.URL = s.url(account.User, account.Password, "")
	admin := s.connect(t, "")
	admin.Exec(fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY '%s'", name, account.Password))
	for _, grant := range grants {
		admin.Exec(fmt.Sprintf("GRANT %s TO %s@'%%'", grant, name))
	}
	t.Cleanup(func() {
		conn, err := client.ConnectWithTimeout(s.Addr(), s.User, s.Password, "", connectTimeout)
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := conn.Execute(fmt.Sprintf("DROP USER %s@'%%'", name)); err != nil {
			t.Errorf("drop user %s: %v", name, err)
		}
	})
	return &account
}

// Exec runs statements, one after the other.
func (s *Session) Exec(statements ...string) {
	s.t.Helper()
	for _, sql := range statements {
		if _, err := s.Conn.Execute(sql); err != nil {
			s.t.Fatalf("%.2000s: %v", sql, err)
		}
	}
}

// ExecArgs runs one statement with arguments, as a prepared statement.
func (s *Session) ExecArgs(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.Conn.Execute(sql, args...); err != nil {
		s.t.Fatalf("%.2000s: %v", sql, err)
	}
}

// Query returns the rows as the server prints them; NULL is "NULL".
func (s *Session) Query(sql string) [][]string {
	s.t.Helper()
	result, err := s.Conn.Execute(sql)
	if err != nil {
		s.t.Fatalf("%.2000s: %v", sql, err)
	}
	defer result.Close()
	rows := make([][]string, result.RowNumber())
	for i := range rows {
		rows[i] = make([]string, result.ColumnNumber())
		for j := range rows[i] {
			rows[i][j] = text(s.t, result, i, j)
		}
	}
	return rows
}

func text(t testing.TB, result *mysql.Result, row, column int) string {
	t.Helper()
	null, err := result.IsNull(row, column)
	if err != nil {
		t.Fatal(err)
	}
	if null {
		return "NULL"
	}
	v, err := result.GetString(row, column)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Clone(v) // it lies in the result's memory, which Close gives to the next
}

// Value returns the only value of a query's only row.
func (s *Session) Value(sql string) string {
	s.t.Helper()
	rows := s.Query(sql)
	if len(rows) != 1 || len(rows[0]) != 1 {
		s.t.Fatalf("%s: %d rows, one value was expected", sql, len(rows))
	}
	return rows[0][0]
}
