package plain

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// value writes the values of one column in a format, none of them NULL.
type value interface {
	bind(col arrow.Array)
	append(dst []byte, i int) ([]byte, error)
}

// NewJSONCell returns a cell that prints values of any type as JSON, for formats that
// have a text for them.
func NewJSONCell(t schema.Type, o JSONOptions) (cell.Cell, error) {
	v, err := o.withDefaults().value(t)
	return jsonCell{v}, err
}

type jsonCell struct{ value value }

func (c jsonCell) Bind(col arrow.Array) { c.value.bind(col) }

func (c jsonCell) Append(dst []byte, i int) ([]byte, error) { return c.value.append(dst, i) }

// value returns the writer of a type in JSON.
func (o JSONOptions) value(t schema.Type) (value, error) {
	switch t.Kind {
	case schema.KindArray:
		elem, err := o.value(*t.Elem)
		return &jsonList{elem: elem}, err
	case schema.KindMap:
		switch t.Key.Kind {
		case schema.KindChar, schema.KindVarchar, schema.KindString:
		default:
			return nil, fmt.Errorf("the keys of type %s are no texts", t)
		}
		elem, err := o.value(*t.Elem)
		return &jsonMap{elem: elem}, err
	case schema.KindRow:
		row := &jsonRow{ignoreNulls: o.IgnoreNulls}
		for _, f := range t.Fields {
			v, err := o.value(f.Type)
			if err != nil {
				return nil, err
			}
			row.fields = append(row.fields, newField(f.Name, v))
		}
		return row, nil
	}
	c, class, err := cell.New(t, cell.Options{ISO: o.Timestamps == ISO, Scientific: !o.PlainDecimals})
	return &jsonScalar{cell: c, class: class}, err
}

// jsonScalar writes what is no list, map or row.
type jsonScalar struct {
	cell    cell.Cell
	class   cell.Class
	scratch []byte
}

func (v *jsonScalar) bind(col arrow.Array) { v.cell.Bind(col) }

func (v *jsonScalar) append(dst []byte, i int) ([]byte, error) {
	start := len(dst)
	switch v.class {
	case cell.Number, cell.Boolean:
		return v.cell.Append(dst, i)
	case cell.Float:
		dst, err := v.cell.Append(dst, i)
		if err == nil {
			if c := dst[len(dst)-1]; c == 'N' || c == 'y' { // NaN, Infinity
				v.scratch = append(v.scratch[:0], dst[start:]...)
				dst = append(append(append(dst[:start], '"'), v.scratch...), '"')
			}
		}
		return dst, err
	}
	dst, err := v.cell.Append(append(dst, '"'), i)
	if err != nil {
		return dst, err
	}
	if v.class == cell.Free {
		dst, v.scratch = javatext.Jackson.Behind(dst, start+1, v.scratch)
	}
	return append(dst, '"'), nil
}

type jsonList struct {
	col  *array.List
	null cell.Validity
	elem value
}

func (v *jsonList) bind(col arrow.Array) {
	v.col = col.(*array.List)
	values := v.col.ListValues()
	v.null = cell.ValidityOf(values)
	v.elem.bind(values)
}

func (v *jsonList) append(dst []byte, i int) (_ []byte, err error) {
	start, end := v.col.ValueOffsets(i)
	dst = append(dst, '[')
	for j := start; j < end; j++ {
		if j > start {
			dst = append(dst, ',')
		}
		if v.null.Null(int(j)) {
			dst = append(dst, "null"...)
		} else if dst, err = v.elem.append(dst, int(j)); err != nil {
			return dst, fmt.Errorf("element %d: %w", j-start, err)
		}
	}
	return append(dst, ']'), nil
}

type jsonMap struct {
	col  *array.Map
	keys *array.String
	null cell.Validity
	elem value
}

func (v *jsonMap) bind(col arrow.Array) {
	v.col = col.(*array.Map)
	v.keys = v.col.Keys().(*array.String)
	v.null = cell.ValidityOf(v.col.Items())
	v.elem.bind(v.col.Items())
}

func (v *jsonMap) append(dst []byte, i int) (_ []byte, err error) {
	start, end := v.col.ValueOffsets(i)
	dst = append(dst, '{')
	for j := int(start); j < int(end); j++ {
		if j > int(start) {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, v.keys.Value(j)), ':')
		if v.null.Null(j) {
			dst = append(dst, "null"...)
		} else if dst, err = v.elem.append(dst, j); err != nil {
			return dst, fmt.Errorf("value of %q: %w", v.keys.Value(j), err)
		}
	}
	return append(dst, '}'), nil
}

type jsonRow struct {
	fields      []field
	ignoreNulls bool
}

func (v *jsonRow) bind(col arrow.Array) {
	s := col.(*array.Struct)
	for i := range v.fields {
		v.fields[i].bind(s.Field(i))
	}
}

func (v *jsonRow) append(dst []byte, i int) (_ []byte, err error) {
	dst = append(dst, '{')
	start := len(dst)
	for n := range v.fields {
		f := &v.fields[n]
		null := f.null.Null(i)
		if null && v.ignoreNulls {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		if dst = append(dst, f.name...); null {
			dst = append(dst, "null"...)
		} else if dst, err = f.value.append(dst, i); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendString appends s in quotes.
func appendString(dst []byte, s string) []byte { return javatext.Jackson.Append(dst, s) }
