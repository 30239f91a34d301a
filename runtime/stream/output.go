package stream

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/task"
)

// collector counts what one operator emits and gives it to all its consumers.
type collector[T any] struct {
	only     Collector[T] // the one target, when there is one
	targets  []Collector[T]
	counters *task.Counters
	traits   exchange.Traits[T]
}

func (c *collector[T]) Collect(ctx context.Context, elem T) error {
	if c.traits.Weighs() {
		c.counters.Out(c.traits.Weight(elem))
	} else {
		c.counters.Out(1, 0)
	}
	if c.only != nil {
		return c.only.Collect(ctx, elem)
	}
	return c.fanOut(ctx, elem)
}

// fanOut gives elem to several consumers, or releases it when there is none.
func (c *collector[T]) fanOut(ctx context.Context, elem T) error {
	if len(c.targets) == 0 {
		c.traits.Release(elem)
		return nil
	}
	retain(elem, len(c.targets)-1)
	for i, t := range c.targets {
		if err := t.Collect(ctx, elem); err != nil {
			for range c.targets[i+1:] {
				c.traits.Release(elem)
			}
			return err
		}
	}
	return nil
}

// port is an output into an exchange.
type port[T any] struct {
	writers []*exchange.Writer[T]
	part    Partitioner[T]
	chooser chooser[T] // part, when it is one

	// for the callback of Route
	emit func(int, T)
	ctx  context.Context
	err  error
}

// Collect routes elem.
func (p *port[T]) Collect(ctx context.Context, elem T) error {
	if p.chooser != nil {
		return p.writers[p.chooser.choose(elem, len(p.writers))].Put(ctx, elem)
	}
	p.ctx, p.err = ctx, nil
	p.part.Route(elem, len(p.writers), p.emit)
	p.ctx = nil
	return p.err
}

// put takes one part of a routed element. After an error the remaining parts
// meet it too and are released by Put.
func (p *port[T]) put(subtask int, part T) {
	if subtask < 0 || subtask >= len(p.writers) {
		exchange.TraitsOf[T]().Release(part)
		p.err = fmt.Errorf("partitioner %T sent an element to subtask %d of %d", p.part, subtask, len(p.writers))
		return
	}
	if err := p.writers[subtask].Put(p.ctx, part); err != nil && p.err == nil {
		p.err = err
	}
}

// Mark sends a mark to every consumer.
func (p *port[T]) Mark(m exchange.Mark) {
	for _, w := range p.writers {
		w.Mark(m)
	}
}
