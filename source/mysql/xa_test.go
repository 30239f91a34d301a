package mysql

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// prepareXA prepares a transaction in a session that ends, and returns its name. The end
// of the test rolls it back where nobody has decided it.
func prepareXA(t *testing.T, db *mysqltest.DB, name string, sql ...string) string {
	id := fmt.Sprintf("'%s', '%s'", db.Database, name)
	t.Cleanup(func() { _, _ = db.Conn.Execute("XA ROLLBACK " + id) })
	s := db.NewSession()
	s.Exec("XA START " + id)
	s.Exec(sql...)
	s.Exec("XA END "+id, "XA PREPARE "+id)
	s.Conn.Close()
	return id
}

// decideXA ends a prepared transaction, which the session that has gone may hold a
// moment longer.
func decideXA(t *testing.T, db *mysqltest.DB, how, id string) {
	t.Helper()
	for try := 0; ; try++ {
		_, err := db.Conn.Execute(how + " " + id)
		if err == nil {
			return
		}
		if try > 200 || !strings.Contains(err.Error(), "XAE04") {
			t.Fatalf("%s %s: %v", how, id, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestXABefore: transactions that were prepared before the pipeline begins, in older
// files of the binlog too, and are decided after it, in its snapshot or behind it, or
// behind a restart.
func TestXABefore(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		for _, mode := range []string{modeInitial, modeLatest} {
			db := openDatabase(t, s)
			h := harness(s)
			db.DB.Exec(rows("")...)
			db.DB.Exec("CREATE TABLE keyless (v varchar(20), ver bigint)", "INSERT INTO keyless VALUES ('a', 0), ('b', 0)", "CREATE TABLE other (id int PRIMARY KEY, ver bigint)")
			if mode == modeLatest {
				db.DB.Exec("DELETE FROM t", "DELETE FROM keyless")
			}
			ids := map[string]string{}
			for name, sql := range map[string][]string{
				"early":    {"INSERT INTO t VALUES (1001, 'early', 0), (1002, 'early', 0)", "INSERT INTO keyless VALUES ('early', 0)"},
				"snapshot": {"INSERT INTO t VALUES (1003, 'snapshot', 0)", "INSERT INTO keyless VALUES ('snapshot', 0)"},
				"restart":  {"INSERT INTO t VALUES (1005, 'restart', 0)", "INSERT INTO other VALUES (1, 0)"},
				"gone":     {"INSERT INTO t VALUES (1006, 'gone', 0)"},
			} {
				ids[name] = prepareXA(t, db.DB, name, sql...)
				if name == "early" || name == "gone" {
					db.DB.Exec("FLUSH BINARY LOGS")
				}
			}
			how := "XA COMMIT"
			if mode == modeLatest { // which does not have it
				how = "XA ROLLBACK"
			}
			decideXA(t, db.DB, how, ids["early"])
			src := db.Source(t, "log", map[string]string{"scan.startup.mode": mode, "scan.incremental.snapshot.chunk.size": "50"})
			log := sourcetest.NewLog(t, src, h.Backend)
			t.Cleanup(log.Stop)
			if mode != modeLatest {
				log.Delay.Store(int64(2 * time.Millisecond))
			}
			log.Start(0)
			sc := &scene{testDatabase: db, h: h, src: src, log: log}
			sc.until(t, func() bool { return log.Checkpoints() > 0 })
			decideXA(t, db.DB, "XA COMMIT", ids["snapshot"])
			h.Settle(t, db, src, log)
			log.Stop()
			log.Start(1)
			db.DB.Exec("UPDATE t SET v = 'plain', ver = 1 WHERE id = 1003")
			h.Settle(t, db, src, log)
			decideXA(t, db.DB, "XA ROLLBACK", ids["gone"])
			decideXA(t, db.DB, "XA COMMIT", ids["restart"])
			h.Settle(t, db, src, log)
			log.Stop()
		}
	})
}

// TestXAWiden: a table that is captured since a restart has the rows of a transaction that
// was prepared before.
func TestXAWiden(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		h := harness(s)
		db.DB.Exec(rows("")...)
		db.DB.Exec("CREATE TABLE u (id int PRIMARY KEY, v varchar(20), ver bigint)", "INSERT INTO u VALUES (1, 'a', 0)")
		add := map[string]string{"scan.newly-added-table.enabled": "true"}
		log := sourcetest.NewLog(t, db.newSource(t, add, func(id schema.TableID) bool { return id.Schema == db.Database && id.Table == "t" }), h.Backend)
		t.Cleanup(log.Stop)
		log.Start(0)
		sc := &scene{testDatabase: db, h: h, log: log}
		sc.until(t, func() bool { return log.Progress().SnapshotDone && log.Checkpoints() > 0 })
		id := prepareXA(t, db.DB, "w", "UPDATE t SET v = 'xa', ver = 1 WHERE id < 5", "UPDATE u SET v = 'xa', ver = 1", "INSERT INTO u VALUES (2, 'xa', 1)")
		db.DB.Exec("UPDATE t SET v = 'plain', ver = 1 WHERE id = 20")
		n := log.Checkpoints()
		sc.until(t, func() bool { return log.Checkpoints() > n+2 })
		log.Stop()
		src := db.newSource(t, add, db.all)
		log.SetSource(src)
		log.Start(0)
		h.Settle(t, db, src, log)
		decideXA(t, db.DB, "XA COMMIT", id)
		h.Settle(t, db, src, log)
	})
}

// TestXAGone: where the rows of a prepared transaction are gone from the binlog, its
// end is waited for, but not for ever.
func TestXAGone(t *testing.T) {
	patience := xaPatience
	t.Cleanup(func() { xaPatience = patience })
	for _, name := range []string{"MySQL97", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			db := openDatabase(t, mysqltest.Private(t, name).Server)
			db.DB.Exec("CREATE TABLE t (id int PRIMARY KEY, v varchar(20), ver bigint)", "INSERT INTO t VALUES (1, 'a', 0)")
			id := prepareXA(t, db.DB, "lost", "INSERT INTO t VALUES (2, 'xa', 0)")
			db.DB.Exec("FLUSH BINARY LOGS", "INSERT INTO t VALUES (3, 'b', 0)", "FLUSH BINARY LOGS")
			last := ""
			for _, f := range db.DB.Query("SHOW BINARY LOGS") {
				last = f[0]
			}
			for try := 0; len(db.DB.Query("SHOW BINARY LOGS")) > 1; try++ { // MariaDB keeps files that a commit may need
				db.DB.Exec("PURGE BINARY LOGS TO '" + last + "'")
				if time.Sleep(50 * time.Millisecond); try > 100 {
					t.Fatal("the binlog is not removed")
				}
			}
			xaPatience = 300 * time.Millisecond
			for _, mode := range []string{modeInitial, modeLatest} {
				b := breakAt(t, db, db.newSource(t, map[string]string{"scan.startup.mode": mode}, db.all), nil)
				select {
				case err := <-b.done:
					if !errors.Is(err, binlog.ErrUnknownXA) || !strings.Contains(err.Error(), fmt.Sprintf("X'%x',X'%x',1", db.Database, "lost")) || !strings.Contains(err.Error(), "XA ROLLBACK") {
						t.Errorf("%s: %v", mode, err)
					}
				case <-time.After(2 * time.Minute):
					t.Fatal("it goes on")
				}
			}
			xaPatience = patience
			b := breakAt(t, db, db.newSource(t, nil, db.all), nil)
			time.Sleep(500 * time.Millisecond)
			if b.out.count("batch") > 0 {
				t.Error("it did not wait")
			}
			decideXA(t, db.DB, "XA COMMIT", id)
			b.settle(t, "t")
		})
	}
}

// TestXANotAllowed: without the privilege to list prepared transactions one that is
// committed later ends the log, and the error names the privilege.
func TestXANotAllowed(t *testing.T) {
	for _, name := range []string{"MySQL97", "MySQL80"} {
		t.Run(name, func(t *testing.T) {
			s := mysqltest.Named(t, name)
			db := openDatabase(t, s)
			db.DB.Exec(rows("")...)
			id := prepareXA(t, db.DB, "u", "INSERT INTO t VALUES (1000, 'xa', 0)")
			account := &testDatabase{DB: &mysqltest.DB{Server: s.Account(t, minimal(s, db.Database)...), Database: db.Database}}
			src := account.Source(t, "log", nil)
			if problems := src.Check(t.Context()); len(problems) > 0 {
				t.Error(problems)
			}
			log := sourcetest.NewLog(t, src, harness(s).Backend)
			t.Cleanup(log.Stop)
			log.Start(0)
			sc := &scene{testDatabase: db, log: log}
			sc.until(t, func() bool { return log.Progress().SnapshotDone && log.Checkpoints() > 0 })
			decideXA(t, db.DB, "XA COMMIT", id)
			sc.fails(t, binlog.ErrUnknownXA, "XA_RECOVER_ADMIN")
		})
	}
}
