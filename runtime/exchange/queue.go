package exchange

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed says that the exchange was closed, because the attempt ended.
var ErrClosed = errors.New("exchange is closed")

// Kind tells marks apart.
type Kind uint8

const (
	// Barrier ends a checkpoint; Value is its id.
	Barrier Kind = iota + 1
	// End says that nothing more will come.
	End
)

// Mark is something between two elements that concerns the runtime.
type Mark struct {
	Kind  Kind
	Value int64
}

// Limits bound one queue. A queue takes elements while it is below all limits,
// so one element larger than them still passes. The consumer may hold as much
// again, taken and not yet processed.
type Limits struct {
	// Elements is the number of elements, by default 1024.
	Elements int
	// Bytes is the sum of the weights (see Weigher), by default 4 MiB.
	Bytes int
}

func (l Limits) orDefaults() Limits {
	if l.Elements <= 0 {
		l.Elements = 1024
	}
	if l.Bytes <= 0 {
		l.Bytes = 4 << 20
	}
	return l
}

// placed is a mark in front of the element at index at.
type placed struct {
	at   int
	mark Mark
}

// run is a stretch of the stream of one producer.
type run[T any] struct {
	elems []T
	marks []placed
}

// reset forgets the content and keeps the memory.
func (r *run[T]) reset() {
	clear(r.elems)
	r.elems, r.marks = r.elems[:0], r.marks[:0]
}

// queue holds what one producer has sent and the consumer has not taken.
type queue[T any] struct {
	gate *Gate[T]
	// ready is true while filled is not empty: it lets the consumer pass over an empty queue without the lock.
	ready atomic.Bool

	mu      sync.Mutex
	filled  run[T]
	bytes   int
	starved bool // the producer waits on space
	closed  bool
	space   chan struct{}
}

// take swaps the filled run for the consumer's empty one.
func (q *queue[T]) take(r *run[T]) {
	q.mu.Lock()
	*r, q.filled = q.filled, *r
	q.bytes = 0
	q.ready.Store(false)
	wake := q.starved
	q.starved = false
	q.mu.Unlock()
	if wake {
		q.space <- struct{}{} // never blocks: one slot, filled only after starved was set
	}
}

// Writer is the producer's end of a queue. It is used by one goroutine.
type Writer[T any] struct {
	q *queue[T]
	// Blocked gathers the nanoseconds spent waiting for space; nil counts nowhere.
	Blocked *atomic.Int64
	// Weighed says that Put asks each element for its weight.
	weighed bool
	traits  Traits[T]
}

// Put appends elem and takes over its ownership, also when it fails. It waits
// while the queue is full. It fails when ctx is done or the exchange is closed.
func (w *Writer[T]) Put(ctx context.Context, elem T) error {
	q := w.q
	bytes := 0
	if w.weighed {
		_, bytes = w.traits.Weight(elem)
	}
	q.mu.Lock()
	if len(q.filled.elems) >= q.gate.limits.Elements || q.bytes >= q.gate.limits.Bytes || q.closed {
		if err := w.wait(ctx); err != nil {
			w.traits.Release(elem)
			return err
		}
	}
	q.filled.elems = append(q.filled.elems, elem)
	q.bytes += bytes
	w.announceAndUnlock()
	return nil
}

// Mark appends a mark. It does not wait for space: marks are few, and a barrier
// must not be held up. On a closed exchange it is a no-op.
func (w *Writer[T]) Mark(m Mark) {
	q := w.q
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	q.filled.marks = append(q.filled.marks, placed{at: len(q.filled.elems), mark: m})
	w.announceAndUnlock()
}

// announceAndUnlock wakes the consumer if it waits. The order matters: the
// consumer declares that it waits before it looks at ready one last time, so
// either it sees ready or it is seen waiting here.
func (w *Writer[T]) announceAndUnlock() {
	q := w.q
	if q.ready.Load() {
		q.mu.Unlock()
		return
	}
	q.ready.Store(true)
	q.mu.Unlock()
	q.gate.wakeIfWaiting()
}

// wait blocks until the queue has space. It is called with the lock held and,
// when it returns nil, returns with it held.
func (w *Writer[T]) wait(ctx context.Context) error {
	q := w.q
	start := time.Now()
	defer func() {
		if w.Blocked != nil {
			w.Blocked.Add(int64(time.Since(start)))
		}
	}()
	for {
		if q.closed {
			q.mu.Unlock()
			return ErrClosed
		}
		if len(q.filled.elems) < q.gate.limits.Elements && q.bytes < q.gate.limits.Bytes {
			return nil
		}
		q.starved = true
		q.mu.Unlock()
		select {
		case <-q.space:
		case <-q.gate.closed:
		case <-ctx.Done():
			w.giveUp()
			return context.Cause(ctx)
		}
		q.mu.Lock()
	}
}

// giveUp undoes starved, or takes the token that the consumer has sent or is about to send.
func (w *Writer[T]) giveUp() {
	w.q.mu.Lock()
	starved := w.q.starved
	w.q.starved = false
	w.q.mu.Unlock()
	if !starved {
		<-w.q.space
	}
}
