package canal

import (
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// run is the encoding of one batch.
type run struct {
	e      *Encoder
	out    *plain.Output
	b      *schema.Batch
	origin Origin
	now    int64
	runs   plain.Runs
}

// row appends the message of row i.
func (r *run) row(i int) error {
	tx, unchanged := r.runs.Next(i)
	e := r.e
	switch op := r.b.Op(i); op {
	case schema.OpRead, schema.OpInsert:
		return r.write(message{op: op, typ: "INSERT", row: i, data: e.after, key: e.key, unchanged: unchanged}, tx)
	case schema.OpUpdate:
		m := message{op: op, typ: "UPDATE", row: i, data: e.after, key: e.key, unchanged: unchanged, update: true}
		if r.b.Before != nil {
			m.old = e.before
		}
		return r.write(m, tx)
	case schema.OpDelete: // the old row is the row itself where the source sends no other
		m := message{op: op, typ: "DELETE", row: i, data: e.after, key: e.key}
		if r.b.Before != nil {
			m.data, m.key = e.before, e.keyBefore
		}
		return r.write(m, tx)
	}
	return nil // OpFill is no change
}

// message is what a message is made of.
type message struct {
	op        schema.Op
	typ       string
	row       int
	data, old *rowWriter // old is nil where the source sends no row before a change
	update    bool
	key       *plain.Key
	unchanged []schema.Cell
}

func (r *run) write(m message, tx schema.Tx) (err error) {
	key := plain.None
	if m.key != nil {
		key.Start = len(r.out.Data)
		if r.out.Data, err = m.key.Append(r.out.Data, m.row); err != nil {
			return err
		}
		key.End = len(r.out.Data)
	}
	start := len(r.out.Data)
	dst, err := r.value(r.out.Data, m, tx)
	if err != nil {
		return err
	}
	r.out.Data = dst
	r.out.Messages = append(r.out.Messages, plain.Message{Key: key, Value: plain.Span{Start: start, End: len(dst)}, Row: int32(m.row), Op: m.op})
	return nil
}

func (r *run) value(dst []byte, m message, tx schema.Tx) (_ []byte, err error) {
	e := r.e
	if dst, err = m.data.append(append(dst, `{"data":[`...), m.row, m.unchanged, e.at); err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(append(dst, e.database...), plain.FloorMillis(tx.CommitTime, 1000), 10)
	gtid := ""
	if r.runs.Tx >= 0 && r.runs.Tx < len(r.origin.GTIDs) {
		gtid = r.origin.GTIDs[r.runs.Tx]
	}
	dst = append(appendString(append(dst, `,"gtid":`...), gtid), e.types...)
	switch {
	case m.old != nil:
		if dst, err = m.old.appendChanged(append(dst, '['), m.row, e.at); err != nil {
			return dst, err
		}
		dst = append(dst, ']')
	case m.update: // what has changed is not known
		dst = append(dst, "[{}]"...)
	default:
		dst = append(dst, "null"...)
	}
	if dst = append(dst, e.keys...); e.varies {
		dst = e.sqlTypes(dst, dst)
	}
	dst = strconv.AppendInt(append(dst, e.name...), plain.FloorMillis(r.now, 1_000_000), 10)
	return append(append(append(dst, `,"type":"`...), m.typ...), '"', '}'), nil
}
