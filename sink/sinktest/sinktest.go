package sinktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// Config says what to test.
type Config struct {
	// New opens the sink over dir; the same dir gives the same target again.
	// changelog asks for a log of the changes in place of the rows' last state.
	New func(t *testing.T, dir string, changelog bool) sink.Sink
	// Steps is the length of a random run, 0 means 150; SINKTEST_STEPS overrides.
	Steps int
	// Seeds is the number of runs for each mode, 0 means 3; SINKTEST_SEEDS overrides.
	Seeds int
}

// Run runs the suite.
func Run(t *testing.T, cfg Config) {
	steps, seeds := number("SINKTEST_STEPS", cfg.Steps, 150), number("SINKTEST_SEEDS", cfg.Seeds, 3)
	for _, changelog := range []bool{false, true} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("changelog=%t/seed=%d", changelog, seed), func(t *testing.T) {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				defer mem.AssertSize(t, 0)
				s := cfg.New(t, t.TempDir(), changelog)
				w := newWorld(t, s, mem, uint64(seed))
				for i := range steps {
					w.step(i)
				}
				w.finish()
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func number(env string, configured, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	if configured > 0 {
		return configured
	}
	return fallback
}

// world is a random run: the rig, and the model of the source.
type world struct {
	t   *testing.T
	rig *Rig
	rng *rand.Rand
	ctx context.Context
	mem memory.Allocator
	// tables is the source now, by target.
	tables  map[schema.TableID]*Source
	columns int // names given out
}

func newWorld(t *testing.T, s sink.Sink, mem memory.Allocator, seed uint64) *world {
	w := &world{t: t, rig: NewRig(t, s, mem), rng: rand.New(rand.NewPCG(seed, 7)), ctx: context.Background(), mem: mem, tables: map[schema.TableID]*Source{}}
	for i, key := range [][]string{{"id"}, {"id", "g"}, nil} {
		id := schema.TableID{Schema: "s", Table: "t" + strconv.Itoa(i)}
		w.tables[id] = &Source{Def: &schema.Table{ID: id, Version: 1, PrimaryKey: key, Columns: []schema.Column{
			{Name: "id", Type: schema.Int(), Nullable: key == nil}, {Name: "g", Type: schema.SmallInt(), Nullable: len(key) < 2}, {Name: "txt", Type: schema.String(), Nullable: true},
		}}}
	}
	w.start()
	return w
}

func (w *world) must(err error, what string) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

// start opens an attempt and announces the tables, as sources do.
func (w *world) start() {
	w.t.Helper()
	w.must(w.rig.Start(w.ctx, 1+w.rng.IntN(3)), "start")
	for _, id := range w.ids() {
		w.must(w.rig.Change(w.ctx, id, &schema.Change{Kind: schema.ChangeCreateTable, Table: w.tables[id].Def.ID, After: w.tables[id].Def}), "create")
	}
}

func (w *world) ids() []schema.TableID {
	ids := make([]schema.TableID, 0, len(w.tables))
	for id := range w.tables {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b schema.TableID) int {
		return len(a.String()) - len(b.String()) + int(a.Table[1]) - int(b.Table[1])
	})
	return ids
}

// model copies the source.
func (w *world) model() map[schema.TableID]*Source {
	m := map[schema.TableID]*Source{}
	for id, s := range w.tables {
		m[id] = s.clone()
	}
	return m
}

func (w *world) step(i int) {
	id := w.ids()[w.rng.IntN(len(w.tables))]
	switch n := w.rng.IntN(100); {
	case n < 50:
		w.transaction(id)
	case n < 60:
		w.evolve(id)
	case n < 64:
		w.empty(id, schema.ChangeTruncate)
	case n < 68:
		w.empty(id, schema.ChangeReset)
	case n < 72:
		w.stagedSnapshot()
	case n < 84:
		_, err := w.rig.Checkpoint(w.ctx, w.model())
		w.must(err, "checkpoint")
		w.compare(i)
	case n < 88: // published, committed with a later one
		_, err := w.rig.Prepare(w.ctx, true, w.model())
		w.must(err, "prepare")
	case n < 90: // aborted: its work comes with the next one
		_, err := w.rig.Prepare(w.ctx, false, nil)
		w.must(err, "prepare")
	default:
		w.crash(n)
		w.compare(i)
	}
}

// crash ends the attempt at some place of the contract and starts the next one.
func (w *world) crash(kind int) {
	w.t.Helper()
	switch kind {
	case 90: // a checkpoint that was not published
		_, err := w.rig.Prepare(w.ctx, false, nil)
		w.must(err, "prepare")
	case 91, 92: // published, not committed
		_, err := w.rig.Prepare(w.ctx, true, w.model())
		w.must(err, "prepare")
	case 93, 94, 95: // in the middle of a commit
		cp, err := w.rig.Prepare(w.ctx, true, w.model())
		w.must(err, "prepare")
		ctx, cancel := context.WithCancel(w.ctx)
		left := w.rng.IntN(4)
		w.rig.Reached = func(string) {
			if left--; left < 0 {
				cancel()
			}
		}
		_ = w.rig.Committer.Commit(ctx, cp.ID) // whatever it came to
		cancel()
		w.rig.Reached = func(string) {}
	case 96, 97: // committed, and then the newest checkpoint is lost
		for _, id := range w.ids() {
			w.transaction(id)
		}
		_, err := w.rig.Checkpoint(w.ctx, w.model())
		w.must(err, "checkpoint")
		if n := len(w.rig.Checkpoints); n > 1 {
			w.rig.Checkpoints = w.rig.Checkpoints[:n-1]
		}
	}
	w.rig.Crash()
	if n := len(w.rig.Checkpoints); n > 0 {
		w.tables = map[schema.TableID]*Source{}
		for id, s := range w.rig.Checkpoints[n-1].Model.(map[schema.TableID]*Source) {
			w.tables[id] = s.clone()
		}
	} else {
		for _, s := range w.tables { // nothing was read yet
			s.rows, s.staged = nil, false
		}
	}
	w.start()
	for _, id := range w.ids() { // a snapshot without a key begins anew after a crash
		if s := w.tables[id]; s.staged {
			w.must(w.rig.Change(w.ctx, id, &schema.Change{Kind: schema.ChangeReset, Table: s.Def.ID, Before: s.Def, After: s.Def, Staged: true}), "reset")
			s.rows = nil
		}
	}
}

// finish ends open snapshots, commits, and compares once more.
func (w *world) finish() {
	for _, id := range w.ids() {
		w.endStaged(id)
	}
	_, err := w.rig.Checkpoint(w.ctx, w.model())
	w.must(err, "checkpoint")
	w.compare(-1)
	w.rig.Crash()
}

// compare reads every table and compares it with the newest committed checkpoint.
func (w *world) compare(step int) {
	w.t.Helper()
	n := len(w.rig.Checkpoints)
	if n == 0 {
		return
	}
	cp := w.rig.Checkpoints[n-1]
	for id, s := range cp.Model.(map[schema.TableID]*Source) {
		got, pos, err := w.rig.Read(w.ctx, s.Def, id)
		w.must(err, fmt.Sprintf("step %d, checkpoint %d: reading %s", step, cp.ID, id))
		slices.Sort(got)
		if want := s.visible(); !slices.Equal(got, want) {
			w.t.Fatalf("step %d, checkpoint %d: table %s\n got %q\nwant %q", step, cp.ID, id, got, want)
		}
		if pos > cp.Position {
			w.t.Fatalf("step %d, checkpoint %d at %d: table %s says position %d", step, cp.ID, cp.Position, id, pos)
		}
	}
}
