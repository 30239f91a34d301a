package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
)

// logFixture is a database whose log a test follows.
type logFixture struct {
	t      *testing.T
	server *pgtest.Server
	sql    *pgx.Conn
	src    *Source
	mem    *memory.CheckedAllocator
	needs  source.Needs
	log    *logStream
	text   strings.Builder
}

func newLogFixture(t *testing.T, opts map[string]string, setup ...string) *logFixture {
	t.Helper()
	s := startServer(t, nil)
	f := &logFixture{t: t, server: s, sql: sqlConn(t, s), mem: memory.NewCheckedAllocator(memory.DefaultAllocator),
		needs: source.Needs{KeylessUpdates: true, ResolvesUnchanged: true, Reset: true}}
	run(t, f.sql, setup...)
	f.src = newTestSource(t, s, opts)
	return f
}

// discover returns the captured tables.
func (f *logFixture) discover() []tableInfo {
	f.t.Helper()
	infos, err := discover(f.t.Context(), f.sql, f.src.cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return infos
}

// open starts the log at a restored position (0: fresh) with the given
// definitions, or those of the catalogue.
func (f *logFixture) open(restored uint64, tables ...*schema.Table) *attachment {
	f.t.Helper()
	infos := f.discover()
	a, err := attach(f.t.Context(), f.src.cfg, infos, checkpointPlace{Position: restored}, f.src.logger)
	if err != nil {
		f.t.Fatal(err)
	}
	if len(tables) == 0 {
		for _, i := range infos {
			tables = append(tables, i.Schema)
		}
	}
	copied := *a
	if f.log, err = a.OpenLog(f.t.Context(), tables, f.needs, f.mem); err != nil {
		f.t.Fatal(err)
	}
	return &copied
}

func (f *logFixture) close() {
	f.t.Helper()
	if err := f.log.Close(); err != nil {
		f.t.Error(err)
	}
	f.mem.AssertSize(f.t, 0)
}

// follow prints groups until the log has passed the server's present position.
func (f *logFixture) follow() uint64 {
	f.t.Helper()
	var text string
	if err := f.sql.QueryRow(context.Background(), "SELECT pg_current_wal_insert_lsn()::text").Scan(&text); err != nil {
		f.t.Fatal(err)
	}
	var hi, lo uint64
	fmt.Sscanf(text, "%X/%X", &hi, &lo)
	run(f.t, f.sql, "SELECT pg_logical_emit_message(false, 'x', 'x')", "SELECT pg_switch_wal()")
	deadline := time.After(2 * time.Minute)
	ask := time.NewTicker(50 * time.Millisecond)
	defer ask.Stop()
	for {
		select {
		case g, ok := <-f.log.Groups():
			if !ok {
				f.t.Fatalf("the stream ended: %v", f.log.Err())
			}
			f.print(g)
			position, in := g.Position, g.InTransaction
			g.release()
			if !in && position >= hi<<32|lo {
				return position
			}
		case <-ask.C:
			f.log.RequestKeepalive()
		case <-deadline:
			f.t.Fatal("the log does not come")
		}
	}
}

// print writes a group without what differs from run to run.
func (f *logFixture) print(g *logGroup) {
	for _, r := range g.Rows {
		f.printBatch(r.Batch)
	}
	for _, c := range g.Changes {
		fmt.Fprintf(&f.text, "%s %s", c.Kind, c.Table.Table)
		for _, col := range c.Columns {
			fmt.Fprintf(&f.text, " %s:%s", col.Name, col.Type)
		}
		for from, to := range c.Renames {
			fmt.Fprintf(&f.text, " %s->%s", from, to)
		}
		f.text.WriteString("\n")
	}
}

func (f *logFixture) printBatch(b *schema.Batch) {
	for i := range b.Rows() {
		fmt.Fprintf(&f.text, "%c %s", b.Op(i), b.Table.ID.Table)
		f.printRow(b.Record, i, b, b.Unchanged)
		if b.Before != nil && b.Op(i) == schema.OpUpdate {
			f.text.WriteString(" before")
			f.printRow(b.Before, i, b, nil)
		}
		fmt.Fprintf(&f.text, " #%d\n", b.Ordinals[i])
	}
	rows := 0
	for _, tx := range b.Txs {
		rows += tx.Rows
		if tx.ID == 0 || tx.Commit == 0 || tx.CommitTime < 1.7e15 {
			f.t.Errorf("incomplete transaction %+v", tx)
		}
	}
	if rows != b.Rows() || len(b.Positions) != rows {
		f.t.Errorf("%d rows, %d in transactions, %d positions", b.Rows(), rows, len(b.Positions))
	}
}

func (f *logFixture) printRow(record arrow.RecordBatch, i int, b *schema.Batch, unchanged []schema.Cell) {
	for c, col := range record.Columns() {
		v := col.ValueStr(i)
		if len(v) > 40 {
			v = fmt.Sprintf("%s...(%d)", v[:10], len(v))
		}
		for _, u := range unchanged {
			if int(u.Row) == i && int(u.Column) == c {
				v = "unchanged"
			}
		}
		fmt.Fprintf(&f.text, " %s=%s", b.Table.Columns[c].Name, v)
	}
}

// want compares what was printed since the last call.
func (f *logFixture) want(text string) {
	f.t.Helper()
	got := strings.TrimSpace(f.text.String())
	f.text.Reset()
	want := strings.TrimSpace(strings.ReplaceAll(text, "\t", ""))
	if got != want {
		f.t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLogRows(t *testing.T) {
	f := newLogFixture(t, nil,
		`CREATE TABLE a (id int PRIMARY KEY, v text, big text)`,
		`ALTER TABLE a ALTER big SET STORAGE EXTERNAL`,
		`CREATE TABLE "Ünï ""q""" ("K k" bigint PRIMARY KEY, n numeric(8,2))`,
		`CREATE TABLE full_k (id int PRIMARY KEY, v text, big text); ALTER TABLE full_k REPLICA IDENTITY FULL; ALTER TABLE full_k ALTER big SET STORAGE EXTERNAL`,
		`CREATE TABLE full_n (v text, w int); ALTER TABLE full_n REPLICA IDENTITY FULL`,
		`CREATE TABLE idx (a int NOT NULL, b int NOT NULL, id int PRIMARY KEY); CREATE UNIQUE INDEX idx_ab ON idx (b, a); ALTER TABLE idx REPLICA IDENTITY USING INDEX idx_ab`,
		`CREATE TABLE none (v int)`,
		`CREATE TABLE part (id int PRIMARY KEY, v text) PARTITION BY RANGE (id); CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10); CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20)`,
		`CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child (extra int, PRIMARY KEY (id)) INHERITS (parent)`,
		`CREATE TABLE gen (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, v int)`)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a := f.open(0)
	if !a.Created || a.Snapshot == "" || a.Start != a.Consistent || a.Start == 0 || len(a.Added) != 10 {
		t.Errorf("attachment %+v", a)
	}
	defer f.close()

	run(t, f.sql, `BEGIN; INSERT INTO a VALUES (1, 'x', NULL), (2, NULL, 'y'); INSERT INTO "Ünï ""q""" VALUES (5, 1.5); UPDATE a SET v = 'z' WHERE id = 1; DELETE FROM a WHERE id = 2; COMMIT`)
	f.follow()
	f.want(`c a id=1 v=x big=(null) #0
		c a id=2 v=(null) big=y #1
		u a id=1 v=z big=(null) #3
		d a id=2 v=(null) big=(null) #4
		c Ünï "q" K k=5 n=1.5 #2`)

	// TOAST: left out, filled where the key changes.
	run(t, f.sql, `INSERT INTO a VALUES (3, 'v', repeat('b', 5000))`, `UPDATE a SET v = 'w' WHERE id = 3`, `UPDATE a SET id = 4 WHERE id = 3`)
	f.follow()
	f.want(`c a id=3 v=v big=bbbbbbbbbb...(5000) #0
		u a id=3 v=w big=unchanged #0
		d a id=3 v=(null) big=(null) #0
		c a id=4 v=w big=bbbbbbbbbb...(5000) #1`)

	run(t, f.sql, `INSERT INTO full_k VALUES (1, 'v', repeat('b', 5000))`, `UPDATE full_k SET v = 'w'`, `UPDATE full_k SET id = 2`, `DELETE FROM full_k`)
	f.follow()
	f.want(`c full_k id=1 v=v big=bbbbbbbbbb...(5000) #0
		u full_k id=1 v=w big=bbbbbbbbbb...(5000) #0
		d full_k id=1 v=w big=bbbbbbbbbb...(5000) #0
		c full_k id=2 v=w big=bbbbbbbbbb...(5000) #1
		d full_k id=2 v=w big=bbbbbbbbbb...(5000) #0`)

	run(t, f.sql, `INSERT INTO full_n VALUES ('v', 1)`, `UPDATE full_n SET w = 2`, `DELETE FROM full_n`)
	f.follow()
	f.want(`c full_n v=v w=1 #0
		u full_n v=v w=2 before v=v w=1 #0
		d full_n v=v w=2 #0`)

	run(t, f.sql, `INSERT INTO idx VALUES (1, 2, 3)`, `UPDATE idx SET id = 4`, `UPDATE idx SET b = 5`, `DELETE FROM idx`)
	f.follow()
	f.want(`c idx a=1 b=2 id=3 #0
		u idx a=1 b=2 id=4 #0
		d idx a=1 b=2 id=(null) #0
		c idx a=1 b=5 id=4 #1
		d idx a=1 b=5 id=(null) #0`)

	// No replica identity: the application's update works, and is not captured.
	run(t, f.sql, `INSERT INTO none VALUES (1)`, `UPDATE none SET v = 2`, `DELETE FROM none`, `TRUNCATE none, a`)
	f.follow()
	f.want(`c none v=1 #0
		truncate.table none
		truncate.table a`)

	run(t, f.sql, `INSERT INTO part VALUES (1, 'a'), (11, 'b')`, `UPDATE part SET id = 12 WHERE id = 1`,
		`INSERT INTO parent VALUES (1)`, `INSERT INTO child VALUES (2, 3)`, `INSERT INTO gen (id, v) VALUES (7, 8)`)
	f.follow()
	f.want(`c part id=1 v=a #0
		c part id=11 v=b #1
		d part id=1 v=(null) #0
		c part id=12 v=a #1
		c parent id=1 #0
		c child id=2 extra=3 #0
		c gen id=7 v=8 #0`)
}

// TestLogEventSink: a sink that has a placeholder for values that are left out, and keeps no
// rows, gets them while the table's snapshot runs, except where the row is gone.
func TestLogEventSink(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY, v int, big text)`, `ALTER TABLE a ALTER big SET STORAGE EXTERNAL`,
		`INSERT INTO a SELECT i, 0, repeat('b', 5000) FROM generate_series(1, 3) i`)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	f.needs.Events = true
	f.open(0)
	defer f.close()
	run(t, f.sql, `UPDATE a SET v = 1 WHERE id = 1`, `BEGIN; UPDATE a SET v = 1 WHERE id < 4; DELETE FROM a WHERE id = 2; COMMIT`)
	f.follow()
	f.want(`u a id=1 v=1 big=bbbbbbbbbb...(5000) #0
		u a id=1 v=1 big=bbbbbbbbbb...(5000) #0
		u a id=2 v=1 big=unchanged #1
		u a id=3 v=1 big=bbbbbbbbbb...(5000) #2
		d a id=2 v=(null) big=(null) #3`)
	f.log.tables.settled.of(f.discover()[0].Schema).Store(true)
	run(t, f.sql, `UPDATE a SET v = 2 WHERE id = 3`, `UPDATE a SET id = 4 WHERE id = 3`)
	f.follow()
	f.want(`u a id=3 v=2 big=unchanged #0
		d a id=3 v=(null) big=(null) #0
		c a id=4 v=2 big=unchanged #1`)
}

func TestLogHugeTransaction(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY, v text)`, `CREATE TABLE b (id int PRIMARY KEY)`)
	f.open(0)
	defer f.close()
	run(t, f.sql, `INSERT INTO b VALUES (0)`, `BEGIN; INSERT INTO a SELECT i, repeat('x', 100) FROM generate_series(1, 60000) i; INSERT INTO b VALUES (1); COMMIT`, `INSERT INTO b VALUES (2)`)
	next, groups, done := uint32(0), 0, false
	for !done {
		g := <-f.log.Groups()
		if g == nil {
			t.Fatal(f.log.Err())
		}
		for _, r := range g.Rows {
			for i := range r.Batch.Rows() {
				if r.Batch.Table.ID.Table == "a" || r.Batch.Record.Column(0).ValueStr(i) == "1" {
					if r.Batch.Ordinals[i] != next {
						t.Fatalf("ordinal %d, want %d", r.Batch.Ordinals[i], next)
					}
					next++
				}
				done = done || r.Batch.Record.Column(0).ValueStr(i) == "2" && r.Batch.Table.ID.Table == "b"
			}
		}
		if g.InTransaction {
			groups++
		}
		g.release()
	}
	if next != 60001 || groups < 5 {
		t.Errorf("%d rows, %d groups inside the transaction", next, groups)
	}
}

// TestLogRestart: confirmed log does not come again, unconfirmed log does, and a
// slot that is ahead or gone is an error.
func TestLogRestart(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY)`)
	f.open(0)
	run(t, f.sql, `INSERT INTO a VALUES (1)`)
	one := f.follow()
	run(t, f.sql, `INSERT INTO a VALUES (2)`)
	two := f.follow()
	f.log.Confirm(one)
	waitFor(t, func() bool {
		s, err := readSlot(t.Context(), f.sql, "freshet_test")
		return err == nil && uint64(s.confirmed) == one
	})
	f.close()
	f.want("c a id=1 #0\nc a id=2 #0")

	f.open(one)
	f.follow()
	f.want("c a id=2 #0")
	f.close()

	f.open(two) // ahead of what is confirmed
	run(t, f.sql, `INSERT INTO a VALUES (3)`)
	three := f.follow()
	f.want("c a id=3 #0")
	f.log.Confirm(three)
	waitFor(t, func() bool {
		s, err := readSlot(t.Context(), f.sql, "freshet_test")
		return err == nil && uint64(s.confirmed) == three
	})
	_, err := attach(t.Context(), &config{conn: f.src.cfg.conn, slot: "freshet_test", publication: "freshet_test", match: f.src.cfg.match, database: "nowhere"}, nil, checkpointPlace{}, nil)
	if !errors.Is(err, ErrSlotForeign) {
		t.Errorf("another database: %v", err)
	}
	f.close()

	if _, err := attach(t.Context(), f.src.cfg, f.discover(), checkpointPlace{Position: two}, f.src.logger); !errors.Is(err, ErrSlotAhead) {
		t.Errorf("slot ahead: %v", err)
	}
	run(t, f.sql, `SELECT pg_drop_replication_slot('freshet_test')`)
	if _, err := attach(t.Context(), f.src.cfg, f.discover(), checkpointPlace{Position: three}, f.src.logger); !errors.Is(err, ErrSlotMissing) {
		t.Errorf("slot missing: %v", err)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

// TestLogBlockedReceiver: the server hears from us while nobody takes the groups.
func TestLogBlockedReceiver(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY, v text)`, `ALTER SYSTEM SET wal_sender_timeout = '1s'`, `SELECT pg_reload_conf()`)
	f.open(0)
	defer f.close()
	run(t, f.sql, `INSERT INTO a SELECT i, repeat('x', 1000) FROM generate_series(1, 30000) i`)
	time.Sleep(3 * time.Second)
	f.follow()
	if n := strings.Count(f.text.String(), "\n"); n != 30000 {
		t.Errorf("%d rows", n)
	}
}

// TestLogCloseWhileBusy: nothing of a stream that is closed in full flight stays.
func TestLogCloseWhileBusy(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY, v text)`)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a := f.open(0)
	run(t, f.sql, `INSERT INTO a SELECT i, repeat('x', 100) FROM generate_series(1, 100000) i`)
	for i := range 5 {
		for range i {
			(<-f.log.Groups()).release()
		}
		f.close()
		f.open(a.Start)
	}
	f.close()
}

// TestLogServerStops: a stopping server must not wait for us.
func TestLogServerStops(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY)`)
	f.open(0)
	run(t, f.sql, `INSERT INTO a VALUES (1)`)
	f.follow()
	time.Sleep(200 * time.Millisecond) // the watch has connected
	start := time.Now()
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("the server took %s to stop", d)
	}
	for range f.log.Groups() {
	}
	if err := f.log.Err(); err == nil {
		t.Error("no error after the server stopped")
	}
	_ = f.log.Close()
	f.mem.AssertSize(t, 0)
}
