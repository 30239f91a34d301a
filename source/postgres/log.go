package postgres

import (
	"github.com/freshet-cdc/freshet/schema"
)

// logGroup is a stretch of the log in decoded form: about maxGroupRows rows, cut
// behind a commit whenever one is near, and at once when the server has nothing
// more to send. Groups come in log order.
type logGroup struct {
	// Rows has one entry a table. The rows of a table are in log order; rows of
	// different tables commute, since the order of the log matters per key only.
	Rows []logRows
	// Changes (DDL, TRUNCATE) come after all of Rows, in order.
	Changes []*schema.Change
	// Report, where it is not nil, is what the catalogue held at a moment that the
	// log has passed with this group.
	Report *catalogueReport
	// Position is where the log stands after the group: the end LSN of the last
	// commit, or that of a keepalive; 0 when the group has neither.
	Position uint64
	// Commit is the end LSN of the last commit in the group, or 0.
	Commit uint64
	// CommitTime of the newest commit in the group, microseconds since 1970, or 0.
	CommitTime int64
	// XIDs are the transactions that committed in the group.
	XIDs []uint32
	// InTransaction says that the group ends inside a transaction: no checkpoint
	// may lie behind it.
	InTransaction bool
	// Hold, where it is not 0, is a position that covers what was read from the
	// tables to complete rows of the group: no checkpoint may lie behind the group
	// until the log has passed it.
	Hold uint64
	// Bytes is the size on the wire.
	Bytes int64
}

// logRows are consecutive rows of one table. The receiver releases the batch.
type logRows struct {
	Batch *schema.Batch
	// Keys are the keys of the rows, empty for a table without a key.
	Keys schema.Keys
}

// release gives back the batches of a group that nobody takes.
func (g *logGroup) release() {
	for _, r := range g.Rows {
		r.Batch.Release()
	}
}
