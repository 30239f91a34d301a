package iceberg

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/freshet-cdc/freshet/schema"
)

// The operations in the column __op.
const (
	opRead         = "r"
	opInsert       = "c"
	opUpdate       = "u"
	opDelete       = "d"
	opUpdateBefore = "ub"
)

// fold hands the rows of a changelog that are alive to emit. It reads the changelog
// twice, so that only keys, or hashes of rows, are held in memory.
func (r *reader) fold(ctx context.Context, emit func(arrow.RecordBatch) error) error {
	if r.table.HasKey() {
		return r.foldKeyed(ctx, emit)
	}
	return r.foldRows(ctx, emit)
}

// changeAt is where in the log a key's event is.
type changeAt struct {
	pos, ordinal int64
	read, gone   bool
}

// after orders events of one key. A read stands before the events of its position: it
// entered the log ahead of them.
func (a changeAt) after(b changeAt) bool {
	if a.pos != b.pos {
		return a.pos > b.pos
	}
	if a.read != b.read {
		return b.read
	}
	return a.ordinal > b.ordinal
}

// foldKeyed keeps each key's last event. An event that is there twice comes out
// twice: a comparison shall see it.
func (r *reader) foldKeyed(ctx context.Context, emit func(arrow.RecordBatch) error) error {
	keyTable := &schema.Table{ID: r.table.ID, PrimaryKey: r.table.PrimaryKey}
	columns := []string{columnOp, columnPos, columnOrdinal}
	for _, i := range r.table.KeyIndexes() {
		keyTable.Columns = append(keyTable.Columns, r.table.Columns[i])
		columns = append(columns, r.table.Columns[i].Name)
	}
	enc := schema.NewKeyEncoder(keyTable)
	last := map[string]changeAt{}
	var keys schema.Keys
	each := func(rec arrow.RecordBatch, fn func(row int, key []byte, at changeAt)) error {
		events, err := eventsOf(rec)
		if err != nil {
			return err
		}
		batch, err := sourceBatch(keyTable, rec)
		if err != nil {
			return err
		}
		defer batch.Release()
		if keys, err = enc.Encode(batch.Record, keys); err != nil {
			return err
		}
		for i, at := range events {
			fn(i, keys.Bytes(i), at.changeAt)
		}
		return nil
	}
	err := r.scan(ctx, columns, func(rec arrow.RecordBatch) error {
		return each(rec, func(_ int, key []byte, at changeAt) {
			if was, ok := last[string(key)]; !ok || at.after(was) {
				last[string(key)] = at
			}
		})
	})
	if err != nil {
		return err
	}
	return r.scan(ctx, r.allColumns(), func(rec arrow.RecordBatch) error {
		alive := make([]bool, rec.NumRows())
		err := each(rec, func(row int, key []byte, at changeAt) { alive[row] = !at.gone && last[string(key)] == at })
		if err != nil {
			return err
		}
		return emitSome(ctx, rec, alive, emit)
	})
}

// foldRows counts equal rows of a table without a key: reads, inserts and updates add
// one, deletes and the rows before updates take one away.
func (r *reader) foldRows(ctx context.Context, emit func(arrow.RecordBatch) error) error {
	count := map[[sha256.Size]byte]int{}
	h := sha256.New()
	each := func(rec arrow.RecordBatch, fn func(row int, sum [sha256.Size]byte, adds bool)) error {
		events, err := eventsOf(rec)
		if err != nil {
			return err
		}
		batch, err := sourceBatch(r.table, rec)
		if err != nil {
			return err
		}
		defer batch.Release()
		for i, e := range events {
			fn(i, hashRow(h, batch.Record, i), !e.gone && e.op != opUpdateBefore)
		}
		return nil
	}
	columns := r.allColumns()
	err := r.scan(ctx, columns, func(rec arrow.RecordBatch) error {
		return each(rec, func(_ int, sum [sha256.Size]byte, adds bool) {
			if adds {
				count[sum]++
			} else {
				count[sum]--
			}
		})
	})
	if err != nil {
		return err
	}
	for _, n := range count {
		if n < 0 {
			return fmt.Errorf("the changelog deletes a row more often than it was written")
		}
	}
	return r.scan(ctx, columns, func(rec arrow.RecordBatch) error {
		alive := make([]bool, rec.NumRows())
		err := each(rec, func(row int, sum [sha256.Size]byte, adds bool) {
			if adds && count[sum] > 0 {
				count[sum]--
				alive[row] = true
			}
		})
		if err != nil {
			return err
		}
		return emitSome(ctx, rec, alive, emit)
	})
}

func (r *reader) allColumns() []string {
	columns := []string{columnOp, columnPos, columnOrdinal}
	for _, c := range r.table.Columns {
		columns = append(columns, c.Name)
	}
	return columns
}

// logEvent is a row of a changelog.
type logEvent struct {
	op string
	changeAt
}

func eventsOf(rec arrow.RecordBatch) ([]logEvent, error) {
	find := func(name string) arrow.Array {
		if at := rec.Schema().FieldIndices(name); len(at) == 1 {
			return rec.Column(at[0])
		}
		return nil
	}
	op, ok1 := find(columnOp).(*array.String)
	pos, ok2 := find(columnPos).(*array.Int64)
	ordinal, ok3 := find(columnOrdinal).(*array.Int64)
	if !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("its columns %s, %s and %s are not those of a changelog", columnOp, columnPos, columnOrdinal)
	}
	out := make([]logEvent, rec.NumRows())
	for i := range out {
		e := logEvent{op: op.Value(i), changeAt: changeAt{pos: pos.Value(i), ordinal: ordinal.Value(i)}}
		switch e.op {
		case opRead, opInsert, opUpdate, opDelete, opUpdateBefore:
			e.read, e.gone = e.op == opRead, e.op == opDelete
		default:
			return nil, fmt.Errorf("operation %q in column %s is unknown", e.op, columnOp)
		}
		out[i] = e
	}
	return out, nil
}

// hashRow hashes a row's values; NULL differs from every value.
func hashRow(h hash.Hash, rec arrow.RecordBatch, row int) (sum [sha256.Size]byte) {
	h.Reset()
	var length [9]byte
	for _, col := range rec.Columns() {
		length[8], length[0] = 0, 0
		if col.IsNull(row) {
			length[8] = 1
			binary.BigEndian.PutUint64(length[:8], 0)
			h.Write(length[:])
			continue
		}
		v := col.ValueStr(row)
		binary.BigEndian.PutUint64(length[:8], uint64(len(v)))
		h.Write(length[:])
		h.Write([]byte(v))
	}
	h.Sum(sum[:0])
	return sum
}

// emitSome hands on the rows that are set in alive.
func emitSome(ctx context.Context, rec arrow.RecordBatch, alive []bool, emit func(arrow.RecordBatch) error) error {
	b := array.NewBooleanBuilder(compute.GetAllocator(ctx))
	defer b.Release()
	b.AppendValues(alive, nil)
	mask := b.NewArray()
	defer mask.Release()
	some, err := compute.FilterRecordBatch(ctx, rec, mask, compute.DefaultFilterOptions())
	if err != nil {
		return err
	}
	defer some.Release()
	if some.NumRows() == 0 {
		return nil
	}
	return emit(some)
}
