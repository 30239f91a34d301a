package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// printNotes prints what columns have beside their name and type, with the rows.
func printNotes(f *logFixture, g *logGroup) {
	for _, r := range g.Rows {
		for i := range r.Batch.Rows() {
			fmt.Fprintf(&f.text, "%c%s ", r.Batch.Op(i), r.Batch.Record.Column(0).ValueStr(i))
		}
	}
	for _, c := range g.Changes {
		fmt.Fprintf(&f.text, "\n%s:%s\n", c.Kind, notes(c.After))
	}
}

func notes(t *schema.Table) string {
	var b strings.Builder
	for _, c := range t.Columns {
		null, def := "", ""
		if !c.Nullable {
			null = "!"
		}
		if c.Default != nil {
			def = "=" + *c.Default
		}
		fmt.Fprintf(&b, " %s%s%s", c.Name, null, def)
		if c.Comment != "" {
			b.WriteString(" " + c.Comment)
		}
	}
	return b.String()
}

// followNotes is follow with printNotes, up to a look at the catalogue.
func (f *logFixture) followNotes() {
	f.t.Helper()
	ticket := f.log.CheckCatalogue()
	deadline := time.After(2 * time.Minute)
	run(f.t, f.sql, "SELECT pg_logical_emit_message(true, 'x', 'x')")
	for {
		select {
		case g, ok := <-f.log.Groups():
			if !ok {
				f.t.Fatalf("the stream ended: %v", f.log.Err())
			}
			printNotes(f, g)
			done := g.Report != nil && g.Report.ticket >= ticket
			g.release()
			if done {
				return
			}
		case <-time.After(100 * time.Millisecond):
			run(f.t, f.sql, "SELECT pg_logical_emit_message(true, 'x', 'x')")
			f.log.RequestKeepalive()
		case <-deadline:
			f.t.Fatal("the look at the catalogue does not come")
		}
	}
}

// TestLogNotes: that a column takes NULL is known before the first NULL comes; that
// it takes none any more, comments and defaults come with the next look at the
// catalogue, behind all rows of before.
func TestLogNotes(t *testing.T) {
	f := newLogFixture(t, map[string]string{"heartbeat.interval": "1h"}, `CREATE TABLE a (id int PRIMARY KEY, v text NOT NULL, w int)`, `CREATE TABLE part (id int PRIMARY KEY, v text NOT NULL) PARTITION BY RANGE (id)`,
		`CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100)`)
	f.open(0)
	defer f.close()
	run(t, f.sql, `INSERT INTO a VALUES (1, 'x')`, `INSERT INTO part VALUES (1, 'x')`)
	f.followNotes()
	f.want("c1 c1")
	run(t, f.sql, `ALTER TABLE a ALTER v DROP NOT NULL`, `INSERT INTO a VALUES (3, NULL)`, `ALTER TABLE part ALTER v DROP NOT NULL`, `INSERT INTO part VALUES (3, NULL)`)
	f.followNotes()
	f.want("alter.column.type: id! v w\nc3 \nalter.column.type: id! v\nc3")
	run(t, f.sql, `UPDATE a SET v = 'y'`, `BEGIN; ALTER TABLE a ALTER v SET NOT NULL, ALTER w SET DEFAULT 7; COMMENT ON COLUMN a.w IS 'seven'; COMMIT`, `INSERT INTO a VALUES (4, 'z')`)
	f.followNotes()
	f.want("u1 u3 c4 \nalter.column.type: id! v! w=7 seven")
	// A definition that no row has shown.
	run(t, f.sql, `BEGIN; ALTER TABLE a ADD x int; ALTER TABLE a RENAME w TO ww; COMMIT`)
	f.followNotes()
	f.want("rename.column: id! v! ww=7 seven\n\nadd.column: id! v! ww=7 seven x")
	run(t, f.sql, `INSERT INTO a VALUES (5, 'z', 1, 2)`)
	f.followNotes()
	f.want("c5")
	// One that is taken back to where the last row was.
	run(t, f.sql, `BEGIN; ALTER TABLE a DROP x; ALTER TABLE a RENAME ww TO w; COMMIT`)
	f.followNotes()
	run(t, f.sql, `ALTER TABLE a RENAME w TO ww`, `INSERT INTO a VALUES (6, 'z', 1)`)
	f.followNotes()
	f.want("drop.column: id! v! ww=7 seven\n\nrename.column: id! v! w=7 seven\n\nrename.column: id! v! ww=7 seven\nc6")
}

// TestOvertakenReport: a look at the catalogue from before a change that the log has
// brought meanwhile takes nothing back.
func TestOvertakenReport(t *testing.T) {
	before := &schema.Table{ID: schema.TableID{Schema: "public", Table: "t"}, PrimaryKey: []string{"id"}, SourceID: 1, Version: 1,
		Columns: []schema.Column{builtin("id", 23, "int4", -1), builtin("v", 25, "text", -1)}}
	now := before.Clone()
	now.Columns[1].Comment = "new"
	for _, c := range []struct {
		changed uint32
		changes int
	}{{0, 1}, {99, 1}, {100, 0}, {105, 1}, {110, 0}, {150, 0}} {
		r := testResolver(now)
		r.changed[1] = c.changed
		report := &catalogueReport{high: 100, sees: window.Snapshot{Xmin: 100, Xmax: 110, InProgress: []uint64{100}}, tables: map[uint32]*tableInfo{1: {Schema: before, Identity: 'd'}}}
		changes, _, err := r.compare(report, nil, 200)
		if err != nil || len(changes) != c.changes {
			t.Errorf("changed by %d, looked at %s: %d changes, %v", c.changed, report.sees, len(changes), err)
		}
	}
}

// strictSink takes a log and fails at the first NULL that the definition in force forbids.
type strictSink struct {
	def      *schema.Table
	nulls    int
	triggers chan int64
	state    []byte
	done     func(s *strictSink) bool
	cancel   context.CancelFunc
}

func (s *strictSink) Triggers() <-chan int64 { return s.triggers }

func (s *strictSink) Barrier(_ context.Context, _ int64, _ uint64, state []byte) error {
	if s.state = state; s.done(s) {
		s.cancel()
	}
	return nil
}

func (s *strictSink) Emit(_ context.Context, e source.Element) error {
	if e.Change != nil {
		s.def = e.Change.After
		return nil
	}
	defer e.Batch.Release()
	for i, c := range s.def.Columns {
		n := e.Batch.Record.Column(i).NullN()
		if s.nulls += n; n > 0 && !c.Nullable {
			return fmt.Errorf("column %s is NULL, which its definition forbids", c.Name)
		}
	}
	return nil
}

// run runs a reader until a checkpoint for which done is true.
func (s *strictSink) run(t *testing.T, src source.Source, done func(*strictSink) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s.triggers, s.done, s.cancel = make(chan int64), done, cancel
	go func() {
		for id := int64(1); ; id++ {
			select {
			case s.triggers <- id:
			case <-ctx.Done():
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	rc := source.Context{Restored: s.state != nil, RestoredID: 1, State: s.state, Needs: needsAll}
	if _, err := src.NewReader().Run(ctx, rc, s); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, %s", err, notes(s.def))
	}
}

// TestRestartNotes: what changed while nobody followed. Columns that take NULL do so
// from the start; the rest waits until the rows of before have passed.
func TestRestartNotes(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	run(t, conn, `CREATE TABLE a (id int PRIMARY KEY, v text NOT NULL, w text NOT NULL, n int)`, `INSERT INTO a VALUES (1, 'v', 'w', 0)`)
	src := newTestSource(t, s, map[string]string{"heartbeat.interval": "100ms"})
	sink := &strictSink{}
	sink.run(t, src, func(s *strictSink) bool { return strings.Contains(string(s.state), `"phase":"done"`) })
	run(t, conn, `ALTER TABLE a ALTER v DROP NOT NULL`, `INSERT INTO a VALUES (2, NULL, 'w', 1), (3, NULL, 'w', NULL)`, `UPDATE a SET n = 2`,
		`ALTER TABLE a ALTER n SET NOT NULL`, `COMMENT ON COLUMN a.n IS 'number'`)
	sink.run(t, src, func(s *strictSink) bool { return notes(s.def) == " id! v w! n! number" })
	if sink.nulls == 0 {
		t.Error("no NULL came")
	}
}

// TestNotValidNotNull: a NOT NULL that old rows need not fulfil is none.
func TestNotValidNotNull(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	onlyIf(t, serverVersion(conn.PgConn()) >= 180000)
	run(t, conn, `CREATE TABLE a (id int PRIMARY KEY, v text)`, `INSERT INTO a VALUES (1, NULL)`, `ALTER TABLE a ADD CONSTRAINT v_not_null NOT NULL v NOT VALID`)
	src := newTestSource(t, s, nil)
	nullable := func() bool {
		tables, err := src.Discover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, _ := tables[0].Schema.Column("v")
		return c.Nullable
	}
	if !nullable() {
		t.Error("NOT NULL that was not validated is taken for one")
	}
	run(t, conn, `UPDATE a SET v = 'x'`, `ALTER TABLE a VALIDATE CONSTRAINT v_not_null`)
	if nullable() {
		t.Error("a validated NOT NULL is none")
	}
}
