package connect

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/cell"
)

// loose reads a value without a schema: the column's type says what it is.
func (r *JSONReader) loose(first byte, c *cell.Column) error {
	if c.Type.Kind == schema.KindJSON && (first != '"' || !r.Documents) {
		return r.raw(c)
	}
	switch first {
	case '0':
		text, err := r.Number()
		if err != nil {
			return err
		}
		return c.Number(text)
	case 't', 'f':
		v, err := r.Bool()
		if err != nil {
			return err
		}
		return c.Bool(v)
	case '"':
		return r.looseText(c)
	}
	if was, err := r.omitted(c); was || err != nil {
		return err
	}
	switch {
	case c.Type.Kind == schema.KindString:
		return r.raw(c)
	case c.Type.Kind == schema.KindRow && first == '{':
		return r.looseRow(c)
	case c.Type.Kind == schema.KindNumeric && first == '{':
		return r.variable(c)
	case c.Type.Kind == schema.KindArray && first == '[':
		return r.list(&Schema{kind: kindArray}, c)
	case c.Type.Kind == schema.KindMap:
		return r.list(&Schema{kind: kindMap}, c)
	}
	text, err := r.Skip()
	if err != nil {
		return err
	}
	return fmt.Errorf("%w of type %s: %.40s", cell.ErrValue, c.Type, text)
}

// raw keeps the text of a value.
func (r *JSONReader) raw(c *cell.Column) error {
	text, err := r.Skip()
	if err != nil {
		return err
	}
	return c.Text(text)
}

func (r *JSONReader) looseText(c *cell.Column) error {
	switch {
	case c.Type.Kind == schema.KindBytes, c.Type.Kind == schema.KindBinary, c.Type.Kind == schema.KindVarbinary:
		if r.Latin1 {
			return r.latin1(c)
		}
		v, err := r.base64()
		if err != nil {
			return err
		}
		return c.Bytes(v)
	case c.Type.Kind == schema.KindDecimal && r.Precise:
		v, err := r.base64()
		if err != nil {
			return err
		}
		return c.Unscaled(v, c.Type.Scale)
	}
	text, err := r.Text()
	if err != nil {
		return err
	}
	return c.Text(text)
}

func (r *JSONReader) looseRow(c *cell.Column) error {
	fields, err := c.Row()
	if err != nil {
		return err
	}
	return r.LooseRow(fields, func(name []byte, next int) (int, bool) {
		if next < len(c.Type.Fields) && c.Type.Fields[next].Name == string(name) {
			return next, true
		}
		for i := range c.Type.Fields {
			if c.Type.Fields[i].Name == string(name) {
				return i, true
			}
		}
		return 0, false
	})
}

// Find gives the column of a field; next is the one that is expected. Fields without a
// column are passed over.
type Find func(name []byte, next int) (column int, known bool)

// LooseRow reads an object without a schema into columns; those that it has no field for get NULL.
func (r *JSONReader) LooseRow(columns []*cell.Column, find Find) error {
	n := 1
	if len(columns) > 0 {
		n += columns[0].Len()
	}
	if err := r.looseFields(columns, find, n, false); err != nil {
		return err
	}
	fill(columns, n)
	return nil
}

// LooseOver reads a row of two objects: what upper has, and of lower the rest.
func (r *JSONReader) LooseOver(columns []*cell.Column, upper, lower []byte, find Find) error {
	n := 1
	if len(columns) > 0 {
		n += columns[0].Len()
	}
	r.Reset(upper)
	if err := r.looseFields(columns, find, n, false); err != nil {
		return err
	}
	r.Reset(lower)
	if err := r.looseFields(columns, find, n, true); err != nil {
		return err
	}
	fill(columns, n)
	return nil
}

// looseFields reads an object; over says that fields which have a value are passed over.
func (r *JSONReader) looseFields(columns []*cell.Column, find Find, n int, over bool) error {
	if err := r.Enter('{'); err != nil {
		return err
	}
	for next := 0; ; next++ {
		key, ok, err := r.NextKey()
		if !ok || err != nil {
			return err
		}
		i, known := find(key, next)
		if !known || over && columns[i].Len() >= n {
			if !known {
				next--
			}
			if _, err := r.Skip(); err != nil {
				return err
			}
			continue
		}
		next = i
		if columns[i].Len() >= n {
			return inField(string(key), fmt.Errorf("%w: it is there twice", ErrMessage))
		}
		if err := r.Value(nil, columns[i]); err != nil {
			return inField(string(key), err)
		}
	}
}

// Infer returns a schema of the fields of an object: BIGINT, NUMERIC beyond it, DOUBLE,
// BOOLEAN, STRING, and JSON for what is nested. known says of a field that its column takes
// the value as it is; such fields, and those that are null, are left out. It reads a text of its own.
func Infer(text []byte, known func(name []byte, next int, first byte, value []byte) (int, bool)) (*Schema, error) {
	var r JSONReader
	r.Reset(text)
	if err := r.Enter('{'); err != nil {
		return nil, err
	}
	s := &Schema{kind: kindStruct, null: -1}
	for next := 0; ; next++ {
		key, ok, err := r.NextKey()
		if !ok || err != nil {
			return s, err
		}
		first := r.Peek()
		// The key is good until the next one, and a value within this one may have keys.
		name := key
		if first == '{' || first == '[' {
			name = bytes.Clone(key)
		}
		value, err := r.Skip()
		if err != nil {
			return nil, err
		}
		i, fits := known(name, next, first, value)
		if i >= 0 {
			next = i
		}
		if fits || first == 'n' {
			continue
		}
		s.Fields = append(s.Fields, Field{Name: string(name), Schema: inferred(first, value)})
	}
}

func inferred(first byte, value []byte) *Schema {
	s := &Schema{Optional: true, kind: kindString, null: -1}
	switch first {
	case 't', 'f':
		s.kind = kindBool
	case '{', '[':
		s.meaning = document
	case '0':
		if bytes.ContainsAny(value, ".eE") {
			s.kind = kindFloat64
		} else if _, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			s.kind = kindInt64
		} else {
			s.kind, s.meaning = kindStruct, variableDecimal
		}
	}
	return s
}

// latin1 reads bytes that are written as the characters of their numbers.
func (r *JSONReader) latin1(c *cell.Column) error {
	text, err := r.Text()
	if err != nil {
		return err
	}
	r.scratch = r.scratch[:0]
	for _, ch := range string(text) {
		if ch > 0xff {
			return fmt.Errorf("%w: the character %q is no byte", ErrMessage, ch)
		}
		r.scratch = append(r.scratch, byte(ch))
	}
	return c.Bytes(r.scratch)
}
