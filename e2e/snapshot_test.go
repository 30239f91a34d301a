package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

// snapshotRows is how many rows the tables have that something happens to while
// they are read.
func snapshotRows() int {
	if servers.Full() {
		return 400_000
	}
	return 100_000
}

// wide makes a table that takes a while to read in small chunks.
func wide(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	execute(t, conn, fmt.Sprintf(`CREATE TABLE wide (id int PRIMARY KEY, v text, n bigint);
		INSERT INTO wide SELECT i, repeat(md5(i::text), 8), i FROM generate_series(1, %d) i`, snapshotRows()))
}

// smallChunks reads with many short chunks.
func smallChunks(p *process.Pipeline) {
	p.Source["scan.incremental.snapshot.chunk.size"] = "500"
	p.Source["scan.snapshot.parallelism"] = "2"
}

// TestSnapshotUnderChange does to a table, while its snapshot runs, what moves
// rows, rewrites the table or empties it. In both modes every row must be there once.
func TestSnapshotUnderChange(t *testing.T) {
	for _, c := range []struct {
		name       string
		statements []string
	}{
		{"vacuum-full", []string{"DELETE FROM wide WHERE id % 3 = 0", "VACUUM FULL wide"}},
		{"cluster", []string{"UPDATE wide SET n = n + 1 WHERE id % 5 = 0", "CLUSTER wide USING wide_pkey"}},
		{"key-change", []string{"UPDATE wide SET id = -id WHERE id % 10 = 1", "UPDATE wide SET id = id + 10000000 WHERE id % 10 = 2"}},
		{"move", []string{"UPDATE wide SET v = v || 'x', n = -n WHERE id % 4 = 0", "VACUUM wide", "INSERT INTO wide SELECT -i, 'new', i FROM generate_series(1, 5000) i"}},
		{"truncate", []string{"TRUNCATE wide", "INSERT INTO wide SELECT i, 'again', i FROM generate_series(1, 3000) i"}},
		{"add-column", []string{"ALTER TABLE wide ADD COLUMN extra text", "UPDATE wide SET extra = 'e' WHERE id % 7 = 0"}},
		{"drop-column", []string{"ALTER TABLE wide DROP COLUMN n", "DELETE FROM wide WHERE id % 7 = 0"}},
		{"asynchronous-commit", []string{"SET synchronous_commit = off", "UPDATE wide SET n = 0 WHERE id % 6 = 0", "DELETE FROM wide WHERE id % 6 = 1", "RESET synchronous_commit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := newDatabase(t)
			conn := connect(t, url)
			wide(t, conn)
			for _, mode := range []string{"upsert", "append"} {
				p := newPipeline(t, "snap-"+c.name+"-"+mode, url, func(p *process.Pipeline) {
					smallChunks(p)
					p.Sink["write.mode"] = mode
				})
				run := start(t, p)
				slotActive(t, conn, "freshet_snap_"+underscores(c.name)+"_"+mode)
				for _, s := range c.statements {
					if mode == "append" && !repeatable(s) {
						continue // done for the first mode, and can't be done twice
					}
					execute(t, conn, s)
					time.Sleep(50 * time.Millisecond)
				}
				stop(t, run)
				catchUp(t, p)
				if mode == "upsert" {
					equal(t, p, "public.wide")
				} else {
					equalChangelogs(t, p, "public.wide")
				}
			}
		})
	}
}

// slotActive waits until the pipeline follows the log.
func slotActive(t *testing.T, conn *pgx.Conn, slot string) {
	t.Helper()
	eventually(t, "slot "+slot+" is active", runTimeout, func() bool {
		var active bool
		err := conn.QueryRow(t.Context(), "SELECT active FROM pg_replication_slots WHERE slot_name = $1", slot).Scan(&active)
		return err == nil && active
	})
}

func underscores(name string) string {
	out := []byte(name)
	for i, c := range out {
		if c == '-' {
			out[i] = '_'
		}
	}
	return string(out)
}

// repeatable reports whether a statement works on a table that it was done to already.
func repeatable(statement string) bool {
	switch statement[:5] {
	case "ALTER", "INSER":
		return false
	}
	return statement != "UPDATE wide SET id = -id WHERE id % 10 = 1"
}

// TestSnapshotBeforeVisible starts a snapshot while a transaction is in the log and
// not yet visible, as under synchronous replication to a slow standby: a snapshot
// that only looked would miss its rows, and the log would not bring them again.
func TestSnapshotBeforeVisible(t *testing.T) {
	pg := newServer(t)
	conn := connect(t, pg.URL)
	orders(t, pg.URL)
	execute(t, conn, "CREATE PUBLICATION freshet_snap_hidden FOR TABLE orders")
	execute(t, conn, "SELECT pg_create_logical_replication_slot('freshet_snap_hidden', 'pgoutput')")
	standby := func(names string) {
		t.Helper()
		execute(t, conn, "ALTER SYSTEM SET synchronous_standby_names = '"+names+"'")
		execute(t, conn, "SELECT pg_reload_conf()")
	}
	// Only the writer waits for the standby, which doesn't exist.
	execute(t, conn, "ALTER SYSTEM SET synchronous_commit = local")
	standby("nobody")
	time.Sleep(300 * time.Millisecond)
	writer := connect(t, pg.URL)
	execute(t, writer, "SET synchronous_commit = remote_apply")
	committed := make(chan error, 1)
	go func() {
		_, err := writer.Exec(context.Background(), `INSERT INTO orders SELECT i, 'hidden' FROM generate_series(5001, 5100) i;
			UPDATE orders SET v = 'hidden' WHERE id <= 50; DELETE FROM orders WHERE id BETWEEN 51 AND 60`)
		committed <- err
	}()
	eventually(t, "the writer waits for the standby", runTimeout, func() bool {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&n)
		return err == nil && n == 1
	})
	p := newPipeline(t, "snap-hidden", pg.URL, func(p *process.Pipeline) { p.Source["publication.autocreate.mode"] = "disabled" })
	run := start(t, p)
	time.Sleep(2 * time.Second)
	standby("")
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.orders")
}
