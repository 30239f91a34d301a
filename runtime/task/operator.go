package task

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/exchange"
)

// Listener hears what happens in a subtask. Calls come from the subtask's goroutine
// (Committed of a source's chain: from the caller of Complete) and may block until the attempt ends.
type Listener interface {
	// Snapshotted gives the snapshots of all stages for a checkpoint: the
	// listener uploads them in the background, then acknowledges.
	Snapshotted(task int, id int64, snaps []Snapshot)
	// Committed says that the commits of a checkpoint are done.
	Committed(task int, id int64)
	// Finished says that a source has reached the end of its input.
	Finished(task int)
}

// Runner is a subtask. Open, Run and Close are called in this order from one
// goroutine; the others from any.
type Runner interface {
	Open(ctx context.Context) error
	Run(ctx context.Context) error
	Close() error
	// Abort says that checkpoint id was given up.
	Abort(id int64)
	// Complete says that checkpoint id is published: commit.
	Complete(ctx context.Context, id int64) error
	// Drain releases what is left in the subtask's queues. Shut makes its
	// producers stop waiting; Drain includes it and is called last.
	Shut()
	Drain()
}

// Base is what operators and sources have in common.
type Base struct {
	// Index is the number of the subtask in the job.
	Index    int
	Chain    *Chain
	Listener Listener
	Counters *Counters
}

// Operator is a subtask that is fed by a gate.
type Operator[In any] struct {
	Base
	Gate *exchange.Gate[In]
	// Receive hands an element to the first stage.
	Receive func(ctx context.Context, elem In) error

	aligner *checkpoint.Aligner
	started time.Time // of the present alignment
	mail    mailbox
	ended   bool
}

// mailbox holds what the coordinator wants from a subtask. A newer checkpoint
// stands for the older ones, so it never grows.
type mailbox struct {
	full     atomic.Bool
	mu       sync.Mutex
	abort    int64
	complete int64
}

func (m *mailbox) put(dst *int64, id int64) {
	m.mu.Lock()
	*dst = max(*dst, id)
	m.full.Store(true)
	m.mu.Unlock()
}

func (m *mailbox) take() (abort, complete int64) {
	m.mu.Lock()
	abort, complete, m.abort, m.complete = m.abort, m.complete, 0, 0
	m.full.Store(false)
	m.mu.Unlock()
	return abort, complete
}

// Open opens the chain.
func (o *Operator[In]) Open(ctx context.Context) error {
	o.aligner = checkpoint.NewAligner(o.Gate.Inputs())
	return o.Chain.Open(ctx)
}

// Close closes the chain.
func (o *Operator[In]) Close() error { return o.Chain.Close() }

// Abort implements Runner.
func (o *Operator[In]) Abort(id int64) {
	o.mail.put(&o.mail.abort, id)
	o.Gate.Wake()
}

// Complete implements Runner: the commits run in the subtask's goroutine.
func (o *Operator[In]) Complete(_ context.Context, id int64) error {
	o.mail.put(&o.mail.complete, id)
	o.Gate.Wake()
	return nil
}

// Shut implements Runner. The full mailbox ends the batch under way.
func (o *Operator[In]) Shut() {
	o.mail.put(&o.mail.abort, 0)
	o.Gate.Close()
}

// Drain implements Runner.
func (o *Operator[In]) Drain() { o.Gate.Drain() }

// Run processes elements and marks until ctx is done (its cause is the error),
// an operator fails, or all inputs have ended (nil).
func (o *Operator[In]) Run(ctx context.Context) (err error) {
	defer o.Chain.flush()
	defer o.Chain.recover(&err)
	for !o.ended {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if o.mail.full.Load() {
			if err := o.readMail(ctx); err != nil {
				return err
			}
		}
		in := o.Gate.Poll()
		if in == nil {
			o.Chain.flush()
			if err := o.Gate.Wait(ctx); err != nil {
				return err
			}
			continue
		}
		for elem, ok := in.Take(); ok; elem, ok = in.Take() {
			if err := o.Receive(ctx, elem); err != nil {
				return err
			}
			if o.mail.full.Load() {
				break
			}
		}
		if mark, ok := in.TakeMark(); ok {
			if err := o.mark(ctx, in.Index, mark); err != nil {
				return err
			}
		}
	}
	o.Chain.mark(exchange.Mark{Kind: exchange.End})
	return nil
}

func (o *Operator[In]) readMail(ctx context.Context) error {
	abort, complete := o.mail.take()
	if abort != 0 {
		if err := o.do(ctx, o.aligner.Abort(abort)); err != nil {
			return err
		}
	}
	if complete == 0 {
		return nil
	}
	if err := o.Chain.Complete(ctx, complete); err != nil {
		return err
	}
	o.Listener.Committed(o.Index, complete)
	return nil
}

func (o *Operator[In]) mark(ctx context.Context, input int, m exchange.Mark) error {
	if m.Kind == exchange.End {
		return o.do(ctx, o.aligner.End(input))
	}
	if o.aligner.Current() != m.Value {
		o.started = time.Now()
	}
	return o.do(ctx, o.aligner.Barrier(input, m.Value))
}

func (o *Operator[In]) do(ctx context.Context, actions []checkpoint.AlignAction) error {
	for _, a := range actions {
		switch a.Kind {
		case checkpoint.AlignBlock:
			o.Gate.Block(a.Input)
		case checkpoint.AlignUnblock:
			for i := range o.Gate.Inputs() {
				o.Gate.Unblock(i)
			}
		case checkpoint.AlignComplete:
			o.Counters.AlignNanos.Store(int64(time.Since(o.started)))
			snaps, err := o.Chain.Barrier(ctx, a.ID)
			if err != nil {
				return err
			}
			o.Listener.Snapshotted(o.Index, a.ID, snaps)
		case checkpoint.AlignEnded:
			o.ended = true
		}
	}
	return nil
}
