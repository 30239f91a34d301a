package mysql

import (
	"context"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/window"
)

// endTransactions emits the transactions that have ended in a group, where a sink wants them.
func (r *reader) endTransactions(ctx context.Context, g *binlog.Group) error {
	ended := r.txs.Ended(g.InTransaction)
	if len(ended) == 0 {
		return nil
	}
	last := ended[len(ended)-1].Commit
	return r.emit(ctx, source.Element{Change: &schema.Change{Kind: schema.ChangeTransactions, Transactions: ended, Position: last,
		Origin: &schema.Origin{Files: g.Files.Between(ended[0].Commit, last)}}})
}

// readOrigin returns the origin of n reads of a table, which go out next; end says that
// they are the last ones of their chunk.
func (r *reader) readOrigin(t *tableState, n int, end bool) *schema.Origin {
	o := &schema.Origin{Txs: make([]schema.TxOrigin, 1), Files: r.filesNow()}
	for _, other := range r.tables { // also before a restart
		r.placed = r.placed || other.rows > 0
	}
	switch {
	case !r.placed:
		o.First = schema.SnapshotFirst
	case t.rows == 0:
		o.First = schema.SnapshotFirstInTable
	}
	if end && r.exhausted(t) {
		o.Last = schema.SnapshotLast
		for _, other := range r.tables {
			if other != t && !r.exhausted(other) {
				o.Last = schema.SnapshotLastInTable
			}
		}
	}
	o.Join(n)
	return o
}

// restRows is how long the last rows of a table wait for the next ones.
const restRows = time.Second

// inOrder says that tables are read one after the other, and their last rows wait a
// little until it is known whether they are the last of all: one connection reads, and a
// sink prints it.
func (r *reader) inOrder() bool { return r.rc.Needs.Origin && r.cfg.readers == 1 }

// heldChunk is a chunk that was read, and which its table's window has not heard of.
type heldChunk struct {
	t     *tableState
	c     *chunkRows
	high  uint64
	since time.Time
}

// readChunk tells the window of a chunk that was read, now or when it has waited.
func (r *reader) readChunk(ctx context.Context, t *tableState, c *chunkRows, high uint64) error {
	if r.inOrder() && len(c.Records) > 0 && c.Fill == nil {
		r.held = append(r.held, heldChunk{t, c, high, time.Now()})
		return r.releaseHeld(ctx)
	}
	return r.do(ctx, r.core.Read(t.win, c.ID, high, c.Bytes))
}

// releaseHeld lets the chunks go on that are not their table's last one, or before which
// rows of others wait, or behind which nothing comes.
func (r *reader) releaseHeld(ctx context.Context) error {
	for len(r.held) > 0 {
		h := r.held[0]
		if r.read[h.c.ID] != h.c { // given up
			r.held = r.held[1:]
			continue
		}
		if len(r.held) == 1 && r.allRead(h.t) && r.more(h.t) && time.Since(h.since) < restRows {
			return nil
		}
		r.held = r.held[1:]
		if err := r.do(ctx, r.core.Read(h.t.win, h.c.ID, h.high, h.c.Bytes)); err != nil {
			return err
		}
	}
	return nil
}

// more reports whether a table other than t may have rows that have not been read.
func (r *reader) more(t *tableState) bool {
	for _, other := range r.tables {
		if other != t && other.win.Phase() != window.Done && !other.dropped && !r.allRead(other) {
			return true
		}
	}
	return false
}

// allRead reports whether all rows of a table have been read.
func (r *reader) allRead(t *tableState) bool {
	switch {
	case t.win.Phase() != window.Reading || t.reading > 0 || t.stale != 0:
		return false
	case t.win.Keyed():
		return t.plan != nil && !t.plan.More()
	}
	return t.viewRead
}

// exhausted reports whether no row of a table's snapshot is left to go out.
func (r *reader) exhausted(t *tableState) bool {
	for id, owner := range r.owner { // a table is done before its last chunk has gone out
		if c := r.read[id]; owner == t && (c == nil || len(c.Records) > 0) {
			return false
		}
	}
	return t.win.Phase() == window.Done || t.dropped || r.allRead(t)
}

// filesNow names the file that the tail stands in.
func (r *reader) filesNow() []schema.LogFile {
	at := r.core.Position()
	if len(r.logFiles) == 0 || r.logFilesOf != r.files || at < r.logFiles[0].Start {
		r.logFiles, r.logFilesOf = r.files.LogFiles(at), r.files
	}
	return r.logFiles
}
