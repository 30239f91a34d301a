package task

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/freshet-cdc/freshet/runtime/exchange"
)

// errFinish ends sources when the job is done.
var errFinish = errors.New("job is finished")

// Source is a subtask that makes its elements itself. It is what the user's
// source sees as its output.
//
// The operators chained to it run inside Emit and Barrier, so in the source's
// goroutine; their commits, which cannot wait until the source emits again, run
// in the caller of Complete. A lock keeps the two apart.
type Source[T any] struct {
	Base
	// Self names the source in errors and gives its keyed state.
	Self Stage
	// Generate is the user's source: it emits into the Source until it is done.
	Generate func(ctx context.Context) (final []byte, err error)
	// Receive hands an element to the chain or the exchange.
	Receive func(ctx context.Context, elem T) error
	// Traits are T's.
	Traits exchange.Traits[T]

	triggers chan int64
	finish   chan struct{}
	held     atomic.Bool

	mu       sync.Mutex // guards what follows
	wanted   int64      // the checkpoint that wants a barrier; 0: none
	last     bool       // nothing may be emitted after it
	release  chan struct{}
	finished bool
	cancel   context.CancelCauseFunc

	chainMu sync.Mutex // held while chained operators run
	closed  bool
}

// Init readies the source; it is called before anything else.
func (s *Source[T]) Init() {
	s.triggers = make(chan int64, 1)
	s.finish = make(chan struct{})
}

// Open opens the chain; the source opens itself when it runs.
func (s *Source[T]) Open(ctx context.Context) error { return s.Chain.Open(ctx) }

// Close closes the chain and the source's keyed state.
func (s *Source[T]) Close() error {
	s.chainMu.Lock()
	defer s.chainMu.Unlock()
	s.closed = true
	return errors.Join(s.Chain.Close(), s.Self.Close())
}

// Trigger asks for the barrier of checkpoint id. After the last one the source
// is held until Abort or Finish.
func (s *Source[T]) Trigger(id int64, last bool) {
	s.mu.Lock()
	s.wanted, s.last = id, last
	s.mu.Unlock()
	select {
	case <-s.triggers: // one that was aborted before the source took it
	default:
	}
	s.triggers <- id
}

// Abort implements Runner.
func (s *Source[T]) Abort(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted == id {
		s.wanted = 0
	}
	if s.release != nil {
		close(s.release)
		s.release = nil
		s.held.Store(false)
	}
}

// Finish ends the source after the last checkpoint.
func (s *Source[T]) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		s.finished = true
		close(s.finish)
		if s.cancel != nil {
			s.cancel(errFinish)
		}
	}
}

// Complete implements Runner.
func (s *Source[T]) Complete(ctx context.Context, id int64) error {
	s.chainMu.Lock()
	defer s.chainMu.Unlock()
	if s.closed {
		return nil
	}
	if err := s.Chain.Complete(ctx, id); err != nil {
		return err
	}
	s.Listener.Committed(s.Index, id)
	return nil
}

// Shut and Drain implement Runner; a source has no queue.
func (s *Source[T]) Shut()  {}
func (s *Source[T]) Drain() {}

// Emit hands elem on; see stream.SourceOutput.
func (s *Source[T]) Emit(ctx context.Context, elem T) error {
	if s.held.Load() {
		if err := s.hold(ctx); err != nil {
			s.Traits.Release(elem)
			return err
		}
	}
	if len(s.Chain.Stages) == 0 {
		return s.Receive(ctx, elem)
	}
	return s.feed(ctx, elem)
}

// feed runs the chain. It recovers here, so that the operator is named and a
// source may emit from any goroutine of its own.
func (s *Source[T]) feed(ctx context.Context, elem T) (err error) {
	s.chainMu.Lock()
	defer func() {
		s.chainMu.Unlock()
		if v := recover(); v != nil {
			err = Panicked(s.Chain.current, v)
		}
	}()
	return s.Receive(ctx, elem)
}

// hold waits after the barrier of the last checkpoint: what would come now is
// not part of it.
func (s *Source[T]) hold(ctx context.Context) error {
	s.mu.Lock()
	release := s.release
	s.mu.Unlock()
	if release == nil {
		return nil
	}
	select {
	case <-release:
		return nil
	case <-s.finish:
		return errFinish
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Triggers delivers checkpoints; see stream.SourceOutput.
func (s *Source[T]) Triggers() <-chan int64 { return s.triggers }

// Barrier emits the barrier of checkpoint id; see stream.SourceOutput.
func (s *Source[T]) Barrier(ctx context.Context, id int64, op []byte) error {
	s.mu.Lock()
	if s.wanted != id {
		s.mu.Unlock()
		return nil // aborted, or answered already
	}
	s.wanted = 0
	if s.last {
		s.release = make(chan struct{})
		s.held.Store(true)
	}
	s.mu.Unlock()

	keyed, err := s.Self.Snapshot(ctx, id)
	if err != nil {
		return fmt.Errorf("snapshot of the keyed state for checkpoint %d: %w", id, err)
	}
	self := Snapshot{UID: s.Self.UID(), Subtask: s.Self.Subtask(), State: op, Keyed: keyed}
	s.chainMu.Lock()
	defer s.chainMu.Unlock()
	snaps, err := s.Chain.Barrier(ctx, id, self)
	if err != nil {
		return err
	}
	s.Listener.Snapshotted(s.Index, id, snaps)
	return nil
}

// Run runs the source; when it has reached its end, its final state answers all
// later triggers. It returns nil after Finish.
func (s *Source[T]) Run(ctx context.Context) error {
	final, err := s.generate(ctx)
	s.flush()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.finish: // whatever it returned: it was told to end
		s.Chain.mark(exchange.Mark{Kind: exchange.End})
		return nil
	default:
	}
	if err != nil {
		return err
	}
	s.Listener.Finished(s.Index)
	for {
		select {
		case id := <-s.triggers:
			if err := s.Barrier(ctx, id, final); err != nil {
				return Attribute(s.Self, err)
			}
		case <-s.finish:
			s.Chain.mark(exchange.Mark{Kind: exchange.End})
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Source[T]) flush() {
	s.chainMu.Lock()
	defer s.chainMu.Unlock()
	s.Chain.flush()
}

// generate runs the user's source under a context that Finish ends.
func (s *Source[T]) generate(ctx context.Context) (final []byte, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			err = Panicked(s.Self, v)
		}
	}()
	final, err = s.Generate(ctx)
	return final, Attribute(s.Self, err)
}
