package debezium

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// listCell writes arrays.
type listCell struct {
	col  *array.List
	null validity
	elem cell
}

func (c *listCell) bind(col arrow.Array) {
	c.col = col.(*array.List)
	values := c.col.ListValues()
	c.null = validityOf(values)
	c.elem.bind(values)
}

func (c *listCell) append(dst []byte, i int) (_ []byte, err error) {
	start, end := c.col.ValueOffsets(i)
	dst = append(dst, '[')
	for j := start; j < end; j++ {
		if j > start {
			dst = append(dst, ',')
		}
		if c.null.null(int(j)) {
			dst = append(dst, "null"...)
		} else if dst, err = c.elem.append(dst, int(j)); err != nil {
			return dst, fmt.Errorf("element %d: %w", j-start, err)
		}
	}
	return append(dst, ']'), nil
}

// mapCell writes a map of texts as an object; with quoted set as the text of one.
type mapCell struct {
	col          *array.Map
	keys, values *array.String
	null         validity
	quoted       bool
	scratch      []byte
}

func (c *mapCell) bind(col arrow.Array) {
	c.col = col.(*array.Map)
	c.keys, c.values = c.col.Keys().(*array.String), c.col.Items().(*array.String)
	c.null = validityOf(c.values)
}

func (c *mapCell) append(dst []byte, i int) ([]byte, error) {
	if !c.quoted {
		return c.object(dst, i), nil
	}
	c.scratch = c.object(c.scratch[:0], i)
	return appendString(dst, string(c.scratch)), nil
}

func (c *mapCell) object(dst []byte, i int) []byte {
	start, end := c.col.ValueOffsets(i)
	dst = append(dst, '{')
	for j := int(start); j < int(end); j++ {
		if j > int(start) {
			dst = append(dst, ',')
		}
		dst = append(c.text(dst, c.keys.Value(j)), ':')
		if c.null.null(j) {
			dst = append(dst, "null"...)
		} else {
			dst = c.text(dst, c.values.Value(j))
		}
	}
	return append(dst, '}')
}

// text writes a key or a value. Inside a text its characters are left as they are, to be
// escaped once, with the whole.
func (c *mapCell) text(dst []byte, s string) []byte {
	if !c.quoted {
		return appendString(dst, s)
	}
	dst = append(dst, '"')
	for _, b := range []byte(s) {
		if b < 0x20 || b == '"' || b == '\\' {
			dst = javatext.Jackson.AppendByte(dst, b)
		} else {
			dst = append(dst, b)
		}
	}
	return append(dst, '"')
}

// rowCell writes a nested row.
type rowCell struct{ fields []field }

func (c *rowCell) bind(col arrow.Array) {
	s := col.(*array.Struct)
	for i := range c.fields {
		c.fields[i].bind(s.Field(i))
	}
}

func (c *rowCell) append(dst []byte, i int) (_ []byte, err error) {
	for n := range c.fields {
		dst = append(dst, "{,"[min(n, 1)])
		if dst, err = c.fields[n].append(dst, i); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}
