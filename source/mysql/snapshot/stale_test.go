package snapshot

import (
	"errors"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// TestStale: a chunk notices that its table is another one, and its High lies behind
// the change. What does not matter to it is no change.
func TestStale(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		for _, tc := range []struct {
			ddl   string
			stale bool
		}{
			{"ALTER TABLE t ADD COLUMN more INT FIRST", false}, {"ALTER TABLE t DROP COLUMN b", true}, {"ALTER TABLE t CHANGE b c VARCHAR(9)", true},
			{"ALTER TABLE t MODIFY b INT", true}, {"ALTER TABLE t MODIFY n BIGINT NOT NULL", true}, {"ALTER TABLE t MODIFY n INT UNSIGNED NOT NULL", true},
			{"ALTER TABLE t MODIFY d DECIMAL(9,3)", true}, {"ALTER TABLE t MODIFY e DATETIME(6)", true}, {"ALTER TABLE t MODIFY b VARCHAR(30)", false},
			{"ALTER TABLE t CHANGE d d2 DECIMAL(9,2), CHANGE d2 d DECIMAL(9,2)", false}, // the log tells
			{"ALTER TABLE t ENGINE=InnoDB", false}, {"DROP TABLE t", true}, {"RENAME TABLE t TO t2", true}, {"TRUNCATE TABLE t", false},
			{"ALTER TABLE t DROP PRIMARY KEY", true},
		} {
			db := mysqltest.Open(t, s)
			db.Exec("CREATE TABLE t (n INT PRIMARY KEY, b VARCHAR(9), d DECIMAL(9,2), d2 DECIMAL(9,2), e DATETIME(3), g VARCHAR(9) CHARACTER SET latin1)", "INSERT INTO t VALUES (1, '5', 2.5, 3.5, '2024-01-01', 'x'), (2, '6', 2, 3, NULL, NULL)")
			r, def := reader(t, s), definition(t, s, db.Database, "t", "n")
			p := mustPlan(t, r, def)
			rg, _ := p.Next()
			if c := r.Read(within(t), p.Job(def, rg)); c.Err != nil || c.Rows != 2 {
				t.Fatal(c.Rows, c.Err)
			} else {
				c.Release()
			}
			db.Exec(tc.ddl)
			after := logEnd(t, s)
			c := r.Read(within(t), p.Job(def, rg))
			c.Release()
			if stale := errors.Is(c.Err, ErrStale); stale != tc.stale || !stale && c.Err != nil {
				t.Errorf("%s: %v", tc.ddl, c.Err)
			}
			if n, err := c.High.compare(after); err != nil || n < 0 {
				t.Errorf("%s: High %v, the log ends at %v: %v", tc.ddl, c.High, after, err)
			}
		}
	})
}

func logEnd(t *testing.T, s *mysqltest.Server) Place {
	t.Helper()
	ctx := within(t)
	conn, err := connector(s)(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, err := end(ctx, conn)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRebuilt: a table that was rebuilt behind a read view is read again.
func TestRebuilt(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		numbersTable(db, 10, func(int) int { return 1 })
		ctx := within(t)
		r := reader(t, s)
		attempts := 0
		err := r.retry(ctx, schema.TableID{Table: "t"}, "read", func(conn *wire.Conn) error {
			if err := conn.Exec(ctx, begin); err != nil {
				return err
			}
			if attempts++; attempts == 1 {
				db.Exec("ALTER TABLE t ENGINE=InnoDB")
			}
			if err := conn.Exec(ctx, "SELECT * FROM "+wire.Table(db.Database, "t")); err != nil {
				return err
			}
			return conn.Exec(ctx, "COMMIT")
		})
		if err != nil || attempts != 2 {
			t.Errorf("%d attempts, %v", attempts, err)
		}
	})
}
