package binlog

import (
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
)

// Group is a stretch of the log in decoded form: some thousand rows, cut behind a
// commit whenever one is near, behind every statement that changes a captured
// table's definition, and at once when the server has nothing more to send.
// Groups come in log order.
type Group struct {
	// Rows has one entry a table version, now and then more. The rows of an entry
	// are in log order; rows of different tables commute, since the order of the
	// log matters per key only.
	Rows []Rows
	// Effects (DDL, TRUNCATE) come after all of Rows, in order.
	Effects []ddl.Effect
	// EffectsTx is the transaction that Effects belong to, with what is known of it where
	// Options.Origin is set.
	EffectsTx     schema.Tx
	EffectsOrigin schema.TxOrigin
	// Catalog is in force behind the group.
	Catalog *ddl.Catalog
	// Position is where the log stands behind the group: the end of a transaction,
	// of another event outside one, or where a heartbeat says; 0 when it has not moved.
	Position uint64
	// Files say how positions are named, behind the group.
	Files Files
	// GTIDs are the transactions that ended in the group, in order; empty where
	// the server has none.
	GTIDs []GTID
	// Executed, where not nil, is the set of all transactions before the place
	// where the group begins, as the head of a binlog file tells it.
	Executed *GTIDSet
	// CommitTime of the newest transaction in the group, in microseconds since
	// 1970, or 0.
	CommitTime int64
	// InTransaction says that the group ends inside a transaction: no checkpoint
	// may lie behind it.
	InTransaction bool
	// Prepared are the XA transactions that are prepared and not yet decided,
	// behind the group. They belong into the checkpoint; a prepared one is immutable.
	Prepared []*Prepared
	// Bytes is the size on the wire.
	Bytes int64
}

// Rows are consecutive rows of one version of a table. The receiver releases the
// batch.
//
// Batch.Txs: ID is the GTID's number, or the Commit where there is no GTID; Commit is
// the position where the transaction STARTS (of its XA COMMIT for an XA
// transaction), because where it ends is not known when its first rows are sent;
// start positions are unique and grow along the log like commits. CommitTime is
// that of the server where it was committed first; where the binlog does not have
// it (MariaDB, MySQL before 8.0.1) the time of the statement, in whole seconds.
// Batch.Positions are those of the events that hold the rows; the rows of one event, or of
// a compressed or XA transaction, share one. MariaDB tells them since 11.4 only at
// the end of a transaction: there they are too low by the ANNOTATE_ROWS events that
// it does not send. Batch.Ordinals count the rows of captured tables.
type Rows struct {
	Batch *schema.Batch
	// Keys are the keys of the rows, empty for a table without a key.
	Keys schema.Keys
}

// Release gives back the batches of a group that nobody takes.
func (g *Group) Release() {
	for _, r := range g.Rows {
		r.Batch.Release()
	}
}
