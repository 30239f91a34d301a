package mysql

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/window"
)

// schedule starts tables and hands out chunks as far as the bounds allow.
func (r *reader) schedule(ctx context.Context) error {
	if r.core.Idle() {
		return nil
	}
	if err := r.startTables(ctx); err != nil {
		return err
	}
	if err := r.releaseHeld(ctx); err != nil {
		return err
	}
	r.ask()
	for _, win := range r.core.Tables() {
		if win.Phase() != window.Reading && win.Phase() != window.Covering {
			continue
		}
		t := r.tables[win.ID]
		if t.dropped {
			if err := r.finishDropped(ctx, t); err != nil {
				return err
			}
		}
		if win.Phase() != window.Reading || t.planned || t.stale != 0 || !win.Keyed() {
			continue
		}
		if t.plan == nil {
			r.askPlan(t)
			continue
		}
		r.openChunks(t)
		if t.plan.More() || t.reading > 0 || r.core.Position() < t.emptyUntil {
			continue
		}
		if done, err := r.fill(t); err != nil || !done {
			if err != nil {
				return err
			}
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
	if r.inTransaction || r.core.Position() < r.definitionsAt {
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
		if t.Phase() != window.Waiting || !t.Keyed() && keyless <= 0 {
			continue
		}
		if !t.Keyed() {
			keyless--
		}
		free--
		r.require()
		if err := r.do(ctx, r.core.Start(t)); err != nil {
			return err
		}
	}
	return nil
}

// openChunks hands ranges to readers as far as the bounds allow, and looks for the
// boundaries of further ones.
func (r *reader) openChunks(t *tableState) {
	for r.core.CanOpen() && r.pool.free() {
		rg, ok := t.plan.Next()
		if !ok {
			break
		}
		id := r.core.Open(t.win)
		r.open[id], r.owner[id] = rg, t
		t.reading++
		r.pool.dispatch(chunkJob{ID: id, Incarnation: t.incarnation, Job: t.plan.Job(t.def, rg)})
	}
	if !r.pool.canAsk() {
		return
	}
	w, ok := t.plan.Walk()
	if !ok {
		return
	}
	incarnation, def, key, plan, files := t.incarnation, t.def, t.plan.Key, t.plan, r.files
	r.pool.ask(func(ctx context.Context, c *control) func(context.Context) error {
		bounds, end, err := c.reader.Walk(ctx, def, &key, w)
		position, err := c.behind(ctx, files, err)
		return func(context.Context) error {
			if t.incarnation != incarnation {
				return nil
			}
			if err != nil {
				return r.failed(t, err, position)
			}
			plan.Walked(bounds, end)
			return nil
		}
	})
}

// chunk takes what a reader has read.
func (r *reader) chunk(ctx context.Context, c *chunkRows) error {
	t := r.tables[c.Table.ID]
	if t == nil || c.Incarnation != t.incarnation {
		c.Release() // given up meanwhile
		return nil
	}
	t.reading--
	high := uint64(0)
	if !c.High.IsZero() {
		var err error
		if high, err = r.files.Position(binlog.Place(c.High)); err != nil {
			c.Release()
			return err
		}
	}
	if c.Err != nil {
		c.Release()
		return r.failed(t, c.Err, high)
	}
	r.read[c.ID] = c
	if c.Fill == nil {
		t.plan.Took(&c.Chunk)
		r.open[c.ID] = c.Range()
	}
	return r.readChunk(ctx, t, c, high)
}

// failed handles an error of reading a table. Other columns than the tail knows
// come from a statement that the log still has, before position; it starts the
// snapshot anew.
func (r *reader) failed(t *tableState, err error, position uint64) error {
	if !errors.Is(err, snapshot.ErrStale) {
		return err
	}
	t.stale, t.staleErr = position, err
	return nil
}

// maxStales is how often a snapshot starts anew because its table is not as expected
// and the log does not say why: its index has another name, for instance.
const maxStales = 3

// checkStale handles tables that were found to have other columns, where the log has
// passed the place and has not said so: it ends the pipeline unless that passes.
func (r *reader) checkStale(ctx context.Context) error {
	if r.inTransaction {
		return nil
	}
	for _, t := range r.tables {
		if t.stale == 0 || r.core.Position() < t.stale {
			continue
		}
		if t.stales++; t.stales >= maxStales {
			return &SchemaChangeError{Table: t.def.ID, Place: r.format(t.stale), What: t.staleErr.Error(),
				Hint: "the binlog does not show how the table came to these columns; start a new pipeline for the table"}
		}
		if err := r.reset(ctx, t, t.staleErr.Error()); err != nil {
			return err
		}
	}
	return nil
}

// finishDropped ends the snapshot of a table that no longer exists: without rows.
func (r *reader) finishDropped(ctx context.Context, t *tableState) error {
	if t.win.Phase() == window.Covering && !t.win.Keyed() {
		if err := r.do(ctx, r.core.Opened(t.win, seesBefore(math.MaxUint64))); err != nil {
			return err
		}
	}
	if t.win.Phase() != window.Reading || t.planned {
		return nil
	}
	t.planned = true
	return r.do(ctx, r.core.Planned(t.win))
}

// reset starts the snapshot of a table anew, if one runs.
func (r *reader) reset(ctx context.Context, t *tableState, why string) error {
	r.require()
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
		if !t.win.Keyed() && !t.dropped {
			r.pool.readView(t.view, t.def, t.incarnation)
		}
	case window.ActClose:
		return r.enter(ctx, t, a.Chunk)
	case window.ActDiscard:
		if c := r.read[a.Chunk]; c != nil {
			c.Release()
		}
		delete(r.read, a.Chunk)
		delete(r.open, a.Chunk)
		delete(r.owner, a.Chunk)
	case window.ActReset:
		t.incarnation++
		t.plan, t.planning, t.planned, t.filling, t.reading, t.rows, t.stale, t.catchUp, t.emptyUntil = nil, false, false, false, 0, 0, 0, 0, 0
		t.viewRead = false
		t.drop()
		r.progressTable(t)
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
	t.seen, t.doubts, t.stales, t.restless, t.notBefore = nil, 0, 0, time.Time{}, time.Time{}
	t.drop()
	r.progressTable(t)
	t.plan = nil
	r.logger.Info("snapshot done", "table", t.def.ID.String(), "rows", t.rows)
	return r.change(ctx, schema.ChangeSnapshotDone, t)
}

// askPlan looks at the key of a table that is covered. Where too many questions wait,
// it is asked again.
func (r *reader) askPlan(t *tableState) {
	if t.planning {
		return
	}
	incarnation, def, files := t.incarnation, t.def, r.files
	options := snapshot.Options{ChunkRows: r.cfg.chunkSize, ChunkBytes: chunkBytes}
	t.planning = r.pool.ask(func(ctx context.Context, c *control) func(context.Context) error {
		p, err := c.reader.Plan(ctx, def, options)
		position, err := c.behind(ctx, files, err)
		if err == nil && !p.More() { // no chunk will say where that was
			position, err = c.position(ctx, files)
		}
		return func(context.Context) error {
			if t.incarnation != incarnation {
				return nil
			}
			t.planning = false
			if err != nil {
				return r.failed(t, err, position)
			}
			t.plan, t.emptyUntil = p, position
			r.progressTable(t)
			return nil
		}
	})
}
