package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// TestBreakFlushes: binlog files end while a snapshot runs on a server where nothing
// else happens; no heartbeat comes to help.
func TestBreakFlushes(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		run(t, db, 1, rows("")...)
		run(t, db, 1, "CREATE TABLE bag (a int)", "INSERT INTO bag VALUES (1), (2)", "FLUSH BINARY LOGS")
		n := 0
		b := breakAt(t, db, db.newSource(t, map[string]string{"heartbeat.interval": "10m", "scan.snapshot.parallelism": "1"}, db.all), func(e source.Element) {
			if of(e, schema.ChangeSnapshotStart, "t") || of(e, schema.ChangeSnapshotStart, "bag") || e.Batch != nil && n < 6 {
				n++
				run(t, db, 2, "FLUSH BINARY LOGS")
			}
		})
		b.settle(t, "t", "bag")
	})
}

// TestBreakFailover: another server goes on with a snapshot.
func TestBreakFailover(t *testing.T) {
	for _, name := range []string{"MySQL97", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			primary := mysqltest.Private(t, name)
			db := openDatabase(t, primary.Server)
			admin := primary.Connect(t)
			admin.Exec("FLUSH BINARY LOGS", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
			run(t, db, 1, rows("")...)
			run(t, db, 1, "CREATE TABLE u (id int PRIMARY KEY, v varchar(20), ver bigint)", "INSERT INTO u SELECT * FROM t", "CREATE TABLE bag (a int)", "INSERT INTO bag VALUES (1), (2)")
			standby := replicaOf(t, primary.Server)
			options := map[string]string{"scan.incremental.snapshot.chunk.size": "20", "scan.snapshot.parallelism": "1"}
			l := sourcetest.NewLog(t, db.newSource(t, options, db.all), harness(primary.Server).Backend)
			t.Cleanup(l.Stop)
			l.Delay.Store(int64(40 * time.Millisecond))
			l.Start(0)
			wait(t, l, func() bool { return l.Checkpoints() > 3 && l.Progress().ReadRows > 100 })
			for i := range 30 {
				run(t, db, 1, fmt.Sprintf("UPDATE t SET v = 'w', ver = %d WHERE id %% 30 = %d", i+1, i), fmt.Sprintf("DELETE FROM u WHERE id = %d", i*7))
			}
			if l.Progress().SnapshotDone {
				t.Fatal("the snapshot is over")
			}
			l.Stop()
			there := openDatabase(t, standby.Server)
			there.Database = db.Database
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				c, err := there.client(1)
				if err == nil {
					if r, err := c.Execute("SELECT COUNT(*) FROM u"); err == nil {
						if n, _ := r.GetInt(0, 0); n == 270 {
							break
						}
					}
				}
				if time.Now().After(deadline) {
					t.Fatal("the standby does not follow")
				}
			}
			primary.Kill()
			src := there.newSource(t, options, there.all)
			l.SetSource(src)
			l.Start(0)
			run(t, there, 1, "INSERT INTO t VALUES (5000, 'there', 1)", "DELETE FROM t WHERE id = 3", "INSERT INTO bag VALUES (3)")
			l.Delay.Store(0)
			harness(standby.Server).Settle(t, there, src, l)
		})
	}
}
