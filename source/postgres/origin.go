package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"

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

// exhausted reports whether no row of a table's snapshot is left to go out.
func (r *reader) exhausted(t *tableState) bool {
	switch {
	case t.win.Phase() == window.Done && t.reread == nil:
		return true
	case t.win.Phase() != window.Reading || t.reading > 0 || t.stale != nil || t.plan == nil || t.plan.more():
		return false
	}
	for id, owner := range r.owner {
		if c := r.read[id]; owner == t && (c == nil || len(c.Records) > 0) {
			return false
		}
	}
	return true
}
