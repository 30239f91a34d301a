package verify

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/cespare/xxhash/v2"

	"github.com/freshet-cdc/freshet/schema"
)

// hasher hashes the rows of one table: equal rows have equal hashes, whichever
// side they come from.
type hasher struct {
	table *schema.Table
	keys  *schema.KeyEncoder // nil: the whole row is its key
	enc   schema.Keys
	buf   []byte
}

func newHasher(table *schema.Table) *hasher {
	return &hasher{table: table, keys: schema.NewKeyEncoder(table)}
}

// batch calls fn with the hashes of key and row of every row of b.
func (h *hasher) batch(b *schema.Batch, fn func(row int, key, hash uint64)) error {
	if want, got := len(h.table.Columns), int(b.Record.NumCols()); want != got {
		return fmt.Errorf("table %s has %d columns, but %d were read", h.table.ID, want, got)
	}
	columns := make([]func([]byte, int) []byte, len(h.table.Columns))
	for i, c := range h.table.Columns {
		col := b.Record.Column(i)
		if !arrow.TypeEqual(col.DataType(), c.Type.Arrow()) {
			return fmt.Errorf("table %s, column %s: want %s, but %s was read", h.table.ID, c.Name, c.Type.Arrow(), col.DataType())
		}
		columns[i] = appender(col)
	}
	var err error
	if h.keys != nil {
		if h.enc, err = h.keys.Encode(b.Record, h.enc); err != nil {
			return err
		}
	}
	for row := range b.Rows() {
		h.buf = h.buf[:0]
		for _, add := range columns {
			h.buf = add(h.buf, row)
		}
		hash := xxhash.Sum64(h.buf)
		key := hash
		if h.keys != nil {
			key = xxhash.Sum64(h.enc.Bytes(row))
		}
		fn(row, key, hash)
	}
	return nil
}

// appender returns the function that appends a cell: a mark for NULL, else its
// value, with a length where that varies.
func appender(col arrow.Array) func(dst []byte, row int) []byte {
	value := valueAppender(col)
	return func(dst []byte, row int) []byte {
		if col.IsNull(row) {
			return append(dst, 0)
		}
		return value(append(dst, 1), row)
	}
}

func valueAppender(col arrow.Array) func(dst []byte, row int) []byte {
	u64 := func(v func(int) uint64) func([]byte, int) []byte {
		return func(dst []byte, row int) []byte { return binary.LittleEndian.AppendUint64(dst, v(row)) }
	}
	switch a := col.(type) {
	case *array.Boolean:
		return func(dst []byte, row int) []byte {
			if a.Value(row) {
				return append(dst, 1)
			}
			return append(dst, 0)
		}
	case *array.Int8:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int16:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int32:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int64:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint64:
		return u64(a.Value)
	case *array.Date32:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Time64:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Timestamp:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Float32:
		return u64(func(i int) uint64 { return floatBits(float64(a.Value(i))) })
	case *array.Float64:
		return u64(func(i int) uint64 { return floatBits(a.Value(i)) })
	}
	return wideAppender(col)
}

// floatBits makes one of all NaNs; 0 and -0 stay apart.
func floatBits(v float64) uint64 {
	if math.IsNaN(v) {
		return 0x7ff8_0000_0000_0001
	}
	return math.Float64bits(v)
}

func wideAppender(col arrow.Array) func(dst []byte, row int) []byte {
	bytes := func(dst []byte, v []byte) []byte {
		return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	}
	switch a := col.(type) {
	case *array.String:
		return func(dst []byte, row int) []byte {
			v := a.Value(row)
			return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
		}
	case *array.Binary:
		return func(dst []byte, row int) []byte { return bytes(dst, a.Value(row)) }
	case *array.FixedSizeBinary:
		return func(dst []byte, row int) []byte { return bytes(dst, a.Value(row)) }
	case *array.Decimal128:
		return func(dst []byte, row int) []byte {
			v := a.Value(row)
			return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, v.LowBits()), uint64(v.HighBits()))
		}
	case *array.Decimal256:
		return func(dst []byte, row int) []byte {
			for _, word := range a.Value(row).Array() {
				dst = binary.LittleEndian.AppendUint64(dst, word)
			}
			return dst
		}
	case *array.Map: // before List: a Map is one inside
		return listAppender(a, appender(a.Keys()), appender(a.Items()))
	case *array.List:
		return listAppender(a, appender(a.ListValues()))
	case *array.Struct:
		fields := make([]func([]byte, int) []byte, a.NumField())
		for i := range fields {
			fields[i] = appender(a.Field(i))
		}
		return func(dst []byte, row int) []byte {
			for _, add := range fields {
				dst = add(dst, row)
			}
			return dst
		}
	}
	panic(fmt.Sprintf("verify: no hash for %s", col.DataType()))
}

func listAppender(a array.ListLike, parts ...func([]byte, int) []byte) func([]byte, int) []byte {
	return func(dst []byte, row int) []byte {
		start, end := a.ValueOffsets(row)
		dst = binary.AppendUvarint(dst, uint64(end-start))
		for i := start; i < end; i++ {
			for _, add := range parts {
				dst = add(dst, int(i))
			}
		}
		return dst
	}
}

// mix makes the hash of a row fit for a sum: rows that differ in a regular way
// do not cancel out.
func mix(key, row uint64) uint64 {
	x := key*0x9e3779b97f4a7c15 ^ row
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
