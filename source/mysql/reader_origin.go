package mysql

import (
	"context"

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
	return r.emit(ctx, source.Element{Change: &schema.Change{Kind: schema.ChangeTransactions, Transactions: ended, Position: ended[len(ended)-1].Commit}})
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

// exhausted reports whether no row of a table's snapshot is left to go out.
func (r *reader) exhausted(t *tableState) bool {
	switch {
	case t.win.Phase() == window.Done || t.dropped:
		return true
	case t.win.Phase() != window.Reading || t.reading > 0 || t.stale != 0:
		return false
	case t.win.Keyed() && (t.plan == nil || t.plan.More()):
		return false
	case !t.win.Keyed() && !t.planned:
		return false
	}
	for id, owner := range r.owner {
		if c := r.read[id]; owner == t && (c == nil || len(c.Records) > 0) {
			return false
		}
	}
	return true
}

// filesNow names the file that the tail stands in.
func (r *reader) filesNow() []schema.LogFile {
	at := r.core.Position()
	if len(r.logFiles) == 0 || r.logFilesOf != r.files || at < r.logFiles[0].Start {
		r.logFiles, r.logFilesOf = r.files.LogFiles(at), r.files
	}
	return r.logFiles
}
