package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// group handles a stretch of the log and takes over its batches.
func (r *reader) group(ctx context.Context, g *logGroup) error {
	for i := range g.Rows {
		rows := g.Rows[i]
		if err := r.rows(ctx, rows); err != nil {
			for _, rest := range g.Rows[i+1:] {
				rest.Batch.Release()
			}
			return err
		}
	}
	if ended := r.txs.Ended(g.InTransaction); len(ended) > 0 {
		c := &schema.Change{Kind: schema.ChangeTransactions, Transactions: ended, Position: ended[len(ended)-1].Commit}
		if err := r.emit(ctx, source.Element{Change: c}); err != nil {
			return err
		}
	}
	if err := r.changes(ctx, g); err != nil {
		return err
	}
	r.inTransaction = g.InTransaction
	r.commit = max(r.commit, g.Commit)
	r.hold = max(r.hold, g.Hold)
	r.note(g)
	if g.Position != 0 {
		if err := r.do(ctx, r.core.Advance(g.Position)); err != nil {
			return err
		}
	}
	if g.Report != nil {
		return r.report(ctx, g.Report)
	}
	return nil
}

// rows handles the rows of one table; it takes over the batch.
func (r *reader) rows(ctx context.Context, rows logRows) error {
	b := rows.Batch
	t := r.tables[b.Table.ID]
	if t == nil { // published, but not captured
		b.Release()
		return nil
	}
	if t.reread != nil {
		for _, tx := range b.Txs {
			r.noteReread(t, uint32(tx.ID))
		}
		b.Release()
		return nil
	}
	if t.win.Phase() == window.Done {
		return r.emitChanges(ctx, b)
	}
	verdict := window.Drop
	for _, tx := range b.Txs {
		v := r.core.Event(t.win, r.fullXID(tx.ID))
		if t.win.Keyed() || tx.Rows == b.Rows() {
			verdict = v // all runs of a table with a key are alike
		} else if v == window.Pass {
			return r.filterRuns(ctx, t, b)
		}
	}
	switch verdict {
	case window.Drop:
		b.Release()
		return nil
	case window.PassNoted:
		if err := noteKeys(t, rows); err != nil {
			b.Release()
			return err
		}
	}
	return r.emitChanges(ctx, b)
}

// noteKeys puts the keys of the rows into seen; with what is needed to find the
// row of an event that left out cells, as long as chunks are to come.
func noteKeys(t *tableState, rows logRows) error {
	unchanged := rows.Batch.Unchanged
	for i := range rows.Keys.Len() {
		for len(unchanged) > 0 && int(unchanged[0].Row) < i {
			unchanged = unchanged[1:]
		}
		var partial []byte
		if !t.filling && len(unchanged) > 0 && int(unchanged[0].Row) == i {
			var err error
			if partial, err = keyTexts(rows.Batch, i); err != nil {
				return wrapTable(t, err)
			}
		}
		if err := t.win.Note(rows.Keys.Bytes(i), partial); err != nil {
			return wrapTable(t, err)
		}
	}
	return nil
}

// filterRuns emits the runs of transactions that the snapshot of a table
// without a key does not see.
func (r *reader) filterRuns(ctx context.Context, t *tableState, b *schema.Batch) error {
	defer b.Release()
	start := 0
	for _, tx := range b.Txs {
		end := start + tx.Rows
		if r.core.Event(t.win, r.fullXID(tx.ID)) == window.Pass {
			if err := r.emitChanges(ctx, b.Slice(start, end, []schema.Tx{tx})); err != nil {
				return err
			}
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

// fullXID gives a transaction number of the log its epoch.
func (r *reader) fullXID(xid uint64) uint64 { return window.FullXID(uint32(xid), r.nearXID) }

// changes handles DDL and TRUNCATE, which come behind the rows of their group.
func (r *reader) changes(ctx context.Context, g *logGroup) error {
	if len(g.Changes) == 0 {
		return nil
	}
	if !r.core.Idle() {
		for _, xid := range g.XIDs {
			r.core.Note(r.fullXID(uint64(xid)))
		}
	}
	for _, c := range g.Changes {
		if t := r.tables[c.Table]; t != nil {
			r.noteReread(t, g.XIDs...)
		}
	}
	for i := 0; i < len(g.Changes); {
		c := g.Changes[i]
		end := i + 1
		for c.Kind != schema.ChangeTruncate && end < len(g.Changes) && g.Changes[end].Table == c.Table && g.Changes[end].Kind != schema.ChangeTruncate {
			end++
		}
		t := r.tables[c.Table]
		var err error
		switch {
		case t == nil:
		case c.Kind == schema.ChangeTruncate:
			err = r.truncate(ctx, t, c)
		default:
			err = r.redefine(ctx, t, g.Changes[i:end])
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// truncate empties a table: a snapshot that runs starts anew, one that has not
// started will see it.
func (r *reader) truncate(ctx context.Context, t *tableState, c *schema.Change) error {
	switch t.win.Phase() {
	case window.Waiting:
		return nil
	case window.Done:
		return r.emit(ctx, source.Element{Change: c})
	}
	return r.reset(ctx, t, "TRUNCATE")
}

// redefine follows the changes that one statement made to a table's definition.
// A snapshot that runs starts anew, since chunks of the old definition and of the
// new one can't be told apart by their place; unless only what a column says beside
// its name and type has changed.
func (r *reader) redefine(ctx context.Context, t *tableState, changes []*schema.Change) error {
	before, after := t.def, changes[len(changes)-1].After
	if sameRows(before, after) && slices.Equal(before.PrimaryKey, after.PrimaryKey) { // or a stale chunk has shown the rest of it before
		c := alterColumns(before, r.core.Position(), func(c *schema.Column) {
			n, _ := after.Column(c.Name)
			c.Nullable, c.Comment, c.Default = n.Nullable, n.Comment, n.Default
		})
		if c == nil {
			return nil
		}
		t.define(c.After)
		return r.emit(ctx, source.Element{Change: c})
	}
	for _, c := range changes {
		if err := r.emit(ctx, source.Element{Change: c}); err != nil {
			return err
		}
	}
	t.define(after)
	return r.reset(ctx, t, "a new definition")
}

// define sets a table's definition.
func (t *tableState) define(def *schema.Table) {
	t.def, t.saved = def, nil
	t.enc = schema.NewKeyEncoder(def)
}

// note keeps what Progress shows of a group.
func (r *reader) note(g *logGroup) {
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
