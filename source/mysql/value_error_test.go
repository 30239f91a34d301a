package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// TestValueErrors: a value that its column's type can't hold ends snapshot and log with
// the same error, which names table, column and row, and no other attempt is made.
func TestValueErrors(t *testing.T) {
	keys := []struct{ columns, values, shown string }{
		{"k int PRIMARY KEY", "7", "k=7"},
		{"k varchar(20), l decimal(6,2), PRIMARY KEY (l, k)", "'a b', 1.50", "l=1.5, k=a b"},
		{"k int", "7", ""},
		{"k datetime(3) PRIMARY KEY", "'2024-02-29 01:02:03.456'", ""},
	}
	cases := []struct{ typ, good, bad, says string }{
		{"time", "'01:00:00'", "'-00:00:01'", "time.mode"},
		{"time(3)", "'01:00:00'", "'24:00:00'", "time.mode"},
		{"time(6)", "NULL", "'-838:59:58.999999'", "time.mode"},
		{"date", "'2024-01-01'", "'0000-00-00'", "zero-dates"},
		{"date", "'2024-01-01'", "'2024-02-31'", "zero-dates"},
		{"datetime", "'2024-01-01'", "'2024-00-01 10:00:00'", "zero-dates"},
		{"timestamp(2) NULL", "'2024-01-01'", "'0000-00-00 00:00:00'", "zero-dates"},
	}
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		db.DB.Exec("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")
		for i, c := range cases {
			k := keys[i%len(keys)]
			name := fmt.Sprintf("t%d", i)
			db.DB.Exec(fmt.Sprintf("CREATE TABLE %s (before_it int, %s, v %s, behind_it varchar(300))", name, k.columns, c.typ))
			src := db.newSource(t, map[string]string{"zero-dates": "error"}, func(id schema.TableID) bool { return id.Table == name && id.Schema == db.Database })
			fails := func() error {
				b := breakAt(t, db, src, nil)
				for deadline := time.Now().Add(20 * time.Second); !b.reader.Progress().SnapshotDone && len(b.done) == 0 && time.Now().Before(deadline); {
					time.Sleep(5 * time.Millisecond)
				}
				if len(db.DB.Query("SELECT 1 FROM "+name+" WHERE before_it = 1")) == 0 {
					db.DB.Exec(fmt.Sprintf("INSERT INTO %s VALUES (0, %s, %s, REPEAT('x', 300))", name, k.values, c.good), fmt.Sprintf("UPDATE %s SET v = %s, before_it = 1", name, c.bad))
				}
				select {
				case err := <-b.done:
					return err
				case <-time.After(2 * time.Minute):
					t.Fatalf("%s %s goes on", c.typ, c.bad)
				}
				return nil
			}
			inLog, inSnapshot := fails(), fails()
			var l *binlog.ValueError
			var r *snapshot.ValueError
			if !errors.As(inLog, &l) || !errors.As(inSnapshot, &r) {
				t.Errorf("%s %s: in the log %v, in the snapshot %v", c.typ, c.bad, inLog, inSnapshot)
				continue
			}
			if l.Column != "v" || r.Column != "v" || l.Key != r.Key || l.Err.Error() != r.Err.Error() || k.shown != "" && l.Key != k.shown || k.columns == "k int" && l.Key != "" {
				t.Errorf("in the log      %v\nin the snapshot %v", inLog, inSnapshot)
			}
			for _, err := range []error{inLog, inSnapshot} {
				permanent := slices.ContainsFunc(Permanent(), func(p error) bool { return errors.Is(err, p) })
				if !permanent || !errors.Is(err, value.ErrRange) || !strings.Contains(err.Error(), db.Database+"."+name) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "row )") {
					t.Errorf("permanent %v: %v", permanent, err)
				}
			}
		}
	})
}
