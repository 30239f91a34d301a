package value

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// The types of values in MySQL's binary JSON: a value is a type and, elsewhere or in
// the same place, its data. Objects and arrays are small (offsets of two bytes) or
// large (of four).
const (
	jsonSmallObject = 0x00
	jsonLargeObject = 0x01
	jsonSmallArray  = 0x02
	jsonLargeArray  = 0x03
	jsonLiteral     = 0x04
	jsonInt16       = 0x05
	jsonUint16      = 0x06
	jsonInt32       = 0x07
	jsonUint32      = 0x08
	jsonInt64       = 0x09
	jsonUint64      = 0x0A
	jsonDouble      = 0x0B
	jsonString      = 0x0C
	jsonOpaque      = 0x0F
)

// maxJSONDepth: the server has 100.
const maxJSONDepth = 128

// jsonForm prints binary JSON as text.
func jsonForm(legacy bool) form {
	p := newJSONPrinter(legacy)
	return p.form
}

// jsonPrinter prints one document after the other into the same memory.
type jsonPrinter struct {
	comma, colon string
	out          []byte
	// budget is how much of the document may still be visited: parts never overlap,
	// so all of them together are no longer than the document. Damaged offsets
	// could otherwise make a small document print for ever.
	budget int
}

func newJSONPrinter(legacy bool) *jsonPrinter {
	if legacy {
		return &jsonPrinter{comma: ",", colon: ":"}
	}
	return &jsonPrinter{comma: ", ", colon: ": "}
}

// form returns the text of v, valid until the next call. No bytes at all are null,
// which the server writes for a missing value in a NOT NULL column.
func (p *jsonPrinter) form(v []byte) ([]byte, error) {
	p.out = p.out[:0]
	if len(v) == 0 {
		p.out = append(p.out, "null"...)
		return p.out, nil
	}
	p.budget = len(v)
	if err := p.value(v[0], v[1:], 0); err != nil {
		return nil, err
	}
	return p.out, nil
}

func badJSON(format string, args ...any) error {
	return fmt.Errorf("%w: binary JSON: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// spend takes n of the budget.
func (p *jsonPrinter) spend(n int) error {
	if p.budget -= n; p.budget < 0 {
		return badJSON("parts that overlap")
	}
	return nil
}

// value prints the value of a type whose data begins at v.
func (p *jsonPrinter) value(typ byte, v []byte, depth int) error {
	switch typ {
	case jsonSmallObject, jsonLargeObject, jsonSmallArray, jsonLargeArray:
		return p.container(typ, v, depth)
	case jsonString:
		s, _, err := jsonBytes(v)
		if err == nil {
			err = p.spend(len(s))
		}
		if err == nil {
			err = p.text(s)
		}
		return err
	case jsonOpaque:
		return p.opaque(v)
	}
	var err error
	p.out, err = appendJSONScalar(p.out, typ, v)
	return err
}

// jsonSizes are the bytes of literals and numbers.
var jsonSizes = [...]int{
	jsonLiteral: 1, jsonInt16: 2, jsonUint16: 2, jsonInt32: 4, jsonUint32: 4, jsonInt64: 8, jsonUint64: 8, jsonDouble: 8,
}

// appendJSONScalar prints a literal or a number.
func appendJSONScalar(dst []byte, typ byte, v []byte) ([]byte, error) {
	if typ < jsonLiteral || typ > jsonDouble {
		return dst, badJSON("the type %d", typ)
	}
	size := jsonSizes[typ]
	if len(v) < size {
		return dst, errShort
	}
	u := littleEndian(v, size)
	switch typ {
	case jsonLiteral:
		switch u {
		case 0:
			return append(dst, "null"...), nil
		case 1:
			return append(dst, "true"...), nil
		case 2:
			return append(dst, "false"...), nil
		}
		return dst, badJSON("the literal %d", u)
	case jsonInt16:
		return strconv.AppendInt(dst, int64(int16(u)), 10), nil
	case jsonInt32:
		return strconv.AppendInt(dst, int64(int32(u)), 10), nil
	case jsonInt64:
		return strconv.AppendInt(dst, int64(u), 10), nil
	case jsonDouble:
		return appendJSONDouble(dst, u)
	}
	return strconv.AppendUint(dst, u, 10), nil
}

func (p *jsonPrinter) container(typ byte, v []byte, depth int) error {
	if depth == maxJSONDepth {
		return badJSON("nested deeper than %d", maxJSONDepth)
	}
	c, err := parseContainer(typ, v)
	if err == nil {
		err = p.spend(c.count)
	}
	if err != nil {
		return err
	}
	brackets := "[]"
	if c.object {
		brackets = "{}"
	}
	p.out = append(p.out, brackets[0])
	for i := range c.count {
		if i > 0 {
			p.out = append(p.out, p.comma...)
		}
		if c.object {
			if err := p.key(&c, i); err != nil {
				return err
			}
		}
		typ, v, err := c.value(i)
		if err == nil {
			err = p.value(typ, v, depth+1)
		}
		if err != nil {
			return err
		}
	}
	p.out = append(p.out, brackets[1])
	return nil
}

func (p *jsonPrinter) key(c *jsonContainer, i int) error {
	k, err := c.key(i)
	if err == nil {
		err = p.spend(len(k))
	}
	if err == nil {
		err = p.text(k)
	}
	p.out = append(p.out, p.colon...)
	return err
}

// text prints a string.
func (p *jsonPrinter) text(s []byte) error {
	if !utf8.Valid(s) {
		return badJSON("%q is no UTF-8", shorten(s))
	}
	p.out = appendJSONText(p.out, s)
	return nil
}

const hexDigits = "0123456789abcdef"

// appendJSONText quotes a string and escapes what the server escapes.
func appendJSONText(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i, c := range s {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
