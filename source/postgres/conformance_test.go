package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// testDatabase is a database of a server that tests share.
type testDatabase struct {
	server  *pgtest.Server
	name    string
	mu      sync.Mutex
	clients map[int]*pgx.Conn
	setup   func(client int) string // runs first on each client's connection
}

// openDatabase creates a database that ends with the test.
func openDatabase(t *testing.T, s *pgtest.Server, setup func(int) string) *testDatabase {
	t.Helper()
	name := "db_" + strings.ToLower(strings.NewReplacer("/", "_", "#", "_", "-", "_").Replace(t.Name()))
	name = name[max(0, len(name)-50):]
	admin := sqlConn(t, s)
	run(t, admin, "CREATE DATABASE "+quoteIdent(name))
	db := &testDatabase{server: s, name: name, clients: make(map[int]*pgx.Conn), setup: setup}
	t.Cleanup(func() {
		for _, c := range db.clients {
			c.Close(context.Background())
		}
		conn, err := pgx.Connect(context.Background(), s.URL("postgres"))
		if err != nil {
			return // a test may have stopped the server
		}
		defer conn.Close(context.Background())
		_, _ = conn.Exec(context.Background(), "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = $1", name)
		_, _ = conn.Exec(context.Background(), "DROP DATABASE "+quoteIdent(name)+" WITH (FORCE)")
	})
	return db
}

// Exec implements sourcetest.Database.
func (d *testDatabase) Exec(client int, sql ...string) error {
	d.mu.Lock()
	conn := d.clients[client]
	if conn == nil {
		var err error
		if conn, err = pgx.Connect(context.Background(), d.server.URL(d.name)); err != nil {
			d.mu.Unlock()
			return err
		}
		if d.setup != nil {
			if _, err := conn.Exec(context.Background(), d.setup(client)); err != nil {
				d.mu.Unlock()
				return err
			}
		}
		d.clients[client] = conn
	}
	d.mu.Unlock()
	text := strings.Join(sql, "; ")
	if len(sql) > 1 {
		text = "BEGIN; " + text + "; COMMIT"
	}
	if _, err := conn.PgConn().Exec(context.Background(), text).ReadAll(); err != nil {
		return fmt.Errorf("%s: %w", text[:min(len(text), 200)], err)
	}
	return nil
}

// Touch implements sourcetest.Database: one commit record.
func (d *testDatabase) Touch() error {
	return d.Exec(99, "SET synchronous_commit = on", "SELECT pg_logical_emit_message(true, 'touch', '')")
}

// Source implements sourcetest.Database.
func (d *testDatabase) Source(t *testing.T, log string, options map[string]string) source.Source {
	t.Helper()
	slot := d.name[max(0, len(d.name)-30):] + "_" + log
	opts := map[string]string{"url": d.server.URL(d.name), "tables": "x", "slot.name": slot, "heartbeat.interval": "100ms"}
	for k, v := range options {
		opts[k] = v
	}
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	src, err := New(opts, func(id schema.TableID) bool { return id.Schema == "public" }, logger)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func harness(s *pgtest.Server, setup func(int) string) sourcetest.Harness {
	return sourcetest.Harness{
		Open:    func(t *testing.T) sourcetest.Database { return openDatabase(t, s, setup) },
		Backend: memory.NewBackend(memory.Options{}),
		BigText: "text",
		Slow:    1,
		Keyless: func(table string) []string {
			return []string{"ALTER TABLE " + table + " REPLICA IDENTITY FULL"}
		},
		Disturb:      disturb,
		ChunkOptions: map[string]string{"scan.incremental.snapshot.chunk.size": "200"},
	}
}

// disturb vacuums, or sorts the rows anew, up or down by a hash.
func disturb(table, column string, n int) []string {
	switch n % 4 {
	case 0:
		return []string{"VACUUM FULL " + table}
	case 1:
		return []string{"VACUUM " + table, "ANALYZE " + table}
	}
	index := fmt.Sprintf("%s_%d", table, n%4)
	return []string{
		fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (hashint4(%s) %s)", index, table, column, []string{"ASC", "DESC"}[n%2]),
		fmt.Sprintf("CLUSTER %s USING %s", table, index),
	}
}

func TestConformance(t *testing.T) {
	s := startServer(t, nil)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // all readers have ended
	sourcetest.Run(t, harness(s, nil))
}

// TestConformanceAsync: commits are visible before they are flushed.
func TestConformanceAsync(t *testing.T) {
	s := startServer(t, map[string]string{"wal_writer_delay": "500ms"})
	h := harness(s, func(int) string { return "SET synchronous_commit = off" })
	sourcetest.Run(t, h)
}

// TestSlowStandby: transactions are in the log long before they are visible,
// since they wait until a standby, which lags on purpose, has applied them.
func TestSlowStandby(t *testing.T) {
	s := startServer(t, nil)
	standby := startStandby(t, s, map[string]string{"recovery_min_apply_delay": "250ms"})
	admin := sqlConn(t, s)
	run(t, admin, "ALTER SYSTEM SET synchronous_standby_names = '*'", "ALTER SYSTEM SET synchronous_commit = local", "SELECT pg_reload_conf()")
	h := harness(s, func(client int) string {
		if client >= 1 && client <= 8 {
			return "SET synchronous_commit = remote_apply"
		}
		return "SET synchronous_commit = local"
	})
	h.Cases = []string{"SnapshotAndChanges", "Restarts", "Disturbed"}
	sourcetest.Run(t, h)
	keyChangeBehindStandby(t, h)
	if !standby.Running() {
		t.Fatal("the standby has stopped")
	}
}

// keyChangeBehindStandby changes a key beside a large value that is not sent: it
// has to be read by a key that is not visible yet.
func keyChangeBehindStandby(t *testing.T, h sourcetest.Harness) {
	db := h.Open(t)
	for client, sql := range []string{
		`CREATE TABLE toast (id text PRIMARY KEY, big text, ver bigint); ALTER TABLE toast ALTER big SET STORAGE EXTERNAL`,
		`INSERT INTO toast SELECT 'k' || i, repeat(md5(i::text), 200), 0 FROM generate_series(1, 20) i`,
	} {
		if err := db.Exec(client*99, sql); err != nil {
			t.Fatal(err)
		}
	}
	l := sourcetest.NewLog(t, db.Source(t, "log", h.ChunkOptions), h.Backend)
	t.Cleanup(l.Stop)
	l.Start(0)
	for i := 1; i <= 10; i++ {
		if err := db.Exec(1, fmt.Sprintf(`UPDATE toast SET id = 'new' || id, ver = %d WHERE id = 'k%d'`, i, i)); err != nil {
			t.Fatal(err)
		}
	}
	h.Settle(t, db, db.Source(t, "log", h.ChunkOptions), l)
}

// startStandby starts a standby of the server that ends with the test.
func startStandby(t *testing.T, s *pgtest.Server, settings map[string]string) *pgtest.Server {
	t.Helper()
	standby, err := pgtest.StartStandby(t.Context(), s, pgtest.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standby.Stop() })
	return standby
}

// TestOddTables: partitions, inheritance, generated columns, names that need
// quotes, and a key that changes beside a value that is not sent.
func TestOddTables(t *testing.T) {
	s := startServer(t, nil)
	h := harness(s, nil)
	db := h.Open(t)
	exec := func(sql ...string) {
		t.Helper()
		for _, q := range sql {
			if err := db.Exec(0, q); err != nil {
				t.Fatal(err)
			}
		}
	}
	exec(`CREATE TABLE parts (id int, d date, v text, ver bigint, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)`,
		`CREATE TABLE "Part ä" PARTITION OF parts FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')`,
		`CREATE TABLE part2 PARTITION OF parts FOR VALUES FROM ('2021-01-01') TO ('2022-12-31') PARTITION BY LIST (id)`,
		`CREATE TABLE part2d PARTITION OF part2 DEFAULT`,
		`INSERT INTO parts SELECT i, '2020-01-01'::date + i % 700, repeat('p', i % 90), 0 FROM generate_series(1, 4000) i`,
		`CREATE TABLE parent (id int PRIMARY KEY, ver bigint)`, `CREATE TABLE child (extra text, PRIMARY KEY (id)) INHERITS (parent)`,
		`INSERT INTO parent SELECT i, 0 FROM generate_series(1, 1000) i`, `INSERT INTO child SELECT i, 0, 'x' FROM generate_series(1, 1000) i`,
		`CREATE TABLE made (id int PRIMARY KEY, a int, twice int GENERATED ALWAYS AS (a * 2) STORED, ver bigint)`,
		`INSERT INTO made SELECT i, i FROM generate_series(1, 1000) i`,
		`CREATE TABLE "Odd ""T"".ü" ("Key ""1" text PRIMARY KEY, "sel ect" int, ver bigint)`,
		`INSERT INTO "Odd ""T"".ü" SELECT 'k''' || i, i, 0 FROM generate_series(1, 1000) i`,
		`CREATE TABLE toast (id text PRIMARY KEY, big text, n int, ver bigint)`, `ALTER TABLE toast ALTER big SET STORAGE EXTERNAL`,
		`INSERT INTO toast SELECT 'k' || i, repeat(md5(i::text), 200), 0, 0 FROM generate_series(1, 400) i`,
		`CREATE TABLE by_index (a int NOT NULL, b int NOT NULL, ver bigint)`, `CREATE UNIQUE INDEX by_index_ab ON by_index (b, a)`,
		`ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_ab`, `INSERT INTO by_index SELECT i, i % 7, 0 FROM generate_series(1, 1000) i`)
	l := sourcetest.NewLog(t, db.Source(t, "log", h.ChunkOptions), h.Backend)
	t.Cleanup(l.Stop)
	l.Delay.Store(int64(5 * time.Millisecond))
	l.Start(0)
	for i := 1; i <= 120; i++ {
		exec(fmt.Sprintf(`UPDATE parts SET d = d + 365, ver = %d WHERE id = %d AND d < '2021-01-01'`, i, i*7), // moves to another partition
			fmt.Sprintf(`UPDATE parts SET v = 'u', ver = %d WHERE id = %d`, 1000+i, i*9),
			fmt.Sprintf(`UPDATE ONLY parent SET ver = %d WHERE id = %d`, i, i), fmt.Sprintf(`UPDATE child SET ver = %d WHERE id = %d`, i, i*2),
			fmt.Sprintf(`UPDATE made SET a = a + 1, ver = %d WHERE id = %d`, i, i), fmt.Sprintf(`DELETE FROM "Odd ""T"".ü" WHERE "sel ect" = %d`, i*5),
			fmt.Sprintf(`UPDATE toast SET n = n + 1, ver = %d WHERE id = 'k%d'`, i, i), fmt.Sprintf(`UPDATE toast SET id = 'new' || id, ver = %d WHERE id = 'k%d'`, 1000+i, i+200),
			fmt.Sprintf(`UPDATE by_index SET a = a + 5000, ver = %d WHERE a = %d`, i, i), fmt.Sprintf(`DELETE FROM by_index WHERE a = %d`, i+500))
		if i%40 == 0 {
			l.Stop()
			l.Start(i / 40 % 3)
		}
	}
	h.Settle(t, db, db.Source(t, "log", h.ChunkOptions), l)
}

// TestSlowStandbyNotes: behind a standby that lags, a change of a table is in the log
// long before the catalogue shows it. It is neither missed nor taken back.
func TestSlowStandbyNotes(t *testing.T) {
	f := newLogFixture(t, map[string]string{"heartbeat.interval": "1h"}, `CREATE TABLE a (id int PRIMARY KEY, v text NOT NULL, w int)`)
	startStandby(t, f.server, map[string]string{"recovery_min_apply_delay": "1500ms"})
	f.open(0)
	defer f.close()
	run(t, f.sql, `ALTER SYSTEM SET synchronous_standby_names = '*'`, `ALTER SYSTEM SET synchronous_commit = local`, `SELECT pg_reload_conf()`, `INSERT INTO a VALUES (1, 'x')`)
	f.followNotes()
	f.want("c1")
	slow := sqlConn(t, f.server)
	run(t, slow, `SET synchronous_commit = remote_apply`)
	done := make(chan error, 1)
	go func() {
		_, err := slow.PgConn().Exec(context.Background(), `BEGIN; ALTER TABLE a ALTER v DROP NOT NULL, ADD x int; INSERT INTO a VALUES (2, NULL, 0, 1); COMMIT`).ReadAll()
		done <- err
	}()
	for range 10 { // looks at a catalogue that does not show it yet, which take effect behind it
		f.log.CheckCatalogue()
		time.Sleep(50 * time.Millisecond)
	}
	f.followNotes()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	f.followNotes()
	got := strings.Join(strings.Fields(f.text.String()), " ")
	f.text.Reset()
	if want := "add.column: id! v! w x alter.column.type: id! v w x c2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
