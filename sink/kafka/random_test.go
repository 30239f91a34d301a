package kafka

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/sinktest"
)

// world is a random run: the log of a source, and the rig that drives the sink.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	rig    *sinktest.Rig
	mem    *memory.CheckedAllocator
	tables []*schema.Table
	log    []string // what a consumer must see of each change
	next   int
	open   int // prepared and not committed
	reader *consumer
}

// TestRandom: whatever crashes where, a consumer of committed messages sees the changes
// up to the newest committed checkpoint, each once, and those of a key in order.
func TestRandom(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			versions(t, func(t *testing.T, k brokers) {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 5)), mem: mem, rig: sinktest.NewRig(t, open(t, k, nil), mem),
					tables: []*schema.Table{table("t0", "id"), table("t1", "id"), table("t2")}}
				w.start()
				w.reader = consume(t, k, "s.t0", "s.t1", "s.t2")
				for range 80 {
					w.step()
				}
				w.checkpoint()
				w.rig.Crash()
				mem.AssertSize(t, 0)
			})
		})
	}
}

func (w *world) start() {
	w.t.Helper()
	start(w.t, w.rig, 1+w.rng.IntN(3), w.tables...)
	w.open = 0
}

func (w *world) step() {
	w.t.Helper()
	switch n := w.rng.IntN(100); {
	case n < 60:
		w.transaction()
	case n < 68:
		w.evolve()
	case n < 82:
		w.checkpoint()
	case n < 88: // published or aborted, committed with a later one
		if w.open++; w.open < 4 {
			_, err := w.rig.Prepare(w.t.Context(), n < 85, slices.Clone(w.log))
			must(w.t, err)
		}
	default:
		w.crash(n)
	}
}

// transaction changes rows of a table.
func (w *world) transaction() {
	w.t.Helper()
	def := w.tables[w.rng.IntN(len(w.tables))]
	var rows []row
	for range 1 + w.rng.IntN(8) {
		w.next++
		r := row{op: schema.OpInsert, id: w.rng.IntN(6), n: w.next, txt: "x"}
		if def.HasKey() {
			r.op = []schema.Op{schema.OpInsert, schema.OpUpdate, schema.OpDelete, schema.OpRead}[w.rng.IntN(4)]
		}
		rows = append(rows, r)
		w.log = append(w.log, message{topic: "s." + def.ID.Table, op: string(rune(r.op)), n: r.n}.String())
	}
	write(w.t, w.rig, def, rows...)
}

// evolve adds a column.
func (w *world) evolve() {
	w.t.Helper()
	i := w.rng.IntN(len(w.tables))
	before, after := w.tables[i], w.tables[i].Clone()
	added := column(fmt.Sprintf("c%d", len(after.Columns)), schema.Varchar(10), "varchar(10)")
	after.Columns = append(after.Columns, added)
	after.Version++
	w.tables[i] = after
	must(w.t, w.rig.Change(w.t.Context(), after.ID, &schema.Change{Kind: schema.ChangeAddColumn, Table: after.ID, Before: before, After: after, Columns: []schema.Column{added}}))
}

func (w *world) checkpoint() {
	w.t.Helper()
	_, err := w.rig.Checkpoint(w.t.Context(), slices.Clone(w.log))
	must(w.t, err)
	w.open = 0
	w.compare()
}

// crash ends the attempt at some place and starts the next one.
func (w *world) crash(kind int) {
	w.t.Helper()
	switch kind {
	case 88, 89: // a checkpoint that was not published
		_, err := w.rig.Prepare(w.t.Context(), false, nil)
		must(w.t, err)
	case 90, 91, 92: // published, not committed
		_, err := w.rig.Prepare(w.t.Context(), true, slices.Clone(w.log))
		must(w.t, err)
	case 93, 94, 95: // in the middle of the commit
		cp, err := w.rig.Prepare(w.t.Context(), true, slices.Clone(w.log))
		must(w.t, err)
		ctx, cancel := context.WithCancel(w.t.Context())
		left := w.rng.IntN(3)
		w.rig.Reached = func(string) {
			if left--; left < 0 {
				cancel()
			}
		}
		_ = w.rig.Committer.Commit(ctx, cp.ID) // whatever it came to
		cancel()
		w.rig.Reached = func(string) {}
	}
	w.rig.Crash()
	w.log = nil
	if n := len(w.rig.Checkpoints); n > 0 {
		w.log = slices.Clone(w.rig.Checkpoints[n-1].Model.([]string))
	}
	w.start()
	w.compare()
}

// compare reads everything and compares it with the newest published checkpoint, which is
// committed now.
func (w *world) compare() {
	w.t.Helper()
	n := len(w.rig.Checkpoints)
	if n == 0 {
		return
	}
	want := slices.Clone(w.rig.Checkpoints[n-1].Model.([]string))
	slices.Sort(want)
	deletes := 0
	for _, text := range want {
		if text[len("s.t0 ")] == 'd' {
			deletes++
		}
	}
	seen := w.reader.read(len(want) + deletes)
	if got := texts(seen); !slices.Equal(got, want) || len(seen) != len(want)+deletes {
		w.t.Fatalf("checkpoint %d: %d messages, want %d and %d tombstones\n got %q\nwant %q", w.rig.Checkpoints[n-1].ID, len(seen), len(want), deletes, got, want)
	}
	last := map[string]message{}
	for _, m := range seen {
		if m.key == "" {
			continue
		}
		before, ok := last[m.topic+m.key]
		if ok && before.partition != m.partition || m.tombstone && before.op != "d" || !m.tombstone && before.n >= m.n {
			w.t.Fatalf("%v, %s in partition %d comes behind %v in %d", m, m.key, m.partition, before, before.partition)
		}
		last[m.topic+m.key] = m
		if m.tombstone {
			last[m.topic+m.key] = message{n: before.n, partition: m.partition}
		}
	}
}
