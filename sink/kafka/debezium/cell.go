package debezium

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// cell writes the values of one column, none of them NULL. A cell is bound to a
// column before it appends, and keeps nothing between two values but scratch space.
type cell interface {
	bind(col arrow.Array)
	append(dst []byte, i int) ([]byte, error)
}

// validity tells NULL without a call through an interface.
type validity struct {
	bits   []byte
	offset int
}

func validityOf(col arrow.Array) validity {
	if col.NullN() == 0 {
		return validity{}
	}
	return validity{col.NullBitmapBytes(), col.Data().Offset()}
}

func (v validity) null(i int) bool {
	i += v.offset
	return v.bits != nil && v.bits[i>>3]&(1<<(i&7)) == 0
}

type integer interface {
	int8 | int16 | int32 | int64
}

// integerCell writes whole numbers.
type integerCell[T integer] struct{ values []T }

func (c *integerCell[T]) bind(col arrow.Array) { c.values = arrow.GetValues[T](col.Data(), 1) }

func (c *integerCell[T]) append(dst []byte, i int) ([]byte, error) {
	return strconv.AppendInt(dst, int64(c.values[i]), 10), nil
}

// unsignedCell writes 64 bits without a sign as Java's long.
type unsignedCell struct{ values []uint64 }

func (c *unsignedCell) bind(col arrow.Array) { c.values = arrow.GetValues[uint64](col.Data(), 1) }

func (c *unsignedCell) append(dst []byte, i int) ([]byte, error) {
	return strconv.AppendInt(dst, int64(c.values[i]), 10), nil
}

type booleanCell struct{ col *array.Boolean }

func (c *booleanCell) bind(col arrow.Array) { c.col = col.(*array.Boolean) }

func (c *booleanCell) append(dst []byte, i int) ([]byte, error) {
	return strconv.AppendBool(dst, c.col.Value(i)), nil
}

type floatCell struct{ values []float32 }

func (c *floatCell) bind(col arrow.Array) { c.values = arrow.GetValues[float32](col.Data(), 1) }

func (c *floatCell) append(dst []byte, i int) ([]byte, error) {
	return appendFloat(dst, float64(c.values[i]), 32), nil
}

type doubleCell struct{ values []float64 }

func (c *doubleCell) bind(col arrow.Array) { c.values = arrow.GetValues[float64](col.Data(), 1) }

func (c *doubleCell) append(dst []byte, i int) ([]byte, error) {
	return appendFloat(dst, c.values[i], 64), nil
}

type textCell struct{ col *array.String }

func (c *textCell) bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *textCell) append(dst []byte, i int) ([]byte, error) {
	return appendString(dst, c.col.Value(i)), nil
}

// jsonCell writes JSON of MySQL as the server prints it, in changes without the blanks
// behind commas and colons, as Debezium does.
type jsonCell struct {
	col     *array.String
	changed *bool
	scratch []byte
}

func (c *jsonCell) bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *jsonCell) append(dst []byte, i int) ([]byte, error) {
	s := c.col.Value(i)
	if !*c.changed {
		return appendString(dst, s), nil
	}
	c.scratch = appendCompact(c.scratch[:0], s)
	return appendString(dst, unsafe.String(unsafe.SliceData(c.scratch), len(c.scratch))), nil
}

// appendCompact appends JSON without blanks outside its texts.
func appendCompact(dst []byte, s string) []byte {
	text, start := false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			text = !text
		case c == '\\' && text:
			i++
		case c == ' ' && !text:
			dst = append(dst, s[start:i]...)
			start = i + 1
		}
	}
	return append(dst, s[start:]...)
}

// changedCell writes values of changes in another way than those of reads.
type changedCell struct {
	read, change cell
	changed      *bool
}

func (c *changedCell) bind(col arrow.Array) {
	c.read.bind(col)
	c.change.bind(col)
}

func (c *changedCell) append(dst []byte, i int) ([]byte, error) {
	if *c.changed {
		return c.change.append(dst, i)
	}
	return c.read.append(dst, i)
}

// convertedCell writes what a function makes of a text.
type convertedCell struct {
	col     *array.String
	convert func(dst []byte, s string) ([]byte, error)
}

func (c *convertedCell) bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *convertedCell) append(dst []byte, i int) ([]byte, error) {
	return c.convert(dst, c.col.Value(i))
}

// bytesCell writes bytes as a text.
type bytesCell struct {
	col    *array.Binary
	encode func(dst, v []byte) []byte
}

func (c *bytesCell) bind(col arrow.Array) { c.col = col.(*array.Binary) }

func (c *bytesCell) append(dst []byte, i int) ([]byte, error) {
	return append(c.encode(append(dst, '"'), c.col.Value(i)), '"'), nil
}

// encodingOf returns how a binary mode writes bytes.
func encodingOf(m BinaryMode) func(dst, v []byte) []byte {
	switch m {
	case BinaryBase64URLSafe:
		return base64.URLEncoding.AppendEncode
	case BinaryHex:
		return hex.AppendEncode
	}
	return base64.StdEncoding.AppendEncode
}

func appendBase64(dst, v []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v), '"')
}

// uuidCell writes the 16 bytes of a UUID.
type uuidCell struct{ col *array.FixedSizeBinary }

func (c *uuidCell) bind(col arrow.Array) { c.col = col.(*array.FixedSizeBinary) }

func (c *uuidCell) append(dst []byte, i int) ([]byte, error) {
	dst = append(dst, '"')
	v := c.col.Value(i)
	for n, part := range [...][]byte{v[:4], v[4:6], v[6:8], v[8:10], v[10:]} {
		if n > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return append(dst, '"'), nil
}
