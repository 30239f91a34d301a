package mysql

import (
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// TestBreakSemiSync: the pipeline goes on from a checkpoint with a transaction that is
// in the binlog, and is not yet executed because the server waits for a replica.
func TestBreakSemiSync(t *testing.T) {
	for name, settings := range map[string][]string{
		"MariaDB118": {"rpl-semi-sync-master-timeout=25000", "rpl-semi-sync-master-wait-no-slave=ON", "rpl-semi-sync-master-wait-point=AFTER_SYNC"},
		"MySQL97":    {"plugin-load-add=semisync_source.so", "loose-rpl-semi-sync-source-timeout=25000", "loose-rpl-semi-sync-source-wait-no-replica=ON"},
	} {
		t.Run(name, func(t *testing.T) {
			s := mysqltest.Private(t, name, settings...)
			db := openDatabase(t, s.Server)
			run(t, db, 1, rows("")...)
			l := sourcetest.NewLog(t, db.newSource(t, nil, db.all), harness(s.Server).Backend)
			t.Cleanup(l.Stop)
			l.Start(0)
			wait(t, l, func() bool { return l.Progress().SnapshotDone && l.Checkpoints() > 2 })
			s.Connect(t).Exec("SET GLOBAL rpl_semi_sync_" + map[bool]string{true: "master", false: "source"}[s.MariaDB] + "_enabled = ON")
			done := make(chan error, 1)
			go func() { done <- db.Exec(2, "INSERT INTO t VALUES (1000, 'waits', 1)") }()
			n := l.Progress().ChangeRows
			wait(t, l, func() bool { return l.Progress().ChangeRows > n })
			at := l.Checkpoints()
			wait(t, l, func() bool { return l.Checkpoints() > at+2 })
			l.Stop()
			select {
			case err := <-done:
				t.Fatalf("the server did not wait: %v", err)
			default:
			}
			begun := time.Now()
			l.Start(0)
			at = l.Checkpoints()
			wait(t, l, func() bool { return l.Checkpoints() > at+2 })
			if d := time.Since(begun); d > 15*time.Second {
				t.Errorf("it took %s", d)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
