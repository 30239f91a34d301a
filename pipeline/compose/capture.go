package compose

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/stream"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/source"
)

// capture runs the source's reader as the source of the graph.
type capture struct {
	job    *Job
	reader source.Reader
}

// Run gives the reader its context and puts routes and owners on what it emits.
func (c *capture) Run(ctx context.Context, sc stream.Context, out stream.SourceOutput[element]) ([]byte, error) {
	a := c.job.attempt(sc.Attempt)
	rc := source.Context{
		Pipeline: c.job.cfg.Name, Lineage: sc.Lineage,
		Restored: sc.Restored, RestoredID: sc.RestoredID,
		Store: sc.Store, Needs: c.job.needs(), Logger: sc.Logger, Reached: sc.Reached,
	}
	if len(sc.State) > 0 {
		rc.State = sc.State[0]
	}
	o := &output{
		SourceOutput: out, attempt: a, routes: NewRoutes(c.job.cfg.Router), tables: map[schema.TableID]*tableState{},
		writers: c.job.cfg.Parallelism, maxParallelism: sc.MaxParallelism,
	}
	if spreading, ok := c.job.cfg.Sink.(sink.Spreading); ok {
		o.keyed = func(t *schema.Table) bool { return !spreading.AnyWriter(t) }
	}
	c.job.setReader(c.reader)
	final, err := c.reader.Run(ctx, rc, o)
	if err == nil {
		a.finished(c.reader.Progress().Position)
	}
	return final, err
}

// needs is what the sink can use, with what its options ask for.
func (j *Job) needs() source.Needs {
	n := j.cfg.Needs
	if s, ok := j.cfg.Sink.(sink.Asking); ok {
		a := s.Asks()
		n.Origin, n.Transactions = n.Origin || a.Origin, n.Transactions || a.Transactions
		n.Events, n.ResolvesUnchanged = n.Events || a.Events, n.ResolvesUnchanged || a.Unchanged
	}
	return n
}

// CheckpointComplete passes on that the sink has committed.
func (c *capture) CheckpointComplete(id, oldest int64) { c.reader.CheckpointComplete(id, oldest) }

// output is the source.Output of a reader.
type output struct {
	stream.SourceOutput[element]
	attempt        *attempt
	routes         *Routes
	tables         map[schema.TableID]*tableState
	writers        int
	maxParallelism int
	keyed          func(*schema.Table) bool // says whether each key has its writer; nil: yes

	keys   schema.Keys
	owners []uint16
}

var _ source.Output = (*output)(nil)

// tableState is what is known of a source table at its present version.
type tableState struct {
	targets []schema.TableID
	table   *schema.Table
	encoder *schema.KeyEncoder
	keyed   bool
}

// Emit routes one element.
func (o *output) Emit(ctx context.Context, e source.Element) error {
	if e.Change != nil && e.Change.Kind == schema.ChangeTransactions { // of no table
		return o.SourceOutput.Emit(ctx, element{Input: sink.Input{Change: e.Change}})
	}
	if e.Change != nil {
		t, err := o.table(e.Change.Table)
		if err != nil {
			return err
		}
		for _, target := range t.targets {
			if err := o.SourceOutput.Emit(ctx, element{Input: sink.Input{Table: target, Change: e.Change}}); err != nil {
				return err
			}
		}
		return nil
	}
	return o.batch(ctx, e.Batch)
}

// batch gives a batch to each of its targets; it takes over one reference.
func (o *output) batch(ctx context.Context, b *schema.Batch) error {
	t, err := o.table(b.Table.ID)
	if err == nil {
		err = o.assign(t, b)
	}
	if err != nil {
		b.Release()
		return err
	}
	e := element{Input: sink.Input{Batch: b}, rowBytes: meanRowBytes(b)}
	if t.encoder != nil && o.writers > 1 {
		e.owners = o.owners
	}
	b.Retain(len(t.targets) - 1)
	for i, target := range t.targets {
		e.Table = target
		if err := o.SourceOutput.Emit(ctx, e); err != nil {
			for range t.targets[i+1:] {
				b.Release()
			}
			return err
		}
	}
	return nil
}

// table returns the state of a source table, with at least one target.
func (o *output) table(id schema.TableID) (*tableState, error) {
	if t := o.tables[id]; t != nil {
		return t, nil
	}
	targets, err := o.routes.Targets(id)
	if err != nil {
		return nil, err
	}
	t := &tableState{}
	for _, target := range targets {
		t.targets = append(t.targets, target.ID)
	}
	o.tables[id] = t
	return t, nil
}

// assign finds the writer of every row, where there are several.
func (o *output) assign(t *tableState, b *schema.Batch) (err error) {
	if t.table != b.Table {
		t.table, t.encoder = b.Table, nil
		// Once each key had its writer it keeps it, as long as the writers run.
		if t.keyed = t.keyed || o.keyed == nil || o.keyed(b.Table); t.keyed {
			t.encoder = schema.NewKeyEncoder(b.Table) // nil for a table without a key
		}
	}
	if o.writers == 1 || t.encoder == nil {
		return nil
	}
	if o.keys, err = t.encoder.Encode(b.Record, o.keys); err != nil {
		return fmt.Errorf("hash the keys: %w", err)
	}
	if n := b.Rows(); cap(o.owners) < n {
		o.owners = make([]uint16, n, n+n/4)
	} else {
		o.owners = o.owners[:n]
	}
	for i := range o.owners {
		group := keygroup.Of(o.keys.Hash(i), o.maxParallelism)
		o.owners[i] = uint16(keygroup.OperatorIndex(group, o.maxParallelism, o.writers))
	}
	return nil
}

// Barrier keeps the position for the committer, then emits the barrier.
func (o *output) Barrier(ctx context.Context, id int64, position uint64, state []byte) error {
	o.attempt.setPosition(id, position)
	return o.SourceOutput.Barrier(ctx, id, state)
}
