package connect

import (
	"errors"
	"fmt"

	"github.com/freshet-cdc/freshet/source/kafka/cell"
)

// ErrMessage is wrapped by every message that does not fit its schema.
var ErrMessage = errors.New("the message does not fit its schema")

// FieldError is a value that can't be read.
type FieldError struct {
	// Field is where it stands, with dots between the levels.
	Field string
	Err   error
}

func (e *FieldError) Error() string { return fmt.Sprintf("field %s: %v", e.Field, e.Err) }

func (e *FieldError) Unwrap() error { return e.Err }

// inField puts the name of a field in front of those that err names.
func inField(name string, err error) error {
	if f, ok := errors.AsType[*FieldError](err); ok && f == err {
		return &FieldError{Field: name + "." + f.Field, Err: f.Err}
	}
	return &FieldError{Field: name, Err: err}
}

// Binding says which column takes each field of a struct.
type Binding struct {
	fields []boundField
	names  map[string]int
}

type boundField struct {
	name   string
	schema *Schema
	column int // -1 for none
}

// Bind returns the binding of a struct; column gives the index of a field's column, or -1
// where the field is passed over.
func Bind(s *Schema, column func(name string) int) *Binding {
	b := &Binding{names: make(map[string]int, len(s.Fields))}
	for i, f := range s.Fields {
		b.fields = append(b.fields, boundField{f.Name, f.Schema, column(f.Name)})
		b.names[f.Name] = i
	}
	return b
}

// find returns the field called name; next is the one that is expected.
func (b *Binding) find(name []byte, next int) (int, bool) {
	if next < len(b.fields) && b.fields[next].name == string(name) {
		return next, true
	}
	i, ok := b.names[string(name)]
	return i, ok
}

// fill gives NULL to the columns that got no value; n is how many each has to have.
func fill(columns []*cell.Column, n int) {
	for _, c := range columns {
		if c.Len() < n {
			c.Null()
		}
	}
}

// number takes a whole number by its meaning.
func (s *Schema) number(c *cell.Column, v int64) error {
	switch s.meaning {
	case date:
		return c.Date(v)
	case timeMillis:
		return c.Time(v, cell.Millis)
	case timeMicros:
		return c.Time(v, cell.Micros)
	case timeNanos:
		return c.Time(v, cell.Nanos)
	case timestampMillis, instantMillis:
		return c.Timestamp(v, cell.Millis)
	case timestampMicros, instantMicros:
		return c.Timestamp(v, cell.Micros)
	case timestampNanos, instantNanos:
		return c.Timestamp(v, cell.Nanos)
	case duration:
		return c.Micros(v)
	}
	return c.Int(v)
}

// bytes takes bytes by their meaning.
func (s *Schema) bytes(c *cell.Column, v []byte) error {
	if s.meaning == decimal {
		return c.Unscaled(v, s.scale)
	}
	return c.Bytes(v)
}
