package cell

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// ErrValue is wrapped by every value that a column does not take.
var ErrValue = errors.New("value does not fit the column")

// Column appends values to one builder. It belongs to one goroutine.
type Column struct {
	Type schema.Type
	// Placeholder, if it is not empty, is the text that stands for a value that was left out.
	Placeholder []byte
	// Omitted says that the value appended last was the placeholder; a NULL is there instead.
	// Who reads it sets it back.
	Omitted bool

	b       array.Builder
	elem    *Column
	key     *Column
	fields  []*Column
	scratch []byte
}

// New returns a column of type t over b, which was made of t.Arrow().
func New(t schema.Type, b array.Builder) *Column {
	c := &Column{Type: t, b: b}
	switch b := b.(type) {
	case *array.ListBuilder:
		c.elem = New(*t.Elem, b.ValueBuilder())
	case *array.MapBuilder:
		c.key, c.elem = New(*t.Key, b.KeyBuilder()), New(*t.Elem, b.ItemBuilder())
	case *array.StructBuilder:
		for i, f := range t.Fields {
			c.fields = append(c.fields, New(f.Type, b.FieldBuilder(i)))
		}
	}
	return c
}

// Len returns the number of values appended.
func (c *Column) Len() int { return c.b.Len() }

// NullLast reports whether the value appended last is NULL.
func (c *Column) NullLast() bool { return c.b.Len() > 0 && c.b.IsNull(c.b.Len()-1) }

// Null appends NULL.
func (c *Column) Null() { c.b.AppendNull() }

// Omit appends NULL and sets Omitted.
func (c *Column) Omit() {
	c.Omitted = true
	c.b.AppendNull()
}

// refuse is the error of a value.
func (c *Column) refuse(format string, args ...any) error {
	return fmt.Errorf("%w of type %s: %s", ErrValue, c.Type, fmt.Sprintf(format, args...))
}

// List begins a list or a map and returns the columns of its elements or values, and of its
// keys (nil for a list); both take as many values as it has.
func (c *Column) List() (elem, key *Column, err error) {
	switch b := c.b.(type) {
	case *array.ListBuilder:
		b.Append(true)
		return c.elem, nil, nil
	case *array.MapBuilder:
		b.Append(true)
		return c.elem, c.key, nil
	}
	return nil, nil, c.refuse("a list")
}

// Row begins a row and returns the columns of its fields, each of which takes one value.
func (c *Column) Row() ([]*Column, error) {
	b, ok := c.b.(*array.StructBuilder)
	if !ok {
		return nil, c.refuse("a row of several fields")
	}
	b.Append(true)
	return c.fields, nil
}

// Bool appends a truth value.
func (c *Column) Bool(v bool) error {
	switch b := c.b.(type) {
	case *array.BooleanBuilder:
		b.Append(v)
		return nil
	case *array.StringBuilder:
		if c.Type.Kind != schema.KindNumeric {
			return c.Text(strconv.AppendBool(c.scratch[:0], v))
		}
	case *array.Int8Builder, *array.Int16Builder, *array.Int32Builder, *array.Int64Builder:
		if v {
			return c.Int(1)
		}
		return c.Int(0)
	}
	return c.refuse("%t", v)
}

// Int appends a whole number.
func (c *Column) Int(v int64) error {
	switch b := c.b.(type) {
	case *array.Int64Builder:
		b.Append(v)
	case *array.Int32Builder:
		if v != int64(int32(v)) {
			return c.refuse("%d", v)
		}
		b.Append(int32(v))
	case *array.Int16Builder:
		if v != int64(int16(v)) {
			return c.refuse("%d", v)
		}
		b.Append(int16(v))
	case *array.Int8Builder:
		if v != int64(int8(v)) {
			return c.refuse("%d", v)
		}
		b.Append(int8(v))
	case *array.Uint64Builder:
		if v < 0 {
			return c.refuse("%d", v)
		}
		b.Append(uint64(v))
	default:
		return c.intElsewhere(v)
	}
	return nil
}

// intElsewhere takes a whole number as something else than an integer.
func (c *Column) intElsewhere(v int64) error {
	switch b := c.b.(type) {
	case *array.Float64Builder:
		if int64(float64(v)) != v || float64(v) >= math.MaxInt64 {
			return c.refuse("%d can't be held exactly", v)
		}
		b.Append(float64(v))
	case *array.Float32Builder:
		if int64(float32(v)) != v || float32(v) >= math.MaxInt64 {
			return c.refuse("%d can't be held exactly", v)
		}
		b.Append(float32(v))
	case *array.BooleanBuilder:
		if v != 0 && v != 1 {
			return c.refuse("%d", v)
		}
		b.Append(v == 1)
	case *array.Decimal128Builder, *array.Decimal256Builder, *array.StringBuilder:
		return c.Number(strconv.AppendInt(c.scratch[:0], v, 10))
	case *array.Date32Builder:
		return c.Date(v)
	case *array.Time64Builder:
		return c.Time(v, adaptive(c.Type.Precision))
	case *array.TimestampBuilder:
		return c.Timestamp(v, adaptive(c.Type.Precision))
	default:
		return c.refuse("%d", v)
	}
	return nil
}

// Float appends a floating-point number of 32 or 64 bits.
func (c *Column) Float(v float64, bits int) error {
	switch b := c.b.(type) {
	case *array.Float64Builder:
		b.Append(v)
	case *array.Float32Builder:
		if f := float32(v); float64(f) != v && v == v {
			return c.refuse("%g can't be held exactly", v)
		}
		b.Append(float32(v))
	case *array.StringBuilder, *array.Decimal128Builder, *array.Decimal256Builder, *array.Int64Builder, *array.Int32Builder, *array.Int16Builder, *array.Int8Builder, *array.Uint64Builder:
		c.scratch = strconv.AppendFloat(c.scratch[:0], v, 'g', -1, bits)
		return c.Number(c.scratch)
	default:
		return c.refuse("%g", v)
	}
	return nil
}

// Bytes appends bytes.
func (c *Column) Bytes(v []byte) error {
	switch b := c.b.(type) {
	case *array.BinaryBuilder:
		if len(c.Placeholder) > 0 && string(v) == string(c.Placeholder) {
			c.Omit()
			return nil
		}
		b.Append(v)
		return nil
	case *array.FixedSizeBinaryBuilder:
		if len(v) == 16 {
			b.Append(v)
			return nil
		}
	}
	return c.refuse("%d bytes", len(v))
}
