package plain

import (
	"bytes"
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/avro"
)

// run is the encoding of one batch.
type run struct {
	e    *Encoder
	out  *Output
	b    *schema.Batch
	now  int64
	runs Runs
}

// row appends the messages of row i.
func (r *run) row(i int) error {
	tx, unchanged := r.runs.Next(i)
	e := r.e
	switch op := r.b.Op(i); op {
	case schema.OpRead, schema.OpInsert, schema.OpUpdate:
		if op == schema.OpUpdate && e.key != nil && e.key.columned && r.b.Before != nil && e.o.Deletes == DeleteTombstone {
			if err := r.oldKey(i); err != nil {
				return err
			}
		}
		return r.write(op, i, e.after, e.key, tx, unchanged)
	case schema.OpDelete:
		return r.delete(i, tx)
	}
	return nil // OpFill is no change
}

// delete appends what a delete becomes. The old row is the row itself where the source
// sends no row before a change.
func (r *run) delete(i int, tx schema.Tx) error {
	e := r.e
	row, key := e.after, e.key
	if r.b.Before != nil {
		row, key = e.before, e.keyBefore
	}
	switch e.o.Deletes {
	case DeleteSkip:
		return nil
	case DeleteRow:
		return r.write(schema.OpDelete, i, row, key, tx, nil)
	}
	if key == nil {
		return NewValueError(e.table.ID.String(), "", i, ErrNoKey)
	}
	span, err := r.key(key, i)
	if err != nil {
		return err
	}
	r.out.Messages = append(r.out.Messages, Message{Key: span, Value: None, Row: int32(i), Op: schema.OpDelete})
	return nil
}

// oldKey appends a tombstone for the key that a row had, if an update has changed it.
// The table's own key can't change in an update; the source makes a delete and an insert.
func (r *run) oldKey(i int) error {
	start := len(r.out.Data)
	old, err := r.key(r.e.keyBefore, i)
	if err != nil {
		return err
	}
	key, err := r.key(r.e.key, i)
	if err != nil {
		return err
	}
	if bytes.Equal(r.out.cut(old), r.out.cut(key)) {
		r.out.Data = r.out.Data[:start]
		return nil
	}
	r.out.Data = r.out.Data[:key.Start]
	r.out.Messages = append(r.out.Messages, Message{Key: old, Value: None, Row: int32(i), Op: schema.OpDelete})
	return nil
}

func (r *run) key(k *Key, i int) (_ Span, err error) {
	if k == nil {
		return None, nil
	}
	start := len(r.out.Data)
	r.out.Data, err = k.Append(r.out.Data, i)
	return Span{start, len(r.out.Data)}, err
}

// write appends a message with a row.
func (r *run) write(op schema.Op, i int, w *rowWriter, k *Key, tx schema.Tx, unchanged []schema.Cell) error {
	key, err := r.key(k, i)
	if err != nil {
		return err
	}
	start := len(r.out.Data)
	dst := append(r.out.Data, r.e.frame...)
	objects := w.csv == nil && !w.avro
	if objects {
		dst = append(dst, '{')
	}
	body := len(dst)
	if dst, err = w.append(dst, i, true, unchanged); err != nil {
		return err
	}
	first := w.csv == nil && len(dst) == body || len(w.fields) == 0
	for n := range r.e.meta {
		if w.avro {
			dst = r.avroMeta(dst, &r.e.meta[n], op, i, tx)
		} else if dst, err = r.meta(dst, &r.e.meta[n], op, i, tx, &first); err != nil {
			return err
		}
	}
	if objects {
		dst = append(dst, '}')
	}
	r.out.Data = dst
	r.out.Messages = append(r.out.Messages, Message{Key: key, Value: Span{start, len(dst)}, Row: int32(i), Op: op})
	return nil
}

// meta appends a field of metadata.
func (r *run) meta(dst []byte, f *metaField, op schema.Op, i int, tx schema.Tx, first *bool) ([]byte, error) {
	csv := r.e.after.csv
	null := f.kind == MetaPosition && r.b.Positions == nil
	if null && csv == nil && r.e.o.JSON.IgnoreNulls {
		return dst, nil
	}
	if !*first {
		dst = append(dst, r.e.after.delimiter())
	}
	*first = false
	if csv == nil {
		dst = append(dst, f.name...)
	}
	start := len(dst)
	switch f.kind {
	case MetaOp:
		if csv == nil {
			return append(dst, '"', byte(op), '"'), nil
		}
		return csv.finish(append(dst, byte(op)), start)
	case MetaOpTime:
		dst = strconv.AppendInt(dst, FloorMillis(tx.CommitTime, 1000), 10)
	case MetaTime:
		dst = strconv.AppendInt(dst, FloorMillis(r.now, 1_000_000), 10)
	case MetaTransaction:
		dst = strconv.AppendUint(dst, tx.ID, 10)
	case MetaPosition:
		switch {
		case !null:
			dst = strconv.AppendUint(dst, r.b.Positions[i], 10)
		case csv != nil:
			return append(dst, csv.o.Null...), nil
		default:
			return append(dst, "null"...), nil
		}
	default:
		return append(dst, f.fixed...), nil
	}
	if csv != nil && string(dst[start:]) == csv.o.Null {
		return csv.finish(dst, start)
	}
	return dst, nil
}

// avroMeta appends a field of metadata in Avro.
func (r *run) avroMeta(dst []byte, f *metaField, op schema.Op, i int, tx schema.Tx) []byte {
	switch f.kind {
	case MetaOp:
		return append(avro.AppendLong(dst, 1), byte(op))
	case MetaOpTime:
		return avro.AppendLong(dst, FloorMillis(tx.CommitTime, 1000))
	case MetaTime:
		return avro.AppendLong(dst, FloorMillis(r.now, 1_000_000))
	case MetaTransaction:
		return avro.AppendLong(dst, int64(tx.ID))
	case MetaPosition:
		if r.b.Positions == nil {
			return append(dst, avro.Null...)
		}
		return avro.AppendLong(append(dst, avro.Value...), int64(r.b.Positions[i]))
	}
	return append(dst, f.fixed...)
}

// FloorMillis returns the milliseconds of a time that counts per of its units in each.
func FloorMillis(v, per int64) int64 {
	q := v / per
	if v%per < 0 {
		q--
	}
	return q
}

// Runs walks through a batch in row order and knows what lies beside the rows.
type Runs struct {
	Batch *schema.Batch
	// Tx is the number of the present transaction, -1 before the first row.
	Tx    int
	begun bool
	end   int // the row behind the present transaction
	cells int // of Unchanged, of rows that are done
}

// Next returns the transaction of row i and its cells that the server did not send.
// Rows come in order.
func (r *Runs) Next(i int) (tx schema.Tx, unchanged []schema.Cell) {
	if !r.begun {
		r.begun, r.Tx = true, -1
	}
	for i >= r.end && r.Tx+1 < len(r.Batch.Txs) {
		r.Tx++
		r.end += r.Batch.Txs[r.Tx].Rows
	}
	if r.Tx >= 0 && i < r.end {
		tx = r.Batch.Txs[r.Tx]
	}
	cells := r.Batch.Unchanged
	for r.cells < len(cells) && int(cells[r.cells].Row) < i {
		r.cells++
	}
	end := r.cells
	for end < len(cells) && int(cells[end].Row) == i {
		end++
	}
	return tx, cells[r.cells:end]
}
