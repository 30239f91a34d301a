package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/cespare/xxhash/v2"
)

// ErrNullKey is returned for a row whose key holds NULL.
var ErrNullKey = errors.New("a key column is NULL")

// Keys are the encoded keys of the rows of one batch. Equal keys have equal
// bytes, also after the widenings that a table may go through (INT to BIGINT,
// FLOAT to DOUBLE, DECIMAL to more digits, VARCHAR to STRING); the order of the
// bytes means nothing. The zero value is empty.
type Keys struct {
	data []byte
	ends []uint32 // the end of each key in data
}

// Len returns the number of keys.
func (k *Keys) Len() int { return len(k.ends) }

// Bytes returns key i; it is valid until the Keys are reused.
func (k *Keys) Bytes(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = k.ends[i-1]
	}
	return k.data[start:k.ends[i]:k.ends[i]]
}

// Hash returns the hash of key i, see [KeyHash].
func (k *Keys) Hash(i int) uint32 { return KeyHash(k.Bytes(i)) }

// Size returns the bytes that the keys take.
func (k *Keys) Size() int { return len(k.data) + 4*len(k.ends) }

// KeyHash hashes an encoded key for the assignment to key groups: xxhash64,
// folded to 32 bits.
func KeyHash(key []byte) uint32 {
	h := xxhash.Sum64(key)
	return uint32(h) ^ uint32(h>>32)
}

// KeyEncoder encodes the key columns of the rows of one table version. It is
// stateless and safe for concurrent use.
type KeyEncoder struct {
	table   *Table
	columns []int
	chars   []bool // CHAR: trailing blanks do not count
	numbers []bool // NUMERIC: 1.0 equals 1.00
}

// NewKeyEncoder returns the encoder of a table's key, or nil for a table without one.
func NewKeyEncoder(t *Table) *KeyEncoder {
	columns := t.KeyIndexes()
	if len(columns) == 0 {
		return nil
	}
	e := &KeyEncoder{table: t, columns: columns, chars: make([]bool, len(columns)), numbers: make([]bool, len(columns))}
	for i, c := range columns {
		e.chars[i] = t.Columns[c].Type.Kind == KindChar
		e.numbers[i] = t.Columns[c].Type.Kind == KindNumeric
	}
	return e
}

// Encode encodes the keys of all rows of record, whose columns are those of the
// encoder's table. It reuses dst's memory. A NULL in a key is [ErrNullKey].
func (e *KeyEncoder) Encode(record arrow.RecordBatch, dst Keys) (Keys, error) {
	n := int(record.NumRows())
	dst.data, dst.ends = dst.data[:0], dst.ends[:0]
	for _, c := range e.columns {
		if col := record.Column(c); col.NullN() > 0 {
			return dst, fmt.Errorf("table %s, column %s: %w", e.table.ID, e.table.Columns[c].Name, ErrNullKey)
		}
	}
	if len(e.columns) == 1 {
		if col, ok := record.Column(e.columns[0]).(*array.Int64); ok {
			return encodeInt64Keys(col.Int64Values(), dst), nil
		}
	}
	appenders := make([]func(dst []byte, row int) []byte, len(e.columns))
	for i, c := range e.columns {
		appenders[i] = e.appender(record.Column(c), i, i == len(e.columns)-1)
	}
	for row := range n {
		for _, add := range appenders {
			dst.data = add(dst.data, row)
		}
		dst.ends = append(dst.ends, uint32(len(dst.data)))
	}
	return dst, nil
}

// encodeInt64Keys is the common case, a single BIGINT.
func encodeInt64Keys(values []int64, dst Keys) Keys {
	for _, v := range values {
		dst.data = binary.BigEndian.AppendUint64(dst.data, uint64(v))
		dst.ends = append(dst.ends, uint32(len(dst.data)))
	}
	return dst
}

// appender returns the function that appends one column's part of a key. Parts
// of variable width carry their length, unless they are the last.
func (e *KeyEncoder) appender(col arrow.Array, i int, last bool) func([]byte, int) []byte {
	if f := fixedAppender(col); f != nil {
		return f
	}
	part := e.variablePart(col, i)
	if last {
		return func(dst []byte, row int) []byte { return append(dst, part(row)...) }
	}
	return func(dst []byte, row int) []byte {
		p := part(row)
		return append(binary.AppendUvarint(dst, uint64(len(p))), p...)
	}
}

// fixedAppender handles the types whose keys have eight bytes (integers of all
// widths alike, so that widening keeps keys) or a width of their own.
func fixedAppender(col arrow.Array) func([]byte, int) []byte {
	u64 := func(value func(int) uint64) func([]byte, int) []byte {
		return func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint64(dst, value(row)) }
	}
	switch a := col.(type) {
	case *array.Int8:
		return u64(func(i int) uint64 { return uint64(int64(a.Value(i))) })
	case *array.Int16:
		return u64(func(i int) uint64 { return uint64(int64(a.Value(i))) })
	case *array.Int32:
		return u64(func(i int) uint64 { return uint64(int64(a.Value(i))) })
	case *array.Int64:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint64:
		return u64(a.Value)
	case *array.Float32:
		return u64(func(i int) uint64 { return floatKey(float64(a.Value(i))) })
	case *array.Float64:
		return u64(func(i int) uint64 { return floatKey(a.Value(i)) })
	case *array.Date32:
		return u64(func(i int) uint64 { return uint64(int64(a.Value(i))) })
	case *array.Time64:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Timestamp:
		return u64(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.FixedSizeBinary:
		return func(dst []byte, row int) []byte { return append(dst, a.Value(row)...) }
	}
	return nil
}

// floatKey gives equal floats equal bits: one zero, one NaN.
func floatKey(v float64) uint64 {
	switch {
	case v == 0:
		return 0
	case v != v:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v)
}

func (e *KeyEncoder) variablePart(col arrow.Array, i int) func(row int) []byte {
	switch a := col.(type) {
	case *array.String:
		return textPart(a, e.chars[i], e.numbers[i])
	case *array.Binary:
		return a.Value
	case *array.Decimal128:
		return func(row int) []byte { return decimal128Part(a.Value(row)) }
	case *array.Decimal256:
		return func(row int) []byte { return decimal256Part(a.Value(row)) }
	}
	// Booleans, arrays and other types that are a key only now and then.
	return func(row int) []byte { return []byte(col.ValueStr(row)) }
}

func textPart(a *array.String, char, number bool) func(row int) []byte {
	// The values share one buffer that outlives the call: no copy for the part.
	view := func(row int) []byte {
		v := a.Value(row)
		return unsafe.Slice(unsafe.StringData(v), len(v))
	}
	switch {
	case char:
		return func(row int) []byte { return trimBlanks(view(row)) }
	case number:
		return func(row int) []byte { return trimNumber(view(row)) }
	}
	return view
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// trimNumber removes the zeros at the end of a fraction.
func trimNumber(b []byte) []byte {
	dot := -1
	for i, c := range b {
		if c == '.' {
			dot = i
		}
	}
	if dot < 0 {
		return b
	}
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	if len(b) == dot+1 {
		b = b[:dot]
	}
	return b
}

func decimal128Part(v decimal128.Num) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(b[8:], v.LowBits())
	return b[:]
}

// decimal256Part writes what fits as decimal128Part does, so that a decimal may
// grow beyond 38 digits.
func decimal256Part(v decimal256.Num) []byte {
	words := v.Array() // little endian
	sign := uint64(int64(words[1]) >> 63)
	if words[2] == sign && words[3] == sign {
		return decimal128Part(decimal128.New(int64(words[1]), words[0]))
	}
	var b [32]byte
	for i, w := range words {
		binary.BigEndian.PutUint64(b[24-8*i:], w)
	}
	return b[:]
}
