package postgres

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
)

// startServer starts a PostgreSQL for one test, or skips where none is installed.
func startServer(t testing.TB, settings map[string]string) *pgtest.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "freshet-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s, err := pgtest.Start(t.Context(), pgtest.Options{Dir: dir, Settings: settings})
	if err != nil {
		t.Skipf("no PostgreSQL server here: %v", err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

// onlyIf skips what the server under test can't show. e2e/run.sh, to which a skipped test
// is a failure, knows these words: other versions run in the same run.
func onlyIf(t *testing.T, version bool) {
	t.Helper()
	if !version {
		t.Skip("a test of another server version")
	}
}

// sqlConn connects to the server's default database.
func sqlConn(t testing.TB, s *pgtest.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// run executes statements.
func run(t testing.TB, conn *pgx.Conn, sql ...string) {
	t.Helper()
	for _, s := range sql {
		if _, err := conn.PgConn().Exec(context.Background(), s).ReadAll(); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func newTestSource(t testing.TB, s *pgtest.Server, more map[string]string) *Source {
	t.Helper()
	opts := map[string]string{"url": s.URL("postgres"), "tables": "x", "slot.name": "freshet_test"}
	for k, v := range more {
		opts[k] = v
	}
	src, err := New(opts, func(id schema.TableID) bool { return id.Schema == "public" }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// readAll reads all chunks of a table one after the other and returns the values
// of its first column, as text.
func readAll(t *testing.T, src *Source, name string, mem memory.Allocator, between func(chunk int)) (values []string, chunks int) {
	t.Helper()
	ctx := t.Context()
	r := &chunkReader{cfg: src.cfg, mem: mem}
	defer r.close()
	conn, err := src.cfg.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	infos, err := discover(ctx, conn, src.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Schema.ID.Table != name {
			continue
		}
		p, err := planTable(ctx, conn, info.Schema, src.cfg.chunkSize)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rg, ok := p.next()
			if !ok {
				return values, chunks
			}
			chunks++
			c := r.read(ctx, chunkJob{Table: info.Schema, Leaf: *p.leaf(rg.Leaf), Range: rg})
			if c.Err != nil {
				t.Fatal(c.Err)
			}
			if c.High == 0 {
				t.Fatal("a chunk without HIGH")
			}
			if c.Rest != nil {
				p.back(*c.Rest)
			}
			for _, rec := range c.Records {
				for i := range int(rec.NumRows()) {
					values = append(values, rec.Column(0).ValueStr(i))
				}
			}
			c.release()
			if between != nil {
				between(chunks)
			}
		}
	}
	t.Fatalf("table %s is not captured", name)
	return nil, 0
}

func TestChunks(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	run(t, conn,
		`CREATE TABLE plain (id bigint PRIMARY KEY, v text)`, `INSERT INTO plain SELECT i, repeat('x', 100) FROM generate_series(1, 50000) i`, `ANALYZE plain`,
		`CREATE TABLE parts (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)`,
		`CREATE TABLE "Parts One" PARTITION OF parts FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')`,
		`CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM ('2021-01-01') TO ('2023-01-01') PARTITION BY RANGE (d)`,
		`CREATE TABLE "parts2""b" PARTITION OF parts2 FOR VALUES FROM ('2021-01-01') TO ('2023-01-01')`,
		`INSERT INTO parts SELECT i, '2020-01-01'::date + i % 900 FROM generate_series(1, 9000) i`,
		`CREATE TABLE "Mixed Cäse.tab""le" (id int PRIMARY KEY, "sp ace" text)`, `INSERT INTO "Mixed Cäse.tab""le" VALUES (1, 'a'), (2, NULL)`,
		`CREATE TABLE parent (id int PRIMARY KEY)`, `CREATE TABLE child (extra text) INHERITS (parent)`,
		`INSERT INTO parent VALUES (1)`, `INSERT INTO child VALUES (2, 'x')`,
		`CREATE TABLE wide (id int PRIMARY KEY, v text)`, `ALTER TABLE wide ALTER v SET STORAGE EXTERNAL`,
		`INSERT INTO wide SELECT i, repeat(md5(i::text), 8000) FROM generate_series(1, 120) i`,
		`CREATE TABLE empty (id int PRIMARY KEY)`)
	src := newTestSource(t, s, map[string]string{"scan.incremental.snapshot.chunk.size": "5000"})
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	for _, tc := range []struct {
		table        string
		rows, chunks int
	}{{"plain", 50000, 10}, {"parts", 9000, 2}, {`Mixed Cäse.tab"le`, 2, 1}, {"parent", 1, 1}, {"child", 1, 1}, {"wide", 120, 4}, {"empty", 0, 0}} {
		values, chunks := readAll(t, src, tc.table, mem, nil)
		seen := make(map[string]bool, len(values))
		for _, v := range values {
			seen[v] = true
		}
		if len(values) != tc.rows || len(seen) != tc.rows || chunks < tc.chunks || chunks > tc.chunks+2 {
			t.Errorf("%s: %d rows, %d different, in %d chunks, want %d rows in about %d", tc.table, len(values), len(seen), chunks, tc.rows, tc.chunks)
		}
	}
}

// TestChunkFinds checks what a chunk says when the table has changed under it.
func TestChunkFinds(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	src := newTestSource(t, s, nil)
	for _, tc := range []struct {
		sql  string
		want error
	}{
		{"VACUUM FULL t", errRowsMoved}, {"CLUSTER t USING t_pkey", errRowsMoved}, {"TRUNCATE t", errRowsMoved},
		{"ALTER TABLE t ALTER v TYPE bigint", errRowsMoved}, {"DROP TABLE t", errRowsMoved},
		{"DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v int)", errRowsMoved},
		{"ALTER TABLE t RENAME TO u; CREATE TABLE t (id int PRIMARY KEY, v int)", errRowsMoved},
		{"ALTER TABLE t DROP v", errStale}, {"ALTER TABLE t RENAME v TO w", errStale}, {"VACUUM t", nil}, {"ALTER TABLE t ADD w int", nil},
	} {
		run(t, conn, "DROP TABLE IF EXISTS t, u", "CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t SELECT i, i FROM generate_series(1, 100) i")
		ctl, err := src.cfg.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		infos, err := discover(t.Context(), ctl, src.cfg)
		if err != nil {
			t.Fatal(err)
		}
		p, err := planTable(t.Context(), ctl, infos[0].Schema, 10)
		if err != nil {
			t.Fatal(err)
		}
		rg, _ := p.next()
		run(t, conn, tc.sql)
		r := &chunkReader{cfg: src.cfg, mem: memory.DefaultAllocator}
		for range 2 { // the connection stays usable
			c := r.read(t.Context(), chunkJob{Table: infos[0].Schema, Leaf: *p.leaf(rg.Leaf), Range: rg})
			if tc.want == nil && c.Err != nil || tc.want != nil && !isError(c.Err, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.sql, c.Err, tc.want)
			}
			c.release()
		}
		r.close()
		ctl.Close(t.Context())
	}
}

// BenchmarkSnapshot reads orders, BENCH_ROWS rows (300,000), over one and two connections.
func BenchmarkSnapshot(b *testing.B) {
	s := startServer(b, map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB"})
	conn := sqlConn(b, s)
	rows, _ := strconv.Atoi(os.Getenv("BENCH_ROWS"))
	if rows == 0 {
		rows = 300_000
	}
	run(b, conn, `CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status varchar(16), amount decimal(12,2), note varchar(120), created_at timestamp(3), updated_at timestamp(3))`,
		fmt.Sprintf(`INSERT INTO orders SELECT i, i %% 10007, (ARRAY['new','paid','shipped','done'])[1 + i %% 4], (i %% 100000) / 100.0, repeat(md5(i::text), 2) || substr(md5((i*7)::text), 1, 16), now(), now() FROM generate_series(1, %d) i`, rows),
		`VACUUM ANALYZE orders`)
	for _, readers := range []int{1, 2} {
		b.Run(fmt.Sprintf("connections=%d", readers), func(b *testing.B) {
			src := newTestSource(b, s, nil)
			processCPU()
			for range b.N {
				benchRead(b, src, readers)
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(processCPU().Seconds()*1e6/float64(rows)/float64(b.N), "cpu-us/row")
		})
	}
}

func benchRead(b *testing.B, src *Source, readers int) {
	ctx := b.Context()
	conn, err := src.cfg.connect(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	infos, err := discover(ctx, conn, src.cfg)
	if err != nil {
		b.Fatal(err)
	}
	p, err := planTable(ctx, conn, infos[0].Schema, src.cfg.chunkSize)
	if err != nil {
		b.Fatal(err)
	}
	jobs := make(chan tidRange)
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			r := &chunkReader{cfg: src.cfg, mem: memory.DefaultAllocator}
			defer r.close()
			for rg := range jobs {
				c := r.read(ctx, chunkJob{Table: infos[0].Schema, Leaf: *p.leaf(rg.Leaf), Range: rg})
				if c.Err != nil {
					b.Error(c.Err)
				}
				c.release()
			}
		})
	}
	for rg, ok := p.next(); ok; rg, ok = p.next() {
		jobs <- rg
	}
	close(jobs)
	wg.Wait()
}

var lastCPU time.Duration
