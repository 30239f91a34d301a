package schema

// ChangeKind tells the kinds of [Change] apart.
type ChangeKind uint8

// The kinds of change. All of them are elements of the ordered log: rows before
// the change belong to Before, rows after it to After.
const (
	// ChangeCreateTable announces a table before its first row; After is set. It
	// comes again after every restart, so that sinks meet each table's current
	// definition; it must be idempotent.
	ChangeCreateTable ChangeKind = iota + 1
	// ChangeAddColumn: Columns are the added ones.
	ChangeAddColumn
	// ChangeDropColumn: Columns are the dropped ones.
	ChangeDropColumn
	// ChangeRenameColumn: Renames maps old to new names.
	ChangeRenameColumn
	// ChangeAlterColumn: Columns are the new definitions (type or nullability).
	ChangeAlterColumn
	// ChangeTruncate empties the table.
	ChangeTruncate
	// ChangeSnapshotStart says that the rows of the table's snapshot may follow.
	// With Staged set, nothing of the table may be shown before ChangeSnapshotDone.
	ChangeSnapshotStart
	// ChangeSnapshotDone says that the table's snapshot is complete.
	ChangeSnapshotDone
	// ChangeReset starts the table anew: everything written for it so far,
	// visible or staged, is replaced by what follows, in one commit with it where
	// the sink can. A snapshot that has to be read again begins with it.
	ChangeReset
	// ChangeTransactions says that Transactions have ended; all their rows have come. It
	// belongs to no table, and comes where the sink asked for it.
	ChangeTransactions
)

// String returns Flink CDC's tag of the kind where it has one, for instance add.column.
func (k ChangeKind) String() string {
	switch k {
	case ChangeCreateTable:
		return "create.table"
	case ChangeAddColumn:
		return "add.column"
	case ChangeDropColumn:
		return "drop.column"
	case ChangeRenameColumn:
		return "rename.column"
	case ChangeAlterColumn:
		return "alter.column.type"
	case ChangeTruncate:
		return "truncate.table"
	case ChangeSnapshotStart:
		return "snapshot.start"
	case ChangeSnapshotDone:
		return "snapshot.done"
	case ChangeReset:
		return "reset.table"
	case ChangeTransactions:
		return "transactions"
	}
	return "unknown"
}

// Change is anything that happens to a table other than to its rows. A statement
// that does several things becomes several changes, in the order drop, rename,
// alter, add, each with its own Before and After.
type Change struct {
	Kind  ChangeKind
	Table TableID
	// Before and After are the definitions around the change; equal for the
	// kinds that leave the schema alone.
	Before, After *Table
	Columns       []Column
	Renames       map[string]string
	// Position is where in the log the change lies (PostgreSQL: the LSN of the
	// transaction's commit).
	Position uint64
	Staged   bool
	// Tx is the transaction of a truncate, and Origin what else the log tells of it; they
	// are empty where no sink asked for them.
	Tx     Tx
	Origin *Origin
	// Transactions: see ChangeTransactions.
	Transactions []Transaction
}

// Transaction is a transaction that has ended.
type Transaction struct {
	// Tx is as in the batches; Rows counts those of all tables.
	Tx
	Origin TxOrigin
	// Tables are those that had rows, in the order of their first one.
	Tables []TableRows
}

// TableRows is how many rows a transaction had of a table.
type TableRows struct {
	Table TableID
	Rows  int64
}
