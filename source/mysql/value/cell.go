package value

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// CellReader appends the value of the cell at the start of p to its builder and
// returns the bytes that the cell took. p is not kept. After an error nothing was
// appended; every error is a [*ColumnError]. Not safe for concurrent use.
type CellReader func(p []byte) (n int, err error)

// NewCellReader returns the reader of a column's cells of the binlog; b is of the
// column's Arrow type. NULLs have no cell, the caller appends them. It fails with
// [ErrMismatch] where the binlog has another type than the column's definition.
func NewCellReader(c schema.Column, t CellType, b array.Builder, o Options) (CellReader, error) {
	p := placeOf(c)
	s, err := ColumnShape(c, t)
	if err != nil {
		return nil, p.fail(err)
	}
	if err := accepts(b, c); err != nil {
		return nil, p.fail(err)
	}
	r := &cellMaker{place: p, c: c, name: baseName(c.Source.Name), t: t, shape: s, o: o}
	if !r.agrees() {
		return nil, p.fail(fmt.Errorf("%w: it has %s where %s belongs", ErrMismatch, t, c.Type))
	}
	read, err := r.reader(b)
	if err != nil {
		return nil, p.fail(err)
	}
	return read, nil
}

// accepts checks that a builder is of a column's Arrow type.
func accepts(b array.Builder, c schema.Column) error {
	if want := c.Type.Arrow(); !arrow.TypeEqual(b.Type(), want) {
		return fmt.Errorf("%w: a builder of %s where %s belongs", ErrMismatch, b.Type(), want)
	}
	return nil
}

// cellMaker makes the reader of one column.
type cellMaker struct {
	place
	c     schema.Column
	name  string // of the type, without modifiers
	t     CellType
	shape Shape
	o     Options
}

// wireTypes are the types that cells of a column may have.
var wireTypes = map[string][]byte{
	"tinyint": {cellTiny, cellBool}, "smallint": {cellShort}, "mediumint": {cellInt24}, "int": {cellLong}, "bigint": {cellLongLong},
	"year": {cellYear}, "float": {cellFloat}, "double": {cellDouble}, "decimal": {cellNewDecimal}, "bit": {cellBit},
	"date": {cellDate, cellNewDate}, "time": {cellTime2, cellTime}, "datetime": {cellDatetime2, cellDatetime},
	"timestamp": {cellTimestamp2, cellTimestamp}, "json": {cellJSON}, "vector": {cellVector, cellVarchar},
	"char": {cellString}, "binary": {cellString}, "uuid": {cellString}, "inet6": {cellString}, "inet4": {cellString},
	"enum": {cellEnum}, "set": {cellSet},
	"varchar":   {cellVarchar, cellVarString, cellVarcharCompressed},
	"varbinary": {cellVarchar, cellVarString, cellVarcharCompressed},
}

// agrees compares the type of the cells with the definition, as far as both tell.
func (m *cellMaker) agrees() bool {
	typ := m.t.Type
	if typ == cellString {
		typ, _ = m.t.real()
	}
	allowed, ok := wireTypes[m.name]
	if !ok {
		allowed = []byte{cellBlob, cellBlobCompressed}
		if isGeometry(m.name) {
			allowed = []byte{cellGeometry}
		}
	}
	found := false
	for _, a := range allowed {
		found = found || a == typ
	}
	if !found {
		return false
	}
	switch typ {
	case cellNewDecimal:
		return int(m.t.Meta>>8) == m.c.Type.Precision && int(m.t.Meta&0xFF) == m.c.Type.Scale
	case cellTime2, cellDatetime2, cellTimestamp2:
		return int(m.t.Meta) == m.fraction()
	case cellBit:
		return int(m.t.Meta>>8)*8+int(m.t.Meta&0xFF) == max(m.c.Source.Length, 1)
	case cellEnum:
		return m.shape.Size == 1 == (len(m.c.Source.Enum) < 256)
	}
	return true
}

func (m *cellMaker) fraction() int { return fraction(m.c) }

// reader dispatches on the type.
func (m *cellMaker) reader(b array.Builder) (CellReader, error) {
	switch b := b.(type) {
	case *array.Int8Builder:
		return integerCell(m, b), nil
	case *array.Int16Builder:
		return integerCell(m, b), nil
	case *array.Int32Builder:
		if m.name == "year" {
			return m.year(b), nil
		}
		return integerCell(m, b), nil
	case *array.Int64Builder:
		return integerCell(m, b), nil
	case *array.Uint64Builder:
		return m.unsigned(b), nil
	case *array.BooleanBuilder:
		return m.boolean(b), nil
	case *array.Float32Builder:
		return m.value(4, func(v []byte) { b.Append(math.Float32frombits(uint32(littleEndian(v, 4)))) }), nil
	case *array.Float64Builder:
		if m.name == "float" { // FLOAT(m,d)
			return m.value(4, func(v []byte) { b.Append(float64(math.Float32frombits(uint32(littleEndian(v, 4))))) }), nil
		}
		return m.value(8, func(v []byte) { b.Append(math.Float64frombits(littleEndian(v, 8))) }), nil
	case *array.Decimal128Builder:
		return m.decimal128(b), nil
	case *array.Decimal256Builder:
		return m.decimal256(b), nil
	}
	if read := m.temporal(b); read != nil {
		return read, nil
	}
	return m.bytes(b)
}

// value reads cells of a fixed size that can't be wrong.
func (m *cellMaker) value(size int, add func(v []byte)) CellReader {
	return func(p []byte) (int, error) {
		if len(p) < size {
			return 0, m.fail(errShort)
		}
		add(p)
		return size, nil
	}
}

type integer interface{ int8 | int16 | int32 | int64 }

// integerCell reads an integer into a builder that holds all of its values.
func integerCell[T integer](m *cellMaker, b interface{ Append(T) }) CellReader {
	size := m.shape.Size
	shift := 64 - 8*size
	if isUnsigned(m.c.Source.Name) {
		return func(p []byte) (int, error) {
			if len(p) < size {
				return 0, m.fail(errShort)
			}
			b.Append(T(littleEndian(p, size)))
			return size, nil
		}
	}
	return func(p []byte) (int, error) {
		if len(p) < size {
			return 0, m.fail(errShort)
		}
		b.Append(T(int64(littleEndian(p, size)<<shift) >> shift))
		return size, nil
	}
}

// unsigned is BIGINT UNSIGNED.
func (m *cellMaker) unsigned(b *array.Uint64Builder) CellReader {
	return m.value(8, func(v []byte) { b.Append(littleEndian(v, 8)) })
}

// boolean is TINYINT(1) and BIT(1).
func (m *cellMaker) boolean(b *array.BooleanBuilder) CellReader {
	return m.value(1, func(v []byte) { b.Append(v[0] != 0) })
}

// year counts from 1900, but for 0, the year 0000.
func (m *cellMaker) year(b *array.Int32Builder) CellReader {
	short := m.c.Source.Length == 2
	return m.value(1, func(v []byte) {
		switch n := int32(v[0]); {
		case short:
			b.Append(fullYear(n % 100))
		case n == 0:
			b.Append(0)
		default:
			b.Append(1900 + n)
		}
	})
}

// fullYear is what the two digits of a YEAR(2) mean: 1970 to 2069.
func fullYear(n int32) int32 {
	if n < 70 {
		return 2000 + n
	}
	return 1900 + n
}
