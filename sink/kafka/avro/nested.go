package avro

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// Branches of the union of null and a type, in this order.
const (
	branchNull  = 0
	branchValue = 2 // 1, as Avro encodes it
)

// nested returns the cell of an array, a map or a row.
func nested(t schema.Type, name string) (cell.Cell, string, error) {
	switch t.Kind {
	case schema.KindArray:
		elem, text, err := New(*t.Elem, name)
		return &listCell{elem: optional{cell: elem}}, `{"type":"array","items":["null",` + text + `]}`, err
	case schema.KindMap:
		switch t.Key.Kind {
		case schema.KindChar, schema.KindVarchar, schema.KindString:
		default:
			return nil, "", fmt.Errorf("the keys of type %s are no texts", t)
		}
		elem, text, err := New(*t.Elem, name)
		return &mapCell{elem: optional{cell: elem}}, `{"type":"map","values":["null",` + text + `]}`, err
	case schema.KindRow:
		row := &rowCell{}
		var fields []Field
		for _, f := range t.Fields {
			c, text, err := New(f.Type, name+"_"+f.Name)
			if err != nil {
				return nil, "", err
			}
			row.fields = append(row.fields, optional{cell: c})
			fields = append(fields, Field{Name: f.Name, Type: text, Nullable: true})
		}
		text, err := Record(name, fields)
		return row, text, err
	}
	return nil, "", fmt.Errorf("type %s has no form in Avro", t)
}

// optional writes the values of a union with null.
type optional struct {
	cell cell.Cell
	null cell.Validity
}

func (o *optional) bind(col arrow.Array) {
	o.null = cell.ValidityOf(col)
	o.cell.Bind(col)
}

func (o *optional) append(dst []byte, i int) ([]byte, error) {
	if o.null.Null(i) {
		return append(dst, branchNull), nil
	}
	return o.cell.Append(append(dst, branchValue), i)
}

type listCell struct {
	col  *array.List
	elem optional
}

func (c *listCell) Bind(col arrow.Array) {
	c.col = col.(*array.List)
	c.elem.bind(c.col.ListValues())
}

func (c *listCell) Append(dst []byte, i int) (_ []byte, err error) {
	start, end := c.col.ValueOffsets(i)
	if start == end {
		return append(dst, 0), nil
	}
	dst = AppendLong(dst, end-start)
	for j := start; j < end; j++ {
		if dst, err = c.elem.append(dst, int(j)); err != nil {
			return dst, fmt.Errorf("element %d: %w", j-start, err)
		}
	}
	return append(dst, 0), nil
}

type mapCell struct {
	col  *array.Map
	keys *array.String
	elem optional
}

func (c *mapCell) Bind(col arrow.Array) {
	c.col = col.(*array.Map)
	c.keys = c.col.Keys().(*array.String)
	c.elem.bind(c.col.Items())
}

func (c *mapCell) Append(dst []byte, i int) (_ []byte, err error) {
	start, end := c.col.ValueOffsets(i)
	if start == end {
		return append(dst, 0), nil
	}
	dst = AppendLong(dst, end-start)
	for j := int(start); j < int(end); j++ {
		if dst, err = c.elem.append(AppendString(dst, c.keys.Value(j)), j); err != nil {
			return dst, fmt.Errorf("value of %q: %w", c.keys.Value(j), err)
		}
	}
	return append(dst, 0), nil
}

type rowCell struct{ fields []optional }

func (c *rowCell) Bind(col arrow.Array) {
	s := col.(*array.Struct)
	for i := range c.fields {
		c.fields[i].bind(s.Field(i))
	}
}

func (c *rowCell) Append(dst []byte, i int) (_ []byte, err error) {
	for n := range c.fields {
		if dst, err = c.fields[n].append(dst, i); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
