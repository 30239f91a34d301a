package exchange

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Gate is the consumer's end of the queues of all its producers. All methods but
// Writer, Wake and Close are for the consumer's goroutine.
type Gate[T any] struct {
	limits Limits
	traits Traits[T]
	queues []*queue[T]
	inputs []Input[T]
	last   int // the input that Poll returned last

	waiting   atomic.Bool
	notify    chan struct{}
	closeOnce sync.Once
	closed    chan struct{}

	// Idle gathers the nanoseconds spent in Wait; nil counts nowhere.
	Idle *atomic.Int64
}

// NewGate returns a gate for the given number of producers.
func NewGate[T any](inputs int, limits Limits) *Gate[T] {
	g := &Gate[T]{
		limits: limits.orDefaults(),
		traits: TraitsOf[T](),
		queues: make([]*queue[T], inputs),
		inputs: make([]Input[T], inputs),
		notify: make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
	for i := range g.queues {
		g.queues[i] = &queue[T]{gate: g, space: make(chan struct{}, 1)}
		g.inputs[i] = Input[T]{Index: i, queue: g.queues[i]}
	}
	return g
}

// Inputs returns the number of producers.
func (g *Gate[T]) Inputs() int { return len(g.queues) }

// Writer returns the end of producer i.
func (g *Gate[T]) Writer(i int) *Writer[T] {
	return &Writer[T]{q: g.queues[i], traits: g.traits, weighed: g.traits.Weighs()}
}

// Poll returns an input that has an element or a mark and is not blocked, nil
// when there is none. Inputs take turns.
func (g *Gate[T]) Poll() *Input[T] {
	n := len(g.inputs)
	for k := range n {
		i := g.last + 1 + k
		if i >= n {
			i -= n
		}
		if in := &g.inputs[i]; !in.blocked && in.fill() {
			g.last = i
			return in
		}
	}
	return nil
}

// Wait returns when Poll may find something, or after Wake. It fails when ctx is
// done or the gate is closed.
func (g *Gate[T]) Wait(ctx context.Context) error {
	g.waiting.Store(true)
	for i := range g.inputs {
		if in := &g.inputs[i]; !in.blocked && (in.pending() || in.queue.ready.Load()) {
			g.waiting.Store(false)
			return nil
		}
	}
	start := time.Now()
	defer func() {
		g.waiting.Store(false)
		if g.Idle != nil {
			g.Idle.Add(int64(time.Since(start)))
		}
	}()
	select {
	case <-g.notify:
		return nil
	case <-g.closed:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Wake makes the present or next Wait return.
func (g *Gate[T]) Wake() {
	select {
	case g.notify <- struct{}{}:
	default:
	}
}

func (g *Gate[T]) wakeIfWaiting() {
	if g.waiting.Load() && g.waiting.CompareAndSwap(true, false) {
		g.Wake()
	}
}

// Block holds input i back: Poll passes over it and its producer comes to a stop
// once the queue is full.
func (g *Gate[T]) Block(i int) { g.inputs[i].blocked = true }

// Unblock lets input i go on.
func (g *Gate[T]) Unblock(i int) { g.inputs[i].blocked = false }

// Close ends all waiting, of the producers too: their Put fails from now on.
func (g *Gate[T]) Close() {
	g.closeOnce.Do(func() {
		for _, q := range g.queues {
			q.mu.Lock()
			q.closed = true
			q.mu.Unlock()
		}
		close(g.closed)
	})
}

// Drain closes the gate and releases every element left in it. The consumer's
// goroutine has ended or calls it itself.
func (g *Gate[T]) Drain() {
	g.Close()
	for i := range g.inputs {
		in := &g.inputs[i]
		in.discard(g.traits)
		in.queue.take(&in.cur)
		in.pos, in.mark = 0, 0
		in.discard(g.traits)
	}
}

// Input is what the consumer has taken from one producer and not yet processed.
type Input[T any] struct {
	// Index is the producer's number in the gate.
	Index   int
	queue   *queue[T]
	blocked bool
	cur     run[T]
	pos     int // the next element
	mark    int // the next mark
}

func (in *Input[T]) pending() bool {
	return in.pos < len(in.cur.elems) || in.mark < len(in.cur.marks)
}

// fill makes sure that the input has something, if its producer sent anything.
func (in *Input[T]) fill() bool {
	if in.pending() {
		return true
	}
	if !in.queue.ready.Load() {
		return false
	}
	in.cur.reset()
	in.pos, in.mark = 0, 0
	in.queue.take(&in.cur)
	return in.pending()
}

// Take returns the next element, whose ownership goes to the caller; false when
// a mark or nothing comes next.
func (in *Input[T]) Take() (elem T, ok bool) {
	if in.pos >= len(in.cur.elems) || in.mark < len(in.cur.marks) && in.cur.marks[in.mark].at == in.pos {
		return elem, false
	}
	elem = in.cur.elems[in.pos]
	in.pos++
	return elem, true
}

// TakeMark returns the mark that comes next, if one does.
func (in *Input[T]) TakeMark() (Mark, bool) {
	if in.mark >= len(in.cur.marks) || in.cur.marks[in.mark].at != in.pos {
		return Mark{}, false
	}
	m := in.cur.marks[in.mark].mark
	in.mark++
	return m, true
}

func (in *Input[T]) discard(traits Traits[T]) {
	for _, elem := range in.cur.elems[in.pos:] {
		traits.Release(elem)
	}
	in.cur.reset()
	in.pos, in.mark = 0, 0
}
