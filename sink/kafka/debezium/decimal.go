package debezium

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// tenTo19 is the largest power of ten in 64 bits.
const tenTo19 = 10_000_000_000_000_000_000

// number is a decimal number: a sign, a magnitude of 64-bit words with the least
// first, and how many of its digits are behind the point.
type number struct {
	negative bool
	words    []uint64
	scale    int
	digits   []byte // scratch
	bytes    []byte // scratch
}

func (n *number) isZero() bool {
	for _, w := range n.words {
		if w != 0 {
			return false
		}
	}
	return true
}

// setTwos takes a two's complement number, least word first.
func (n *number) setTwos(words ...uint64) {
	n.words = append(n.words[:0], words...)
	if n.negative = int64(words[len(words)-1]) < 0; !n.negative {
		return
	}
	carry := uint64(1)
	for i, w := range n.words {
		n.words[i], carry = bits.Add64(^w, 0, carry)
	}
}

// setText takes a decimal number in plain notation; its scale becomes that of the
// text, or scale if that is not below zero.
func (n *number) setText(s string, scale int, fixed bool) error {
	n.words, n.negative, n.scale = n.words[:0], false, 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		n.negative = s[0] == '-'
		s = s[1:]
	}
	var chunk, unit uint64 = 0, 1
	seen, behind := false, false
	add := func(d byte) {
		chunk, unit = chunk*10+uint64(d), unit*10
		if unit == tenTo19 {
			n.multiplyAdd(unit, chunk)
			chunk, unit = 0, 1
		}
	}
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			seen = true
			add(c - '0')
			if behind {
				n.scale++
			}
		case c == '.' && !behind:
			behind = true
		default:
			return ErrText
		}
	}
	if !seen {
		return ErrText
	}
	for ; fixed && n.scale < scale; n.scale++ {
		add(0)
	}
	n.multiplyAdd(unit, chunk)
	for ; fixed && n.scale > scale; n.scale-- {
		if n.divide(10) != 0 {
			return ErrRange
		}
	}
	return nil
}

// multiplyAdd makes n's magnitude n*m + a.
func (n *number) multiplyAdd(m, a uint64) {
	for i, w := range n.words {
		hi, lo := bits.Mul64(w, m)
		var carry uint64
		n.words[i], carry = bits.Add64(lo, a, 0)
		a = hi + carry
	}
	if a != 0 {
		n.words = append(n.words, a)
	}
}

// divide makes n's magnitude n/d and returns the rest.
func (n *number) divide(d uint64) (rest uint64) {
	for i := len(n.words) - 1; i >= 0; i-- {
		n.words[i], rest = bits.Div64(rest, n.words[i], d)
	}
	return rest
}

// appendUnscaled appends the fewest bytes of two's complement, the first the most
// significant, in quotes and base64.
func (n *number) appendUnscaled(dst []byte) []byte {
	b := append(n.bytes[:0], 0) // room for the sign
	for i := len(n.words) - 1; i >= 0; i-- {
		w := n.words[i]
		b = append(b, byte(w>>56), byte(w>>48), byte(w>>40), byte(w>>32), byte(w>>24), byte(w>>16), byte(w>>8), byte(w))
	}
	if n.negative {
		carry := true
		for i := len(b) - 1; i >= 0; i-- {
			b[i] = ^b[i]
			if carry {
				b[i]++
				carry = b[i] == 0
			}
		}
	}
	n.bytes = b
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return appendBase64(dst, b)
}

// decimals returns the magnitude's digits; it destroys the magnitude.
func (n *number) decimals() []byte {
	n.digits = n.digits[:0]
	for {
		for len(n.words) > 0 && n.words[len(n.words)-1] == 0 {
			n.words = n.words[:len(n.words)-1]
		}
		if len(n.words) == 0 {
			break
		}
		// The digits come last first.
		rest, last := n.divide(tenTo19), len(n.words) == 1 && n.words[0] == 0
		for i := 0; i < 19 && (!last || rest > 0); i++ {
			n.digits = append(n.digits, byte('0'+rest%10))
			rest /= 10
		}
	}
	if len(n.digits) == 0 {
		n.digits = append(n.digits, '0')
	}
	for i, j := 0, len(n.digits)-1; i < j; i, j = i+1, j-1 {
		n.digits[i], n.digits[j] = n.digits[j], n.digits[i]
	}
	return n.digits
}

// appendPlain appends the number without an exponent.
func (n *number) appendPlain(dst []byte) []byte {
	return n.point(n.sign(dst), n.decimals())
}

// sign appends the sign; zero has none.
func (n *number) sign(dst []byte) []byte {
	if n.negative && !n.isZero() {
		return append(dst, '-')
	}
	return dst
}

// point appends digits with the point at its place.
func (n *number) point(dst, digits []byte) []byte {
	if n.scale <= 0 {
		dst = append(dst, digits...)
		for i := n.scale; i < 0 && digits[0] != '0'; i++ {
			dst = append(dst, '0')
		}
		return dst
	}
	whole := len(digits) - n.scale
	if whole <= 0 {
		dst = append(dst, '0', '.')
		for ; whole < 0; whole++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	return append(append(append(dst, digits[:whole]...), '.'), digits[whole:]...)
}

// appendNumeric appends the number as a BigDecimal prints itself: with an exponent
// where more than five zeros would stand between the point and the first digit.
func (n *number) appendNumeric(dst []byte) []byte {
	dst = n.sign(dst)
	digits := n.decimals()
	exponent := len(digits) - 1 - n.scale
	if n.scale >= 0 && exponent >= -6 {
		return n.point(dst, digits)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	if dst = append(dst, 'E'); exponent > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(exponent), 10)
}

// appendAs appends the number by mode.
func (n *number) appendAs(dst []byte, mode DecimalMode, format DecimalFormat) ([]byte, error) {
	switch {
	case mode == DecimalString:
		return append(n.appendPlain(append(dst, '"')), '"'), nil
	case mode == DecimalDouble:
		start := len(dst)
		dst = n.appendPlain(dst)
		v, err := strconv.ParseFloat(string(dst[start:]), 64)
		if err != nil {
			return dst, ErrRange
		}
		return appendFloat(dst[:start], v, 64), nil
	case format == FormatNumeric:
		return n.appendNumeric(dst), nil
	}
	return n.appendUnscaled(dst), nil
}

// decimalCell writes DECIMAL columns.
type decimalCell struct {
	small  *array.Decimal128
	large  *array.Decimal256
	n      number
	scale  int
	mode   DecimalMode
	format DecimalFormat
}

func (c *decimalCell) bind(col arrow.Array) {
	c.small, _ = col.(*array.Decimal128)
	c.large, _ = col.(*array.Decimal256)
}

func (c *decimalCell) append(dst []byte, i int) ([]byte, error) {
	if c.small != nil {
		v := c.small.Value(i)
		c.n.setTwos(v.LowBits(), uint64(v.HighBits()))
	} else {
		v := c.large.Value(i).Array()
		c.n.setTwos(v[:]...)
	}
	c.n.scale = c.scale
	return c.n.appendAs(dst, c.mode, c.format)
}

// unsignedDecimalCell writes BIGINT UNSIGNED as a decimal number.
type unsignedDecimalCell struct {
	values []uint64
	n      number
	format DecimalFormat
}

func (c *unsignedDecimalCell) bind(col arrow.Array) {
	c.values = arrow.GetValues[uint64](col.Data(), 1)
}

func (c *unsignedDecimalCell) append(dst []byte, i int) ([]byte, error) {
	c.n.setTwos(c.values[i], 0)
	return c.n.appendAs(dst, DecimalPrecise, c.format)
}

// numericCell writes decimal numbers that are texts. Those without a declared
// scale are a struct of scale and number.
type numericCell struct {
	col    *array.String
	n      number
	scale  int
	fixed  bool
	mode   DecimalMode
	format DecimalFormat
}

func (c *numericCell) bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *numericCell) append(dst []byte, i int) ([]byte, error) {
	s := c.col.Value(i)
	if java, double := specialNumber(s); java != "" {
		switch c.mode {
		case DecimalString:
			return appendString(dst, java), nil
		case DecimalDouble:
			return appendString(dst, double), nil
		}
		return dst, ErrNoNumber
	}
	if !c.fixed && c.mode == DecimalPrecise && strings.IndexByte(s, '.') >= 0 {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".") // Debezium strips zeros here, and only here
	}
	if err := c.n.setText(s, c.scale, c.fixed); err != nil {
		return dst, err
	}
	if c.mode != DecimalPrecise || c.fixed {
		return c.n.appendAs(dst, c.mode, c.format)
	}
	dst = strconv.AppendInt(append(dst, `{"scale":`...), int64(c.n.scale), 10)
	return append(c.n.appendUnscaled(append(dst, `,"value":`...)), '}'), nil
}

// specialNumber returns what Debezium calls a number that is none, and what a
// double of it prints.
func specialNumber(s string) (name, double string) {
	switch s {
	case "NaN":
		return "NAN", "NaN"
	case "Infinity":
		return "POSITIVE_INFINITY", "Infinity"
	case "-Infinity":
		return "NEGATIVE_INFINITY", "-Infinity"
	}
	return "", ""
}
