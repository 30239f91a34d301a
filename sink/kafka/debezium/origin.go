package debezium

// Origin is what a source block says of a batch's rows beyond what a schema.Batch carries.
// The zero value is known nothing: what can be left out is null.
type Origin struct {
	// Txs has an entry for each of the batch's transactions, or is nil.
	Txs []TxOrigin
	// Place returns the file and the offset of a position (MySQL, MariaDB).
	Place func(position uint64) (file string, offset uint64)
	// Rows has each row's number within its event (MySQL, MariaDB). Where it is nil,
	// rows of the batch that have one position are counted.
	Rows []int32
	// Snapshot says of reads where in the snapshot they stand; nil is [SnapshotTrue].
	Snapshot []SnapshotPlace
	// Orders has each row's place in its transaction (provide.transaction.metadata), or is nil.
	Orders []Order
}

// TxOrigin is what is to be known of a transaction.
type TxOrigin struct {
	// ID is the transaction's name in the transaction block.
	ID string
	// Micros is when the transaction was committed, in microseconds since 1970, where
	// that is known more exactly than by its schema.Tx; else 0.
	Micros int64

	// ServerID is the server that executed it, GTID its name there, empty for none (MySQL, MariaDB).
	ServerID uint32
	GTID     string
	// Thread is the connection that executed it; HasThread says that it is known.
	Thread    uint32
	HasThread bool
	// Query is the statement, where the server logs it.
	Query string

	// LastCommit is the position of the commit before (PostgreSQL), 0 for none.
	LastCommit uint64
	// Origin is where the transaction was replicated from, OriginLSN its position
	// there (PostgreSQL); empty for none.
	Origin    string
	OriginLSN uint64
}

// Order is a row's place in its transaction, counted from 1.
type Order struct{ Total, Collection int64 }

// SnapshotPlace is where in a snapshot a row stands.
type SnapshotPlace uint8

// The places in a snapshot.
const (
	SnapshotTrue SnapshotPlace = iota
	SnapshotFirst
	SnapshotFirstInTable
	SnapshotLastInTable
	SnapshotLast
	SnapshotIncremental
)

var snapshotNames = [...]string{
	SnapshotTrue: `"true"`, SnapshotFirst: `"first"`, SnapshotFirstInTable: `"first_in_data_collection"`,
	SnapshotLastInTable: `"last_in_data_collection"`, SnapshotLast: `"last"`, SnapshotIncremental: `"incremental"`,
}

var noTx TxOrigin

func (o *Origin) tx(n int) *TxOrigin {
	if n < len(o.Txs) {
		return &o.Txs[n]
	}
	return &noTx
}
