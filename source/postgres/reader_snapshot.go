package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// schedule starts tables and hands out chunks as far as the bounds allow.
func (r *reader) schedule(ctx context.Context) error {
	r.rereads()
	if r.core.Idle() {
		return nil
	}
	if err := r.startTables(ctx); err != nil {
		return err
	}
	if err := r.releaseHeld(ctx); err != nil {
		return err
	}
	if r.core.NeedsVisible() && !r.asking && time.Since(r.asked) >= pollInterval {
		r.askVisible()
	}
	for _, win := range r.core.Tables() {
		if win.Phase() != window.Reading {
			continue
		}
		t := r.tables[win.ID]
		if t.plan == nil || t.planned || t.moved != "" {
			continue
		}
		for t.plan.more() && r.core.CanOpen() && len(r.pool.jobs) < cap(r.pool.jobs) {
			r.openChunk(t)
		}
		if t.plan.more() || t.reading > 0 {
			continue
		}
		if done, err := r.fill(t); err != nil || !done {
			if err != nil {
				return err
			}
			continue
		}
		if !r.verified(t) {
			continue
		}
		if t.held != nil && r.core.Position() < t.held.high {
			// Nothing was read that would have waited: what the snapshot sees is dropped
			// from the log up to here.
			r.hold = max(r.hold, t.held.high)
			continue
		}
		t.planned = true
		if err := r.do(ctx, r.core.Planned(win)); err != nil {
			return err
		}
	}
	return nil
}

// startTables starts waiting tables, so many that small ones keep the
// connections busy, yet seen is not kept for tables whose turn is far away.
// Of the tables without a key one at a time is read, for each holds a snapshot.
func (r *reader) startTables(ctx context.Context) error {
	if r.inTransaction {
		return nil
	}
	free, keyless := max(4, 2*r.cfg.readers), 1
	if r.inOrder() {
		free = 1
	}
	for _, t := range r.core.Tables() {
		if r.inOrder() && r.allRead(r.tables[t.ID]) {
			continue
		}
		if t.Phase() == window.Covering || t.Phase() == window.Reading {
			free--
			if !t.Keyed() {
				keyless--
			}
		}
	}
	for _, t := range r.core.Tables() {
		if free <= 0 {
			return nil
		}
		if t.Phase() != window.Waiting || !t.Keyed() && keyless <= 0 || r.tables[t.ID].treeHigh > r.core.Position() {
			continue
		}
		if !t.Keyed() {
			keyless--
		}
		free--
		if err := r.do(ctx, r.core.Start(t)); err != nil {
			return err
		}
	}
	return nil
}

// openChunk hands a range to a reader.
func (r *reader) openChunk(t *tableState) {
	rg, _ := t.plan.next()
	id := r.core.Open(t.win)
	job := chunkJob{Table: t.def, Chunk: id, Incarnation: t.incarnation, Leaf: *t.plan.leaf(rg.Leaf), Range: rg}
	if t.held != nil {
		job.Snapshot = t.held.name
	}
	r.open[id], r.owner[id] = rg, t
	t.reading++
	r.pool.dispatch(job)
}

// chunk takes what a reader has read.
func (r *reader) chunk(ctx context.Context, c *chunkRows) error {
	t := r.tables[c.Job.Table.ID]
	if t == nil || c.Job.Incarnation != t.incarnation {
		c.release() // given up meanwhile
		return nil
	}
	t.reading--
	switch {
	case errors.Is(c.Err, errRowsMoved):
		if t.tree != nil { // perhaps partitions have come or gone
			t.moved = c.Err.Error()
			t.awaiting = r.log.CheckCatalogue()
			return nil
		}
		return r.reset(ctx, t, c.Err.Error())
	case errors.Is(c.Err, errStale):
		t.stale = c
		return r.checkStale(ctx)
	case c.Err != nil:
		return c.Err
	}
	r.read[c.Job.Chunk] = c
	if c.Job.Fill != nil {
		r.log.RequestKeepalive()
		return r.do(ctx, r.core.Read(t.win, c.Job.Chunk, c.High, c.Bytes))
	}
	if c.Rest != nil {
		t.plan.back(*c.Rest)
	}
	rg := c.Job.Range
	if c.Rest != nil {
		rg.To = c.Rest.From
	}
	r.open[c.Job.Chunk] = rg
	if c.High > r.core.Position() {
		r.log.RequestKeepalive()
	}
	return r.readChunk(ctx, t, c)
}

// checkStale handles chunks that found other columns than the tail knows. The
// tail may still bring the change; once it has passed the chunk's HIGH without
// (nobody wrote to the table since), the change is taken from the catalogue.
func (r *reader) checkStale(ctx context.Context) error {
	for _, t := range r.tables {
		if t.stale == nil || r.core.Position() < t.stale.High {
			continue
		}
		cause := t.stale.Err
		t.stale = nil
		t.incarnation++ // no second question
		table, incarnation := t, t.incarnation
		position := r.core.Position()
		r.pool.ask(func(ctx context.Context, conn *pgx.Conn) func(context.Context) error {
			changes, err := catalogueChanges(ctx, conn, r.cfg, table.def, position)
			return func(ctx context.Context) error {
				switch {
				case err != nil || table.incarnation != incarnation:
					return err
				case len(changes) == 0:
					return r.reset(ctx, table, cause.Error())
				}
				return r.redefine(ctx, table, changes)
			}
		})
	}
	return nil
}

// reset starts the snapshot of a table anew, if one runs.
func (r *reader) reset(ctx context.Context, t *tableState, why string) error {
	actions, err := r.core.Reset(t.win)
	if err != nil {
		return wrapTable(t, err)
	}
	if len(actions) > 0 {
		r.logger.Info("snapshot starts anew", "table", t.def.ID.String(), "why", why)
	}
	return r.do(ctx, actions)
}

// do carries out what the window core asks for.
func (r *reader) do(ctx context.Context, actions []window.Action) error {
	for _, a := range actions {
		if err := r.doOne(ctx, a, r.tables[a.Table.ID]); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) doOne(ctx context.Context, a window.Action, t *tableState) error {
	switch a.Kind {
	case window.ActStart:
		return r.change(ctx, schema.ChangeSnapshotStart, t)
	case window.ActRead:
		r.askPlan(t)
	case window.ActClose:
		return r.enter(ctx, t, a.Chunk)
	case window.ActDiscard:
		if c := r.read[a.Chunk]; c != nil {
			c.release()
		}
		delete(r.read, a.Chunk)
		delete(r.open, a.Chunk)
		delete(r.owner, a.Chunk)
	case window.ActReset:
		t.incarnation++
		t.plan, t.planned, t.filling, t.reading, t.rows, t.stale = nil, false, false, 0, 0, nil
		t.checked, t.awaiting, t.moved = false, 0, ""
		t.drop()
		if err := r.change(ctx, schema.ChangeReset, t); err != nil {
			return err
		}
		return r.change(ctx, schema.ChangeSnapshotStart, t)
	case window.ActDone:
		return r.done(ctx, t)
	}
	return nil
}

// done ends the snapshot of a table.
func (r *reader) done(ctx context.Context, t *tableState) error {
	if err := t.win.Finish(); err != nil {
		return wrapTable(t, err)
	}
	t.chunksTotal = t.plan.chunks()
	t.plan, t.seen = nil, nil
	t.settled.Store(true)
	t.drop()
	r.progressTable(t)
	r.logger.Info("snapshot done", "table", t.def.ID.String(), "rows", t.rows)
	return r.change(ctx, schema.ChangeSnapshotDone, t)
}

// askPlan looks at the files of a table that is covered.
func (r *reader) askPlan(t *tableState) {
	if t.plan != nil { // restored
		return
	}
	incarnation := t.incarnation
	ask := func(ctx context.Context, conn *pgx.Conn) func(context.Context) error {
		p, err := planTable(ctx, conn, t.def, r.cfg.chunkSize)
		return func(ctx context.Context) error {
			if err != nil || t.incarnation != incarnation {
				return err
			}
			t.plan = p
			r.progressTable(t)
			return nil
		}
	}
	if !r.pool.ask(ask) {
		panic("postgres: more questions than tables may be read at once")
	}
}

// enter puts the rows of a chunk into the log.
func (r *reader) enter(ctx context.Context, t *tableState, id uint64) error {
	c := r.read[id]
	delete(r.read, id)
	delete(r.open, id)
	delete(r.owner, id)
	defer c.release()
	for len(c.Records) > 0 {
		rec := c.Records[0]
		c.Records = c.Records[1:]
		if err := r.enterRecord(ctx, t, c, rec); err != nil {
			return err
		}
	}
	if c.Job.Fill != nil {
		return r.filled(t, c.Job.Fill)
	}
	t.plan.Done++
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
		return err
	}
	n := int(rec.NumRows())
	pass, fill := make([]bool, n), []bool(nil)
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
			if fill == nil {
				fill = make([]bool, n)
			}
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
	switch {
	case count == 0:
		return nil
	case count == int(rec.NumRows()):
		rec.Retain()
		return r.emitReads(ctx, t, c, rec, fill)
	}
	rec.Retain()
	out, err := schema.SelectRows(ctx, r.mem, rec, selected)
	if err != nil {
		return wrapTable(t, err)
	}
	return r.emitReads(ctx, t, c, out, fill)
}

// emitReads emits rec as reads, or as fills; it takes over rec.
func (r *reader) emitReads(ctx context.Context, t *tableState, c *chunkRows, rec arrow.RecordBatch, fill bool) error {
	n := int(rec.NumRows())
	b := schema.NewBatch(t.def, rec) // of the same columns as when the chunk was planned
	b.Txs = []schema.Tx{{Commit: r.core.Position(), CommitTime: c.ReadTime, Rows: n}}
	if fill {
		b.Ops = make([]schema.Op, n)
		for i := range b.Ops {
			b.Ops[i] = schema.OpFill
		}
	} else {
		if r.rc.Needs.Origin {
			b.Origin = r.readOrigin(t, c, n)
		}
		t.rows += int64(n)
		r.shared.mu.Lock()
		r.shared.progress.ReadRows += int64(n)
		r.shared.mu.Unlock()
	}
	return r.emit(ctx, source.Element{Batch: b})
}
