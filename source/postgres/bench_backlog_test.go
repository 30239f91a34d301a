//go:build unix

package postgres

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
)

const backlogSQL = `DO $$ DECLARE i int := 0; BEGIN
	WHILE i < 300000 LOOP
		INSERT INTO orders VALUES (i, i % 5000, 'new', i % 9000, repeat('n', 80), '2026-11-30 06:12:34.567', '2026-11-30 07:12:34.567');
		UPDATE orders SET status = 'delivered', updated_at = '2026-11-30 08:12:34.567' WHERE id = i;
		i := i + 1;
		IF i % 50 = 0 THEN COMMIT; END IF;
	END LOOP; END $$`

// BenchmarkBacklog reads 600,000 changes, in transactions of 100, that were there
// before it began, over TCP, and pg_recvlogical the same to nothing.
func BenchmarkBacklog(b *testing.B) {
	const changes = 600_000
	s := startServer(b, map[string]string{"synchronous_commit": "off", "max_wal_size": "4GB"})
	conn := sqlConn(b, s)
	run(b, conn, `CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status varchar(16), amount decimal(12,2), note varchar(120), created_at timestamp(3), updated_at timestamp(3))`)
	src := newTestSource(b, s, nil)
	infos, err := discover(b.Context(), conn, src.cfg)
	if err != nil {
		b.Fatal(err)
	}
	a, err := attach(b.Context(), src.cfg, infos, checkpointPlace{}, src.logger)
	if err != nil {
		b.Fatal(err)
	}
	a.Close()
	run(b, conn, `SELECT pg_create_logical_replication_slot('floor', 'pgoutput')`, backlogSQL, `CHECKPOINT`)
	for b.Loop() {
		if a, err = attach(b.Context(), src.cfg, infos, checkpointPlace{}, src.logger); err != nil {
			b.Fatal(err)
		}
		start, cpu := time.Now(), processTime()
		log, err := a.OpenLog(b.Context(), []*schema.Table{infos[0].Schema}, needsAll, memory.DefaultAllocator)
		if err != nil {
			b.Fatal(err)
		}
		rows, groups := 0, 0
		for rows < changes {
			g := <-log.Groups()
			if g == nil {
				b.Fatal(log.Err())
			}
			for _, r := range g.Rows {
				rows += r.Batch.Rows()
			}
			groups++
			g.release()
		}
		took := time.Since(start)
		b.ReportMetric(changes/took.Seconds(), "changes/s")
		b.ReportMetric(float64((processTime()-cpu).Microseconds())/changes, "us/change")
		b.ReportMetric(float64(groups), "groups")
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
	}
	benchFloor(b, s.URL("postgres"), changes)
}

// benchFloor reads the same with the server's own client.
func benchFloor(b *testing.B, url string, changes float64) {
	var end string
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	if err := conn.QueryRow(b.Context(), "SELECT pg_current_wal_flush_lsn()::text").Scan(&end); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("pg_recvlogical", "-d", url, "--slot", "floor", "--start", "-o", "proto_version=1", "-o", "publication_names=freshet_test", "-f", "/dev/null", "--endpos", end)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Logf("no floor: %v %s", err, out)
		return
	}
	b.ReportMetric(changes/time.Since(start).Seconds(), "floor-changes/s")
}

func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
