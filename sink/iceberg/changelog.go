package iceberg

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// changelogRows appends the rows that a changelog has for p, the index-th part:
// one a change, two for an update of a table without a key. An OpFill is none.
func (t *tableWriter) changelogRows(rows []outRow, index int, p part) ([]outRow, error) {
	keyed := t.layout.encoder != nil
	before := p.batch.Before
	for i := range p.len() {
		row := p.at(i)
		op := p.batch.Op(int(row))
		if op == schema.OpFill {
			continue
		}
		r := outRow{part: int32(index), row: row, op: op}
		switch {
		case op == schema.OpDelete && before != nil:
			r.before = !keyed || !before.Column(t.layout.keys[0]).IsNull(int(row))
		case op == schema.OpUpdate && !keyed && before != nil:
			rows = append(rows, outRow{part: int32(index), row: row, op: opBefore, before: true})
		case !keyed && (op == schema.OpUpdate || op == schema.OpDelete):
			return nil, &RowError{Table: t.target, Key: t.keyText(p.batch, int(row)), Err: errNoBefore}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// changelogColumns makes the columns that say what happened to rows, which are in
// the order of parts.
type changelogColumns struct {
	mem   memory.Allocator
	parts []part
	rows  []outRow
}

// column returns one of them; the caller releases it.
func (c *changelogColumns) column(name string) arrow.ArrayData {
	switch name {
	case columnOp:
		return c.ops()
	case columnOrdinal:
		return c.ordinals()
	case columnCommitTime:
		return c.perTx(arrow.FixedWidthTypes.Timestamp_us, func(tx *schema.Tx) int64 { return tx.CommitTime })
	case columnPos:
		return c.perTx(arrow.PrimitiveTypes.Int64, func(tx *schema.Tx) int64 { return int64(tx.Commit) })
	}
	return c.perTx(arrow.PrimitiveTypes.Int64, func(tx *schema.Tx) int64 { return int64(tx.ID) })
}

func (c *changelogColumns) buffer(size int) *memory.Buffer {
	b := memory.NewResizableBuffer(c.mem)
	b.Resize(size)
	return b
}

func (c *changelogColumns) finish(dt arrow.DataType, buffers ...*memory.Buffer) arrow.ArrayData {
	data := array.NewData(dt, len(c.rows), append([]*memory.Buffer{nil}, buffers...), nil, 0, 0)
	for _, b := range buffers {
		b.Release()
	}
	return data
}

func (c *changelogColumns) ops() arrow.ArrayData {
	size := len(c.rows)
	for _, r := range c.rows {
		if r.op == opBefore {
			size++
		}
	}
	ends, values := c.buffer(4*(len(c.rows)+1)), c.buffer(size)
	offsets, text, at := arrow.Int32Traits.CastFromBytes(ends.Bytes()), values.Bytes(), 0
	offsets[0] = 0
	for i, r := range c.rows {
		if r.op == opBefore {
			at += copy(text[at:], "ub")
		} else {
			text[at] = byte(r.op)
			at++
		}
		offsets[i+1] = int32(at)
	}
	return c.finish(arrow.BinaryTypes.String, ends, values)
}

func (c *changelogColumns) ordinals() arrow.ArrayData {
	buf := c.buffer(8 * len(c.rows))
	out := arrow.Int64Traits.CastFromBytes(buf.Bytes())
	for i, r := range c.rows {
		out[i] = 0
		if ords := c.parts[r.part].batch.Ordinals; ords != nil {
			out[i] = int64(ords[r.row])
		}
	}
	return c.finish(arrow.PrimitiveTypes.Int64, buf)
}

// perTx makes a column of what is the same for all rows of a transaction.
func (c *changelogColumns) perTx(dt arrow.DataType, value func(*schema.Tx) int64) arrow.ArrayData {
	buf := c.buffer(8 * len(c.rows))
	out := arrow.Int64Traits.CastFromBytes(buf.Bytes())
	cursor := txCursor{part: -1}
	for i, r := range c.rows {
		if tx := cursor.seek(c.parts, r); tx != nil {
			out[i] = value(tx)
		} else {
			out[i] = 0
		}
	}
	return c.finish(dt, buf)
}

// txCursor finds the transactions of rows that come in the order of parts.
type txCursor struct {
	part, tx int32
	end      int32 // the first row after tx
	txs      []schema.Tx
}

// seek returns the transaction of r, nil where the batch names none.
func (c *txCursor) seek(parts []part, r outRow) *schema.Tx {
	if r.part != c.part || c.tx > 0 && r.row < c.end-int32(c.txs[c.tx].Rows) {
		c.part, c.tx, c.txs, c.end = r.part, 0, parts[r.part].batch.Txs, 0
		if len(c.txs) > 0 {
			c.end = int32(c.txs[0].Rows)
		}
	}
	for r.row >= c.end && int(c.tx)+1 < len(c.txs) {
		c.tx++
		c.end += int32(c.txs[c.tx].Rows)
	}
	if r.row >= c.end {
		return nil
	}
	return &c.txs[c.tx]
}
