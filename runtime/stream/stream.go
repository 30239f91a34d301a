package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/graph"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
)

// Env is a job in the making: New, From, Process, then Run once.
type Env struct {
	cfg   Config
	graph graph.Graph
	nodes []*node
	errs  []error

	stopOnce  sync.Once
	stop      chan struct{}
	requested chan struct{}
}

// Stream is the output of one or several operators. The zero value is of no use.
type Stream[T any] struct {
	env  *Env
	from []*node
}

// Nothing is the output type of an operator that ends a graph. It is never emitted.
type Nothing struct{}

// New returns an empty job. What is wrong with cfg or the graph is reported by Run and Check.
func New(cfg Config) *Env {
	err := cfg.check()
	cfg.setDefaults()
	e := &Env{cfg: cfg, stop: make(chan struct{}), requested: make(chan struct{}, 1)}
	if err != nil {
		e.errs = append(e.errs, err)
	}
	return e
}

// Option changes a source or an operator.
type Option func(*graph.Node)

// Name gives a name for people; it is the uid otherwise.
func Name(name string) Option { return func(n *graph.Node) { n.Name = name } }

// From adds a source of the given parallelism (0: the job's). uid names its
// state. make is called once per subtask and attempt.
func From[T any](env *Env, uid string, parallelism int, make func() Source[T], opts ...Option) Stream[T] {
	n := env.add(graph.Node{UID: uid, Parallelism: parallelism, Source: true}, opts)
	n.newSource = func(b *builder, s *subtask) sourceRunner { return buildSource(b, s, make()) }
	checkFanOut[T](n)
	return Stream[T]{env: env, from: []*node{n}}
}

// Process adds an operator of the given parallelism (0: the job's) that gets the
// elements of in as the partitioner says. uid names its state. make is called
// once per subtask and attempt.
//
// A Forward edge into an operator with no other input is chained: both run in
// one goroutine and an element passes by a call. Through any other edge elements
// keep their order per pair of subtasks.
func Process[In, Out any](in Stream[In], uid string, parallelism int, part Partitioner[In], make func() Operator[In, Out], opts ...Option) Stream[Out] {
	env := in.env
	n := env.add(graph.Node{UID: uid, Parallelism: parallelism}, opts)
	_, forward := part.(forward[In])
	if _, all := part.(broadcast[In]); all && unshareable[In]() {
		env.errs = append(env.errs, fmt.Errorf("operator %q: broadcast of elements of type %T, which have Release but no Retain", uid, *new(In)))
	}
	for _, from := range in.from {
		id := env.graph.Connect(from.id, n.id, forward)
		from.outs = append(from.outs, &edge[In]{id: id, to: n, part: part})
	}
	n.newGate = func(inputs int, limits exchange.Limits) gate { return exchange.NewGate[In](inputs, limits) }
	n.newOperator = func(b *builder, s *subtask) runner { return buildOperator(b, s, make()) }
	n.newStage = func(b *builder, s *subtask) any { return Collector[In](buildStage(b, s, n, make())) }
	checkFanOut[Out](n)
	return Stream[Out]{env: env, from: []*node{n}}
}

// Union joins streams of one type: their elements go to the same operator, in no
// order between them.
func Union[T any](first Stream[T], more ...Stream[T]) Stream[T] {
	u := Stream[T]{env: first.env, from: append([]*node(nil), first.from...)}
	for _, s := range more {
		if s.env != u.env {
			u.env.errs = append(u.env.errs, errors.New("union of streams of different jobs"))
			continue
		}
		u.from = append(u.from, s.from...)
	}
	return u
}

func (e *Env) add(gn graph.Node, opts []Option) *node {
	if gn.Parallelism == 0 {
		gn.Parallelism = e.cfg.Parallelism
	}
	for _, opt := range opts {
		opt(&gn)
	}
	n := &node{uid: gn.UID, parallelism: gn.Parallelism, id: e.graph.Add(gn)}
	e.nodes = append(e.nodes, n)
	return n
}

// checkFanOut makes sure that an element with resources is not given to several
// consumers by a copy that nobody counted.
func checkFanOut[T any](n *node) {
	n.checkFanOut = func() error {
		if len(n.outs) > 1 && unshareable[T]() {
			return fmt.Errorf("operator %q: %d consumers share elements of type %T, which have Release but no Retain", n.uid, len(n.outs), *new(T))
		}
		return nil
	}
}

// unshareable says that a T holds resources and can't be given to several receivers.
func unshareable[T any]() bool {
	_, releases := any(*new(T)).(Releaser)
	_, retains := any(*new(T)).(Retainer)
	return releases && !retains
}

// Check returns everything that is wrong with the configuration and the graph, joined.
func (e *Env) Check() error {
	errs := append([]error(nil), e.errs...)
	for _, n := range e.nodes {
		errs = append(errs, n.checkFanOut())
	}
	limit := e.cfg.MaxParallelism
	if limit <= 0 {
		limit = keygroup.MaxMaxParallelism
	}
	if err := errors.Join(append(errs, e.graph.Check(limit))...); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

// Stop ends the job gracefully: one last checkpoint is taken and committed, then
// Run returns nil. When that attempt fails, Run returns its error instead of restarting.
func (e *Env) Stop() { e.stopOnce.Do(func() { close(e.stop) }) }

// RequestCheckpoint asks for a checkpoint now, out of turn. It does not wait; requests
// that come before it is triggered are one.
func (e *Env) RequestCheckpoint() {
	select {
	case e.requested <- struct{}{}:
	default:
	}
}

func (e *Env) stopping() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// Func is an operator without state made of a function.
type Func[In, Out any] func(ctx context.Context, elem In, out Collector[Out]) error

// Open does nothing.
func (f Func[In, Out]) Open(context.Context, Context) error { return nil }

// Process calls f.
func (f Func[In, Out]) Process(ctx context.Context, elem In, out Collector[Out]) error {
	return f(ctx, elem, out)
}

// Barrier has no state to give.
func (f Func[In, Out]) Barrier(context.Context, int64, Collector[Out]) ([]byte, error) {
	return nil, nil
}

// CheckpointComplete has nothing to commit.
func (f Func[In, Out]) CheckpointComplete(context.Context, int64) error { return nil }

// Close does nothing.
func (f Func[In, Out]) Close() error { return nil }
