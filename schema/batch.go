package schema

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
)

// Op is what happened to a row.
type Op uint8

// The operations; the letters are Debezium's.
const (
	OpRead   Op = 'r' // found by a snapshot
	OpInsert Op = 'c'
	OpUpdate Op = 'u'
	OpDelete Op = 'd' // the row holds the key columns, and the others where the source knows them
	// OpFill carries values for cells that an earlier update of the same key left
	// out while the table's snapshot runs (see Batch.Unchanged). It never creates
	// a row, never touches a cell that is known, and counts as no change.
	OpFill Op = 'f'
)

// Tx is a run of rows of one source transaction.
type Tx struct {
	// ID is the transaction's number at its source (PostgreSQL's xid), 0 for a read.
	ID uint64
	// Commit is the position of the commit (PostgreSQL: the LSN of the commit
	// record, known from the transaction's first row on; for a read, the position
	// at which the row entered the log).
	Commit uint64
	// CommitTime is the commit's time in microseconds since 1970 UTC; for a read
	// the time of reading.
	CommitTime int64
	// Rows is the number of rows of the batch that belong to this run.
	Rows int
}

// Cell is one value of a batch.
type Cell struct{ Row, Column int32 }

// Batch holds rows of one table at one schema version, in the order of the log.
// It is immutable once sent. The creator owns one reference; [Batch.Release] of
// the last one releases the Arrow records.
type Batch struct {
	Table *Table
	// Record has a column for each of Table.Columns, in their order, typed as
	// [Table.ArrowSchema] says. Rows of OpDelete hold at least the key.
	Record arrow.RecordBatch
	// Before has the rows before the change, same schema and length, or is nil
	// where neither the source knows nor the sink asked for them.
	Before arrow.RecordBatch
	// Ops has one entry a row. A nil Ops means that all rows are reads.
	Ops []Op
	// Positions has the log position of each row's own record; nil for reads.
	Positions []uint64
	// Ordinals has each row's number within its transaction, over all tables,
	// from 0; for reads, the row's number within its table's snapshot is not
	// kept and Ordinals is nil.
	Ordinals []uint32
	// Txs are the transactions of the rows, run-length encoded in row order.
	Txs []Tx
	// Unchanged lists the cells, sorted by row, whose value the source left out
	// because it did not change (the Arrow value there is null and means nothing).
	// A sink resolves them from the row it has before it commits them.
	Unchanged []Cell
	// Origin is what else the log tells of the rows, nil where no sink asked for it.
	Origin *Origin

	refs atomic.Int64
}

// NewBatch returns a batch over record, taking over the caller's reference to it.
func NewBatch(table *Table, record arrow.RecordBatch) *Batch {
	b := &Batch{Table: table, Record: record}
	b.refs.Store(1)
	return b
}

// Rows returns the number of rows.
func (b *Batch) Rows() int { return int(b.Record.NumRows()) }

// Op returns the operation of row i.
func (b *Batch) Op(i int) Op {
	if b.Ops == nil {
		return OpRead
	}
	return b.Ops[i]
}

// Retain adds n references.
func (b *Batch) Retain(n int) { b.refs.Add(int64(n)) }

// Release gives back one reference; the last one releases the Arrow records.
func (b *Batch) Release() {
	switch n := b.refs.Add(-1); {
	case n == 0:
		b.Record.Release()
		if b.Before != nil {
			b.Before.Release()
		}
	case n < 0:
		panic("schema: Batch released more often than retained")
	}
}

// Slice returns rows from start to end as a batch of their own, which shares
// memory with b and has a reference of its own; txs are the runs of these rows.
func (b *Batch) Slice(start, end int, txs []Tx) *Batch {
	out := NewBatch(b.Table, b.Record.NewSlice(int64(start), int64(end)))
	if b.Before != nil {
		out.Before = b.Before.NewSlice(int64(start), int64(end))
	}
	if b.Ops != nil {
		out.Ops = b.Ops[start:end]
	}
	if b.Positions != nil {
		out.Positions = b.Positions[start:end]
	}
	if b.Ordinals != nil {
		out.Ordinals = b.Ordinals[start:end]
	}
	out.Txs = txs
	if b.Origin != nil {
		out.Origin = b.Origin.slice(start, end, b.Rows(), b.Txs, txs)
	}
	for _, c := range b.Unchanged {
		if int(c.Row) >= start && int(c.Row) < end {
			out.Unchanged = append(out.Unchanged, Cell{Row: c.Row - int32(start), Column: c.Column})
		}
	}
	return out
}
