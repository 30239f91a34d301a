package stream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/restart"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/runtime/stream"
)

// job is numbers -> counter -> sink at one parallelism.
type job struct {
	store       *memStore
	checkpoints checkpoint.Store // the store, unless another one is set
	backend     state.Backend
	reached     func(string)
	target      *target
	chaos       *chaos
	parallelism int
	total       int64
	pace        time.Duration
	metrics     stream.Metrics
	tolerable   int
	interval    time.Duration
	notified    func(id int64)
	wrongNotify error
}

func newJob(t testing.TB, parallelism int) *job {
	store := newMemStore(t)
	return &job{store: store, checkpoints: store, backend: memory.NewBackend(memory.Options{}), target: &target{done: map[string]bool{}}, parallelism: parallelism, interval: 5 * time.Millisecond, tolerable: 1}
}

func (j *job) env() *stream.Env {
	cfg := stream.Config{
		Name: "numbers", Parallelism: j.parallelism, MaxParallelism: 128,
		Backend:    j.backend,
		Reached:    j.reached,
		Checkpoint: stream.Checkpoint{Store: j.checkpoints, Interval: j.interval, TolerableFailures: j.tolerable},
		Restart:    stream.Restart{Policy: restart.Policy{Initial: time.Millisecond, Max: 2 * time.Millisecond}},
		Queue:      exchange.Limits{Elements: 64},
		Metrics:    &j.metrics,
	}
	if os.Getenv("STREAM_TEST_LOG") != "" {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	env := stream.New(cfg)
	src := stream.From(env, "numbers", min(j.parallelism, partitions), func() stream.Source[value] {
		return &numbers{total: j.total, keys: 37, chaos: j.chaos, pace: j.pace, complete: j.complete}
	})
	// Chained to the source: its commits run beside the source's goroutine.
	same := stream.Process(src, "same", min(j.parallelism, partitions), stream.Forward[value](), func() stream.Operator[value, value] {
		return &passer{chaos: j.chaos}
	})
	counts := stream.Process(same, "count", 0, stream.KeyBy(value.hash), func() stream.Operator[value, counted] {
		return &counter{chaos: j.chaos}
	})
	stream.Process(counts, "sink", 0, stream.Rebalance[counted](), func() stream.Operator[counted, stream.Nothing] {
		return &sink{target: j.target, chaos: j.chaos}
	})
	return env
}

// complete checks that a source hears of a checkpoint only after all commits.
func (j *job) complete(id, oldest int64) {
	j.target.mu.Lock()
	defer j.target.mu.Unlock()
	for i := range j.parallelism {
		if !j.target.done[txName(id, i)] {
			j.wrongNotify = fmt.Errorf("source was told of checkpoint %d before sink %d committed", id, i)
		}
	}
	if oldest > id || oldest < id-100_000 {
		j.wrongNotify = fmt.Errorf("oldest checkpoint %d of %d", oldest, id)
	}
	if j.notified != nil {
		j.notified(id)
	}
}

// passer hands elements on, and fails now and then.
type passer struct {
	stream.Func[value, value]
	chaos *chaos
	calls int
}

func (p *passer) Process(ctx context.Context, v value, out stream.Collector[value]) error {
	if err := p.chaos.at("chained", 20_000, true); err != nil {
		return err
	}
	p.calls++
	return out.Collect(ctx, v)
}

func (p *passer) CheckpointComplete(context.Context, int64) error {
	p.calls++ // together with Process: the race detector watches
	return p.chaos.at("chained commit", 80, true)
}

func TestExactlyOnceUnderFailures(t *testing.T) {
	for _, parallelism := range []int{1, 2, 4} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("p=%d/seed=%d", parallelism, seed), func(t *testing.T) {
				j := newJob(t, parallelism)
				j.chaos = newChaos(seed, 40)
				j.total, j.pace = 20_000, 200*time.Microsecond
				j.store.before = func() error { return j.chaos.at("publish", 20, false) }
				j.store.after = func() error { return j.chaos.at("publish, then visible", 20, false) }
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := j.env().Run(ctx)
				if err != nil && !errors.Is(err, errChaos) { // the last Close may be what was hit
					t.Fatal(err)
				}
				if j.wrongNotify != nil {
					t.Fatal(j.wrongNotify)
				}
				j.target.verify(t, j.total)
				t.Logf("%d restarts, %d checkpoints, %d failed, hits %v", j.metrics.Restarts.Load(), j.metrics.Completed.Load(), j.metrics.Failed.Load(), j.chaos.hits)
				if j.metrics.Restarts.Load() == 0 {
					t.Error("nothing failed: the test shows nothing")
				}
			})
		}
	}
}

// TestUploadFailures: an upload that fails declines the checkpoint, which is
// tolerated so often in a row.
func TestUploadFailures(t *testing.T) {
	j := newJob(t, 2)
	j.total, j.pace, j.tolerable = 10_000, 200*time.Microsecond, 1000
	j.store.files.FailAfter(1, errChaos) // so that the job can't end before
	done := make(chan error, 1)
	go func() { done <- j.env().Run(t.Context()) }()
	for j.metrics.Failed.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	j.store.files.FailAfter(0, nil)
	if err := <-done; err != nil { // the last checkpoint is repeated until it succeeds
		t.Fatal(err)
	}
	j.target.verify(t, j.total)
	if j.metrics.Failed.Load() == 0 || j.metrics.Restarts.Load() != 0 || len(j.store.aborted) == 0 {
		t.Errorf("%d failed, %d restarts, aborted %v", j.metrics.Failed.Load(), j.metrics.Restarts.Load(), j.store.aborted)
	}
}

// TestStopAndResume stops a job several times and goes on at another parallelism.
func TestStopAndResume(t *testing.T) {
	j := newJob(t, 1)
	j.total, j.pace = 40_000, 500*time.Microsecond
	for i, parallelism := range []int{1, 4, 2, 3} {
		j.parallelism = parallelism
		env := j.env()
		done := make(chan error, 1)
		go func() { done <- env.Run(t.Context()) }()
		if i < 3 {
			time.Sleep(25 * time.Millisecond)
			env.Stop()
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if j.wrongNotify != nil {
			t.Fatal(j.wrongNotify)
		}
		if rows := len(j.target.rows); i < 3 && (rows == 0 || rows >= int(j.total)) {
			t.Fatalf("run %d: stopped with %d rows", i, rows)
		}
		// What was committed is exactly what the last checkpoint stands for.
		if m := j.store.latest(t); m.ID != j.metrics.LastID.Load() {
			t.Fatalf("newest checkpoint %d, metrics say %d", m.ID, j.metrics.LastID.Load())
		}
	}
	j.target.verify(t, j.total)
	// Once more: everything has ended, so it ends again without a row.
	if err := j.env().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.target.verify(t, j.total)
}

func TestCancelEndsAtOnce(t *testing.T) {
	j := newJob(t, 2)
	j.total, j.pace = 30_000, time.Millisecond // 300 ms at least
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- j.env().Run(ctx) }()
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %v", d)
	}
	if j.store.latest(t).ID == 0 || len(j.target.rows) >= int(j.total) {
		t.Fatal("the job was not in the middle")
	}
	if err := j.env().Run(t.Context()); err != nil { // goes on from its checkpoint
		t.Fatal(err)
	}
	j.target.verify(t, j.total)
}
