package value

import (
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// form turns the bytes of a value into those that the builder takes. The result
// may be v itself, or memory that the next call uses again.
type form func(v []byte) ([]byte, error)

// bytes returns the reader of what is neither a number nor a time.
func (m *cellMaker) bytes(b array.Builder) (CellReader, error) {
	switch b := b.(type) {
	case *array.StringBuilder:
		if m.name == "enum" || m.name == "set" {
			return m.labels(b)
		}
		f, err := m.textForm()
		if err != nil {
			return nil, err
		}
		return m.formed(f, b.BinaryBuilder.Append), nil
	case *array.BinaryBuilder:
		return m.formed(m.binaryForm(), b.Append), nil
	case *array.FixedSizeBinaryBuilder:
		return m.formed(fixedForm(16), b.Append), nil
	case *array.ListBuilder:
		if floats, ok := b.ValueBuilder().(*array.Float32Builder); ok {
			return m.vector(b, floats), nil
		}
	}
	return nil, noReader(m.c)
}

// formed reads cells whose bytes f turns into the value; nil leaves them as they are.
func (m *cellMaker) formed(f form, add func([]byte)) CellReader {
	s := m.shape
	if m.t.Type == cellBlobCompressed || m.t.Type == cellVarcharCompressed {
		f = inflated(f)
	}
	if f == nil {
		return func(p []byte) (int, error) {
			v, n, err := s.cut(p)
			if err != nil {
				return 0, m.fail(err)
			}
			add(v)
			return n, nil
		}
	}
	return func(p []byte) (int, error) {
		v, n, err := s.cut(p)
		if err == nil {
			v, err = f(v)
		}
		if err != nil {
			return 0, m.fail(err)
		}
		add(v)
		return n, nil
	}
}

// textForm is the form of what ends as text.
func (m *cellMaker) textForm() (form, error) {
	switch {
	case m.name == "json":
		return jsonForm(m.o.LegacyJSON), nil
	case isGeometry(m.name):
		return geometryForm(), nil
	case m.name == "inet6":
		return chain(fixedForm(16), inetForm()), nil
	case m.name == "inet4":
		return chain(fixedForm(4), inetForm()), nil
	}
	return charsetForm(m.c.Source.Charset)
}

// chain is g of f.
func chain(f, g form) form {
	return func(v []byte) ([]byte, error) {
		v, err := f(v)
		if err != nil {
			return nil, err
		}
		return g(v)
	}
}

// charsetForm decodes a character set, and checks UTF-8.
func charsetForm(charset string) (form, error) {
	decode, err := decoderOf(charset)
	if err != nil {
		return nil, err
	}
	if decode == nil {
		return func(v []byte) ([]byte, error) {
			if !utf8.Valid(v) {
				return nil, fmt.Errorf("%w: %q is no %s", ErrMalformed, shorten(v), charset)
			}
			return v, nil
		}, nil
	}
	var buf []byte
	return func(v []byte) ([]byte, error) {
		var ok bool
		if buf, ok = decode(buf[:0], v); !ok {
			return nil, fmt.Errorf("%w: %x has no meaning in the character set %s", ErrMalformed, shorten(v), charset)
		}
		return buf, nil
	}, nil
}

// binaryForm is the form of what ends as bytes: the binlog leaves out the zeros at
// the end of a BINARY(n), and has a BIT(n) in big-endian, which Debezium and Flink CDC turn.
func (m *cellMaker) binaryForm() form {
	switch m.name {
	case "bit":
		return reversed()
	case "binary", "char": // CHAR CHARACTER SET binary
		return fixedForm(m.c.Type.Length)
	}
	return nil
}

// fixedForm adds the zeros that a value of a fixed length lacks at its end.
func fixedForm(size int) form {
	var buf []byte
	return func(v []byte) ([]byte, error) {
		switch {
		case len(v) == size:
			return v, nil
		case len(v) > size:
			return nil, fmt.Errorf("%w: %d bytes where at most %d belong", ErrMalformed, len(v), size)
		}
		buf = append(buf[:0], v...)
		for len(buf) < size {
			buf = append(buf, 0)
		}
		return buf, nil
	}
}

func reversed() form {
	var buf [8]byte
	return func(v []byte) ([]byte, error) {
		if len(v) > len(buf) {
			return nil, malformed(v, "BIT")
		}
		for i, c := range v {
			buf[len(v)-1-i] = c
		}
		return buf[:len(v)], nil
	}
}

// labels reads an ENUM, the number of its label, and a SET, a bit for each label.
// The number 0 is the text that the server keeps for a label that it did not know.
func (m *cellMaker) labels(b *array.StringBuilder) (CellReader, error) {
	size, labels := m.shape.Size, m.c.Source.Enum
	if m.name == "enum" {
		return func(p []byte) (int, error) {
			if len(p) < size {
				return 0, m.fail(errShort)
			}
			i := int(littleEndian(p, size))
			switch {
			case i == 0:
				b.Append("")
			case i > len(labels):
				return 0, m.fail(fmt.Errorf("%w: label %d of %d", ErrMismatch, i, len(labels)))
			default:
				b.Append(labels[i-1])
			}
			return size, nil
		}, nil
	}
	var buf []byte
	return func(p []byte) (int, error) {
		if len(p) < size {
			return 0, m.fail(errShort)
		}
		set := littleEndian(p, size)
		if len(labels) < 64 && set>>len(labels) != 0 {
			return 0, m.fail(fmt.Errorf("%w: the bits %b where there are %d labels", ErrMismatch, set, len(labels)))
		}
		buf = buf[:0]
		for i, comma := 0, false; set != 0; i, set = i+1, set>>1 {
			if set&1 == 0 {
				continue
			}
			if comma {
				buf = append(buf, ',')
			}
			buf, comma = append(buf, labels[i]...), true
		}
		b.BinaryBuilder.Append(buf)
		return size, nil
	}, nil
}

// vector reads a VECTOR: float32 by float32, little-endian.
func (m *cellMaker) vector(b *array.ListBuilder, floats *array.Float32Builder) CellReader {
	s := m.shape
	return func(p []byte) (int, error) {
		v, n, err := s.cut(p)
		if err == nil {
			err = appendVector(b, floats, v)
		}
		if err != nil {
			return 0, m.fail(err)
		}
		return n, nil
	}
}

// isGeometry reports the spatial types.
func isGeometry(name string) bool {
	switch name {
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		return true
	}
	return false
}

// fraction is the declared number of digits behind the second of a column.
func fraction(c schema.Column) int { return max(c.Source.Length, 0) }
