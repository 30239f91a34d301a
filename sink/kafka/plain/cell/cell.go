package cell

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// Reasons why a value has no text.
var (
	// ErrRange is a value outside what its type holds.
	ErrRange = errors.New("out of range")
	// ErrText is a text that is not what its column's type says.
	ErrText = errors.New("malformed text")
)

// Cell prints the values of one column, none of them NULL. It is bound to a column
// before it appends, and keeps nothing between two values but scratch space.
type Cell interface {
	Bind(col arrow.Array)
	Append(dst []byte, i int) ([]byte, error)
}

// Class is what the texts of a cell may hold.
type Class uint8

// The classes.
const (
	Number  Class = iota + 1 // a JSON number
	Float                    // a JSON number, or NaN, Infinity, -Infinity
	Boolean                  // true or false
	Simple                   // nothing that JSON would escape
	Free                     // anything
)

// Options say how values are printed. The zero value of each is what comes first.
type Options struct {
	// ISO puts a T between date and time, else a space.
	ISO bool
	// AllDigits prints as many digits of a fraction of a second as the column
	// declares, else none that are zeros at the end.
	AllDigits bool
	// Zone is where a TIMESTAMP_LTZ is printed: in UTC with a Z, or as local time.
	Zone Zone
	// Scientific prints decimal numbers as Java's BigDecimal prints itself without
	// zeros at its end: 1E+2 for 100.00. Else all digits of the scale are there.
	Scientific bool
	// Latin1 prints each byte as the character of that number, else base64.
	Latin1 bool
}

// New returns the cell for values of a type. It fails for types that are made of others.
func New(t schema.Type, o Options) (Cell, Class, error) {
	switch t.Kind {
	case schema.KindBoolean:
		return &booleanCell{}, Boolean, nil
	case schema.KindTinyInt:
		return &integerCell[int8]{}, Number, nil
	case schema.KindSmallInt:
		return &integerCell[int16]{}, Number, nil
	case schema.KindInt:
		return &integerCell[int32]{}, Number, nil
	case schema.KindBigInt:
		return &integerCell[int64]{}, Number, nil
	case schema.KindUBigInt:
		return &unsignedCell{}, Number, nil
	case schema.KindFloat:
		return &floatCell[float32]{bits: 32}, Float, nil
	case schema.KindDouble:
		return &floatCell[float64]{bits: 64}, Float, nil
	case schema.KindDecimal:
		return &decimalCell{scale: t.Scale, scientific: o.Scientific}, Number, nil
	case schema.KindNumeric:
		return &numericCell{scientific: o.Scientific}, Float, nil
	case schema.KindChar, schema.KindVarchar, schema.KindString, schema.KindJSON, schema.KindInterval, schema.KindTimestampTZ, schema.KindTimeTZ:
		return &textCell{}, Free, nil
	case schema.KindBinary, schema.KindVarbinary, schema.KindBytes:
		if o.Latin1 {
			return &latin1Cell{}, Free, nil
		}
		return &base64Cell{}, Simple, nil
	case schema.KindUUID:
		return &uuidCell{}, Simple, nil
	}
	if c := temporal(t, o); c != nil {
		return c, Simple, nil
	}
	return nil, 0, fmt.Errorf("type %s is no single value", t)
}

// Validity tells NULL without a call through an interface.
type Validity struct {
	bits   []byte
	offset int
}

// ValidityOf returns the validity of a column's values.
func ValidityOf(col arrow.Array) Validity {
	if col.NullN() == 0 {
		return Validity{}
	}
	return Validity{col.NullBitmapBytes(), col.Data().Offset()}
}

// Null reports whether value i is NULL.
func (v Validity) Null(i int) bool {
	i += v.offset
	return v.bits != nil && v.bits[i>>3]&(1<<(i&7)) == 0
}

type integerCell[T int8 | int16 | int32 | int64] struct{ values []T }

func (c *integerCell[T]) Bind(col arrow.Array) { c.values = arrow.GetValues[T](col.Data(), 1) }

func (c *integerCell[T]) Append(dst []byte, i int) ([]byte, error) {
	return strconv.AppendInt(dst, int64(c.values[i]), 10), nil
}

type unsignedCell struct{ values []uint64 }

func (c *unsignedCell) Bind(col arrow.Array) { c.values = arrow.GetValues[uint64](col.Data(), 1) }

func (c *unsignedCell) Append(dst []byte, i int) ([]byte, error) {
	return strconv.AppendUint(dst, c.values[i], 10), nil
}

type booleanCell struct{ col *array.Boolean }

func (c *booleanCell) Bind(col arrow.Array) { c.col = col.(*array.Boolean) }

func (c *booleanCell) Append(dst []byte, i int) ([]byte, error) {
	return strconv.AppendBool(dst, c.col.Value(i)), nil
}

type floatCell[T float32 | float64] struct {
	values []T
	bits   int
}

func (c *floatCell[T]) Bind(col arrow.Array) { c.values = arrow.GetValues[T](col.Data(), 1) }

func (c *floatCell[T]) Append(dst []byte, i int) ([]byte, error) {
	return javatext.AppendFloat(dst, float64(c.values[i]), c.bits), nil
}

type textCell struct{ col *array.String }

func (c *textCell) Bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *textCell) Append(dst []byte, i int) ([]byte, error) {
	return append(dst, c.col.Value(i)...), nil
}

type base64Cell struct{ col *array.Binary }

func (c *base64Cell) Bind(col arrow.Array) { c.col = col.(*array.Binary) }

func (c *base64Cell) Append(dst []byte, i int) ([]byte, error) {
	return base64.StdEncoding.AppendEncode(dst, c.col.Value(i)), nil
}

type latin1Cell struct{ col *array.Binary }

func (c *latin1Cell) Bind(col arrow.Array) { c.col = col.(*array.Binary) }

func (c *latin1Cell) Append(dst []byte, i int) ([]byte, error) {
	for _, b := range c.col.Value(i) {
		dst = utf8.AppendRune(dst, rune(b))
	}
	return dst, nil
}

type uuidCell struct{ col *array.FixedSizeBinary }

func (c *uuidCell) Bind(col arrow.Array) { c.col = col.(*array.FixedSizeBinary) }

func (c *uuidCell) Append(dst []byte, i int) ([]byte, error) {
	v := c.col.Value(i)
	for n, part := range [...][]byte{v[:4], v[4:6], v[6:8], v[8:10], v[10:]} {
		if n > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst, nil
}
