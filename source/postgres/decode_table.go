package postgres

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// cell is one value of a tuple as it lies in the message.
type cell struct {
	kind byte
	text []byte
}

// reserveRows is what a table has room for at its first row of a group.
const reserveRows = 16

// tableDecoder gathers the rows of one version of a table.
type tableDecoder struct {
	rel     *relation
	builder *rowBuilder
	before  *rowBuilder // nil where before images are not wanted
	enc     *schema.KeyEncoder

	// What is being decoded: set by the decoder before each row.
	cur *txCursor
	lsn uint64

	rows      int
	last      int // rows in the group before that had some
	ops       []schema.Op
	positions []uint64
	ordinals  []uint32
	txs       []schema.Tx
	serials   []int // the serial of each run in txs
	unchanged []schema.Cell
	missing   []unresolved
	origins   []schema.TxOrigin // of txs, where they are wanted

	old, new []cell
}

func newTableDecoder(mem memory.Allocator, rel *relation, o textOptions) *tableDecoder {
	t := &tableDecoder{rel: rel, builder: newRowBuilder(mem, rel.table, o), enc: schema.NewKeyEncoder(rel.table)}
	if rel.wantBefore {
		t.before = newRowBuilder(mem, rel.table, o)
	}
	return t
}

func (t *tableDecoder) release() {
	t.builder.Release()
	if t.before != nil {
		t.before.Release()
	}
}

// begin notes the operation of a new row.
func (t *tableDecoder) begin(op schema.Op) {
	t.ops = append(t.ops, op)
	t.positions = append(t.positions, t.lsn)
	t.ordinals = append(t.ordinals, t.cur.ordinal)
	t.cur.ordinal++
	if n := len(t.txs); n > 0 && t.serials[n-1] == t.cur.serial {
		t.txs[n-1].Rows++
	} else {
		t.txs = append(t.txs, schema.Tx{ID: uint64(t.cur.xid), Commit: t.cur.commit, CommitTime: t.cur.time, Rows: 1})
		t.serials = append(t.serials, t.cur.serial)
		if t.rel.wantOrigin {
			t.origins = append(t.origins, t.cur.origin())
		}
	}
	t.rows++
}

// tuple reads the header of a tuple and checks its number of columns.
func (t *tableDecoder) tuple(r *wireReader) error {
	if n := int(r.uint16()); r.bad || n != len(t.rel.table.Columns) {
		return fmt.Errorf("%w: table %s at %s: a row of %d columns, announced were %d", errProtocol, t.rel.table.ID, formatLSN(t.lsn), n, len(t.rel.table.Columns))
	}
	return nil
}

// nextCell reads one value.
func nextCell(r *wireReader) (cell, error) {
	k := r.byte()
	switch k {
	case cellText:
		return cell{kind: k, text: r.take(int(r.uint32()))}, nil
	case cellNull, cellUnchanged:
		return cell{kind: k}, nil
	}
	return cell{}, fmt.Errorf("%w: a value of kind %q", errProtocol, k)
}

// cells reads a whole tuple.
func (t *tableDecoder) cells(dst []cell, r *wireReader) ([]cell, error) {
	if err := t.tuple(r); err != nil {
		return dst, err
	}
	dst = dst[:0]
	for range t.rel.table.Columns {
		c, err := nextCell(r)
		if err != nil {
			return dst, err
		}
		dst = append(dst, c)
	}
	if r.bad {
		return dst, fmt.Errorf("%w: a cut tuple", errProtocol)
	}
	return dst, nil
}

// insert is the hot path: values go from the message into the builders.
func (t *tableDecoder) insert(r *wireReader) error {
	if r.byte() != 'N' {
		return fmt.Errorf("%w: Insert", errProtocol)
	}
	return t.plain(r, schema.OpInsert)
}

// plain appends the new tuple that follows, for an operation without an old one.
func (t *tableDecoder) plain(r *wireReader, op schema.Op) error {
	start := r.at
	if err := t.tuple(r); err != nil {
		return err
	}
	p, at := r.p, r.at
	for i := range t.rel.table.Columns {
		if at >= len(p) {
			return fmt.Errorf("%w: a cut tuple", errProtocol)
		}
		kind := p[at]
		at++
		switch kind {
		case cellText:
			if at+4 > len(p) {
				return fmt.Errorf("%w: a cut tuple", errProtocol)
			}
			end := at + 4 + int(binary.BigEndian.Uint32(p[at:]))
			if end > len(p) {
				return fmt.Errorf("%w: a cut tuple", errProtocol)
			}
			if err := t.builder.text[i](p[at+4 : end]); err != nil {
				return t.valueError(&wireReader{p: p, at: start}, i, err)
			}
			at = end
		case cellNull:
			t.builder.AppendNull(i)
		case cellUnchanged:
			t.builder.AppendNull(i)
			t.leftOut(i, op)
		default:
			return fmt.Errorf("%w: a value of kind %q", errProtocol, kind)
		}
	}
	r.at = at
	t.begin(op)
	if t.before != nil {
		t.appendNulls(t.before)
	}
	return nil
}

// leftOut notes a cell of the row under construction whose value did not come.
func (t *tableDecoder) leftOut(column int, op schema.Op) {
	c := schema.Cell{Row: int32(t.rows), Column: int32(column)}
	if t.rel.sinkResolves && (t.rel.events && t.rel.settled.Load() || !t.rel.events && op == schema.OpUpdate) {
		t.unchanged = append(t.unchanged, c)
		return
	}
	t.missing = append(t.missing, unresolved{cell: c, lsn: t.lsn})
}

func (t *tableDecoder) update(r *wireReader) error {
	kind := r.byte()
	if kind == 'N' {
		if t.rel.full && !t.rel.table.HasKey() {
			return fmt.Errorf("%w: an update without the old row of table %s", errProtocol, t.rel.table.ID)
		}
		return t.plain(r, schema.OpUpdate)
	}
	var err error
	if kind != 'K' && kind != 'O' {
		return fmt.Errorf("%w: Update", errProtocol)
	}
	if t.old, err = t.cells(t.old, r); err != nil {
		return err
	}
	if r.byte() != 'N' {
		return fmt.Errorf("%w: Update", errProtocol)
	}
	if t.new, err = t.cells(t.new, r); err != nil {
		return err
	}
	full := kind == 'O' && t.rel.full
	if err := t.hasKey(t.old); err != nil {
		return err
	}
	for i := range t.new { // the old row is complete, or holds the key at least; NULL is never left out
		if t.new[i].kind == cellUnchanged && (full || t.rel.isKey[i]) && t.old[i].kind == cellText {
			t.new[i] = t.old[i]
		}
	}
	switch {
	case !t.rel.table.HasKey():
		return t.keyless(func() error { return t.append(t.new, schema.OpUpdate, t.old) })
	case t.keyChanged():
		// To a sink these are two keys: one goes, one comes.
		if err := t.append(t.old, schema.OpDelete, imageIf(full, t.old)); err != nil {
			return err
		}
		return t.append(t.new, schema.OpInsert, nil)
	}
	return t.append(t.new, schema.OpUpdate, imageIf(full, t.old))
}

func imageIf(full bool, image []cell) []cell {
	if full {
		return image
	}
	return nil
}

// keyless appends a change of a table without a key, if the sinks can take it.
func (t *tableDecoder) keyless(add func() error) error {
	if t.rel.keylessUpdates {
		return add()
	}
	return withHint(fmt.Errorf("table %s at %s: an update or delete of a table without a key, which the sink can't take", t.rel.table.ID, formatLSN(t.lsn)),
		"give the table a primary key, or REPLICA IDENTITY USING INDEX, or write it in append mode")
}

// hasKey makes sure of what the catalogue promised: an old row has its key.
func (t *tableDecoder) hasKey(row []cell) error {
	for _, i := range t.rel.keys {
		if row[i].kind != cellText {
			return &SchemaChangeError{Table: t.rel.table.ID, Position: t.lsn, What: fmt.Sprintf("an old row came without its key column %q", t.rel.table.Columns[i].Name),
				Hint: "look at the replica identity of the table, and of its partitions"}
		}
	}
	return nil
}

// keyChanged compares the key of the old and the new row.
func (t *tableDecoder) keyChanged() bool {
	for _, i := range t.rel.keys {
		o, n := t.old[i], t.new[i]
		if o.kind != n.kind || string(o.text) != string(n.text) {
			return true
		}
	}
	return false
}

func (t *tableDecoder) delete(r *wireReader) error {
	kind := r.byte()
	if kind != 'K' && kind != 'O' {
		return fmt.Errorf("%w: Delete", errProtocol)
	}
	var err error
	if t.old, err = t.cells(t.old, r); err != nil {
		return err
	}
	if err := t.hasKey(t.old); err != nil {
		return err
	}
	full := kind == 'O' && t.rel.full
	if !full { // what is not part of the key is not known, even where it looks like NULL
		for i := range t.old {
			if !t.rel.isKey[i] {
				t.old[i] = cell{kind: cellNull}
			}
		}
	}
	if !t.rel.table.HasKey() {
		return t.keyless(func() error { return t.append(t.old, schema.OpDelete, t.old) })
	}
	return t.append(t.old, schema.OpDelete, imageIf(full, t.old))
}

// append adds a row from its cells; image is the row before the change, if known.
func (t *tableDecoder) append(row []cell, op schema.Op, image []cell) error {
	for i, c := range row {
		switch c.kind {
		case cellText:
			if err := t.builder.text[i](c.text); err != nil {
				return t.cellError(row, i, err)
			}
		case cellUnchanged:
			t.builder.AppendNull(i)
			t.leftOut(i, op)
		default:
			t.builder.AppendNull(i)
		}
	}
	t.begin(op)
	if t.before == nil {
		return nil
	}
	if image == nil {
		t.appendNulls(t.before)
		return nil
	}
	for i, c := range image {
		if c.kind != cellText {
			t.before.AppendNull(i)
		} else if err := t.before.text[i](c.text); err != nil {
			return t.cellError(image, i, err)
		}
	}
	return nil
}

func (t *tableDecoder) appendNulls(b *rowBuilder) {
	for i := range b.cols {
		b.AppendNull(i)
	}
}

// valueError names the row of the tuple at r.
func (t *tableDecoder) valueError(r *wireReader, column int, cause error) error {
	row, err := t.cells(nil, r)
	if err != nil {
		row = nil
	}
	return t.cellError(row, column, cause)
}

// cellError names the table, column, key and position of a value.
func (t *tableDecoder) cellError(row []cell, column int, cause error) error {
	e := &ValueError{Table: t.rel.table.ID, Column: t.rel.table.Columns[column].Name, Position: t.lsn, Err: cause}
	var parts []string
	for _, i := range t.rel.keys {
		if i < len(row) {
			parts = append(parts, t.rel.table.Columns[i].Name+"="+string(row[i].text))
		}
	}
	e.Key = strings.Join(parts, ", ")
	return e
}

// finish returns the rows as a batch and starts anew. head are the ordinals of
// the rows that belong to the transaction in which the group began.
func (t *tableDecoder) finish(inTx bool) (out logRows, missing []unresolved, head []uint32, err error) {
	batch := schema.NewBatch(t.rel.table, t.builder.NewRecord())
	batch.Ops, batch.Positions, batch.Ordinals, batch.Txs, batch.Unchanged = t.ops, t.positions, t.ordinals, t.txs, t.unchanged
	if t.before != nil {
		batch.Before = t.before.NewRecord()
	}
	if t.rel.wantOrigin {
		batch.Origin = &schema.Origin{Txs: t.origins}
	}
	out.Batch = batch
	if inTx && t.serials[0] == 0 {
		head = t.ordinals[:t.txs[0].Rows]
	}
	for i := range t.missing {
		t.missing[i].rel = t.rel
	}
	missing = t.missing
	n := t.rows
	t.last = n
	t.clear()
	t.ops, t.positions, t.ordinals = make([]schema.Op, 0, n), make([]uint64, 0, n), make([]uint32, 0, n)
	if t.enc != nil {
		if out.Keys, err = t.enc.Encode(batch.Record, schema.Keys{}); err != nil {
			batch.Release()
			return logRows{}, nil, nil, err
		}
	}
	return out, missing, head, nil
}

// clear forgets the rows, whose slices have been handed on.
func (t *tableDecoder) clear() {
	t.rows = 0
	t.ops, t.positions, t.ordinals, t.txs, t.unchanged, t.missing = nil, nil, nil, nil, nil, nil
	t.serials, t.origins = t.serials[:0], nil
}

// reset throws the rows away.
func (t *tableDecoder) reset() {
	t.clear()
	t.builder.discard()
	if t.before != nil {
		t.before.discard()
	}
}
