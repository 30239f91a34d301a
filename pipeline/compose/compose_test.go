package compose

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/runtime/checkpoint/filestore"
	"github.com/freshet-cdc/freshet/runtime/restart"
	statememory "github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/runtime/stream"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

func router(t *testing.T, rules ...match.Rule) *match.Router {
	t.Helper()
	r, err := match.NewRouter(rules, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newJob makes a job over the checkpoints in dir.
func newJob(t *testing.T, dir string, src *script, snk *shelf, parallelism int, rules ...match.Rule) *Job {
	t.Helper()
	store, err := filestore.New(filestore.Options{Dir: dir, Pipeline: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if src.mem == nil {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		t.Cleanup(func() { mem.AssertSize(t, 0) })
		src.mem = mem
	}
	job, err := New(Config{
		Name: "test", Source: src, Sink: snk, Router: router(t, rules...), Parallelism: parallelism,
		Engine: stream.Config{
			Checkpoint: stream.Checkpoint{Store: store, Interval: 5 * time.Millisecond},
			Backend:    statememory.NewBackend(statememory.Options{}),
			Restart:    stream.Restart{Policy: restart.Policy{Initial: time.Millisecond, Max: time.Millisecond}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func withID(table string, key ...string) *schema.Table {
	t := orders.WithID(schema.TableID{Schema: "public", Table: table})
	t.PrimaryKey = key
	return t
}

// TestBoundedLog: all rows of a log that ends are committed once, each key by
// one writer, and the source hears of it.
func TestBoundedLog(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, parallelism := range []int{1, 3} {
		src := &script{tables: []*schema.Table{orders, withID("views")}, end: 50, bound: true}
		snk := &shelf{}
		job := newJob(t, t.TempDir(), src, snk, parallelism,
			match.Rule{Source: "public.orders", Sink: "lake.a"}, match.Rule{Source: `public.(\.*)`, Sink: "lake.$1_2"})
		if err := job.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if lost, doubled := snk.missing([]string{"lake.a", "lake.orders_2", "lake.views_2"}, 50); lost+doubled > 0 {
			t.Errorf("parallelism %d: %d lost, %d doubled", parallelism, lost, doubled)
		}
		if snk.position != 50 || snk.changes != 3*parallelism || len(src.confirmed) == 0 {
			t.Errorf("position %d, %d changes, %d confirmed", snk.position, snk.changes, len(src.confirmed))
		}
		if order := snk.order(); order[0] != "committer" {
			t.Errorf("opened in the order %v", order)
		}
		used := map[int]bool{}
		for key, writers := range snk.writers {
			if len(writers) != 1 {
				t.Errorf("%s was written by %v", key, writers)
			}
			for w := range writers {
				used[w] = true
			}
		}
		if len(used) != parallelism {
			t.Errorf("%d of %d writers were used", len(used), parallelism)
		}
	}
}

// TestFailuresAndRestarts: failures at random points, restarts in the process
// and with other parallelism, then nothing is lost or doubled.
func TestFailuresAndRestarts(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	snk := &shelf{}
	var failures atomic.Int64
	rng := rand.New(rand.NewPCG(1, 2))
	boom := func(share int) error {
		if rng.IntN(share) == 0 {
			failures.Add(1)
			return errors.New("boom")
		}
		return nil
	}
	snk.fail = func(string) error {
		snk.mu.Lock()
		defer snk.mu.Unlock()
		return boom(4)
	}
	for i, parallelism := range []int{1, 3, 2} {
		src := &script{tables: []*schema.Table{orders}, end: uint64(100 * (i + 1))}
		src.fail = func(uint64) error {
			snk.mu.Lock()
			defer snk.mu.Unlock()
			return boom(60)
		}
		job := newJob(t, dir, src, snk, parallelism)
		done := make(chan error, 1)
		go func() { done <- job.Run(context.Background()) }()
		for !job.Progress().CaughtUp() {
			select {
			case err := <-done:
				t.Fatalf("it ended by itself: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		job.Stop()
		if err := <-done; err != nil && !errors.Is(err, stream.ErrStopped) {
			t.Fatal(err)
		}
		if job.Metrics().Restarts.Load() > 0 && job.Progress().LastError == nil {
			t.Error("the failure is not in Progress")
		}
	}
	if lost, doubled := snk.missing([]string{"public.orders"}, 300); lost+doubled > 0 || failures.Load() < 10 {
		t.Errorf("%d lost, %d doubled after %d failures", lost, doubled, failures.Load())
	}
}

// TestMergeIsRefused: two tables in one sink table end the job at once.
func TestMergeIsRefused(t *testing.T) {
	defer goleak.VerifyNone(t)
	src := &script{tables: []*schema.Table{withID("a", "id"), withID("b", "id")}, end: 5, bound: true}
	job := newJob(t, t.TempDir(), src, &shelf{}, 2, match.Rule{Source: `public.\.*`, Sink: "lake.one"})
	err := job.Run(context.Background())
	var merge *MergeError
	if !errors.As(err, &merge) || !strings.Contains(err.Error(), "public.a (route rule 1) and public.b (route rule 1) both go to lake.one") {
		t.Fatalf("%v", err)
	}
}

// TestNullKeyIsPermanent: a row without a key can't be given to a writer.
func TestNullKeyIsPermanent(t *testing.T) {
	defer goleak.VerifyNone(t)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	b := array.NewRecordBuilder(mem, orders.ArrowSchema())
	b.Field(0).AppendNull()
	b.Field(1).AppendNull()
	batch := schema.NewBatch(orders, b.NewRecordBatch())
	b.Release()
	o := &output{routes: NewRoutes(router(t)), tables: map[schema.TableID]*tableState{}, writers: 2, maxParallelism: 128}
	err := o.Emit(context.Background(), source.Element{Batch: batch})
	if !errors.Is(err, schema.ErrNullKey) || !(&Job{}).permanent(err) {
		t.Fatalf("%v", err)
	}
}

// TestSpreading: where the sink keeps nothing by key, batches go to the writers whole;
// a table whose keys had their writers once keeps that while the job runs.
func TestSpreading(t *testing.T) {
	spread := map[string]bool{"a": true, "b": false}
	var got []element
	o := &output{
		routes: NewRoutes(router(t)), tables: map[schema.TableID]*tableState{}, writers: 2, maxParallelism: 128,
		keyed: func(table *schema.Table) bool { return !spread[table.ID.Table] }, SourceOutput: collector{&got},
	}
	emit := func(table *schema.Table) element {
		t.Helper()
		if err := o.Emit(context.Background(), source.Element{Batch: numbers(memory.DefaultAllocator, table, 1, 2, 3)}); err != nil {
			t.Fatal(err)
		}
		return got[len(got)-1]
	}
	if e := emit(withID("a", "id")); e.owners != nil {
		t.Errorf("rows of a have owners: %v", e.owners)
	}
	if e := emit(withID("b", "id")); len(e.owners) != 3 {
		t.Errorf("rows of b have owners %v", e.owners)
	}
	spread["b"] = true
	if e := emit(withID("b", "id")); len(e.owners) != 3 {
		t.Errorf("rows of b have lost their writers: %v", e.owners)
	}
	spread["a"] = false
	if e := emit(withID("a", "id")); len(e.owners) != 3 {
		t.Errorf("rows of a have owners %v", e.owners)
	}
}

// collector takes what is emitted.
type collector struct{ got *[]element }

func (c collector) Emit(_ context.Context, e element) error {
	*c.got = append(*c.got, e)
	return nil
}

func (collector) Triggers() <-chan int64 { return nil }

func (collector) Barrier(context.Context, int64, []byte) error { return nil }
