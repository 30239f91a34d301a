package postgres

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// textOptions say what becomes of values that have more than one form.
type textOptions struct {
	// SpecialNull makes NaN and the infinities of a DECIMAL NULL, otherwise they are an error.
	SpecialNull bool
	// SpecialKeep makes numerics with a precision numerics of any size, which hold them.
	SpecialKeep bool
	// ArrayText carries arrays as text.
	ArrayText bool
}

// errText is returned for bytes that are not the text form of their type.
var errText = errors.New("malformed text")

func badText(kind string, v []byte) error {
	if len(v) > 64 {
		v = append(append([]byte(nil), v[:64]...), "..."...)
	}
	return fmt.Errorf("%w: %q is no %s", errText, v, kind)
}

// textAppender returns the function that parses a value of column c in the
// server's text form, as sessions with sessionSettings print it, and appends it
// to b, a builder of the column's Arrow type. v is not kept. After an error the
// builder is to be thrown away.
func textAppender(c schema.Column, b array.Builder, o textOptions) func(v []byte) error {
	return appender(c.Type, c.Source.Name, b, o)
}

// appender dispatches on the type; source is the server's name of the column's
// type, where one Arrow type has several text forms.
func appender(t schema.Type, source string, b array.Builder, o textOptions) func(v []byte) error {
	switch b := b.(type) {
	case *array.StringBuilder:
		return func(v []byte) error { b.BinaryBuilder.Append(v); return nil }
	case *array.BooleanBuilder:
		return func(v []byte) error { return appendBool(b, v) }
	case *array.Int16Builder:
		return func(v []byte) error {
			n, ok := parseInt(v)
			if !ok || n != int64(int16(n)) {
				return badText("smallint", v)
			}
			b.Append(int16(n))
			return nil
		}
	case *array.Int32Builder:
		return func(v []byte) error {
			n, ok := parseInt(v)
			if !ok || n != int64(int32(n)) {
				return badText("integer", v)
			}
			b.Append(int32(n))
			return nil
		}
	case *array.Int64Builder:
		return func(v []byte) error {
			n, ok := parseInt(v)
			if !ok {
				return badText("bigint", v)
			}
			b.Append(n)
			return nil
		}
	case *array.Float32Builder:
		return func(v []byte) error { return appendFloat32(b, v) }
	case *array.Float64Builder:
		return func(v []byte) error { return appendFloat64(b, v) }
	case *array.Decimal128Builder:
		return decimal128Appender(b, t, source, o)
	case *array.Decimal256Builder:
		return decimal256Appender(b, t, o)
	case *array.BinaryBuilder:
		return byteaAppender(b)
	case *array.FixedSizeBinaryBuilder:
		return func(v []byte) error { return appendUUID(b, v) }
	}
	return temporalAppender(t, source, b, o)
}

func temporalAppender(t schema.Type, source string, b array.Builder, o textOptions) func(v []byte) error {
	switch b := b.(type) {
	case *array.Date32Builder:
		return func(v []byte) error {
			d, err := parseDate(v)
			if err == nil {
				b.Append(d)
			}
			return err
		}
	case *array.Time64Builder:
		return func(v []byte) error {
			micros, rest, ok := parseClock(v)
			if !ok || len(rest) > 0 {
				return badText("time", v)
			}
			b.Append(arrow.Time64(micros))
			return nil
		}
	case *array.TimestampBuilder:
		zone := t.Kind == schema.KindTimestampLTZ
		return func(v []byte) error {
			ts, err := parseTimestamp(v, zone)
			if err == nil {
				b.Append(ts)
			}
			return err
		}
	case *array.MapBuilder:
		return hstoreAppender(b)
	case *array.ListBuilder:
		return arrayAppender(t, source, b, o)
	}
	panic(fmt.Sprintf("postgres: no text form for %s", t))
}

// appendBool takes boolean (t, f) and bit(1) (1, 0).
func appendBool(b *array.BooleanBuilder, v []byte) error {
	if len(v) == 1 {
		switch v[0] {
		case 't', '1':
			b.Append(true)
			return nil
		case 'f', '0':
			b.Append(false)
			return nil
		}
	}
	return badText("boolean", v)
}

// byteaAppender takes bytea_output=hex.
func byteaAppender(b *array.BinaryBuilder) func(v []byte) error {
	var buf []byte
	return func(v []byte) error {
		if len(v) < 2 || v[0] != '\\' || v[1] != 'x' {
			return badText("bytea", v)
		}
		var err error
		if buf, err = hex.AppendDecode(buf[:0], v[2:]); err != nil {
			return badText("bytea", v)
		}
		b.Append(buf)
		return nil
	}
}

func appendUUID(b *array.FixedSizeBinaryBuilder, v []byte) error {
	if len(v) != 36 || v[8] != '-' || v[13] != '-' || v[18] != '-' || v[23] != '-' {
		return badText("uuid", v)
	}
	var digits [32]byte
	n := copy(digits[:], v[:8])
	n += copy(digits[n:], v[9:13])
	n += copy(digits[n:], v[14:18])
	n += copy(digits[n:], v[19:23])
	copy(digits[n:], v[24:])
	var out [16]byte
	if _, err := hex.Decode(out[:], digits[:]); err != nil {
		return badText("uuid", v)
	}
	b.Append(out[:])
	return nil
}
