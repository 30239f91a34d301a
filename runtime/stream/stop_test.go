package stream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/stream"
)

// lastWord notes what came after the last barrier.
type lastWord struct {
	stream.Func[int, stream.Nothing]
	after *int
}

func (l *lastWord) Process(context.Context, int, stream.Collector[stream.Nothing]) error {
	*l.after++
	return nil
}

func (l *lastWord) Barrier(context.Context, int64, stream.Collector[stream.Nothing]) ([]byte, error) {
	*l.after = 0
	return nil, nil
}

func (l *lastWord) CheckpointComplete(context.Context, int64) error {
	time.Sleep(10 * time.Millisecond) // time for the source to go on, if it could
	return nil
}

func TestNothingFollowsTheLastBarrier(t *testing.T) {
	after := -1
	env := stream.New(stream.Config{Checkpoint: stream.Checkpoint{Store: newMemStore(t)}})
	s := stream.From(env, "src", 1, endless(one))
	stream.Process(s, "end", 1, stream.Rebalance[int](), func() stream.Operator[int, stream.Nothing] { return &lastWord{after: &after} })
	time.AfterFunc(20*time.Millisecond, env.Stop)
	if err := env.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after != 0 {
		t.Errorf("%d elements came after the last barrier", after)
	}
}

// TestStopTriesAgain: the last checkpoint fails a few times, as tolerated. The
// source, held behind its barrier, has to go on to answer the next one.
func TestStopTriesAgain(t *testing.T) {
	j := newJob(t, 2)
	j.total, j.pace, j.tolerable, j.interval = 0, 100*time.Microsecond, 1<<30, time.Hour
	j.store.files.FailAfter(0, errChaos)
	env := j.env()
	done := make(chan error, 1)
	go func() { done <- env.Run(t.Context()) }()
	time.Sleep(20 * time.Millisecond)
	env.Stop()
	for j.metrics.Failed.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	j.store.files.FailAfter(0, nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	rows := int64(len(j.target.rows))
	if rows == 0 || j.metrics.Completed.Load() != 1 {
		t.Fatalf("%d rows, %d checkpoints", rows, j.metrics.Completed.Load())
	}
	j.total = rows + 1000 // go on to an end, beyond what any partition has reached
	for _, r := range j.target.rows {
		j.total = max(j.total, r.N+1000)
	}
	j.pace = 0
	if err := j.env().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.target.verify(t, j.total)
}

func TestRequestedAndFirstCheckpoint(t *testing.T) {
	j := newJob(t, 1)
	j.interval = time.Hour
	env := j.env()
	ids := make(chan int64, 10)
	j.notified = func(id int64) { ids <- id }
	done := make(chan error, 1)
	go func() { done <- env.Run(t.Context()) }()
	for want := range int64(2) {
		env.RequestCheckpoint()
		if id := <-ids; id != want+1 {
			t.Errorf("checkpoint %d, want %d", id, want+1)
		}
	}
	env.Stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	first := stream.New(stream.Config{Checkpoint: stream.Checkpoint{Store: newMemStore(t), Interval: time.Hour, First: time.Millisecond}})
	s := stream.From(first, "src", 1, endless(one))
	stream.Process(s, "end", 1, stream.Rebalance[int](), func() stream.Operator[int, stream.Nothing] {
		return &onCommit{func() { first.Stop() }}
	})
	if err := first.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

type onCommit struct{ f func() }

func (o *onCommit) Open(context.Context, stream.Context) error                           { return nil }
func (o *onCommit) Process(context.Context, int, stream.Collector[stream.Nothing]) error { return nil }
func (o *onCommit) Barrier(context.Context, int64, stream.Collector[stream.Nothing]) ([]byte, error) {
	return nil, nil
}
func (o *onCommit) CheckpointComplete(context.Context, int64) error { o.f(); return nil }
func (o *onCommit) Close() error                                    { return nil }

// TestIDsAreNotReused: a checkpoint that an attempt has triggered and not
// published keeps its id; the next attempt goes on behind it.
func TestIDsAreNotReused(t *testing.T) {
	var ids []int64
	env := stream.New(stream.Config{
		Checkpoint: stream.Checkpoint{Store: newMemStore(t), Interval: time.Hour, First: time.Millisecond}, Restart: quick(),
	})
	s := stream.From(env, "src", 1, endless(one))
	stream.Process(s, "end", 1, stream.Rebalance[int](), func() stream.Operator[int, stream.Nothing] {
		return &failing{ids: &ids, stop: env.Stop}
	})
	if err := env.Run(t.Context()); !errors.Is(err, stream.ErrStopped) {
		t.Fatal(err)
	}
	for i, id := range ids {
		if id != int64(i+1) {
			t.Fatalf("ids %v", ids)
		}
	}
	if len(ids) != 4 {
		t.Errorf("ids %v", ids)
	}
}

// failing fails at every barrier; at the fourth it has the job stop.
type failing struct {
	stream.Func[int, stream.Nothing]
	ids  *[]int64
	stop func()
}

func (f *failing) Process(context.Context, int, stream.Collector[stream.Nothing]) error { return nil }

func (f *failing) Barrier(_ context.Context, id int64, _ stream.Collector[stream.Nothing]) ([]byte, error) {
	if *f.ids = append(*f.ids, id); len(*f.ids) == 4 {
		f.stop()
	}
	return nil, errChaos
}
