package mysql

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestBreakEmptyKeyed: a table is empty when it is looked at, and the log still has
// changes of the rows that it had where the snapshot started.
func TestBreakEmptyKeyed(t *testing.T) {
	for _, name := range []string{"MySQL97", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			db := openDatabase(t, mysqltest.Named(t, name))
			run(t, db, 1, "CREATE TABLE other (id int PRIMARY KEY)", "CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1), (2, 2)")
			var once sync.Once
			b := breakAt(t, db, db.newSource(t, nil, db.all), func(e source.Element) {
				switch {
				case of(e, schema.ChangeSnapshotStart, "t"):
					once.Do(func() {
						for i := range 30 { // what the reader has to get through first
							run(t, db, 2, fmt.Sprintf("INSERT INTO other VALUES (%d)", i))
							time.Sleep(5 * time.Millisecond)
						}
						run(t, db, 2, "UPDATE t SET v = 3 WHERE id = 1", "DELETE FROM t", "INSERT INTO other VALUES (1000)")
					})
				case e.Batch != nil && e.Batch.Ops != nil && e.Batch.Table.ID.Table == "other":
					time.Sleep(100 * time.Millisecond)
				}
			})
			b.settle(t, "other")
			if got := b.out.lines(b.id("t")); len(got) != 0 {
				t.Errorf("rows %q", got)
			}
		})
	}
}

// TestBreakEmptyKeyless: a table without a key is filled and emptied all the time.
func TestBreakEmptyKeyless(t *testing.T) {
	for _, name := range []string{"MySQL97", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			db := openDatabase(t, mysqltest.Named(t, name))
			run(t, db, 1, "CREATE TABLE bag (a int)", "CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (1)")
			stop, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				for {
					select {
					case <-stop:
						ended <- nil
						return
					default:
					}
					for _, sql := range []string{"INSERT INTO bag VALUES (1), (2), (3)", "DELETE FROM bag"} {
						if err := db.Exec(2, sql); err != nil {
							ended <- err
							return
						}
					}
					time.Sleep(30 * time.Millisecond)
				}
			}()
			var all []*breaker
			for range 8 {
				b := breakAt(t, db, db.newSource(t, nil, db.all), nil)
				all = append(all, b)
				for deadline := time.Now().Add(20 * time.Second); b.out.count("bag "+schema.ChangeSnapshotDone.String()) == 0 && time.Now().Before(deadline); {
					time.Sleep(5 * time.Millisecond)
				}
			}
			close(stop)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			run(t, db, 1, "INSERT INTO bag VALUES (7)")
			for _, b := range all {
				b.settle(t, "bag")
			}
		})
	}
}
