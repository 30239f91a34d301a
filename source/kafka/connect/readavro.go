package connect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/freshet-cdc/freshet/source/kafka/cell"
)

// errShort is a datum that ends too early.
var errShort = fmt.Errorf("%w: it ends too early", ErrMessage)

// maxEmpty is the most elements of no bytes that an array may have.
const maxEmpty = 1 << 16

// AvroReader reads values in Avro's binary form out of one message after the other.
type AvroReader struct {
	data []byte
	pos  int
}

// Reset begins with another datum, which must not change while it is read.
func (r *AvroReader) Reset(data []byte) { r.data, r.pos = data, 0 }

// End fails if there is more.
func (r *AvroReader) End() error {
	if r.pos < len(r.data) {
		return fmt.Errorf("%w: %d bytes are left", ErrMessage, len(r.data)-r.pos)
	}
	return nil
}

// Row reads a record into columns; those that it has no field for get NULL.
func (r *AvroReader) Row(b *Binding, columns []*cell.Column) error {
	n := 1
	if len(columns) > 0 {
		n += columns[0].Len()
	}
	for i := range b.fields {
		f := &b.fields[i]
		var c *cell.Column
		if f.column >= 0 {
			c = columns[f.column]
		}
		if err := r.Value(f.schema, c); err != nil {
			return inField(f.name, err)
		}
	}
	fill(columns, n)
	return nil
}

// Null reads the branch of a union and says whether it is null; a value of another schema
// never is.
func (r *AvroReader) Null(s *Schema) (bool, error) {
	if s.null < 0 {
		return s.kind == kindNull, nil
	}
	branch, err := r.long()
	if err != nil {
		return false, err
	}
	if branch != 0 && branch != 1 {
		return false, fmt.Errorf("%w: branch %d of a union of two", ErrMessage, branch)
	}
	return int(branch) == s.null, nil
}

// Skip passes over a value and returns its bytes.
func (r *AvroReader) Skip(s *Schema) ([]byte, error) {
	start := r.pos
	err := r.Value(s, nil)
	return r.data[start:r.pos], err
}

// String reads a text, which may be null.
func (r *AvroReader) String(s *Schema) ([]byte, error) {
	if s.kind != kindString {
		return nil, fmt.Errorf("%w: a string is expected", ErrMessage)
	}
	if null, err := r.Null(s); null || err != nil {
		return nil, err
	}
	return r.blob(0)
}

// Long reads a whole number, which is 0 for null.
func (r *AvroReader) Long(s *Schema) (int64, error) {
	if s.kind > kindInt64 {
		return 0, fmt.Errorf("%w: a number is expected", ErrMessage)
	}
	if null, err := r.Null(s); null || err != nil {
		return 0, err
	}
	return r.long()
}

// Value reads a value into c; a nil c passes over it.
func (r *AvroReader) Value(s *Schema, c *cell.Column) error {
	null, err := r.Null(s)
	if err != nil {
		return err
	}
	if null {
		if c != nil {
			c.Null()
		}
		return nil
	}
	switch s.kind {
	case kindInt8, kindInt16, kindInt32, kindInt64:
		v, err := r.long()
		if err != nil || c == nil {
			return err
		}
		return s.number(c, v)
	case kindString, kindBytes:
		v, err := r.blob(s.size)
		if err != nil || c == nil {
			return err
		}
		if s.kind == kindString {
			return c.Text(v)
		}
		return s.bytes(c, v)
	case kindBool:
		v, err := r.take(1)
		if err != nil {
			return err
		}
		if v[0] > 1 {
			return fmt.Errorf("%w: %d is neither true nor false", ErrMessage, v[0])
		}
		if c == nil {
			return nil
		}
		return c.Bool(v[0] == 1)
	case kindFloat32, kindFloat64:
		return r.float(s, c)
	case kindEnum:
		return r.enum(s, c)
	case kindArray, kindMap:
		return r.list(s, c)
	}
	return r.nested(s, c)
}

func (r *AvroReader) take(n int) ([]byte, error) {
	if n < 0 || n > len(r.data)-r.pos {
		return nil, errShort
	}
	r.pos += n
	return r.data[r.pos-n : r.pos], nil
}

func (r *AvroReader) long() (int64, error) {
	v, n := binary.Varint(r.data[r.pos:])
	if n <= 0 {
		return 0, errShort
	}
	r.pos += n
	return v, nil
}

// blob reads size bytes, or as many as are told in front of them.
func (r *AvroReader) blob(size int) ([]byte, error) {
	if size == 0 {
		n, err := r.long()
		if err != nil {
			return nil, err
		}
		if n < 0 || n > int64(len(r.data)) {
			return nil, errShort
		}
		size = int(n)
	}
	return r.take(size)
}

func (r *AvroReader) float(s *Schema, c *cell.Column) error {
	size, bits := 8, 64
	if s.kind == kindFloat32 {
		size, bits = 4, 32
	}
	b, err := r.take(size)
	if err != nil || c == nil {
		return err
	}
	if bits == 32 {
		return c.Float(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), bits)
	}
	return c.Float(math.Float64frombits(binary.LittleEndian.Uint64(b)), bits)
}

func (r *AvroReader) enum(s *Schema, c *cell.Column) error {
	i, err := r.long()
	if err != nil {
		return err
	}
	if i < 0 || i >= int64(len(s.symbols)) {
		return fmt.Errorf("%w: symbol %d of %d", ErrMessage, i, len(s.symbols))
	}
	if c == nil {
		return nil
	}
	return c.Text([]byte(s.symbols[i]))
}

// list reads an array or a map: blocks of entries, and an empty one.
func (r *AvroReader) list(s *Schema, c *cell.Column) (err error) {
	var elem, key *cell.Column
	if c != nil {
		if r.omitted(s, c) {
			c.Omit()
			return nil
		}
		if elem, key, err = c.List(); err != nil {
			return err
		}
		if (key != nil) != (s.kind == kindMap) {
			return fmt.Errorf("%w: a list and a map", ErrMessage)
		}
	}
	for i, empty := 0, 0; ; {
		n, err := r.long()
		if err != nil {
			return err
		}
		if n < 0 {
			n = -n
			if _, err := r.long(); err != nil {
				return err
			}
		}
		if n == 0 {
			return nil
		}
		for ; n != 0; n-- {
			start := r.pos
			if s.kind == kindMap {
				if err := r.Value(s.key, key); err != nil {
					return inField(strconv.Itoa(i), err)
				}
			}
			if err := r.Value(s.elem, elem); err != nil {
				return inField(strconv.Itoa(i), err)
			}
			if r.pos == start {
				empty++
			}
			if i++; empty > maxEmpty {
				return errors.Join(errShort, fmt.Errorf("an array has more than %d elements of no bytes", maxEmpty))
			}
		}
	}
}

func (r *AvroReader) nested(s *Schema, c *cell.Column) error {
	switch {
	case s.kind != kindStruct: // a null outside of a union
		return fmt.Errorf("%w: a type that has no values", ErrMessage)
	case c == nil:
		for i := range s.Fields {
			if err := r.Value(s.Fields[i].Schema, nil); err != nil {
				return inField(s.Fields[i].Name, err)
			}
		}
		return nil
	case s.meaning == variableDecimal:
		return r.variable(s, c)
	}
	fields, err := c.Row()
	if err != nil {
		return err
	}
	return r.Row(bindRow(s, c.Type), fields)
}

// variable reads a decimal that carries its scale.
func (r *AvroReader) variable(s *Schema, c *cell.Column) error {
	var scale int64
	var value []byte
	for _, f := range s.Fields {
		var err error
		switch {
		case f.Name == "scale":
			scale, err = r.Long(f.Schema)
		case f.Name == "value" && f.Schema.kind == kindBytes && f.Schema.null < 0:
			value, err = r.blob(f.Schema.size)
		default:
			err = fmt.Errorf("%w: a decimal with a field %.40q", ErrMessage, f.Name)
		}
		if err != nil {
			return err
		}
	}
	if scale != int64(int32(scale)) {
		return fmt.Errorf("%w: a scale of %d", ErrMessage, scale)
	}
	return c.Unscaled(value, int(scale))
}

// omitted passes over an array that stands for a value that was left out: the placeholder
// as its one element, or the placeholder's bytes as its numbers.
func (r *AvroReader) omitted(s *Schema, c *cell.Column) bool {
	if len(c.Placeholder) == 0 || s.kind != kindArray {
		return false
	}
	start := r.pos
	is := func() bool {
		n, err := r.long()
		numbers := s.elem.kind <= kindInt64
		if err != nil || numbers && n != int64(len(c.Placeholder)) || !numbers && n != 1 || !numbers && s.elem.kind != kindString && s.elem.kind != kindBytes {
			return false
		}
		for i := range n {
			if null, err := r.Null(s.elem); null || err != nil {
				return false
			}
			if numbers {
				if v, err := r.long(); err != nil || v != int64(c.Placeholder[i]) {
					return false
				}
			} else if v, err := r.blob(s.elem.size); err != nil || string(v) != string(c.Placeholder) {
				return false
			}
		}
		end, err := r.long()
		return err == nil && end == 0
	}()
	if !is {
		r.pos = start
	}
	return is
}

// KeyHere appends to dst the bytes of some fields of the record that comes; it stops as
// soon as it has them all.
func (r *AvroReader) KeyHere(s *Schema, names []string, dst []byte) ([]byte, error) {
	for i, found := 0, 0; i < len(s.Fields) && found < len(names); i++ {
		value, err := r.Skip(s.Fields[i].Schema)
		if err != nil {
			return dst, err
		}
		if slices.Index(names, s.Fields[i].Name) >= 0 {
			dst = append(append(dst, value...), 0)
			found++
		}
	}
	return dst, nil
}
