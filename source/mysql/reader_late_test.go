package mysql

import (
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

// captured runs a source until its snapshot is done and in a checkpoint, and stops it.
func captured(t *testing.T, s *mysqltest.Server, src source.Source) *sourcetest.Log {
	t.Helper()
	l := sourcetest.NewLog(t, src, harness(s).Backend)
	t.Cleanup(l.Stop)
	l.Start(0)
	wait(t, l, func() bool { return l.Progress().SnapshotDone })
	n := l.Checkpoints()
	wait(t, l, func() bool { return l.Checkpoints() > n+4 })
	l.Stop()
	return l
}

// waitKeys waits until a log has made rows of these keys.
func waitKeys(t *testing.T, l *sourcetest.Log, id schema.TableID, keys ...string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		m, _ := l.Last()
		if l.Progress().SnapshotDone && m != nil && slices.Equal(keysOf(m.Tables[id]), keys) {
			return
		}
		if err := l.Err(); err != nil || time.Now().After(deadline) {
			t.Fatalf("table %s, not %q: %+v, %v", id, keys, l.Progress(), err)
		}
	}
}

// TestRenamedWhileDown: tables that get a matching name while the pipeline stands still,
// once or in turns, are read when it starts again.
func TestRenamedWhileDown(t *testing.T) {
	for name, sql := range map[string][]string{
		"Once":    {"RENAME TABLE one TO t_new", "INSERT INTO t_new VALUES (3)"},
		"InTurns": {"RENAME TABLE one TO t_new", "INSERT INTO t_new VALUES (9)", "RENAME TABLE t_new TO gone, two TO t_new", "ALTER TABLE t_new ADD COLUMN x int", "INSERT INTO t_new VALUES (3, 4)"},
		"Again":   {"RENAME TABLE one TO t_new", "RENAME TABLE t_new TO gone", "CREATE TABLE t_new (id int PRIMARY KEY)", "INSERT INTO t_new VALUES (1), (2), (3)"},
		"Unread":  {speakGBK, "RENAME TABLE one TO t_new", unread("ALTER TABLE t_new ADD COLUMN x int"), "INSERT INTO t_new VALUES (3, 4)"},
		"Rows":    {"CREATE TABLE t_new LIKE one", "DROP TABLE t_new", "RENAME TABLE two TO t_new", "INSERT INTO t_new VALUES (3)", "UPDATE t_new SET id = 4 WHERE id = 3", "UPDATE t_new SET id = 3 WHERE id = 4"},
	} {
		t.Run(name, func(t *testing.T) {
			mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
				db := openDatabase(t, s)
				run(t, db, 1, rows("")...)
				run(t, db, 1, "CREATE TABLE one (id int PRIMARY KEY)", "INSERT INTO one VALUES (1), (2)", "CREATE TABLE two (id int PRIMARY KEY)", "INSERT INTO two VALUES (1), (2)")
				match := func(id schema.TableID) bool {
					return id.Schema == db.Database && strings.HasPrefix(id.Table, "t") && id.Table != "two"
				}
				l := captured(t, s, db.newSource(t, map[string]string{"scan.newly-added-table.enabled": "true"}, match))
				run(t, db, 1, sql...)
				for range 2 {
					l.Start(1)
					waitKeys(t, l, schema.TableID{Schema: db.Database, Table: "t_new"}, "1", "2", "3")
					l.Stop()
				}
				run(t, db, 1, "INSERT INTO t_new (id) VALUES (4)", "DELETE FROM t WHERE id < 299")
				l.Start(0)
				waitKeys(t, l, schema.TableID{Schema: db.Database, Table: "t_new"}, "1", "2", "3", "4")
				waitKeys(t, l, schema.TableID{Schema: db.Database, Table: "t"}, "299")
			})
		})
	}
}

// TestSeenLater: a table of a captured database that the account could not see is read
// after the restart behind its GRANT, with the definition of that time.
func TestSeenLater(t *testing.T) {
	for _, add := range []string{"true", "false"} {
		t.Run(add, func(t *testing.T) {
			mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
				db := openDatabase(t, s)
				run(t, db, 1, rows("")...)
				run(t, db, 1, "CREATE TABLE u (id int PRIMARY KEY, gone int)", "INSERT INTO u VALUES (1, 1), (2, 2)")
				account := s.Account(t, "REPLICATION SLAVE, REPLICATION CLIENT ON *.*", fmt.Sprintf("SELECT ON `%s`.t", db.Database))
				options := map[string]string{"username": account.User, "password": account.Password, "scan.newly-added-table.enabled": add}
				l := captured(t, s, db.newSource(t, options, db.all))
				run(t, db, 1, fmt.Sprintf("GRANT SELECT ON `%s`.u TO '%s'@'%%'", db.Database, account.User), "INSERT INTO u VALUES (3, 3)", "ALTER TABLE u DROP COLUMN gone")
				l.Start(1)
				n := l.Checkpoints()
				wait(t, l, func() bool { return l.Checkpoints() > n+4 })
				run(t, db, 1, "INSERT INTO u VALUES (4)", "DELETE FROM t WHERE id < 299")
				waitKeys(t, l, schema.TableID{Schema: db.Database, Table: "t"}, "299")
				if add == "true" {
					waitKeys(t, l, schema.TableID{Schema: db.Database, Table: "u"}, "1", "2", "3", "4")
				} else if m, _ := l.Last(); m.Tables[schema.TableID{Schema: db.Database, Table: "u"}] != nil {
					t.Error("the table is captured")
				}
			})
		})
	}
}
