package avro

import (
	"encoding/hex"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// New returns the cell that writes values of a type, none of them NULL, and the JSON of their
// schema. Numbers, dates and times have Avro's logical types: DECIMAL and BIGINT UNSIGNED are decimal,
// TIMESTAMP is local-timestamp-micros, or -nanos above six digits, TIMESTAMP_LTZ is timestamp-micros
// or -nanos. Numbers of any size, intervals, JSON and times with an offset are strings. Nested
// rows are records of the given name.
func New(t schema.Type, name string) (cell.Cell, string, error) {
	logical := func(typ, name string) string { return `{"type":"` + typ + `","logicalType":"` + name + `"}` }
	switch t.Kind {
	case schema.KindBoolean:
		return &booleanCell{}, `"boolean"`, nil
	case schema.KindTinyInt:
		return &integerCell[int8]{}, `"int"`, nil
	case schema.KindSmallInt:
		return &integerCell[int16]{}, `"int"`, nil
	case schema.KindInt:
		return &integerCell[int32]{}, `"int"`, nil
	case schema.KindBigInt:
		return &integerCell[int64]{}, `"long"`, nil
	case schema.KindUBigInt:
		return &unsignedCell{}, decimalSchema(20, 0), nil
	case schema.KindFloat:
		return &floatCell{}, `"float"`, nil
	case schema.KindDouble:
		return &doubleCell{}, `"double"`, nil
	case schema.KindDecimal:
		return &decimalCell{}, decimalSchema(t.Precision, t.Scale), nil
	case schema.KindNumeric, schema.KindChar, schema.KindVarchar, schema.KindString, schema.KindJSON, schema.KindInterval, schema.KindTimestampTZ, schema.KindTimeTZ:
		return &textCell{}, `"string"`, nil
	case schema.KindBinary, schema.KindVarbinary, schema.KindBytes:
		return &bytesCell{}, `"bytes"`, nil
	case schema.KindUUID:
		return &uuidCell{}, logical("string", "uuid"), nil
	case schema.KindDate:
		return &dateCell{}, logical("int", "date"), nil
	case schema.KindTime:
		return &timeCell{}, logical("long", "time-micros"), nil
	case schema.KindTimestamp:
		return &timestampCell{}, logical("long", "local-timestamp-"+unit(t.Precision)), nil
	case schema.KindTimestampLTZ:
		return &timestampCell{}, logical("long", "timestamp-"+unit(t.Precision)), nil
	}
	return nested(t, name)
}

func unit(precision int) string {
	if precision > 6 {
		return "nanos"
	}
	return "micros"
}

func decimalSchema(precision, scale int) string {
	return fmt.Sprintf(`{"type":"bytes","logicalType":"decimal","precision":%d,"scale":%d}`, precision, scale)
}

type integerCell[T int8 | int16 | int32 | int64] struct{ values []T }

func (c *integerCell[T]) Bind(col arrow.Array) { c.values = arrow.GetValues[T](col.Data(), 1) }

func (c *integerCell[T]) Append(dst []byte, i int) ([]byte, error) {
	return AppendLong(dst, int64(c.values[i])), nil
}

type unsignedCell struct{ values []uint64 }

func (c *unsignedCell) Bind(col arrow.Array) { c.values = arrow.GetValues[uint64](col.Data(), 1) }

func (c *unsignedCell) Append(dst []byte, i int) ([]byte, error) {
	return appendUnscaled(dst, 0, c.values[i]), nil
}

type booleanCell struct{ col *array.Boolean }

func (c *booleanCell) Bind(col arrow.Array) { c.col = col.(*array.Boolean) }

func (c *booleanCell) Append(dst []byte, i int) ([]byte, error) {
	return appendBoolean(dst, c.col.Value(i)), nil
}

type floatCell struct{ values []float32 }

func (c *floatCell) Bind(col arrow.Array) { c.values = arrow.GetValues[float32](col.Data(), 1) }

func (c *floatCell) Append(dst []byte, i int) ([]byte, error) {
	return appendFloat(dst, c.values[i]), nil
}

type doubleCell struct{ values []float64 }

func (c *doubleCell) Bind(col arrow.Array) { c.values = arrow.GetValues[float64](col.Data(), 1) }

func (c *doubleCell) Append(dst []byte, i int) ([]byte, error) {
	return appendDouble(dst, c.values[i]), nil
}

type decimalCell struct {
	small *array.Decimal128
	large *array.Decimal256
}

func (c *decimalCell) Bind(col arrow.Array) {
	c.small, _ = col.(*array.Decimal128)
	c.large, _ = col.(*array.Decimal256)
}

func (c *decimalCell) Append(dst []byte, i int) ([]byte, error) {
	if c.small != nil {
		v := c.small.Value(i)
		return appendUnscaled(dst, uint64(v.HighBits()), v.LowBits()), nil
	}
	w := c.large.Value(i).Array() // least first
	return appendUnscaled(dst, w[3], w[2], w[1], w[0]), nil
}

type textCell struct{ col *array.String }

func (c *textCell) Bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *textCell) Append(dst []byte, i int) ([]byte, error) {
	return AppendString(dst, c.col.Value(i)), nil
}

type bytesCell struct{ col *array.Binary }

func (c *bytesCell) Bind(col arrow.Array) { c.col = col.(*array.Binary) }

func (c *bytesCell) Append(dst []byte, i int) ([]byte, error) {
	return AppendBytes(dst, c.col.Value(i)), nil
}

type uuidCell struct{ col *array.FixedSizeBinary }

func (c *uuidCell) Bind(col arrow.Array) { c.col = col.(*array.FixedSizeBinary) }

func (c *uuidCell) Append(dst []byte, i int) ([]byte, error) {
	v := c.col.Value(i)
	dst = AppendLong(dst, 36)
	for n, part := range [...][]byte{v[:4], v[4:6], v[6:8], v[8:10], v[10:]} {
		if n > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst, nil
}

// dateCell writes days since 1970; infinite dates have none.
type dateCell struct{ values []int32 }

func (c *dateCell) Bind(col arrow.Array) { c.values = arrow.GetValues[int32](col.Data(), 1) }

func (c *dateCell) Append(dst []byte, i int) ([]byte, error) {
	v := c.values[i]
	if v == math.MaxInt32 || v == math.MinInt32 {
		return dst, fmt.Errorf("%w: an infinite date", cell.ErrRange)
	}
	return AppendLong(dst, int64(v)), nil
}

// timeCell writes microseconds since midnight, of times that are before the next.
type timeCell struct{ values []int64 }

func (c *timeCell) Bind(col arrow.Array) { c.values = arrow.GetValues[int64](col.Data(), 1) }

func (c *timeCell) Append(dst []byte, i int) ([]byte, error) {
	v := c.values[i]
	if v < 0 || v >= 86_400_000_000 {
		return dst, fmt.Errorf("%w: no time of day (24:00:00 is none in Avro)", cell.ErrRange)
	}
	return AppendLong(dst, v), nil
}

// timestampCell writes micro- or nanoseconds, as the column has them; infinite ones
// have none.
type timestampCell struct{ values []int64 }

func (c *timestampCell) Bind(col arrow.Array) { c.values = arrow.GetValues[int64](col.Data(), 1) }

func (c *timestampCell) Append(dst []byte, i int) ([]byte, error) {
	v := c.values[i]
	if v == math.MaxInt64 || v == math.MinInt64 {
		return dst, fmt.Errorf("%w: an infinite timestamp", cell.ErrRange)
	}
	return AppendLong(dst, v), nil
}
