package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/window"
)

// replicated is where a transaction came from that was replicated to the server.
type replicated struct {
	origin string
	lsn    uint64 // of its commit there
}

// parseOrigin reads an Origin message.
func parseOrigin(p []byte) (*replicated, error) {
	const fixed = 1 + 8
	if len(p) <= fixed || p[len(p)-1] != 0 {
		return nil, fmt.Errorf("%w: Origin of %d bytes", errProtocol, len(p))
	}
	return &replicated{lsn: binary.BigEndian.Uint64(p[1:]), origin: string(bytes.TrimRight(p[fixed:], "\x00"))}, nil
}

// origin is what the log tells of the transaction that a cursor stands in.
func (c *txCursor) origin() schema.TxOrigin { return c.transaction.source(c.lastCommit) }

// source is what the log tells of a transaction behind the commit that ends at last.
func (t transaction) source(last uint64) schema.TxOrigin {
	o := schema.TxOrigin{LastCommit: last}
	if t.replicated != nil {
		o.Replicated, o.ReplicatedLSN = t.replicated.origin, t.replicated.lsn
	}
	return o
}

// readOrigin returns the origin of n reads of a table, which go out next; end says that
// they are the last ones of their chunk.
func (r *reader) readOrigin(t *tableState, c *chunkRows, n int) *schema.Origin {
	o := &schema.Origin{Txs: []schema.TxOrigin{{Snapshot: c.Next}}}
	for _, other := range r.tables { // also before a restart
		r.placed = r.placed || other.rows > 0
	}
	switch {
	case !r.placed:
		o.First = schema.SnapshotFirst
	case t.rows == 0:
		o.First = schema.SnapshotFirstInTable
	}
	if len(c.Records) == 0 && r.exhausted(t) {
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
const restRows = 5 * time.Second

// inOrder says that tables are read one after the other, and their last rows wait a
// little until it is known whether they are the last of all: one connection reads, and a
// sink prints it.
func (r *reader) inOrder() bool { return r.rc.Needs.Origin && r.cfg.readers == 1 }

// heldChunk is a chunk that was read, and which its table's window has not heard of.
type heldChunk struct {
	t     *tableState
	c     *chunkRows
	since time.Time
}

// readChunk tells the window of a chunk that was read, now or when it has waited.
func (r *reader) readChunk(ctx context.Context, t *tableState, c *chunkRows) error {
	if r.inOrder() && len(c.Records) > 0 {
		r.waiting = append(r.waiting, heldChunk{t, c, time.Now()})
		return r.releaseHeld(ctx)
	}
	return r.do(ctx, r.core.Read(t.win, c.Job.Chunk, c.High, c.Bytes))
}

// releaseHeld lets the chunks go on that are not their table's last one, or before which
// rows of others wait, or behind which nothing comes.
func (r *reader) releaseHeld(ctx context.Context) error {
	for len(r.waiting) > 0 {
		h := r.waiting[0]
		if r.read[h.c.Job.Chunk] != h.c { // given up
			r.waiting = r.waiting[1:]
			continue
		}
		if len(r.waiting) == 1 && r.allRead(h.t) && r.more(h.t) && time.Since(h.since) < restRows {
			return nil
		}
		r.waiting = r.waiting[1:]
		if err := r.do(ctx, r.core.Read(h.t.win, h.c.Job.Chunk, h.c.High, h.c.Bytes)); err != nil {
			return err
		}
	}
	return nil
}

// more reports whether a table other than t may have rows that have not been read.
func (r *reader) more(t *tableState) bool {
	for _, other := range r.tables {
		if other != t && (other.win.Phase() != window.Done || other.reread != nil) && !r.allRead(other) {
			return true
		}
	}
	return false
}

// allRead reports whether all rows of a table have been read.
func (r *reader) allRead(t *tableState) bool {
	return t.win.Phase() == window.Reading && t.reading == 0 && t.stale == nil && t.moved == "" && t.plan != nil && !t.plan.more()
}

// exhausted reports whether no row of a table's snapshot is left to go out.
func (r *reader) exhausted(t *tableState) bool {
	for id, owner := range r.owner { // a table is done before its last chunk has gone out
		if c := r.read[id]; owner == t && (c == nil || len(c.Records) > 0) {
			return false
		}
	}
	return t.win.Phase() == window.Done && t.reread == nil || r.allRead(t)
}
