package connect

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/cell"
	"github.com/freshet-cdc/freshet/source/kafka/jsontext"
)

// JSONReader reads values out of one message after the other.
type JSONReader struct {
	jsontext.Scanner
	// Omitted are the texts, by their beginnings, of arrays that stand for a value that was left out.
	Omitted [][]byte
	// Documents says that JSON, in a message without a schema, is text in a string.
	Documents bool
	// Precise says that decimals, in a message without a schema, are Connect's bytes.
	Precise bool
	// Latin1 says that bytes, in a message without a schema, are the characters of their numbers.
	Latin1 bool

	scratch []byte
}

// Row reads an object into columns; those that it has no field for get NULL.
func (r *JSONReader) Row(b *Binding, columns []*cell.Column) error {
	n := 1
	if len(columns) > 0 {
		n += columns[0].Len()
	}
	if err := r.fields(b, columns, n); err != nil {
		return err
	}
	fill(columns, n)
	return nil
}

func (r *JSONReader) fields(b *Binding, columns []*cell.Column, n int) error {
	if err := r.Enter('{'); err != nil {
		return err
	}
	for next := 0; ; next++ {
		key, ok, err := r.NextKey()
		if !ok || err != nil {
			return err
		}
		i, known := b.find(key, next)
		if !known {
			return inField(string(key), fmt.Errorf("%w: it is not in it", ErrMessage))
		}
		next = i
		f := &b.fields[i]
		if f.column < 0 {
			if _, err := r.Skip(); err != nil {
				return err
			}
			continue
		}
		c := columns[f.column]
		if c.Len() >= n {
			return inField(f.name, fmt.Errorf("%w: it is there twice", ErrMessage))
		}
		if err := r.Value(f.schema, c); err != nil {
			return inField(f.name, err)
		}
	}
}

// Value reads a value that s describes; without a schema what the text says counts.
func (r *JSONReader) Value(s *Schema, c *cell.Column) error {
	first := r.Peek()
	if first == 'n' {
		c.Null()
		return r.Null()
	}
	if s == nil {
		return r.loose(first, c)
	}
	switch s.kind {
	case kindInt8, kindInt16, kindInt32, kindInt64:
		text, err := r.Number()
		if err != nil {
			return err
		}
		v, ok := parseInt(text)
		if !ok {
			return c.Number(text)
		}
		return s.number(c, v)
	case kindFloat32, kindFloat64:
		return r.float(s, first, c)
	case kindBool:
		v, err := r.Bool()
		if err != nil {
			return err
		}
		return c.Bool(v)
	case kindString, kindEnum:
		text, err := r.Text()
		if err != nil {
			return err
		}
		return c.Text(text)
	case kindBytes:
		return r.binary(s, first, c)
	case kindArray, kindMap:
		return r.list(s, c)
	}
	return r.nested(s, c)
}

// parseInt reads up to 18 digits.
func parseInt(text []byte) (v int64, ok bool) {
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) > 18 {
		v, err := strconv.ParseInt(string(text), 10, 64)
		return v, err == nil
	}
	for _, ch := range digits {
		if ch-'0' > 9 {
			return 0, false
		}
		v = v*10 + int64(ch-'0')
	}
	if len(digits) < len(text) {
		v = -v
	}
	return v, true
}

// float reads a number, or a string where JSON has no number for it.
func (r *JSONReader) float(s *Schema, first byte, c *cell.Column) error {
	bits := 64
	if s.kind == kindFloat32 {
		bits = 32
	}
	var text []byte
	var err error
	if first == '"' {
		if text, err = r.Text(); err == nil && (len(text) == 0 || text[0]-'0' <= 9) {
			err = fmt.Errorf("%w: %.40q is no number", ErrMessage, text)
		}
	} else {
		text, err = r.Number()
	}
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(string(text), bits)
	if err != nil && !math.IsInf(v, 0) || err != nil && first != '"' {
		return fmt.Errorf("%w: %.40q is no number", ErrMessage, text)
	}
	return c.Float(v, bits)
}

// binary reads bytes, or a decimal as a number.
func (r *JSONReader) binary(s *Schema, first byte, c *cell.Column) error {
	if s.meaning == decimal && first == '0' {
		text, err := r.Number()
		if err != nil {
			return err
		}
		return c.Number(text)
	}
	v, err := r.base64()
	if err != nil {
		return err
	}
	return s.bytes(c, v)
}

func (r *JSONReader) base64() ([]byte, error) {
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	if r.scratch, err = base64.StdEncoding.AppendDecode(r.scratch[:0], text); err != nil {
		return nil, fmt.Errorf("%w: %.40q is not in base64", ErrMessage, text)
	}
	return r.scratch, nil
}

// omitted passes over an array that stands for a value that was left out.
func (r *JSONReader) omitted(c *cell.Column) (bool, error) {
	for _, o := range r.Omitted {
		if bytes.HasPrefix(r.Rest(), o) {
			c.Omit()
			_, err := r.Skip()
			return true, err
		}
	}
	return false, nil
}

// list reads an array or a map.
func (r *JSONReader) list(s *Schema, c *cell.Column) error {
	if was, err := r.omitted(c); was || err != nil {
		return err
	}
	elem, key, err := c.List()
	if err != nil {
		return err
	}
	if (key != nil) != (s.kind == kindMap) {
		return fmt.Errorf("%w: a list and a map", ErrMessage)
	}
	if key != nil && r.Peek() == '{' {
		return r.object(s, key, elem)
	}
	if err := r.Enter('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if ok, err := r.NextElem(); !ok || err != nil {
			return err
		}
		if key == nil {
			err = r.Value(s.elem, elem)
		} else {
			err = r.pair(s, key, elem)
		}
		if err != nil {
			return inField(strconv.Itoa(i), err)
		}
	}
}

// object reads a map whose keys are strings.
func (r *JSONReader) object(s *Schema, key, elem *cell.Column) error {
	if err := r.Enter('{'); err != nil {
		return err
	}
	for {
		name, ok, err := r.NextKey()
		if !ok || err != nil {
			return err
		}
		if err := key.Text(name); err != nil {
			return err
		}
		if err := r.Value(s.elem, elem); err != nil {
			return err
		}
	}
}

// pair reads an entry of a map that is written as an array of keys and values.
func (r *JSONReader) pair(s *Schema, key, elem *cell.Column) error {
	if err := r.Enter('['); err != nil {
		return err
	}
	for i, part := range []struct {
		s *Schema
		c *cell.Column
	}{{s.key, key}, {s.elem, elem}} {
		ok, err := r.NextElem()
		if err != nil {
			return err
		}
		if !ok || i == 0 && r.Peek() == 'n' {
			return fmt.Errorf("%w: an entry of a map without a key or a value", ErrMessage)
		}
		if err := r.Value(part.s, part.c); err != nil {
			return err
		}
	}
	if ok, err := r.NextElem(); ok || err != nil {
		return fmt.Errorf("%w: an entry of a map has more than a key and a value", ErrMessage)
	}
	return nil
}

// nested reads a struct.
func (r *JSONReader) nested(s *Schema, c *cell.Column) error {
	if s.meaning == variableDecimal {
		return r.variable(c)
	}
	fields, err := c.Row()
	if err != nil {
		return err
	}
	return r.Row(bindRow(s, c.Type), fields)
}

// bindRow binds a struct to the fields of a row by name.
func bindRow(s *Schema, t schema.Type) *Binding {
	return Bind(s, func(name string) int {
		for i := range t.Fields {
			if t.Fields[i].Name == name {
				return i
			}
		}
		return -1
	})
}

// variable reads a decimal that carries its scale.
func (r *JSONReader) variable(c *cell.Column) error {
	if err := r.Enter('{'); err != nil {
		return err
	}
	scale, seen := int64(0), 0
	for {
		key, ok, err := r.NextKey()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch string(key) {
		case "scale":
			text, err := r.Number()
			if err != nil {
				return err
			}
			if scale, ok = parseInt(text); !ok || scale != int64(int32(scale)) {
				return fmt.Errorf("%w: a scale of %.20s", ErrMessage, text)
			}
			seen |= 1
		case "value":
			if _, err := r.base64(); err != nil {
				return err
			}
			seen |= 2
		default:
			return fmt.Errorf("%w: a decimal with a field %.40q", ErrMessage, key)
		}
	}
	if seen != 3 {
		return fmt.Errorf("%w: a decimal without scale or value", ErrMessage)
	}
	return c.Unscaled(r.scratch, int(scale))
}

// Key appends to dst the texts of some fields of the object that text is, in the order of
// the object; it stops as soon as it has them all.
func (r *JSONReader) Key(text []byte, names []string, dst []byte) ([]byte, error) {
	r.Reset(text)
	if err := r.Enter('{'); err != nil {
		return dst, err
	}
	for found := 0; found < len(names); {
		key, ok, err := r.NextKey()
		if !ok || err != nil {
			return dst, err
		}
		wanted := slices.Index(names, string(key)) >= 0
		value, err := r.Skip()
		if err != nil {
			return dst, err
		}
		if wanted {
			dst = append(append(dst, value...), 0)
			found++
		}
	}
	return dst, nil
}
