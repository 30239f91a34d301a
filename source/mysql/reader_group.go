package mysql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/window"
)

// group handles a stretch of the log and takes over its batches.
func (r *reader) group(ctx context.Context, g *binlog.Group) error {
	for i := range g.Rows {
		if err := r.rows(ctx, g.Rows[i]); err != nil {
			for _, rest := range g.Rows[i+1:] {
				rest.Batch.Release()
			}
			return err
		}
	}
	if err := r.endTransactions(ctx, g); err != nil {
		return err
	}
	for _, e := range g.Effects {
		if err := r.effect(ctx, g, e); err != nil {
			return err
		}
	}
	if g.Executed != nil {
		r.gtids.Union(g.Executed)
	}
	for _, id := range g.GTIDs {
		r.gtids.Add(id)
	}
	r.noteAllUnlogged(r.catalog, g.Catalog)
	r.noteCascades(r.catalog, g.Catalog)
	r.checkLost = r.checkLost || r.catalog != g.Catalog || len(g.Effects) > 0
	r.inTransaction, r.catalog, r.prepared = g.InTransaction, g.Catalog, g.Prepared
	if g.Files != r.files {
		r.files = g.Files
		r.cfg.names.set(g.Files)
	}
	r.note(g)
	if g.Position == 0 {
		return nil
	}
	if err := r.do(ctx, r.core.Advance(g.Position)); err != nil {
		return err
	}
	return r.announceRest(ctx)
}

// announce makes a table known that the log shows for the first time.
func (r *reader) announce(ctx context.Context, def *schema.Table) (*tableState, error) {
	t := &tableState{}
	t.define(def)
	r.tables[def.ID] = t
	r.capture(def.ID)
	t.win = r.core.AddDone(def.ID, def.HasKey())
	r.progressTable(t)
	if d, ok := r.catalog.Definition(def.ID); ok {
		r.noteUnlogged(def.ID, d)
	}
	return t, r.change(ctx, schema.ChangeCreateTable, t)
}

// announceRest announces the tables that have not come up to where the
// definitions were read.
func (r *reader) announceRest(ctx context.Context) error {
	if r.guessed == 0 || r.announced || r.core.Position() < r.guessed {
		return nil
	}
	r.announced = true
	for _, db := range r.catalog.Databases() {
		for _, d := range r.catalog.Tables(db.Name) {
			def, err := d.Table()
			if err != nil || r.tables[d.ID] != nil || !r.cfg.match(d.ID) {
				continue // a definition that was lost comes with the rows
			}
			if _, err := r.announce(ctx, def); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows handles the rows of one table; it takes over the batch.
func (r *reader) rows(ctx context.Context, rows binlog.Rows) error {
	b := rows.Batch
	t := r.tables[b.Table.ID]
	if t == nil && r.guessed != 0 {
		var err error
		if t, err = r.announce(ctx, b.Table); err != nil {
			b.Release()
			return err
		}
	}
	switch {
	case t == nil: // it came while the pipeline ran, and is not captured
		b.Release()
		return nil
	case t.win.Phase() == window.Done:
		return r.emitChanges(ctx, b)
	case !t.win.Keyed():
		return r.keylessRows(ctx, t, b)
	}
	if r.core.Event(t.win, 0) == window.Drop {
		b.Release()
		return nil
	}
	if err := noteKeys(t, rows); err != nil {
		b.Release()
		return err
	}
	return r.emitChanges(ctx, b)
}

// noteKeys puts the keys of the rows into seen; with what is needed to find the
// row of an event that left out cells, as long as chunks are to come.
func noteKeys(t *tableState, rows binlog.Rows) error {
	unchanged := rows.Batch.Unchanged
	for i := range rows.Keys.Len() {
		for len(unchanged) > 0 && int(unchanged[0].Row) < i {
			unchanged = unchanged[1:]
		}
		var partial []byte
		if !t.filling && len(unchanged) > 0 && int(unchanged[0].Row) == i {
			var err error
			if partial, err = keyCondition(rows.Batch, i); err != nil {
				return err
			}
		}
		if err := t.win.Note(rows.Keys.Bytes(i), partial); err != nil {
			return wrapTable(t, err)
		}
	}
	return nil
}

// keylessRows emits the runs of transactions that the one snapshot of a table
// without a key does not show. A transaction's number is where it begins.
func (r *reader) keylessRows(ctx context.Context, t *tableState, b *schema.Batch) error {
	defer b.Release()
	start := 0
	for _, tx := range b.Txs {
		end := start + tx.Rows
		if r.core.Event(t.win, tx.Commit) == window.Pass {
			if err := r.emitChanges(ctx, b.Slice(start, end, []schema.Tx{tx})); err != nil {
				return err
			}
		} else if t.win.Phase() == window.Reading && tx.Commit >= t.doubtFrom && tx.Commit < t.viewHigh {
			return r.doubt(ctx, t)
		}
		start = end
	}
	return nil
}

// emitChanges hands rows of the log on and counts them.
func (r *reader) emitChanges(ctx context.Context, b *schema.Batch) error {
	rows := int64(b.Rows())
	r.txs.Add(b)
	if err := r.emit(ctx, source.Element{Batch: b}); err != nil {
		return err
	}
	r.shared.mu.Lock()
	r.shared.progress.ChangeRows += rows
	r.shared.mu.Unlock()
	return nil
}

// effect follows what a statement did to a table.
func (r *reader) effect(ctx context.Context, g *binlog.Group, e ddl.Effect) error {
	t := r.tables[e.Table]
	if t == nil && e.Kind == ddl.Rename {
		t = r.tables[e.NewID]
	}
	if t == nil {
		return r.appeared(ctx, e)
	}
	if e.Position < r.definitionsAt && t.adopted {
		return fmt.Errorf("%w: table %s: %s", errDefinitionsMoved, t.def.ID, e.SQL)
	}
	if e.Kind == ddl.Unknown {
		r.unknown(e)
		return nil
	}
	if r.rc.Needs.Events && t.win.Phase() == window.Done && redefines(e) {
		return r.emitRedefined(ctx, t, e)
	}
	if e.Err != nil {
		return fmt.Errorf("%w: at %s: %w", ErrSchemaChange, r.format(e.Position), e.Err)
	}
	switch e.Kind {
	case ddl.Truncate:
		return r.truncate(ctx, t, g, e)
	case ddl.Drop:
		return r.droppedTable(ctx, t, e)
	case ddl.Create:
		return r.recreated(ctx, t, g, e)
	case ddl.Rename:
		if e.Table != t.def.ID {
			return r.recreated(ctx, t, g, e)
		}
		return r.renamedAway(t, e)
	}
	return r.redefine(ctx, t, e)
}

// unknown reports a statement that leaves the definition of a table unknown; findLost
// goes on from there.
func (r *reader) unknown(e ddl.Effect) {
	r.logger.Warn("a statement can't be followed; the definition of its table is read from the server", "table", e.Table.String(), "statement", e.SQL, "position", r.format(e.Position), "why", e.What)
}

// droppedTable handles the end of a table. A snapshot that runs, or waits, ends without rows.
func (r *reader) droppedTable(ctx context.Context, t *tableState, e ddl.Effect) error {
	t.dropped = true
	if t.win.Phase() == window.Done {
		r.logger.Warn("captured table was dropped; what was copied of it stays", "table", t.def.ID.String(), "position", r.format(e.Position))
		return nil
	}
	r.logger.Warn("captured table was dropped before its snapshot was done; nothing is copied of it", "table", t.def.ID.String(), "position", r.format(e.Position))
	return r.reset(ctx, t, "the table was dropped")
}

// truncate empties a table: a snapshot that runs starts anew, one that has not
// started will see it.
func (r *reader) truncate(ctx context.Context, t *tableState, g *binlog.Group, e ddl.Effect) error {
	switch t.win.Phase() {
	case window.Waiting:
		return nil
	case window.Done:
		c := &schema.Change{Kind: schema.ChangeTruncate, Table: t.def.ID, Before: t.def, After: t.def, Position: e.Position}
		if r.rc.Needs.Origin {
			c.Tx, c.Origin = g.EffectsTx, &schema.Origin{Txs: []schema.TxOrigin{g.EffectsOrigin}, Files: g.Files.LogFiles(e.Position)}
		}
		return r.emit(ctx, source.Element{Change: c})
	}
	return r.reset(ctx, t, "TRUNCATE")
}

// redefine follows the changes that one statement made to a table's definition.
// A snapshot that runs starts anew, since chunks of the old definition and of the
// new one can't be told apart. Where the statement changed rows without events,
// the table is read again if the user chose so.
func (r *reader) redefine(ctx context.Context, t *tableState, e ddl.Effect) error {
	for _, c := range e.Changes {
		if err := r.emit(ctx, source.Element{Change: c}); err != nil {
			return err
		}
	}
	if n := len(e.Changes); n > 0 {
		t.define(e.Changes[n-1].After)
	}
	switch {
	case t.win.Phase() != window.Done:
		if len(e.Changes) > 0 || e.RewritesRows {
			return r.reset(ctx, t, "a new definition")
		}
		return nil
	case !e.RewritesRows:
		return nil
	}
	return r.rewritten(ctx, t, e.Position, e.What)
}

// rewritten handles a table that is complete and has other rows now, without events.
func (r *reader) rewritten(ctx context.Context, t *tableState, position uint64, what string) error {
	if r.rc.Needs.Events { // what is written down has happened; this makes no event
		return nil
	}
	if !r.cfg.rereadRewritten {
		return &SchemaChangeError{Table: t.def.ID, Place: r.format(position), What: what,
			Hint: "rows changed without events: set scan.rewritten-tables to snapshot, which reads such a table again, or start a new pipeline for the table"}
	}
	return r.again(ctx, t, what)
}

// again reads a table anew that is complete.
func (r *reader) again(ctx context.Context, t *tableState, why string) error {
	var set window.Set
	if t.win.Keyed() {
		var err error
		if set, err = r.openSet(t); err != nil {
			return err
		}
	}
	r.logger.Info("table is read again", "table", t.def.ID.String(), "why", why)
	r.require()
	return r.do(ctx, r.core.Again(t.win, set))
}

// appeared handles a statement about a table that is not captured so far.
func (r *reader) appeared(ctx context.Context, e ddl.Effect) error {
	id := e.Table
	if e.Kind == ddl.Rename {
		id = e.NewID
	}
	if e.Kind == ddl.Unknown && r.cfg.match(id) {
		r.unknown(e)
	}
	if e.Kind != ddl.Create && e.Kind != ddl.Rename || !r.cfg.match(id) {
		return nil
	}
	if r.guessed != 0 && e.Kind != ddl.Create && r.core.Position() < r.guessed {
		return nil // its rows will announce it
	}
	wanted := r.core.Position() < r.guessed || r.cfg.addWhileRunning || slices.Contains(r.created, id)
	if slices.Contains(r.late, id) && (r.cfg.snapshotsAtStart() || e.Kind == ddl.Rename || e.RewritesRows) {
		return nil // it is read in its turn
	}
	asItIs := r.rc.Needs.Events && r.cfg.addWhileRunning // from here on
	if !asItIs && (e.Kind == ddl.Rename || e.RewritesRows) || !wanted {
		r.logger.Info("a table that matches has come and is not captured; scan.newly-added-table.enabled reads it after a restart, scan.binlog.newly-added-table.enabled captures created ones at once", "table", id.String(), "statement", e.SQL)
		return nil
	}
	if e.Err != nil {
		return e.Err
	}
	_, err := r.announce(ctx, e.After)
	return err
}

// recreated handles a table that was dropped and has come again: empty, or as another
// one that took its name, with its rows.
func (r *reader) recreated(ctx context.Context, t *tableState, g *binlog.Group, e ddl.Effect) error {
	t.dropped = false
	if e.After == nil || !sameShape(t.def, e.After) {
		return &SchemaChangeError{Table: t.def.ID, Place: r.format(e.Position), What: "the table was dropped and created with other columns",
			Hint: "start a new pipeline for the table"}
	}
	if t.win.Phase() == window.Done && (e.RewritesRows || e.Kind == ddl.Rename) {
		return r.rewritten(ctx, t, e.Position, "the table was dropped, and another one with rows took its name")
	}
	return r.truncate(ctx, t, g, e)
}

// sameShape reports whether rows of both definitions fit the same sink table.
func sameShape(a, b *schema.Table) bool {
	if len(a.Columns) != len(b.Columns) || len(a.PrimaryKey) != len(b.PrimaryKey) {
		return false
	}
	for i := range a.Columns {
		if a.Columns[i].Name != b.Columns[i].Name || !a.Columns[i].Type.Equal(b.Columns[i].Type) {
			return false
		}
	}
	for i := range a.PrimaryKey {
		if a.PrimaryKey[i] != b.PrimaryKey[i] {
			return false
		}
	}
	return true
}

// define sets a table's definition.
func (t *tableState) define(def *schema.Table) {
	t.def, t.saved = def, nil
	t.enc = schema.NewKeyEncoder(def)
}

// note keeps what Progress shows of a group.
func (r *reader) note(g *binlog.Group) {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	p := &r.shared.progress
	p.Bytes += g.Bytes
	p.Server = max(p.Server, r.log.Server())
	p.Position = max(p.Position, g.Position)
	if g.CommitTime != 0 {
		r.shared.commit = g.CommitTime
	}
}

// microsAgo returns the time since t, microseconds since 1970.
func microsAgo(t int64) time.Duration {
	return max(time.Since(time.UnixMicro(t)), 0)
}

// wrapTable names the table in an error.
func wrapTable(t *tableState, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %s: %w", t.def.ID, err)
}
