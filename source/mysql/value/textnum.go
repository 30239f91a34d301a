package value

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// view returns v as a string without a copy; it must not outlive v.
func view(v []byte) string { return unsafe.String(unsafe.SliceData(v), len(v)) }

// parseUnsigned parses a decimal number of 64 bits; ZEROFILL has put zeros in front
// of some.
func parseUnsigned(v []byte) (uint64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	var n uint64
	if len(v) < 20 {
		for _, c := range v {
			d := c - '0'
			if d > 9 {
				return 0, false
			}
			n = n*10 + uint64(d)
		}
		return n, true
	}
	n, err := strconv.ParseUint(view(v), 10, 64)
	return n, err == nil && v[0] != '+'
}

// parseInt parses a decimal number of 64 bits.
func parseInt(v []byte) (int64, bool) {
	if len(v) == 0 || v[0] != '-' {
		n, ok := parseUnsigned(v)
		return int64(n), ok && n <= math.MaxInt64
	}
	n, ok := parseUnsigned(v[1:])
	return -int64(n), ok && n <= 1<<63
}

// integerText reads an integer that has to fit into bits.
func integerText[T integer](m *textMaker, b interface{ Append(T) }, bits int) TextReader {
	shift := 64 - bits
	return func(v []byte) error {
		n, ok := parseInt(v)
		if !ok || n<<shift>>shift != n {
			return m.fail(malformed(v, m.c.Type.String()))
		}
		b.Append(T(n))
		return nil
	}
}

func (m *textMaker) unsigned(b *array.Uint64Builder) TextReader {
	return func(v []byte) error {
		n, ok := parseUnsigned(v)
		if !ok {
			return m.fail(malformed(v, m.c.Type.String()))
		}
		b.Append(n)
		return nil
	}
}

// shortYear is YEAR(2), of which the server prints two digits.
func (m *textMaker) shortYear(b *array.Int32Builder) TextReader {
	return func(v []byte) error {
		n, ok := parseInt(v)
		if !ok || n < 0 || n > 99 {
			return m.fail(malformed(v, "YEAR(2)"))
		}
		b.Append(fullYear(int32(n)))
		return nil
	}
}

// boolean is TINYINT(1), a number, or BIT(1), a byte.
func (m *textMaker) boolean(b *array.BooleanBuilder) TextReader {
	if m.name == "bit" {
		return func(v []byte) error {
			if len(v) != 1 || v[0] > 1 {
				return m.fail(malformed(v, "BIT(1)"))
			}
			b.Append(v[0] != 0)
			return nil
		}
	}
	return func(v []byte) error {
		n, ok := parseInt(v)
		if !ok {
			return m.fail(malformed(v, "TINYINT"))
		}
		b.Append(n != 0)
		return nil
	}
}

// parseFloat reads what the server prints: digits that give the same double again.
// A number too small for any is 0.
func parseFloat(v []byte) (float64, bool) {
	f, err := strconv.ParseFloat(view(v), 64)
	if err != nil && !(errors.Is(err, strconv.ErrRange) && f == 0) {
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

func (m *textMaker) float64(b *array.Float64Builder) TextReader {
	return func(v []byte) error {
		f, ok := parseFloat(v)
		if !ok {
			return m.fail(malformed(v, "DOUBLE"))
		}
		b.Append(f)
		return nil
	}
}

// float32 reads a float that the server has printed as a double, which loses nothing.
func (m *textMaker) float32(b *array.Float32Builder) TextReader {
	return func(v []byte) error {
		f, ok := parseFloat(v)
		if !ok || float64(float32(f)) != f {
			return m.fail(malformed(v, "FLOAT"))
		}
		b.Append(float32(f))
		return nil
	}
}

// smallDecimal reads a DECIMAL of at most 18 digits, all of which the server prints.
func smallDecimal(v []byte, scale int) (int64, bool) {
	negative := len(v) > 0 && v[0] == '-'
	if negative {
		v = v[1:]
	}
	whole := len(v)
	if scale > 0 {
		whole -= scale + 1
	}
	if whole < 1 || whole+scale > 18 {
		return 0, false
	}
	var n int64
	for _, c := range v[:whole] {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	if scale > 0 {
		if v[whole] != '.' {
			return 0, false
		}
		for _, c := range v[whole+1:] {
			d := c - '0'
			if d > 9 {
				return 0, false
			}
			n = n*10 + int64(d)
		}
	}
	if negative {
		n = -n
	}
	return n, true
}

// largeDecimal reads any DECIMAL of at most precision digits.
func largeDecimal(v []byte, precision, scale int) (w wide, negative, ok bool) {
	if len(v) > 0 && v[0] == '-' {
		negative, v = true, v[1:]
	}
	whole := len(v)
	if scale > 0 {
		whole -= scale + 1
	}
	if whole < 1 || scale > 0 && v[whole] != '.' {
		return w, false, false
	}
	for whole > 1 && v[0] == '0' { // ZEROFILL, or no whole digits at all
		v, whole = v[1:], whole-1
	}
	if whole+scale > precision && !(precision == scale && whole == 1 && v[0] == '0') {
		return w, false, false
	}
	for i, c := range v {
		if i == whole {
			continue
		}
		d := c - '0'
		if d > 9 || !w.mulAdd(10, uint64(d)) {
			return w, false, false
		}
	}
	return w, negative, true
}

func (m *textMaker) decimal128(b *array.Decimal128Builder) TextReader {
	precision, scale := m.c.Type.Precision, m.c.Type.Scale
	var limit uint64 = math.MaxUint64
	if precision < len(pow10) {
		limit = pow10[precision]
	}
	return func(v []byte) error {
		if n, ok := smallDecimal(v, scale); ok && uint64(max(n, -n)) < limit {
			b.Append(decimal128.FromI64(n))
			return nil
		}
		w, negative, ok := largeDecimal(v, precision, scale)
		if !ok {
			return m.fail(malformed(v, m.c.Type.String()))
		}
		b.Append(w.decimal128(negative))
		return nil
	}
}

func (m *textMaker) decimal256(b *array.Decimal256Builder) TextReader {
	precision, scale := m.c.Type.Precision, m.c.Type.Scale
	return func(v []byte) error {
		w, negative, ok := largeDecimal(v, precision, scale)
		if !ok {
			return m.fail(malformed(v, fmt.Sprintf("DECIMAL(%d,%d)", precision, scale)))
		}
		b.Append(w.decimal256(negative))
		return nil
	}
}
