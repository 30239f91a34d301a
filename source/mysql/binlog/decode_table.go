package binlog

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// rowBuilder builds record batches of one version of a table. Every column must get
// exactly one value a row.
type rowBuilder struct {
	rb   *array.RecordBuilder
	cols []array.Builder
	// read and partial are by column of the log, nil for those that are not sent.
	read    []value.CellReader
	partial []value.PartialReader
	// text are the readers of defaults, made when needed.
	text []value.TextReader
}

func newRowBuilder(mem memory.Allocator, l *layout) (*rowBuilder, error) {
	b := &rowBuilder{rb: array.NewRecordBuilder(mem, l.table.ArrowSchema()), read: make([]value.CellReader, len(l.columns)),
		partial: make([]value.PartialReader, len(l.columns)), text: make([]value.TextReader, len(l.columns))}
	b.cols = b.rb.Fields()
	for i, c := range l.columns {
		if c.target < 0 {
			continue
		}
		var err error
		if b.read[i], err = value.NewCellReader(l.table.Columns[c.target], c.typ, b.cols[c.target], l.values); err == nil && c.typ.Type == jsonType {
			b.partial[i], err = value.NewPartialReader(l.table.Columns[c.target], c.typ, b.cols[c.target], l.values)
		}
		if err != nil {
			b.rb.Release()
			return nil, err
		}
	}
	return b, nil
}

// appendNulls appends a row of nothing but NULL.
func (b *rowBuilder) appendNulls() {
	for _, c := range b.cols {
		c.AppendNull()
	}
}

// discard throws away the rows so far, whole or not.
func (b *rowBuilder) discard() {
	for _, c := range b.cols {
		c.NewArray().Release()
	}
}

// tableDecoder gathers the rows of one version of a table.
type tableDecoder struct {
	layout  *layout
	builder *rowBuilder
	before  *rowBuilder // nil where rows before a change are not wanted
	enc     *schema.KeyEncoder

	// What is being decoded: set by the decoder before each event.
	cur  *txCursor
	pos  uint64
	skip uint64 // rows
	sql  *string
	// number is that of the present row in its event.
	number int32

	used      bool // in the present group
	lastRows  int  // in the group before
	rows      int
	size      int // of the rows in the log
	ops       []schema.Op
	positions []uint64
	ordinals  []uint32
	txs       []schema.Tx
	indexes   []int32 // the transaction of each run in txs
	unchanged []schema.Cell
	origins   origins

	old, new     image
	partialCells []bool // of the present row, by column of the log
}

func newTableDecoder(mem memory.Allocator, l *layout) (*tableDecoder, error) {
	t := &tableDecoder{layout: l, enc: schema.NewKeyEncoder(l.table), partialCells: make([]bool, len(l.columns))}
	t.old.cells, t.new.cells = make([]cell, len(l.columns)), make([]cell, len(l.columns))
	var err error
	if t.builder, err = newRowBuilder(mem, l); err != nil {
		return nil, err
	}
	if l.wantBefore {
		if t.before, err = newRowBuilder(mem, l); err != nil {
			t.builder.rb.Release()
			return nil, err
		}
	}
	return t, nil
}

func (t *tableDecoder) release() {
	t.builder.rb.Release()
	if t.before != nil {
		t.before.rb.Release()
	}
}

// reserve makes room for as many rows as there were in the group before, or for the
// weight of this one.
func (t *tableDecoder) reserve(weight int) {
	n := min(t.lastRows, weight)
	t.ops, t.positions, t.ordinals = make([]schema.Op, 0, n), make([]uint64, 0, n), make([]uint32, 0, n)
	t.builder.rb.Reserve(n)
	if t.before != nil {
		t.before.rb.Reserve(n)
	}
}

// begin notes the operation of a row that was appended.
func (t *tableDecoder) begin(op schema.Op) {
	t.ops = append(t.ops, op)
	t.positions = append(t.positions, t.pos)
	t.ordinals = append(t.ordinals, t.cur.ordinal)
	t.cur.ordinal++
	n := len(t.txs)
	begins := n == 0 || t.indexes[n-1] != t.cur.index
	if t.layout.wantOrigin {
		t.origins.add(t.cur.origin, begins, t.number, t.sql)
	}
	if !begins {
		t.txs[n-1].Rows++
	} else {
		t.txs = append(t.txs, schema.Tx{ID: t.cur.id, Commit: t.cur.start, CommitTime: t.cur.time, Rows: 1})
		t.indexes = append(t.indexes, t.cur.index)
	}
	t.rows++
}

// finish returns the rows as a batch and starts anew. head are the ordinals of the
// rows that belong to a transaction of earlier groups; files name the log's files, for
// an Origin.
func (t *tableDecoder) finish(continues bool, files []schema.LogFile) (out Rows, head []uint32, err error) {
	batch := schema.NewBatch(t.layout.table, t.builder.rb.NewRecordBatch())
	batch.Ops, batch.Positions, batch.Ordinals, batch.Txs, batch.Unchanged = t.ops, t.positions, t.ordinals, t.txs, t.unchanged
	if t.before != nil {
		batch.Before = t.before.rb.NewRecordBatch()
	}
	if t.layout.wantOrigin {
		batch.Origin = t.origins.take(files)
	}
	out.Batch = batch
	if continues && t.indexes[0] == 0 {
		head = t.ordinals[:t.txs[0].Rows]
	}
	t.lastRows = t.rows
	t.layout.rowBytes.Store(int64(1 + t.size/t.rows))
	t.clear()
	if t.enc != nil {
		if out.Keys, err = t.enc.Encode(batch.Record, schema.Keys{}); err != nil {
			batch.Release()
			return Rows{}, nil, err
		}
	}
	return out, head, nil
}

// clear forgets the rows, whose slices have been handed on.
func (t *tableDecoder) clear() {
	t.rows, t.size = 0, 0
	t.ops, t.positions, t.ordinals, t.txs, t.unchanged = nil, nil, nil, nil, nil
	t.indexes, t.origins = t.indexes[:0], origins{}
}

// reset throws the rows away.
func (t *tableDecoder) reset() {
	t.clear()
	t.builder.discard()
	if t.before != nil {
		t.before.discard()
	}
}
