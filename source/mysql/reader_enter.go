package mysql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// enter puts the rows of a chunk into the log.
func (r *reader) enter(ctx context.Context, t *tableState, id uint64) error {
	c := r.read[id]
	delete(r.read, id)
	delete(r.open, id)
	delete(r.owner, id)
	defer c.Release()
	for len(c.Records) > 0 {
		rec := c.Records[0]
		c.Records = c.Records[1:]
		if err := r.enterRecord(ctx, t, c, rec); err != nil { // the last one knows that nothing is left in c
			return err
		}
	}
	if c.Fill != nil {
		return r.filled(t, c)
	}
	if t.plan != nil {
		t.plan.Done++
	}
	r.progressTable(t)
	r.point("snapshot-chunk")
	return nil
}

// enterRecord emits the rows of rec that the window lets through, and the fills;
// it takes over rec.
func (r *reader) enterRecord(ctx context.Context, t *tableState, c *chunkRows, rec arrow.RecordBatch) error {
	if !t.win.FiltersRows() {
		return r.emitReads(ctx, t, c, rec, false)
	}
	defer rec.Release()
	var err error
	if r.keys, err = t.enc.Encode(rec, r.keys); err != nil {
		return wrapTable(t, err)
	}
	n := int(rec.NumRows())
	pass, fill := make([]bool, n), make([]bool, n)
	passing, filling := 0, 0
	for i := range n {
		v, err := t.win.Filter(r.keys.Bytes(i))
		if err != nil {
			return wrapTable(t, err)
		}
		switch v {
		case window.Pass:
			pass[i] = true
			passing++
		case window.Fill:
			fill[i] = true
			filling++
		}
	}
	if err := r.emitSelected(ctx, t, c, rec, pass, passing, false); err != nil {
		return err
	}
	return r.emitSelected(ctx, t, c, rec, fill, filling, true)
}

// emitSelected emits the count rows of rec that selected marks, as reads or fills.
func (r *reader) emitSelected(ctx context.Context, t *tableState, c *chunkRows, rec arrow.RecordBatch, selected []bool, count int, fill bool) error {
	if count == 0 {
		return nil
	}
	rec.Retain()
	if count < int(rec.NumRows()) {
		var err error
		if rec, err = schema.SelectRows(ctx, r.mem, rec, selected); err != nil {
			return wrapTable(t, err)
		}
	}
	return r.emitReads(ctx, t, c, rec, fill)
}

// emitReads emits rec as reads, or as fills; it takes over rec.
func (r *reader) emitReads(ctx context.Context, t *tableState, c *chunkRows, rec arrow.RecordBatch, fill bool) error {
	n := int(rec.NumRows())
	b := schema.NewBatch(c.Table, rec)
	b.Txs = []schema.Tx{{Commit: r.core.Position(), CommitTime: c.ReadTime, Rows: n}}
	if fill {
		b.Ops = make([]schema.Op, n)
		for i := range b.Ops {
			b.Ops[i] = schema.OpFill
		}
	} else {
		if r.rc.Needs.Origin {
			b.Origin = r.readOrigin(t, n, len(c.Records) == 0)
		}
		t.rows += int64(n)
		r.shared.mu.Lock()
		r.shared.progress.ReadRows += int64(n)
		r.shared.mu.Unlock()
	}
	return r.emit(ctx, source.Element{Batch: b})
}
