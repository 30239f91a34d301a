package binlog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// serverNames are those of mysqltest.
var serverNames = []string{"MySQL97", "MySQL80", "MariaDB1011", "MariaDB118"}

// eachPrivate runs fn on a server of its own of each version.
func eachPrivate(t *testing.T, fn func(t *testing.T, s *mysqltest.PrivateServer)) {
	for _, name := range serverNames {
		t.Run(name, func(t *testing.T) { fn(t, mysqltest.Private(t, name)) })
	}
}

// ended reads a stream to its end, which must come soon, and returns why.
func ended(t *testing.T, s *Stream) error {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case g, ok := <-s.Groups():
			if !ok {
				return s.Err()
			}
			g.Release()
		case <-timeout:
			t.Fatal("the stream goes on")
		}
	}
}

// TestServerPurged: a place and GTIDs that the server has no more.
func TestServerPurged(t *testing.T) {
	eachPrivate(t, func(t *testing.T, s *mysqltest.PrivateServer) {
		db := mysqltest.Open(t, s.Server)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY)", "FLUSH BINARY LOGS")
		if s.Name == "MariaDB118" {
			db.Exec("SET GLOBAL slave_connections_needed_for_purge = 0")
		}
		o := serverOptions(t, db)
		db.Exec("INSERT INTO t VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (2)", "FLUSH BINARY LOGS")
		newest, _ := place(t, db.Session, db.MariaDB)
		for range 100 { // MariaDB leaves what its crash recovery needs
			db.Exec("PURGE BINARY LOGS TO '" + newest.File + "'")
			if db.Query("SHOW BINARY LOGS")[0][0] > o.Start.File {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		for _, byGTID := range []bool{false, true} {
			o.ByGTID = byGTID
			stream, err := tryOpen(s.Server, o)
			if err == nil {
				err = ended(t, stream)
				_ = stream.Close()
			}
			if !errors.Is(err, ErrPurged) {
				t.Errorf("by GTID %v: %v", byGTID, err)
			}
		}
	})
}

// TestServerReset: the binlog begins anew under the same names.
func TestServerReset(t *testing.T) {
	eachPrivate(t, func(t *testing.T, s *mysqltest.PrivateServer) {
		db := mysqltest.Open(t, s.Server)
		reset := "RESET MASTER"
		if s.Name == "MySQL97" {
			reset = "RESET BINARY LOGS AND GTIDS"
		}
		db.Exec(reset)
		o := serverOptions(t, db)
		stream := openStream(t, s.Server, o)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
		end, _ := place(t, db.Session, db.MariaDB)
		p := follow(t, stream, end)
		_ = stream.Close()
		time.Sleep(1100 * time.Millisecond) // files are told apart by the second
		db.Exec(reset, "DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (2), (3), (4)", "INSERT INTO t VALUES (5), (6)", "INSERT INTO t VALUES (7)")
		c := p.checkpoints()[len(p.checkpoints())-1]
		r := c.restore(t, o)
		for _, byGTID := range []bool{false, true} {
			r.ByGTID, r.GTIDs = byGTID, c.gtids
			stream, err := tryOpen(s.Server, r)
			if err == nil {
				err = ended(t, stream)
				_ = stream.Close()
			}
			if !errors.Is(err, ErrOtherHistory) {
				t.Errorf("by GTID %v: %v", byGTID, err)
			}
		}
	})
}

// TestServerIDTaken: a second stream with the same server id ends the first.
func TestServerIDTaken(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		o := serverOptions(t, db)
		o.UUID = "11111111-2222-3333-4444-555555555555"
		first := openStream(t, s, o)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY)")
		end, _ := place(t, db.Session, db.MariaDB)
		follow(t, first, end)
		openStream(t, s, o)
		err := ended(t, first)
		if !errors.Is(err, ErrServerIDTaken) {
			t.Errorf("the first stream ends with %v", err)
		}
	})
}

// TestServerPrivilege: an account that may not read the log.
func TestServerPrivilege(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		account := s.Account(t, "SELECT ON *.*")
		stream, err := tryOpen(account, serverOptions(t, db))
		if err == nil {
			err = ended(t, stream)
			_ = stream.Close()
		}
		if !errors.Is(err, ErrPrivilege) || !strings.Contains(err.Error(), "GRANT REPLICATION SLAVE") {
			t.Error(err)
		}
		account = s.Account(t, "REPLICATION SLAVE ON *.*")
		openStream(t, account, serverOptions(t, db))
	})
}

// TestServerEnds: a server that is stopped or dies ends the stream, which goes on
// where it was.
func TestServerEnds(t *testing.T) {
	eachPrivate(t, func(t *testing.T, s *mysqltest.PrivateServer) {
		for _, how := range []string{"stop", "kill"} {
			db := mysqltest.Open(t, s.Server)
			o := serverOptions(t, db)
			o.ServerID++
			stream := openStream(t, s.Server, o)
			db.Exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))", "INSERT INTO t VALUES (1, 'before')")
			end, _ := place(t, db.Session, db.MariaDB)
			p := follow(t, stream, end)
			db.Exec("XA START 'x'", "INSERT INTO t VALUES (9, 'prepared')", "XA END 'x'", "XA PREPARE 'x'")
			end, _ = place(t, s.Connect(t), db.MariaDB)
			q := follow(t, stream, end)
			if how == "stop" {
				s.Stop()
			} else {
				s.Kill()
			}
			err := ended(t, stream)
			if err == nil {
				t.Errorf("%s: no error", how)
			}
			t.Log(how, err)
			s.Start()
			c := q.checkpoints()[len(q.checkpoints())-1]
			if len(c.prepared) != 1 {
				t.Fatalf("%s: %d prepared", how, len(c.prepared))
			}
			after := s.Connect(t)
			after.Exec("USE "+db.Database, "INSERT INTO t VALUES (2, 'after')", "XA COMMIT 'x'")
			end, _ = place(t, after, db.MariaDB)
			r := c.restore(t, o)
			r.GTIDs = o.GTIDs.Clone()
			r.GTIDs.Union(&p.gtids)
			r.GTIDs.Union(c.gtids)
			for _, r.ByGTID = range []bool{false, true} {
				again := openStream(t, s.Server, r)
				got := follow(t, again, end).lines(0)
				if !strings.Contains(got, "c 2 after") || !strings.Contains(got, "c 9 prepared") || strings.Contains(got, "before") {
					t.Errorf("%s, by GTID %v: %s", how, r.ByGTID, got)
				}
				_ = again.Close()
			}
		}
	})
}

// TestServerHeartbeat: while nothing happens the position follows the log, and the
// stream lives on.
func TestServerHeartbeat(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		for _, byGTID := range []bool{false, true} {
			o := serverOptions(t, db)
			o.ByGTID = byGTID
			stream := openStream(t, s, o)
			db.Exec("FLUSH BINARY LOGS")
			end, _ := place(t, db.Session, db.MariaDB)
			follow(t, stream, end)
			time.Sleep(time.Second)
			db.Exec("CREATE TABLE t (id INT PRIMARY KEY)", "DROP TABLE t")
			end, _ = place(t, db.Session, db.MariaDB)
			follow(t, stream, end)
			if err := stream.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestServerTLS: the same over an encrypted connection.
func TestServerTLS(t *testing.T) {
	s := mysqltest.Named(t, "MySQL97")
	db := mysqltest.Open(t, s)
	o := serverOptions(t, db)
	conn, err := wire.Connect(t.Context(), wire.Config{Host: s.Host, Port: s.Port, User: s.User, Password: s.Password, TLS: wire.TLSConfig{Mode: wire.TLSRequired}})
	if err != nil {
		t.Fatal(err)
	}
	o.Conn = conn
	stream, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	db.Exec("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
	for range 20 {
		db.Exec("INSERT INTO t (id, v) SELECT COUNT(*), REPEAT('x', 100000) FROM t")
	}
	end, _ := place(t, db.Session, db.MariaDB)
	if p := follow(t, stream, end); len(p.positions) != 20 {
		t.Errorf("%d rows", len(p.positions))
	}
}
