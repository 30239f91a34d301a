package mysqltest

import (
	"slices"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
)

// TestOpen: two databases know nothing of each other, and an account may do what it was granted.
func TestOpen(t *testing.T) {
	Each(t, func(t *testing.T, s *Server) {
		a, b := Open(t, s), Open(t, s)
		a.Exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10))", "INSERT INTO t VALUES (1, 'é'), (2, NULL)")
		b.Exec("CREATE TABLE t (id INT PRIMARY KEY)")
		if got := a.Query("SELECT * FROM t ORDER BY id"); len(got) != 2 || !slices.Equal(got[0], []string{"1", "é"}) || !slices.Equal(got[1], []string{"2", "NULL"}) {
			t.Errorf("rows: %q", got)
		}
		if got := b.Value("SELECT count(*) FROM t"); got != "0" {
			t.Errorf("the other database holds %s rows", got)
		}
		if got := a.Query("SELECT @@log_bin, @@binlog_format, @@binlog_row_image"); !slices.Equal(got[0], []string{"1", "ROW", "FULL"}) {
			t.Errorf("binlog settings: %q", got)
		}
		if mariadb := a.Query("SHOW VARIABLES LIKE 'gtid_binlog_pos'"); (len(mariadb) > 0) != s.MariaDB {
			t.Errorf("%s is said to be MariaDB: %v", s.Name, s.MariaDB)
		}
		account := s.Account(t, "SELECT ON "+a.Database+".*")
		conn, err := client.Connect(account.Addr(), account.User, account.Password, a.Database)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Execute("SELECT * FROM t"); err != nil {
			t.Error(err)
		}
		if _, err := conn.Execute("SELECT * FROM " + b.Database + ".t"); err == nil {
			t.Error("the account reads another database")
		}
	})
}

// TestPrivate: a killed server comes back with its rows, and settings arrive.
func TestPrivate(t *testing.T) {
	for _, name := range []string{"MySQL97", "MariaDB1011"} {
		t.Run(name, func(t *testing.T) {
			p := Private(t, name, "binlog-row-image=MINIMAL", "server-id=7")
			s := p.Connect(t)
			if got := s.Query("SELECT @@binlog_row_image, @@server_id")[0]; !slices.Equal(got, []string{"MINIMAL", "7"}) {
				t.Errorf("settings: %q", got)
			}
			s.Exec("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (5)")
			p.Kill()
			if _, err := client.Connect(p.Addr(), p.User, p.Password, ""); err == nil {
				t.Error("it answers after Kill")
			}
			p.Start()
			if got := p.Connect(t).Value("SELECT id FROM d.t"); got != "5" {
				t.Errorf("after the crash: %s", got)
			}
			p.Restart("server-id=8")
			if got := p.Connect(t).Query("SELECT @@binlog_row_image, @@server_id")[0]; !slices.Equal(got, []string{"FULL", "8"}) {
				t.Errorf("settings after the restart: %q", got)
			}
		})
	}
}
