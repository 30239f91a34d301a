package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// scene is one table of 300 rows, captured and read.
type scene struct {
	*testDatabase
	h   sourcetest.Harness
	src source.Source
	log *sourcetest.Log
}

// start creates the tables that sql makes, and reads them.
func start(t *testing.T, s *mysqltest.Server, options map[string]string, sql ...string) *scene {
	t.Helper()
	sc := &scene{testDatabase: openDatabase(t, s), h: harness(s)}
	sc.exec(t, sql...)
	if options == nil {
		options = map[string]string{}
	}
	options["scan.incremental.snapshot.chunk.size"] = "50"
	sc.src = sc.Source(t, "log", options)
	sc.log = sourcetest.NewLog(t, sc.src, sc.h.Backend)
	t.Cleanup(sc.log.Stop)
	sc.log.Start(0)
	sc.until(t, func() bool { return sc.log.Progress().SnapshotDone && sc.log.Checkpoints() > 0 })
	return sc
}

// exec runs statements one after the other, each on its own.
func (sc *scene) exec(t *testing.T, sql ...string) {
	t.Helper()
	for _, s := range sql {
		if err := sc.Exec(1, s); err != nil {
			t.Fatal(err)
		}
	}
}

func (sc *scene) until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if err := sc.log.Err(); err != nil {
			t.Fatalf("reader: %v", err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not come: %+v", sc.log.Progress())
		}
	}
}

// fails waits for the reader's error.
func (sc *scene) fails(t *testing.T, kind error, says string) {
	t.Helper()
	if _, err := sc.log.Final(60 * time.Second); !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, wanted %v with %q", err, kind, says)
	}
}

func (sc *scene) table(name string) *sourcetest.ModelTable {
	m, _ := sc.log.Last()
	if m == nil {
		return nil
	}
	return m.Tables[schema.TableID{Schema: sc.Database, Table: name}]
}

// rows makes a table t of 300 rows.
func rows(more string) []string {
	var values []string
	for i := range 300 {
		values = append(values, fmt.Sprintf("(%d, 'v%d', 0)", i, i))
	}
	return []string{"CREATE TABLE t (id int PRIMARY KEY, v varchar(20), ver bigint)" + more, "INSERT INTO t VALUES " + strings.Join(values, ", ")}
}

// TestRewritten: statements that change rows without events. The table is read
// again where the user chose so, else the pipeline stops and says why.
func TestRewritten(t *testing.T) {
	partitions := " PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100), PARTITION b VALUES LESS THAN (200), PARTITION c VALUES LESS THAN (1000))"
	for _, c := range []struct{ name, more, sql string }{
		{"Default", "", "ALTER TABLE t ADD COLUMN d int NOT NULL DEFAULT 7"},
		{"ImplicitDefault", "", "ALTER TABLE t ADD COLUMN d int NOT NULL"},
		{"DropPartition", partitions, "ALTER TABLE t DROP PARTITION b"},
		{"TruncatePartition", partitions, "ALTER TABLE t TRUNCATE PARTITION a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
				sc := start(t, s, map[string]string{"scan.rewritten-tables": "snapshot"}, rows(c.more)...)
				sc.exec(t, c.sql, "UPDATE t SET v = 'new', ver = 1 WHERE id = 250")
				sc.h.Settle(t, sc, sc.src, sc.log)
				if n := sc.table("t").Resets; n != 1 {
					t.Errorf("the table was read again %d times", n)
				}
				sc.log.Stop()
				sc = start(t, s, nil, rows(c.more)...)
				sc.exec(t, c.sql)
				sc.fails(t, ErrSchemaChange, "scan.rewritten-tables")
			})
		})
	}
}

// TestOnlineSchemaChange: a shadow table gets the new definition, all rows and the
// name, as gh-ost does it; no row is read again for a nullable column.
func TestOnlineSchemaChange(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		sc := start(t, s, nil, rows("")...)
		sc.exec(t, "CREATE TABLE _t_gho LIKE t", "ALTER TABLE _t_gho ADD COLUMN extra varchar(5), MODIFY v varchar(40)",
			"INSERT INTO _t_gho (id, v, ver) SELECT id, v, ver FROM t", "RENAME TABLE t TO _t_del, _t_gho TO t",
			"UPDATE t SET extra = 'x', ver = 1 WHERE id < 3", "DROP TABLE _t_del", "DELETE FROM t WHERE id = 7")
		sc.h.Settle(t, sc, sc.src, sc.log)
		if n := sc.table("t").Resets; n != 0 {
			t.Errorf("the table was read again %d times", n)
		}
	})
}

// TestTwoStepSwap: where a shadow table takes the name by two statements, the log ends
// at the first one, and the error names the way out, at the next attempt too.
func TestTwoStepSwap(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		for away, says := range map[string]string{"RENAME TABLE t TO _t_del": "swap in one statement", "ALTER TABLE t RENAME TO __t_old": "swap in one statement",
			"ALTER TABLE t RENAME TO _t_20261130101112_del": "swap in one statement", "RENAME TABLE t TO elsewhere": "under the name that it has now"} {
			sc := start(t, s, nil, rows("")...)
			sc.exec(t, "CREATE TABLE _t_gho LIKE t", "INSERT INTO _t_gho SELECT * FROM t", away, "RENAME TABLE _t_gho TO t", "UPDATE t SET v = 'new', ver = 1 WHERE id = 5")
			sc.fails(t, ErrSchemaChange, says)
			sc.log.Start(0)
			sc.fails(t, ErrSchemaChange, says)
			sc.log.Stop()
		}
	})
}

// TestTablesComeAndGo: created while the pipeline runs, dropped, and created again.
func TestTablesComeAndGo(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		sc := start(t, s, map[string]string{"scan.newly-added-table.enabled": "false", "scan.binlog.newly-added-table.enabled": "true"}, rows("")...)
		sc.exec(t, "CREATE TABLE late (id int PRIMARY KEY, v varchar(5), ver bigint)", "INSERT INTO late VALUES (1, 'a', 0), (2, 'b', 0)")
		sc.h.Settle(t, sc, sc.src, sc.log)
		if sc.table("late") == nil {
			t.Fatal("the table that was created is not captured")
		}
		sc.exec(t, "DROP TABLE late", "CREATE TABLE late (id int PRIMARY KEY, v varchar(5), ver bigint)", "INSERT INTO late VALUES (3, 'c', 0)")
		sc.h.Settle(t, sc, sc.src, sc.log)
		sc.exec(t, "DROP TABLE late", "CREATE TABLE late (id int PRIMARY KEY, other int)")
		sc.fails(t, ErrSchemaChange, "other columns")
	})
}

// TestXA: rows of a prepared transaction count when it is committed, also when
// that comes after a restart; one that is rolled back leaves nothing.
func TestXA(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		sc := start(t, s, nil, rows("")...)
		one, two := "'"+sc.Database+"','1'", "'"+sc.Database+"','2'"
		sc.exec(t, "XA START "+one, "UPDATE t SET v = 'xa', ver = 5 WHERE id < 10", "XA END "+one, "XA PREPARE "+one)
		sc2 := func(sql ...string) {
			for _, q := range sql {
				if err := sc.Exec(2, q); err != nil {
					t.Fatal(err)
				}
			}
		}
		// MySQL lets a session go on only once its transaction is decided; another one decides.
		sc2("UPDATE t SET v = 'plain', ver = 1 WHERE id = 20")
		n := sc.log.Checkpoints()
		sc.until(t, func() bool { return sc.log.Checkpoints() > n+2 })
		sc.log.Stop()
		sc.log.Start(0)
		sc2("INSERT INTO t VALUES (1000, 'after', 0)")
		if got := sc.table("t").Rows; len(got) == 0 {
			t.Fatal("no rows")
		}
		if err := sc.clients[1].Close(); err != nil {
			t.Fatal(err)
		}
		delete(sc.clients, 1)
		time.Sleep(200 * time.Millisecond) // the server lets go of the session's transaction
		sc2("XA COMMIT " + one)
		sc2("XA START "+two, "DELETE FROM t", "XA END "+two, "XA PREPARE "+two, "XA ROLLBACK "+two)
		sc.h.Settle(t, sc, sc.src, sc.log)
	})
}

// TestStartupModes: each way to begin, over a log in which the table has changed
// its columns twice.
func TestStartupModes(t *testing.T) {
	for _, name := range []string{"MySQL97", "MySQL80", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			s := mysqltest.Private(t, name)
			db := openDatabase(t, s.Server)
			exec := func(sql ...string) {
				for _, q := range sql {
					if err := db.Exec(1, q); err != nil {
						t.Fatal(err)
					}
				}
			}
			exec("CREATE TABLE t (id int PRIMARY KEY, v varchar(10), gone int)", "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
				"ALTER TABLE t DROP COLUMN gone, ADD COLUMN more varchar(5) FIRST", "INSERT INTO t (id, v, more) VALUES (3, 'c', 'x')",
				"ALTER TABLE t RENAME COLUMN v TO w", "UPDATE t SET more = 'y' WHERE id = 1", "DELETE FROM t WHERE id = 2", "FLUSH BINARY LOGS")
			status, err := db.client(1)
			if err != nil {
				t.Fatal(err)
			}
			show := "SHOW MASTER STATUS"
			if name == "MySQL97" {
				show = "SHOW BINARY LOG STATUS"
			}
			res, err := status.Execute(show)
			if err != nil {
				t.Fatal(err)
			}
			file, _ := res.GetStringByName(0, "File")
			pos, _ := res.GetIntByName(0, "Position")
			file = strings.Clone(file)
			time.Sleep(1100 * time.Millisecond) // times in the log are whole seconds
			now := time.Now().UnixMilli()
			exec("INSERT INTO t (id, w) VALUES (4, 'd')", "UPDATE t SET w = 'e' WHERE id = 4")
			for _, c := range []struct {
				name    string
				options map[string]string
				rows    []string // keys that a copy has which begins there
			}{
				{"Earliest", map[string]string{"scan.startup.mode": "earliest-offset"}, []string{"1", "3", "4"}},
				{"Place", map[string]string{"scan.startup.mode": "specific-offset", "scan.startup.specific-offset.file": file, "scan.startup.specific-offset.pos": fmt.Sprint(pos)}, []string{"4"}},
				{"Timestamp", map[string]string{"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": fmt.Sprint(now)}, []string{"4"}},
				{"Initial", nil, []string{"1", "3", "4"}},
			} {
				t.Run(c.name, func(t *testing.T) {
					l := sourcetest.NewLog(t, db.Source(t, "log", c.options), harness(s.Server).Backend)
					t.Cleanup(l.Stop)
					l.Start(0)
					id := schema.TableID{Schema: db.Database, Table: "t"}
					var got []string
					for deadline := time.Now().Add(60 * time.Second); !slices.Equal(got, c.rows); time.Sleep(20 * time.Millisecond) {
						if err := l.Err(); err != nil || time.Now().After(deadline) {
							t.Fatalf("rows %v, not %v; %v", got, c.rows, err)
						}
						if m, _ := l.Last(); m != nil && m.Tables[id] != nil {
							got = nil
							for _, r := range m.Tables[id].Rows {
								got = append(got, r["id"])
							}
							slices.Sort(got)
						}
					}
				})
			}
		})
	}
}
