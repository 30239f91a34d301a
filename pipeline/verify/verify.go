package verify

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cdc/freshet/schema"
)

// Rows streams the rows of one side of a table, and returns a log position: at
// the source one that covers everything the read could see, in the sink the one
// that its rows were committed with. The batch is released after fn returns.
type Rows func(ctx context.Context, fn func(*schema.Batch) error) (position uint64, err error)

// Table is what to compare.
type Table struct {
	Definition *schema.Table
	// Target is the table's name in the sink.
	Target       schema.TableID
	Source, Sink Rows
}

// Options change a comparison.
type Options struct {
	// Show is the number of differing keys to return with their columns, by default 10.
	Show int
	// Patience is how long the sink's position may stand still before the
	// differences that are left count, by default 30 s. Limit ends the
	// comparison whatever moves, by default 10 min.
	Patience, Limit time.Duration
	// Pause is the time between two rounds, by default 1 s.
	Pause time.Duration
}

func (o Options) orDefaults() Options {
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{{&o.Patience, 30 * time.Second}, {&o.Limit, 10 * time.Minute}, {&o.Pause, time.Second}} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	if o.Show <= 0 {
		o.Show = 10
	}
	return o
}

// buckets is how finely a table is cut to find the rows that differ; maxKeys
// bounds the keys that are looked at in one pass, maxCandidates those that are
// compared again.
const (
	buckets       = 1024
	maxKeys       = 4 << 20
	maxCandidates = 100_000
)

// fold is a multiset of rows: how many, and the sum of their mixed hashes.
type fold struct {
	n   int64
	sum uint64
}

func (f *fold) add(h uint64) { f.n++; f.sum += h }

// summary is one side of a table.
type summary struct {
	total    fold
	buckets  [buckets]fold
	position uint64
}

// comparison is the work on one table.
type comparison struct {
	Table
	Options
	maxKeys int64
	result  *Result
}

// Compare compares one table. The error is a side that could not be read;
// differences are in the result.
func Compare(ctx context.Context, t Table, o Options) (*Result, error) {
	c := &comparison{Table: t, Options: o.orDefaults(), maxKeys: maxKeys, result: &Result{Table: t.Definition.ID, Target: t.Target}}
	return c.run(ctx)
}

func (c *comparison) run(ctx context.Context) (*Result, error) {
	var src, snk summary
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.summarize(gctx, "source", c.Source, &src) })
	g.Go(func() error { return c.summarize(gctx, "sink", c.Sink, &snk) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	r := c.result
	r.SourceRows, r.SinkRows, r.SourceSum, r.SinkSum = src.total.n, snk.total.n, src.total.sum, snk.total.sum
	r.SourcePosition, r.SinkPosition = src.position, snk.position
	if src.buckets == snk.buckets {
		return r, nil
	}
	candidates, err := c.candidates(ctx, &src, &snk)
	if err != nil {
		return nil, err
	}
	wrong, err := c.settle(ctx, candidates)
	if err != nil {
		return nil, err
	}
	return r, c.show(ctx, wrong)
}

// read streams one side through a hasher.
func (c *comparison) read(ctx context.Context, side string, rows Rows, fn func(b *schema.Batch, row int, key, hash uint64)) (uint64, error) {
	h := newHasher(c.Definition)
	position, err := rows(ctx, func(b *schema.Batch) error {
		return h.batch(b, func(row int, key, hash uint64) { fn(b, row, key, hash) })
	})
	if err != nil {
		return 0, fmt.Errorf("read table %s in the %s: %w", c.Definition.ID, side, err)
	}
	return position, nil
}

func (c *comparison) summarize(ctx context.Context, side string, rows Rows, s *summary) (err error) {
	s.position, err = c.read(ctx, side, rows, func(_ *schema.Batch, _ int, key, hash uint64) {
		h := mix(key, hash)
		s.total.add(h)
		s.buckets[key%buckets].add(h)
	})
	return err
}

// pair is what both sides say about one key.
type pair struct{ src, snk fold }

// candidates looks at the keys of the buckets that differ and returns those that
// differ, as many as are worth comparing again. Source first, so that an idle
// sink is at or behind the position of its read.
func (c *comparison) candidates(ctx context.Context, src, snk *summary) (map[uint64]*state, error) {
	out := map[uint64]*state{}
	for next := 0; next < buckets && len(out) < maxCandidates; {
		var chosen [buckets]bool
		rows := int64(0)
		for ; next < buckets && rows < c.maxKeys; next++ {
			if src.buckets[next] != snk.buckets[next] {
				chosen[next] = true
				rows += max(src.buckets[next].n, snk.buckets[next].n)
			}
		}
		if rows == 0 {
			break
		}
		keys := map[uint64]*pair{}
		at := func(key uint64) *pair {
			p := keys[key]
			if p == nil {
				p = &pair{}
				keys[key] = p
			}
			return p
		}
		sp, err := c.read(ctx, "source", c.Source, func(_ *schema.Batch, _ int, key, hash uint64) {
			if chosen[key%buckets] {
				at(key).src.add(mix(key, hash))
			}
		})
		if err != nil {
			return nil, err
		}
		kp, err := c.read(ctx, "sink", c.Sink, func(_ *schema.Batch, _ int, key, hash uint64) {
			if chosen[key%buckets] {
				at(key).snk.add(mix(key, hash))
			}
		})
		if err != nil {
			return nil, err
		}
		c.result.SourcePosition, c.result.SinkPosition = sp, kp
		for key, p := range keys {
			if p.src == p.snk {
				continue
			}
			if c.result.AtLeast = len(out) >= maxCandidates; !c.result.AtLeast {
				out[key] = &state{src: p.src, snk: p.snk, srcAt: sp, snkAt: kp}
			}
		}
	}
	return out, nil
}
