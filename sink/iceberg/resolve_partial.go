package iceberg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// The value of a partial entry: for each row its operation and the columns that
// are missing, as varints; then the rows as an Arrow IPC stream in the layout of
// the data files. A change of the schema resets a table whose snapshot runs, so partial rows
// never outlive their layout.

// encodePartial encodes the rows of rec, which belong to nodes.
func encodePartial(rec arrow.RecordBatch, nodes []*node) ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(len(nodes)))
	for _, n := range nodes {
		out = append(out, byte(n.op))
		out = binary.AppendUvarint(out, uint64(len(n.missing)))
		for _, c := range n.missing {
			out = binary.AppendUvarint(out, uint64(c))
		}
	}
	buf := bytes.NewBuffer(out)
	w := ipc.NewWriter(buf, ipc.WithSchema(rec.Schema()))
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		return nil, fmt.Errorf("encoding a partial row: %w", err)
	}
	return buf.Bytes(), nil
}

var errBadPartial = errors.New("a partial row in the state can't be read: the state is damaged")

// decodePartial is the inverse; the caller releases the record.
func decodePartial(mem memory.Allocator, l *layout, value []byte) ([]*node, arrow.RecordBatch, error) {
	r := bytes.NewReader(value)
	count, err := binary.ReadUvarint(r)
	if err != nil || count > uint64(len(value)) {
		return nil, nil, errBadPartial
	}
	nodes := make([]*node, count)
	for i := range nodes {
		op, err := r.ReadByte()
		if err != nil {
			return nil, nil, errBadPartial
		}
		missing, err := binary.ReadUvarint(r)
		if err != nil || missing > uint64(len(l.source)) {
			return nil, nil, errBadPartial
		}
		n := &node{row: int32(i), op: schema.Op(op), fromState: true}
		for range missing {
			c, err := binary.ReadUvarint(r)
			if err != nil || c >= uint64(len(l.source)) {
				return nil, nil, errBadPartial
			}
			n.missing = append(n.missing, int32(c))
		}
		nodes[i] = n
	}
	rec, err := decodeRecord(mem, l, r)
	if err != nil {
		return nil, nil, err
	}
	if rec.NumRows() != int64(count) {
		rec.Release()
		return nil, nil, errBadPartial
	}
	return nodes, rec, nil
}

func decodeRecord(mem memory.Allocator, l *layout, r *bytes.Reader) (arrow.RecordBatch, error) {
	rd, err := ipc.NewReader(r, ipc.WithAllocator(mem))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadPartial, err)
	}
	defer rd.Release()
	if rd.Schema().NumFields() != l.arrow.NumFields() {
		return nil, errors.New("a partial row in the state has other columns than its table: the table changed while its snapshot ran, without a reset")
	}
	for i, f := range rd.Schema().Fields() {
		if f.Name != l.arrow.Field(i).Name {
			return nil, fmt.Errorf("a partial row in the state has column %s where its table has %s: the table changed while its snapshot ran, without a reset",
				f.Name, l.arrow.Field(i).Name)
		}
	}
	if !rd.Next() {
		return nil, fmt.Errorf("%w: %w", errBadPartial, rd.Err())
	}
	rec := rd.RecordBatch()
	rec.Retain()
	return rec, nil
}

// countPartials counts the keys with partial rows.
func (x *keyIndex) countPartials() (n int, err error) {
	err = x.partials(func([]byte) bool { n++; return true })
	return n, err
}

// partials calls fn with the values of partial rows, until it returns false.
func (x *keyIndex) partials(fn func(value []byte) bool) (err error) {
	lower, upper := x.groups.Bounds()
	it, err := x.store.Iterate(lower, upper)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for g := x.groups.First; g <= x.groups.Last; g++ {
		from := stateKey(nil, uint16(g), x.table|partialBit, nil)
		for ok := it.SeekGE(from); ok && bytes.HasPrefix(it.Key(), from); ok = it.Next() {
			if !fn(it.Value()) {
				return nil
			}
		}
	}
	return nil
}

// leftPartial is the error for a snapshot that ended without bringing what a partial
// row waits for.
func (t *tableWriter) leftPartial() error {
	e := &RowError{Table: t.target, Err: errors.New("the snapshot is done but did not bring the value that an update had left out (let the pipeline read the table again)")}
	err := t.index.partials(func(value []byte) bool {
		nodes, rec, err := decodePartial(t.w.mem, t.layout, value)
		if err != nil || len(nodes) == 0 || len(nodes[0].missing) == 0 {
			return true
		}
		defer rec.Release()
		e.Column = t.layout.arrow.Field(int(nodes[0].missing[0])).Name
		for i, k := range t.layout.keys {
			if i > 0 {
				e.Key += ", "
			}
			c := t.layout.column[k]
			e.Key += t.layout.arrow.Field(c).Name + "=" + rec.Column(c).ValueStr(0)
		}
		return false
	})
	return errors.Join(e, err)
}
