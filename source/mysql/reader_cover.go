package mysql

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/window"
)

// require says that whatever the tail has passed must be visible to the tables
// that start from here on.
func (r *reader) require() { r.core.Require(window.Cover{Before: r.core.Position()}) }

// seesBefore is what a SELECT sees that shows all that begins below position.
func seesBefore(position uint64) window.Snapshot {
	return window.Snapshot{Xmin: position, Xmax: position}
}

// tail is where the tail stands, for the cover.
func (r *reader) tail() snapshot.Tail {
	t := snapshot.Tail{Place: snapshot.Place(r.files.Place(max(r.core.Position(), r.movedTo)))}
	if r.byGTID && !r.server.mariadb() {
		t.GTIDs = r.gtids.String()
	}
	return t
}

// ask asks one long question at a time, covers and views in turn: a table that is
// locked must not keep the others from their cover.
func (r *reader) ask() {
	if !r.coverNext {
		r.askView()
	}
	if r.core.NeedsVisible() && r.asking.IsZero() {
		r.askVisible()
	}
	r.askView()
}

// askVisible waits until a new SELECT sees what the tail has passed.
func (r *reader) askVisible() {
	position, tail := r.core.Position(), r.tail()
	r.asking, r.coverNext = time.Now(), false
	r.pool.askLong(func(ctx context.Context, c *control) func(context.Context) error {
		err := c.reader.Cover(ctx, tail)
		return func(ctx context.Context) error {
			r.asking = time.Time{}
			if err != nil {
				return err
			}
			return r.do(ctx, r.core.Visible(seesBefore(position)))
		}
	})
}

// warnUncovered tells people when a snapshot waits long for transactions.
func (r *reader) warnUncovered() {
	const patience = 10 * time.Second
	if r.asking.IsZero() || time.Since(r.asking) < patience || time.Since(r.warned) < patience {
		return
	}
	r.warned = time.Now()
	r.logger.Warn("snapshot waits until transactions of the binlog are visible: a semi-synchronous replica may be behind, or a statement holds the table", "seconds", int(time.Since(r.asking).Seconds()))
}

// askView opens the one read view of a table without a key: first the tail comes
// near the end of the log, then it stands still until the view is open.
func (r *reader) askView() {
	for _, win := range r.core.Tables() {
		t := r.tables[win.ID]
		if win.Keyed() || win.Phase() != window.Covering || !r.asking.IsZero() || t.stale != 0 || t.dropped || time.Now().Before(t.notBefore) {
			continue
		}
		if t.catchUp == 0 {
			r.askEnd(t)
		} else if r.opens(t) {
			r.openView(t)
		}
	}
}

// askEnd asks where the log ends.
func (r *reader) askEnd(t *tableState) {
	incarnation, files := t.incarnation, r.files
	r.asking, r.coverNext = time.Now(), true
	r.pool.askLong(func(ctx context.Context, c *control) func(context.Context) error {
		at, err := c.position(ctx, files)
		return func(context.Context) error {
			r.asking = time.Time{}
			if t.incarnation == incarnation {
				t.catchUp = at
			}
			return err
		}
	})
}

// piece takes the next rows of a view. They wait like a chunk until the tail has
// passed what the view sees, and what may have changed the definition that it is read by.
func (r *reader) piece(ctx context.Context, p viewPiece) error {
	t := r.tables[p.table.ID]
	if t == nil || t.incarnation != p.incarnation {
		p.release() // given up meanwhile
		return nil
	}
	if p.err != nil {
		return r.failed(t, p.err, t.viewEnd)
	}
	id := r.core.Open(t.win)
	c := &chunkRows{Table: t.def, ID: id}
	if p.rec != nil { // else the end is a chunk too: a view without rows is entered where it was opened
		c.Records, c.Bytes, c.ReadTime = []arrow.RecordBatch{p.rec}, schema.RecordBytes(p.rec), p.readTime
	}
	r.read[id], r.owner[id] = c, t
	t.viewRead = p.last
	if err := r.readChunk(ctx, t, c, t.viewEnd); err != nil || p.rec != nil || t.win.Phase() != window.Reading {
		return err
	}
	t.planned = true
	return r.do(ctx, r.core.Planned(t.win))
}
