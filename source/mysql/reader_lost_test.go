package mysql

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// unread makes a statement one that can't be read: half a character of gbk, which the
// session speaks, in a comment.
func unread(sql string) string { return sql + " /* \x95 */" }

// speakGBK is what a session says before it sends such statements.
const speakGBK = "SET NAMES gbk"

// stopDone stops a reader at a checkpoint behind its snapshot, a few before it too.
func (sc *scene) stopDone(t *testing.T) {
	t.Helper()
	n := sc.log.Checkpoints()
	sc.until(t, func() bool { return sc.log.Checkpoints() > n+4 })
	sc.log.Stop()
}

// TestUnreadStatements: statements that can't be read, with and without rows of the table
// between and behind them. The table goes on with what the server shows.
func TestUnreadStatements(t *testing.T) {
	for _, c := range []struct {
		name   string
		sql    []string
		resets int // -1 for any number
	}{
		{"Add", []string{unread("ALTER TABLE t ADD COLUMN c int"), "UPDATE t SET c = 3, ver = 1 WHERE id < 5"}, 0},
		{"AddFirstDropAndWiden", []string{unread("ALTER TABLE t ADD COLUMN c int FIRST, MODIFY v varchar(50)"), "UPDATE t SET c = 3, ver = 1 WHERE id < 5", "DELETE FROM t WHERE id = 9"}, 0},
		{"Drop", []string{unread("ALTER TABLE t DROP COLUMN v"), "DELETE FROM t WHERE id = 9"}, 0},
		{"Nothing", []string{unread("ALTER TABLE t COMMENT 'x'"), "DELETE FROM t WHERE id = 9"}, 0},
		{"NoRows", []string{unread("ALTER TABLE t ADD COLUMN c int")}, 0},
		{"InARow", []string{unread("ALTER TABLE t ADD COLUMN c int"), unread("ALTER TABLE t ADD COLUMN d int"), "ALTER TABLE t ADD COLUMN e int", "UPDATE t SET c = 3, d = 4, e = 5, ver = 1 WHERE id < 5"}, 0},
		{"Truncated", []string{unread("ALTER TABLE t ADD COLUMN c int"), "TRUNCATE TABLE t", "INSERT INTO t (id, c, ver) VALUES (1, 2, 3)"}, 0},
		{"Gone", []string{unread("ALTER TABLE t ADD COLUMN c int"), "DROP TABLE t", "CREATE TABLE t (id int PRIMARY KEY, v varchar(20), ver bigint)", "INSERT INTO t VALUES (1, 'x', 1)"}, 0},
		{"Shadow", []string{"CREATE TABLE _t_new LIKE t", unread("ALTER TABLE _t_new ADD COLUMN c int"), "INSERT INTO _t_new (id, v, ver) SELECT id, v, ver FROM t", "RENAME TABLE t TO _t_old, _t_new TO t",
			"UPDATE t SET c = 3, ver = 1 WHERE id < 5", "DROP TABLE _t_old"}, -1},
		{"Default", []string{unread("ALTER TABLE t ADD COLUMN c int DEFAULT 7"), "UPDATE t SET c = 3, ver = 1 WHERE id < 5"}, 1},
		{"OtherRows", []string{unread("ALTER TABLE t DROP COLUMN v, ADD COLUMN v varchar(20)"), "UPDATE t SET v = 'new', ver = 1 WHERE id < 5"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
				for _, down := range []bool{false, true} {
					if live := []string{"Add", "InARow", "Shadow"}; !down && !slices.Contains(live, c.name) {
						continue // what is known at once is no other case; it takes longer
					}
					sc := start(t, s, map[string]string{"scan.rewritten-tables": "snapshot"}, append(rows(""), speakGBK)...)
					if down {
						sc.stopDone(t)
						sc.exec(t, c.sql...)
						sc.log.Start(1)
					} else {
						for _, sql := range c.sql {
							n := sc.log.Checkpoints()
							sc.exec(t, sql)
							sc.until(t, func() bool { return sc.log.Checkpoints() > n })
						}
					}
					sc.h.Settle(t, sc, sc.src, sc.log)
					if n := sc.table("t").Resets; c.resets >= 0 && n != c.resets {
						t.Errorf("down %t: the table was read again %d times", down, n)
					}
					sc.log.Stop() // and from the newest checkpoint, and older ones
					sc.log.Start(2)
					sc.exec(t, "DELETE FROM t WHERE id = 1")
					sc.h.Settle(t, sc, sc.src, sc.log)
				}
			})
		})
	}
}

// TestUnreadStops: what the server shows is not, or need not be, what was in force behind
// the statement, or does not say what became of the columns. The error names the statement.
func TestUnreadStops(t *testing.T) {
	for _, c := range []struct {
		name, says string
		sql        []string
	}{
		{"ChangedAgain", "is changed again at", []string{unread("ALTER TABLE t ADD COLUMN c int"), "UPDATE t SET c = 3 WHERE id < 5", "ALTER TABLE t ADD COLUMN d int"}},
		{"UnreadAgain", "is changed again at", []string{unread("ALTER TABLE t ADD COLUMN c int"), "UPDATE t SET c = 3 WHERE id < 5", unread("ALTER TABLE t ADD COLUMN d int")}},
		{"DroppedAfterRows", "is changed again at", []string{unread("ALTER TABLE t ADD COLUMN c int"), "UPDATE t SET c = 3 WHERE id < 5", "DROP TABLE t"}},
		{"RenamedAfterRows", "is changed again at", []string{unread("ALTER TABLE t ADD COLUMN c int"), "UPDATE t SET c = 3 WHERE id < 5", "RENAME TABLE t TO u"}},
		{"Renamed", "the table was renamed", []string{unread("ALTER TABLE t ADD COLUMN c int"), "RENAME TABLE t TO u"}},
		{"RenamedColumn", "whether it was renamed can't be told", []string{unread("ALTER TABLE t CHANGE v w varchar(20)"), "UPDATE t SET w = 'x' WHERE id < 5"}},
		{"Key", "the key went from", []string{unread("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, ver)")}},
		{"Default", "scan.rewritten-tables", []string{unread("ALTER TABLE t ADD COLUMN c int DEFAULT 7")}},
		{"MovedRows", "scan.rewritten-tables", []string{unread("ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 2")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
				sc := start(t, s, nil, append(rows(""), speakGBK, "CREATE TABLE other (id int PRIMARY KEY)")...)
				sc.stopDone(t)
				sc.exec(t, c.sql...)
				sc.log.Start(0)
				sc.fails(t, ErrSchemaChange, c.says)
				if err := sc.log.Err(); err == nil || !strings.Contains(err.Error(), "ALTER TABLE t") && c.name != "Renamed" && c.name != "Default" && c.name != "MovedRows" {
					t.Errorf("the statement is not in %v", err)
				}
			})
		})
	}
}

// TestUnreadTables: tables that statements make which can't be read: captured from there on
// where the user chose so, read after a restart, or left alone; others never stop anything.
func TestUnreadTables(t *testing.T) {
	create := []string{speakGBK, unread("CREATE TABLE late (id int PRIMARY KEY, v varchar(5), ver bigint)"), "INSERT INTO late VALUES (1, 'a', 0)"}
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		sc := start(t, s, map[string]string{"scan.newly-added-table.enabled": "false", "scan.binlog.newly-added-table.enabled": "true"}, rows("")...)
		sc.exec(t, create...)
		sc.h.Settle(t, sc, sc.src, sc.log)
		if m := sc.table("late"); m == nil || len(m.Rows) != 1 {
			t.Fatalf("captured at once: %+v", m)
		}

		sc = start(t, s, nil, rows("")...)
		sc.log.Stop()
		sc.exec(t, append(create, "ALTER TABLE late ADD COLUMN x int", "INSERT INTO late VALUES (2, 'b', 0, 1)", "DELETE FROM t WHERE id = 1")...)
		sc.log.Start(0)
		sc.h.Settle(t, sc, sc.src, sc.log)

		sc = start(t, s, map[string]string{"scan.newly-added-table.enabled": "false"}, rows("")...)
		sc.exec(t, append(create, "ALTER TABLE late ADD COLUMN x int", "DELETE FROM t WHERE id = 1")...)
		sc.until(t, func() bool { return len(sc.table("t").Rows) == 299 })
		sc.log.Stop()
		sc.exec(t, append(create[2:], "DELETE FROM t WHERE id = 2")[1:]...)
		sc.log.Start(2)
		sc.until(t, func() bool { return len(sc.table("t").Rows) == 298 })
		if sc.table("late") != nil {
			t.Error("the table is captured")
		}
	})
}

// TestUnreadErr: the error of a stop says all that is needed.
func TestUnreadErr(t *testing.T) {
	s := mysqltest.Named(t, "MySQL97")
	sc := start(t, s, nil, append(rows(""), speakGBK)...)
	sc.stopDone(t)
	sc.exec(t, unread("ALTER TABLE t ADD COLUMN c int"), "UPDATE t SET c = 3", "ALTER TABLE t DROP COLUMN c")
	sc.log.Start(0)
	sc.fails(t, ErrSchemaChange, "gbk")
	var e *SchemaChangeError
	if err := sc.log.Err(); !errors.As(err, &e) || e.Table.Table != "t" || !strings.Contains(e.Place, ":") || !strings.Contains(e.What, "DROP COLUMN c") || !strings.Contains(e.Hint, "tables.exclude") {
		t.Errorf("%v", err)
	}
}
