package value

import (
	"encoding/hex"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// TextReader appends a value of the text protocol to its builder. v is not kept.
// After an error nothing was appended; every error is a [*ColumnError]. Not safe for
// concurrent use.
type TextReader func(v []byte) error

// NewTextReader returns the reader of a column's values in a result, whose SELECT
// has asked for [SelectExpression] in a session with character_set_results=utf8mb4,
// time_zone='+00:00' and without PAD_CHAR_TO_FULL_LENGTH; b is of the column's Arrow
// type. A value gives what its cell in the binlog gives.
func NewTextReader(c schema.Column, b array.Builder, o Options) (TextReader, error) {
	m := &textMaker{place: placeOf(c), c: c, name: baseName(c.Source.Name), o: o}
	if err := accepts(b, c); err != nil {
		return nil, m.fail(err)
	}
	read, err := m.reader(b)
	if err != nil {
		return nil, m.fail(err)
	}
	return read, nil
}

// textMaker makes the reader of one column.
type textMaker struct {
	place
	c    schema.Column
	name string // of the type, without modifiers
	o    Options
}

// reader dispatches on the type.
func (m *textMaker) reader(b array.Builder) (TextReader, error) {
	switch b := b.(type) {
	case *array.Int8Builder:
		return integerText(m, b, 8), nil
	case *array.Int16Builder:
		return integerText(m, b, 16), nil
	case *array.Int32Builder:
		if m.name == "year" && m.c.Source.Length == 2 {
			return m.shortYear(b), nil
		}
		return integerText(m, b, 32), nil
	case *array.Int64Builder:
		return integerText(m, b, 64), nil
	case *array.Uint64Builder:
		return m.unsigned(b), nil
	case *array.BooleanBuilder:
		return m.boolean(b), nil
	case *array.Float32Builder:
		return m.float32(b), nil
	case *array.Float64Builder:
		return m.float64(b), nil
	case *array.Decimal128Builder:
		return m.decimal128(b), nil
	case *array.Decimal256Builder:
		return m.decimal256(b), nil
	}
	if read := m.temporal(b); read != nil {
		return read, nil
	}
	return m.bytes(b)
}

// bytes returns the reader of what is neither a number nor a time.
func (m *textMaker) bytes(b array.Builder) (TextReader, error) {
	switch b := b.(type) {
	case *array.StringBuilder:
		f, err := m.textForm()
		if err != nil {
			return nil, err
		}
		return m.formed(f, b.BinaryBuilder.Append), nil
	case *array.BinaryBuilder:
		var f form
		switch m.name {
		case "bit":
			f = reversed()
		case "binary", "char":
			f = fixedForm(m.c.Type.Length)
		}
		return m.formed(f, b.Append), nil
	case *array.FixedSizeBinaryBuilder:
		return m.formed(uuidForm(), b.Append), nil
	case *array.ListBuilder:
		if floats, ok := b.ValueBuilder().(*array.Float32Builder); ok {
			return func(v []byte) error {
				if err := appendVector(b, floats, v); err != nil {
					return m.fail(err)
				}
				return nil
			}, nil
		}
	}
	return nil, noReader(m.c)
}

// noReader: a column whose Type is not what [Column] makes of its Source.
func noReader(c schema.Column) error {
	return fmt.Errorf("%w: %s from %s", ErrMismatch, c.Type, c.Source.Name)
}

// textForm is the form of what ends as text. Where the server has printed it, it is
// in utf8mb4.
func (m *textMaker) textForm() (form, error) {
	switch {
	case m.name == "json" && m.o.LegacyJSON:
		return compactForm(), nil
	case isGeometry(m.name):
		return geometryForm(), nil
	case isText(m.name):
		return charsetForm(m.c.Source.Charset)
	}
	return charsetForm("utf8mb4")
}

// formed reads values that f turns into the bytes for the builder; nil leaves them.
func (m *textMaker) formed(f form, add func([]byte)) TextReader {
	if f == nil {
		return func(v []byte) error { add(v); return nil }
	}
	return func(v []byte) error {
		v, err := f(v)
		if err != nil {
			return m.fail(err)
		}
		add(v)
		return nil
	}
}

// uuidForm reads the 36 characters of a UUID.
func uuidForm() form {
	var out [16]byte
	return func(v []byte) ([]byte, error) {
		if len(v) != 36 || v[8] != '-' || v[13] != '-' || v[18] != '-' || v[23] != '-' {
			return nil, malformed(v, "UUID")
		}
		var digits [32]byte
		n := 0
		for _, part := range [...][2]int{{0, 8}, {9, 13}, {14, 18}, {19, 23}, {24, 36}} {
			n += copy(digits[n:], v[part[0]:part[1]])
		}
		if _, err := hex.Decode(out[:], digits[:]); err != nil {
			return nil, malformed(v, "UUID")
		}
		return out[:], nil
	}
}
