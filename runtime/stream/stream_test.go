package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/restart"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/runtime/stream"
	"github.com/freshet-cdc/freshet/runtime/task"
)

// sourceFunc is a source made of a function, without state.
type sourceFunc[T any] func(ctx context.Context, sc stream.Context, out stream.SourceOutput[T]) ([]byte, error)

func (f sourceFunc[T]) Run(ctx context.Context, sc stream.Context, out stream.SourceOutput[T]) ([]byte, error) {
	return f(ctx, sc, out)
}
func (f sourceFunc[T]) CheckpointComplete(int64, int64) {}

// endless emits until ctx is done and answers every trigger.
func endless[T any](next func() T) func() stream.Source[T] {
	return func() stream.Source[T] {
		return sourceFunc[T](func(ctx context.Context, _ stream.Context, out stream.SourceOutput[T]) ([]byte, error) {
			for {
				select {
				case id := <-out.Triggers():
					if err := out.Barrier(ctx, id, []byte{1}); err != nil {
						return nil, err
					}
				default:
				}
				if err := out.Emit(ctx, next()); err != nil {
					return nil, err
				}
			}
		})
	}
}

func each[T any](f func(T) error) func() stream.Operator[T, stream.Nothing] {
	return func() stream.Operator[T, stream.Nothing] {
		return stream.Func[T, stream.Nothing](func(_ context.Context, elem T, _ stream.Collector[stream.Nothing]) error { return f(elem) })
	}
}

func one() int { return 1 }

func quick() stream.Restart {
	return stream.Restart{Policy: restart.Policy{Initial: time.Millisecond, Max: time.Millisecond}}
}

func TestPanicNamesTheOperator(t *testing.T) {
	for _, part := range []stream.Partitioner[int]{stream.Forward[int](), stream.Rebalance[int]()} {
		env := stream.New(stream.Config{})
		s := stream.From(env, "src", 1, endless(one))
		s = stream.Process(s, "fine", 1, stream.Forward[int](), func() stream.Operator[int, int] {
			return stream.Func[int, int](func(ctx context.Context, n int, out stream.Collector[int]) error {
				return out.Collect(ctx, n)
			})
		})
		stream.Process(s, "broken", 1, part, each(func(int) error { panic("boom") }))
		err := env.Run(t.Context())
		var named *task.Error
		var panicked *task.PanicError
		if !errors.As(err, &named) || named.UID != "broken" || !errors.As(err, &panicked) || panicked.Value != "boom" {
			t.Errorf("%T: got %v", part, err)
		}
		if panicked != nil && !strings.Contains(string(panicked.Stack), "TestPanicNamesTheOperator") {
			t.Errorf("the stack does not show where it happened:\n%s", panicked.Stack)
		}
	}
	env := stream.New(stream.Config{})
	stream.From(env, "src", 1, func() stream.Source[int] {
		return sourceFunc[int](func(context.Context, stream.Context, stream.SourceOutput[int]) ([]byte, error) { panic("boom") })
	})
	if err := env.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `operator "src", subtask 0: panic: boom`) {
		t.Errorf("got %v", err)
	}
}

// counted resources: every one that was made must be released once.
type resource struct{ live *atomic.Int64 }

func newResource(live *atomic.Int64) resource { live.Add(1); return resource{live} }
func (r resource) Release()                   { r.live.Add(-1) }
func (r resource) Retain()                    { r.live.Add(1) }

// half splits an element over the first two subtasks.
type half struct{}

func (half) Route(r resource, parallelism int, emit func(int, resource)) {
	r.Retain()
	emit(0, r)
	emit(1, r)
}

func TestEverythingIsReleased(t *testing.T) {
	for _, part := range []stream.Partitioner[resource]{half{}, stream.Broadcast[resource](), stream.Rebalance[resource]()} {
		var live, seen atomic.Int64
		env := stream.New(stream.Config{Parallelism: 2, Queue: exchange.Limits{Elements: 10}})
		s := stream.From(env, "src", 1, endless(func() resource { return newResource(&live) }))
		stream.Process(s, "a", 2, part, each(func(r resource) error {
			r.Release()
			if seen.Add(1) == 5000 {
				return errors.New("enough")
			}
			return nil
		}))
		// A second consumer, slower, whose queues are full when the first fails.
		stream.Process(s, "b", 2, part, each(func(r resource) error {
			r.Release()
			time.Sleep(time.Microsecond)
			return nil
		}))
		err := env.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "enough") {
			t.Fatalf("got %v", err)
		}
		if n := live.Load(); n != 0 {
			t.Errorf("%T: %d elements were not released", part, n)
		}
	}
}

func TestBackPressureReachesTheSource(t *testing.T) {
	var made, used atomic.Int64
	release := make(chan struct{})
	env := stream.New(stream.Config{Queue: exchange.Limits{Elements: 10}, Metrics: &stream.Metrics{}})
	s := stream.From(env, "src", 1, endless(func() int { made.Add(1); return 1 }))
	stream.Process(s, "slow", 1, stream.Rebalance[int](), each(func(int) error { used.Add(1); <-release; return nil }))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- env.Run(ctx) }()
	time.Sleep(50 * time.Millisecond)
	// One in the operator, up to ten taken with it, ten queued, one in Emit.
	if m, u := made.Load(), used.Load(); u != 1 || m > 22 {
		t.Errorf("%d made, %d used", m, u)
	}
	cancel()
	close(release)
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCorruptCheckpointFallsBack(t *testing.T) {
	j := newJob(t, 1)
	j.total, j.pace = 30_000, 300*time.Microsecond
	env := j.env()
	j.notified = func(id int64) {
		if id == 3 {
			env.Stop()
		}
	}
	if err := env.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	newest := j.store.latest(t).ID
	j.store.corrupt[newest] = true
	// A committed checkpoint is lost, so rows come twice; what matters here is
	// which checkpoint is taken and that it is said.
	var log bytes.Buffer
	env = stream.New(stream.Config{
		Checkpoint: stream.Checkpoint{Store: j.store},
		Backend:    memory.NewBackend(memory.Options{}), AllowNonRestoredState: true,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	var restored int64
	stream.From(env, "numbers", 1, func() stream.Source[int] {
		return sourceFunc[int](func(_ context.Context, sc stream.Context, _ stream.SourceOutput[int]) ([]byte, error) {
			restored = sc.RestoredID
			return nil, nil
		})
	})
	if err := env.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if restored != newest-1 {
		t.Errorf("restored %d, want %d", restored, newest-1)
	}
	for _, want := range []string{fmt.Sprintf("restored=%d", newest-1), fmt.Sprintf("corrupt: checkpoint %d", newest)} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
	if got := j.store.latest(t).ID; got != newest+1 {
		t.Errorf("the next checkpoint got id %d, want %d", got, newest+1)
	}
	for id := range j.store.saved {
		j.store.corrupt[id] = true
	}
	if err := j.env().Run(t.Context()); !errors.Is(err, stream.ErrUnreadable) || !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("with nothing readable: %v", err)
	}
}

func TestFencedEndsForGood(t *testing.T) {
	j := newJob(t, 1)
	j.store.before = func() error { return checkpoint.ErrFenced }
	j.tolerable = 100
	if err := j.env().Run(t.Context()); !errors.Is(err, checkpoint.ErrFenced) {
		t.Fatal(err)
	}
	if n := j.metrics.Restarts.Load(); n != 0 {
		t.Errorf("%d restarts", n)
	}
}

type permanentError struct{ error }

func (permanentError) Permanent() bool { return true }

func TestPermanentErrorsAreNotRetried(t *testing.T) {
	for _, hook := range []bool{false, true} {
		runs := 0
		cfg := stream.Config{Checkpoint: stream.Checkpoint{Store: newMemStore(t)}, Restart: quick()}
		fail := error(permanentError{errors.New("wrong password")})
		if hook {
			fail = errors.New("wrong password")
			cfg.Restart.Permanent = func(err error) bool { return strings.Contains(err.Error(), "password") }
		}
		env := stream.New(cfg)
		stream.From(env, "src", 1, func() stream.Source[int] {
			return sourceFunc[int](func(context.Context, stream.Context, stream.SourceOutput[int]) ([]byte, error) {
				runs++
				return nil, fail
			})
		})
		if err := env.Run(t.Context()); !errors.Is(err, fail) || runs != 1 {
			t.Errorf("hook %v: %d runs, %v", hook, runs, err)
		}
	}
}

func TestStopWhileFailing(t *testing.T) {
	env := stream.New(stream.Config{
		Checkpoint: stream.Checkpoint{Store: newMemStore(t)},
		Restart:    stream.Restart{Policy: restart.Policy{Initial: time.Hour, Max: time.Hour}},
	})
	boom := errors.New("boom")
	failed := make(chan struct{})
	stream.From(env, "src", 1, func() stream.Source[int] {
		return sourceFunc[int](func(context.Context, stream.Context, stream.SourceOutput[int]) ([]byte, error) {
			close(failed)
			return nil, boom
		})
	})
	go func() { <-failed; time.Sleep(5 * time.Millisecond); env.Stop() }()
	if err := env.Run(t.Context()); !errors.Is(err, stream.ErrStopped) || !errors.Is(err, boom) {
		t.Error(err)
	}
}

// TestAbortedAlignmentUnblocks: one of two sources does not answer. When the
// checkpoint expires the other one, held back by the alignment, goes on.
func TestAbortedAlignmentUnblocks(t *testing.T) {
	m := &stream.Metrics{}
	env := stream.New(stream.Config{
		Checkpoint: stream.Checkpoint{Store: newMemStore(t), Timeout: 50 * time.Millisecond, TolerableFailures: 1 << 30},
		Queue:      exchange.Limits{Elements: 4}, Metrics: m,
	})
	var after atomic.Int64
	good := stream.From(env, "good", 1, endless(one))
	mute := stream.From(env, "mute", 1, func() stream.Source[int] {
		return sourceFunc[int](func(ctx context.Context, _ stream.Context, _ stream.SourceOutput[int]) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	})
	stream.Process(stream.Union(good, mute), "op", 1, stream.Forward[int](), each(func(int) error {
		if m.Failed.Load() > 0 {
			after.Add(1)
		}
		return nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- env.Run(ctx) }()
	env.RequestCheckpoint()
	for deadline := time.Now().Add(time.Minute); after.Load() < 1000; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("the blocked input never went on")
			break
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// rememberer uses keyed state only when it is told to.
type rememberer struct {
	stream.Func[int, stream.Nothing]
	use  bool
	seen *string
}

func (r *rememberer) Open(_ context.Context, oc stream.Context) error {
	if !r.use {
		return nil
	}
	st, err := oc.Store()
	if err != nil {
		return err
	}
	key := append(keygroup.AppendPrefix(nil, oc.KeyGroups.First), 'k')
	old, _, err := st.Get(nil, key)
	*r.seen = string(old)
	var b state.Batch
	b.Set(key, append(old, 'x'))
	return errors.Join(err, st.Apply(&b))
}

func (r *rememberer) Process(context.Context, int, stream.Collector[stream.Nothing]) error {
	return nil
}

// TestUnopenedStateIsKept: an operator that does not touch its store in one run
// still has its content in the next. The source keeps state the same way.
func TestUnopenedStateIsKept(t *testing.T) {
	store := newMemStore(t)
	for i, want := range []string{"", "x", "", "xx"} {
		seen, sourceSeen := "", ""
		env := stream.New(stream.Config{Checkpoint: stream.Checkpoint{Store: store}, Backend: memory.NewBackend(memory.Options{})})
		s := stream.From(env, "src", 1, func() stream.Source[int] {
			return sourceFunc[int](func(ctx context.Context, sc stream.Context, _ stream.SourceOutput[int]) ([]byte, error) {
				r := rememberer{use: i != 2, seen: &sourceSeen}
				return nil, r.Open(ctx, sc)
			})
		})
		stream.Process(s, "op", 1, stream.Rebalance[int](), func() stream.Operator[int, stream.Nothing] {
			return &rememberer{use: i != 2, seen: &seen}
		})
		if err := env.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen != want || sourceSeen != want {
			t.Errorf("run %d: operator has %q, source %q, want %q", i, seen, sourceSeen, want)
		}
	}
}

func TestStateWithoutOperator(t *testing.T) {
	j := newJob(t, 1)
	j.total = 10
	if err := j.env().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	env := stream.New(stream.Config{Checkpoint: stream.Checkpoint{Store: j.store}, Backend: memory.NewBackend(memory.Options{})})
	stream.From(env, "numbers", 1, endless(one))
	if err := env.Run(t.Context()); !errors.Is(err, stream.ErrState) || !strings.Contains(err.Error(), `operator "`) {
		t.Errorf("got %v", err)
	}
	cfg := stream.Config{Checkpoint: stream.Checkpoint{Store: j.store}, MaxParallelism: 64, AllowNonRestoredState: true}
	env = stream.New(cfg)
	stream.From(env, "numbers", 1, endless(one))
	if err := env.Run(t.Context()); !errors.Is(err, stream.ErrState) || !strings.Contains(err.Error(), "max parallelism") {
		t.Errorf("got %v", err)
	}
}

func TestCheckFindsEverything(t *testing.T) {
	env := stream.New(stream.Config{Checkpoint: stream.Checkpoint{Interval: time.Second}})
	s := stream.From(env, "a", 2, endless(one))
	stream.Process(s, "a", 1, stream.Forward[int](), each(func(int) error { return nil }))
	stream.Process(s, "", 0, stream.Rebalance[int](), each(func(int) error { return nil }))
	r := stream.From(env, "r", 1, endless(func() *onlyRelease { return nil }))
	stream.Process(r, "r1", 1, stream.Forward[*onlyRelease](), each(func(*onlyRelease) error { return nil }))
	stream.Process(r, "r2", 2, stream.Broadcast[*onlyRelease](), each(func(*onlyRelease) error { return nil }))
	err := env.Run(t.Context())
	if !errors.Is(err, stream.ErrConfig) {
		t.Fatal(err)
	}
	for _, want := range []string{"needs a checkpoint store", "uid is missing", "used twice", "forward from", "2 consumers share", "broadcast of elements"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported in:\n%v", want, err)
		}
	}
}

type onlyRelease struct{}

func (*onlyRelease) Release() {}

// TestMetrics: counts are exact once the job has ended, and elements count by weight.
func TestMetrics(t *testing.T) {
	m := &stream.Metrics{}
	env := stream.New(stream.Config{Metrics: m, Parallelism: 2})
	s := stream.From(env, "src", 1, func() stream.Source[weighty] {
		return sourceFunc[weighty](func(ctx context.Context, _ stream.Context, out stream.SourceOutput[weighty]) ([]byte, error) {
			for range 1001 {
				if err := out.Emit(ctx, weighty{}); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
	})
	stream.Process(s, "end", 0, stream.Rebalance[weighty](), each(func(weighty) error { return nil }))
	if err := env.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, st := range m.Subtasks() {
		got[fmt.Sprintf("%s/%d in", st.UID, st.Subtask)] = st.RecordsIn
		got[fmt.Sprintf("%s/%d out", st.UID, st.Subtask)] = st.RecordsOut
		got["bytes"] += st.BytesOut
	}
	want := map[string]int64{"src/0 in": 0, "src/0 out": 3003, "end/0 in": 1503, "end/1 in": 1500, "end/0 out": 0, "end/1 out": 0, "bytes": 7007}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %d, want %d", k, got[k], v)
		}
	}
	if m.Completed.Load() != 1 || m.LastID.Load() != 1 || m.Running.Load() {
		t.Errorf("completed %d, last %d, running %v", m.Completed.Load(), m.LastID.Load(), m.Running.Load())
	}
}

type weighty struct{}

func (weighty) Weight() (records, bytes int) { return 3, 7 }
