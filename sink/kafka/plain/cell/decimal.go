package cell

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// tenTo19 is the largest power of ten in 64 bits.
const tenTo19 = 10_000_000_000_000_000_000

// decimalCell prints DECIMAL columns.
type decimalCell struct {
	small      *array.Decimal128
	large      *array.Decimal256
	scale      int
	scientific bool
	digits     [80]byte // scratch, filled from its end
}

func (c *decimalCell) Bind(col arrow.Array) {
	c.small, _ = col.(*array.Decimal128)
	c.large, _ = col.(*array.Decimal256)
}

func (c *decimalCell) Append(dst []byte, i int) ([]byte, error) {
	var words [4]uint64 // least first
	if c.small != nil {
		v := c.small.Value(i)
		words[0], words[1] = v.LowBits(), uint64(v.HighBits())
		if v.HighBits() < 0 {
			words[2], words[3] = ^uint64(0), ^uint64(0)
		}
	} else {
		words = c.large.Value(i).Array()
	}
	if int64(words[3]) < 0 {
		dst = append(dst, '-')
		carry := uint64(1)
		for i, w := range words {
			words[i], carry = bits.Add64(^w, 0, carry)
		}
	}
	digits := c.decimals(words)
	if c.scientific {
		return appendScientific(dst, digits, c.scale), nil
	}
	return appendPlain(dst, digits, c.scale), nil
}

// decimals returns the digits of a magnitude, without zeros in front but for zero itself.
func (c *decimalCell) decimals(words [4]uint64) []byte {
	at := len(c.digits)
	top := len(words) - 1
	for {
		for top >= 0 && words[top] == 0 {
			top--
		}
		if top < 0 {
			break
		}
		var rest uint64
		for i := top; i >= 0; i-- {
			words[i], rest = bits.Div64(rest, words[i], tenTo19)
		}
		last := top == 0 && words[0] == 0
		for n := 0; n < 19 && (!last || rest > 0); n++ {
			at--
			c.digits[at] = byte('0' + rest%10)
			rest /= 10
		}
	}
	if at == len(c.digits) {
		at--
		c.digits[at] = '0'
	}
	return c.digits[at:]
}

// appendPlain appends digits with the point before the last scale of them.
func appendPlain(dst, digits []byte, scale int) []byte {
	if scale <= 0 {
		return append(dst, digits...)
	}
	whole := len(digits) - scale
	if whole <= 0 {
		dst = append(dst, '0', '.')
		for ; whole < 0; whole++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	return append(append(append(dst, digits[:whole]...), '.'), digits[whole:]...)
}

// appendScientific appends digits as a BigDecimal without zeros at its end prints
// itself: with an exponent where its scale is below zero then, or where more than five
// zeros would stand between the point and the first digit.
func appendScientific(dst, digits []byte, scale int) []byte {
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits, scale = digits[:len(digits)-1], scale-1
	}
	if digits[0] == '0' {
		return append(dst, '0')
	}
	exponent := len(digits) - 1 - scale
	if scale >= 0 && exponent >= -6 {
		return appendPlain(dst, digits, scale)
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

// numericCell prints decimal numbers that are texts.
type numericCell struct {
	col        *array.String
	scientific bool
	digits     []byte // scratch
}

func (c *numericCell) Bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *numericCell) Append(dst []byte, i int) ([]byte, error) {
	s := c.col.Value(i)
	switch s {
	case "NaN", "Infinity", "-Infinity":
		return append(dst, s...), nil
	}
	body, negative := strings.CutPrefix(s, "-")
	scale, point := 0, false
	c.digits = c.digits[:0]
	for n, d := range []byte(body) {
		switch {
		case d >= '0' && d <= '9':
			if c.digits = append(c.digits, d); point {
				scale++
			}
		case d == '.' && !point && n > 0 && n < len(body)-1:
			point = true
		default:
			return dst, ErrText
		}
	}
	if len(c.digits) == 0 || body[0] == '0' && len(body) > 1 && body[1] != '.' {
		return dst, ErrText
	}
	if !c.scientific {
		return append(dst, s...), nil
	}
	digits := c.digits
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	if negative && digits[0] != '0' {
		dst = append(dst, '-')
	}
	return appendScientific(dst, digits, scale), nil
}
