package stream

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/graph"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/task"
)

// node is a source or operator of the graph. Its functions were made where its
// types were known; what they exchange as any is typed by the edges.
type node struct {
	id          int
	uid         string
	parallelism int
	outs        []outEdge

	newSource   func(*builder, *subtask) sourceRunner // a source: heads a task
	newOperator func(*builder, *subtask) runner       // an operator that heads a task
	newStage    func(*builder, *subtask) any          // an operator inside a chain: Collector[In]
	newGate     func(inputs int, limits exchange.Limits) gate
	checkFanOut func() error
}

// outEdge is an *edge[T] with T the producer's output.
type outEdge interface{ consumer() *node }

type edge[T any] struct {
	id   int
	to   *node
	part Partitioner[T]
}

func (e *edge[T]) consumer() *node { return e.to }

// gate is an *exchange.Gate[T].
type gate interface{ Inputs() int }

type runner = task.Runner

type sourceRunner interface {
	task.Runner
	Trigger(id int64, last bool)
	Finish()
	notify(id, oldest int64)
}

// builder makes the subtasks of one attempt.
type builder struct {
	env            *Env
	plan           *graph.Plan
	maxParallelism int
	attempt        int
	restored       *checkpoint.Metadata
	session        checkpoint.Session
	dir            string
	listener       task.Listener
	gates          map[int][]gate // by node and subtask
}

// subtask is one subtask under construction.
type subtask struct {
	index    int // in the job
	number   int // in the task
	head     *node
	chain    *task.Chain
	counters *task.Counters // of the head
}

// build makes all subtasks, those of sources first.
func (b *builder) build() (sources []sourceRunner, all []runner) {
	for _, n := range b.env.nodes {
		if inputs := b.plan.Inputs[n.id]; inputs > 0 {
			for range n.parallelism {
				b.gates[n.id] = append(b.gates[n.id], n.newGate(inputs, b.env.cfg.Queue))
			}
		}
	}
	for _, t := range b.plan.Tasks {
		head := b.env.nodes[t.Nodes[0]]
		for i := range t.Parallelism {
			s := &subtask{index: t.First + i, number: i, head: head, chain: &task.Chain{}}
			s.counters = b.env.cfg.Metrics.counters(head.uid, i)
			if head.newSource != nil {
				src := head.newSource(b, s)
				sources, all = append(sources, src), append(all, src)
			} else {
				all = append(all, head.newOperator(b, s))
			}
		}
	}
	return sources, all
}

func (b *builder) base(s *subtask) task.Base {
	return task.Base{Index: s.index, Chain: s.chain, Listener: b.listener, Counters: s.counters}
}

// context makes what a source or operator gets when it opens.
func (b *builder) context(n *node, subtask int) (Context, *keyed) {
	c := Context{
		UID: n.uid, Subtask: subtask, Parallelism: n.parallelism,
		MaxParallelism: b.maxParallelism,
		KeyGroups:      keygroup.RangeOf(subtask, b.maxParallelism, n.parallelism),
		Attempt:        b.attempt,
		Lineage:        b.session.Lineage(),
		Logger:         b.env.cfg.Logger.With("operator", n.uid, "subtask", subtask),
		Reached:        b.env.cfg.Reached,
	}
	k := &keyed{backend: b.env.cfg.Backend, volatile: b.env.cfg.Checkpoint.Store == nil}
	if b.restored != nil {
		c.Restored, c.RestoredID = true, b.restored.ID
		op := b.restored.Operators[n.uid]
		c.State = op.States
		k.options.Restore = op.Keyed
	}
	k.options.Dir = storeDir(b.dir, n.uid, subtask)
	k.options.Operator, k.options.Subtask = n.uid, subtask
	k.options.KeyGroups, k.options.Files = c.KeyGroups, b.session.Files()
	return c, k
}

func buildSource[T any](b *builder, s *subtask, src Source[T]) sourceRunner {
	c, k := b.context(s.head, s.number)
	r := &sourceTask[T]{user: src}
	r.Base = b.base(s)
	r.Self = &sourceStage{uid: s.head.uid, subtask: s.number, keyed: k}
	r.Traits = exchange.TraitsOf[T]()
	s.chain.Counters = append(s.chain.Counters, s.counters)
	out := buildCollector[T](b, s, s.head, s.counters)
	r.Receive = out.Collect
	r.Generate = func(ctx context.Context) ([]byte, error) {
		c.Store = k.opener(ctx)
		return src.Run(ctx, c, &r.Source)
	}
	r.Init()
	return r
}

// sourceTask is a task.Source with the user's source, to notify it.
type sourceTask[T any] struct {
	task.Source[T]
	user Source[T]
}

func (s *sourceTask[T]) notify(id, oldest int64) { s.user.CheckpointComplete(id, oldest) }

func buildOperator[In, Out any](b *builder, s *subtask, op Operator[In, Out]) runner {
	g := b.gates[s.head.id][s.number].(*exchange.Gate[In])
	g.Idle = &s.counters.IdleNanos
	r := &task.Operator[In]{Base: b.base(s), Gate: g}
	r.Receive = buildStage(b, s, s.head, op).Collect
	return r
}

// buildStage adds an operator to the chain of s, then what follows it.
func buildStage[In, Out any](b *builder, s *subtask, n *node, op Operator[In, Out]) *stage[In, Out] {
	c, k := b.context(n, s.number)
	st := &stage[In, Out]{
		op: op, context: c, keyed: k, chain: s.chain,
		counters: b.env.cfg.Metrics.counters(n.uid, s.number),
		traits:   exchange.TraitsOf[In](),
	}
	s.chain.Stages = append(s.chain.Stages, st)
	s.chain.Counters = append(s.chain.Counters, st.counters)
	st.out = buildCollector[Out](b, s, n, st.counters)
	return st
}

// buildCollector makes what n emits into: a call of a chained operator, an
// exchange, several of them, or nothing.
func buildCollector[T any](b *builder, s *subtask, n *node, counters *task.Counters) Collector[T] {
	c := &collector[T]{counters: counters, traits: exchange.TraitsOf[T]()}
	for _, out := range n.outs {
		e := out.(*edge[T])
		if b.plan.Chained[e.id] {
			c.targets = append(c.targets, e.to.newStage(b, s).(Collector[T]))
			continue
		}
		p := newPort(b, s, e, &s.counters.BlockedNanos)
		s.chain.Ports = append(s.chain.Ports, p)
		c.targets = append(c.targets, p)
	}
	if len(c.targets) == 1 {
		c.only = c.targets[0]
	}
	return c
}

func newPort[T any](b *builder, s *subtask, e *edge[T], blocked *atomic.Int64) *port[T] {
	p := &port[T]{part: e.part}
	if binder, ok := e.part.(Binder[T]); ok {
		p.part = binder.Bind(s.number, b.maxParallelism)
	}
	p.chooser, _ = p.part.(chooser[T])
	p.emit = p.put
	gates, input := b.gates[e.to.id], b.plan.FirstInput[e.id]
	if b.env.graph.Edges[e.id].Forward {
		gates = gates[s.number : s.number+1]
		p.part, p.chooser = forward[T]{}, forward[T]{} // one consumer: number 0 here
	} else {
		input += s.number
	}
	for _, g := range gates {
		w := g.(*exchange.Gate[T]).Writer(input)
		w.Blocked = blocked
		p.writers = append(p.writers, w)
	}
	return p
}

func (s *subtask) String() string { return fmt.Sprintf("%s[%d]", s.head.uid, s.number) }
