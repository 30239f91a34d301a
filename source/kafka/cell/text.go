package cell

import (
	"bytes"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// Text appends a text, read as the column's type wants it.
func (c *Column) Text(text []byte) error {
	if len(c.Placeholder) > 0 && bytes.Equal(text, c.Placeholder) {
		c.Omit()
		return nil
	}
	switch b := c.b.(type) {
	case *array.StringBuilder:
		if c.Type.Kind == schema.KindNumeric {
			return c.numeric(text)
		}
		if !utf8.Valid(text) {
			return c.refuse("the text is not valid UTF-8")
		}
		b.Append(str(text))
		return nil
	case *array.BooleanBuilder:
		switch string(text) {
		case "true", "1", "t", "TRUE":
			b.Append(true)
			return nil
		case "false", "0", "f", "FALSE":
			b.Append(false)
			return nil
		}
	case *array.BinaryBuilder:
		b.Append(text)
		return nil
	case *array.FixedSizeBinaryBuilder:
		if v, ok := parseUUID(text); ok {
			b.Append(v[:])
			return nil
		}
	case *array.Date32Builder, *array.Time64Builder, *array.TimestampBuilder:
		return c.temporal(text)
	default:
		return c.Number(text)
	}
	return c.refuse("%.80q", text)
}

// parseUUID reads a UUID in its usual form.
func parseUUID(text []byte) (v [16]byte, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return v, false
	}
	n := 0
	for i := 0; i < 36; {
		if text[i] == '-' {
			i++
			continue
		}
		hi, ok1 := nibble(text[i])
		lo, ok2 := nibble(text[i+1])
		if !ok1 || !ok2 {
			return v, false
		}
		v[n] = hi<<4 | lo
		n++
		i += 2
	}
	return v, true
}

func nibble(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// temporal appends a date or time in ISO 8601, or as databases print it.
func (c *Column) temporal(text []byte) error {
	p := parser{text: text}
	switch b := c.b.(type) {
	case *array.Date32Builder:
		if inf, ok := p.infinity(); ok {
			b.Append(arrow.Date32(infinite(inf, minDate, maxDate)))
			return nil
		}
		days, ok := p.date()
		if ok = ok && (p.end() || p.midnight()); ok {
			return c.Date(days)
		}
	case *array.Time64Builder:
		if nanos, ok := p.clock(); ok {
			p.zulu()
			if p.end() {
				return c.Time(nanos, Nanos)
			}
		}
	case *array.TimestampBuilder:
		if inf, ok := p.infinity(); ok {
			b.Append(arrow.Timestamp(infinite(inf, minStamp, maxStamp)))
			return nil
		}
		if seconds, nanos, ok := p.stamp(c.Type.Kind == schema.KindTimestampLTZ); ok {
			return c.stamp(seconds, nanos)
		}
	}
	return c.refuse("%.80q", text)
}
