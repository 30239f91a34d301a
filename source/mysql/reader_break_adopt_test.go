package mysql

import (
	"slices"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// TestBreakOtherDatabase: after a restart a pattern matches tables of another
// database, which was there before or came meanwhile.
func TestBreakOtherDatabase(t *testing.T) {
	for _, c := range []struct {
		name, add string
		before    bool // the other database's table was there at the checkpoint
		rows      []string
	}{
		{"Ignored", "false", true, nil},
		{"Before", "true", true, []string{"1", "2", "3"}},
		{"Meanwhile", "true", false, []string{"1", "2", "3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
				one, two := openDatabase(t, s), openDatabase(t, s)
				run(t, one, 1, rows("")...)
				create := []string{"CREATE TABLE u (id int PRIMARY KEY, gone int)", "INSERT INTO u VALUES (1, 1)"}
				if c.before {
					run(t, two, 1, create...)
				}
				l := sourcetest.NewLog(t, one.newSource(t, nil, one.all), harness(s).Backend)
				t.Cleanup(l.Stop)
				l.Start(0)
				wait(t, l, func() bool { return l.Progress().SnapshotDone && l.Checkpoints() > 2 })
				l.Stop()
				if !c.before {
					run(t, two, 1, create...)
				}
				run(t, two, 1, "INSERT INTO u VALUES (2, 2)", "ALTER TABLE u DROP COLUMN gone, ADD COLUMN more int")
				l.SetSource(one.newSource(t, map[string]string{"scan.newly-added-table.enabled": c.add}, func(id schema.TableID) bool { return one.all(id) || two.all(id) }))
				l.Start(0)
				n := l.Checkpoints()
				wait(t, l, func() bool { return l.Checkpoints() > n+2 })
				run(t, two, 1, "INSERT INTO u VALUES (3, 3)")
				run(t, one, 1, "INSERT INTO t VALUES (1000, 'x', 1)")
				wait(t, l, func() bool {
					m, _ := l.Last()
					return l.Progress().SnapshotDone && len(m.Tables[schema.TableID{Schema: one.Database, Table: "t"}].Rows) == 301 &&
						slices.Equal(keysOf(m.Tables[schema.TableID{Schema: two.Database, Table: "u"}]), c.rows)
				})
			})
		})
	}
}

func keysOf(m *sourcetest.ModelTable) []string {
	if m == nil {
		return nil
	}
	var keys []string
	for _, r := range m.Rows {
		keys = append(keys, r["id"])
	}
	slices.Sort(keys)
	return keys
}

// wait waits until a log has come so far.
func wait(t *testing.T, l *sourcetest.Log, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if err := l.Err(); err != nil {
			t.Fatalf("reader: %v", err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not come: %+v", l.Progress())
		}
	}
}
