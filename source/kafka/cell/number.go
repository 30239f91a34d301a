package cell

import (
	"bytes"
	"math/big"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"github.com/freshet-cdc/freshet/schema"
)

// maxDigits bounds the exponent of a number: what has more digits than that before or
// behind its point is no value that a database held.
const maxDigits = 200_000

// str is b as a string, for functions that keep neither.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Number appends a number that is given as text: JSON's, or NaN, Infinity, -Infinity.
func (c *Column) Number(text []byte) error {
	switch b := c.b.(type) {
	case *array.Int64Builder, *array.Int32Builder, *array.Int16Builder, *array.Int8Builder:
		if v, err := strconv.ParseInt(str(text), 10, 64); err == nil {
			return c.Int(v)
		}
		return c.wholeNumber(text)
	case *array.Uint64Builder:
		if v, err := strconv.ParseUint(str(text), 10, 64); err == nil {
			b.Append(v)
			return nil
		}
		return c.wholeNumber(text)
	case *array.Float64Builder:
		v, err := strconv.ParseFloat(str(text), 64)
		if err != nil {
			return c.refuse("%.80s", text)
		}
		b.Append(v)
		return nil
	case *array.Float32Builder:
		v, err := strconv.ParseFloat(str(text), 32)
		if err != nil {
			return c.refuse("%.80s", text)
		}
		b.Append(float32(v))
		return nil
	case *array.Decimal128Builder, *array.Decimal256Builder:
		return c.decimal(text)
	case *array.StringBuilder:
		if c.Type.Kind == schema.KindNumeric {
			return c.numeric(text)
		}
		return c.Text(text)
	}
	v, err := strconv.ParseInt(str(text), 10, 64)
	if err != nil {
		return c.refuse("%.80s", text)
	}
	return c.Int(v)
}

// wholeNumber takes 1.0 and 1e3 as integers.
func (c *Column) wholeNumber(text []byte) error {
	unscaled, scale, ok := parseDecimal(text)
	if !ok {
		return c.refuse("%.80s", text)
	}
	if v := rescale(unscaled, scale, 0); v != nil && v.IsInt64() {
		return c.Int(v.Int64())
	}
	return c.refuse("%.80s", text)
}

// decimal appends a number to a column of DECIMAL.
func (c *Column) decimal(text []byte) error {
	if v, digits, scale, ok := smallDecimal(text); ok && scale <= c.Type.Scale && digits+c.Type.Scale-scale <= 18 {
		for ; scale < c.Type.Scale; scale++ {
			v *= 10
		}
		return c.unscaled64(v)
	}
	unscaled, scale, ok := parseDecimal(text)
	if !ok {
		return c.refuse("%.80s", text)
	}
	return c.unscaled(unscaled, scale)
}

// smallDecimal reads up to 18 digits without an exponent.
func smallDecimal(text []byte) (v int64, digits, scale int, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	point := false
	for _, ch := range text {
		switch {
		case ch == '.' && !point:
			point = true
			continue
		case ch < '0' || ch > '9' || digits == 18:
			return 0, 0, 0, false
		}
		v = v*10 + int64(ch-'0')
		digits++
		if point {
			scale++
		}
	}
	if negative {
		v = -v
	}
	return v, digits, scale, digits > 0
}

// parseDecimal reads any number: unscaled times ten to the power of -scale.
func parseDecimal(text []byte) (unscaled *big.Int, scale int, ok bool) {
	mantissa, exponent := text, 0
	if at := bytes.IndexAny(text, "eE"); at >= 0 {
		e, err := strconv.Atoi(string(text[at+1:]))
		if err != nil || e > maxDigits || e < -maxDigits {
			return nil, 0, false
		}
		mantissa, exponent = text[:at], e
	}
	if at := bytes.IndexByte(mantissa, '.'); at >= 0 {
		scale = len(mantissa) - at - 1
		mantissa = append(append(make([]byte, 0, len(mantissa)), mantissa[:at]...), mantissa[at+1:]...)
	}
	if len(mantissa) > maxDigits || bytes.IndexByte(mantissa, '_') >= 0 {
		return nil, 0, false
	}
	unscaled, ok = new(big.Int).SetString(string(mantissa), 10)
	return unscaled, scale - exponent, ok
}

// rescale returns the unscaled value at another scale, nil where digits would be lost.
func rescale(v *big.Int, from, to int) *big.Int {
	switch {
	case v.Sign() == 0 || from == to:
		return v
	case to > from:
		return new(big.Int).Mul(v, power(to-from))
	}
	q, r := new(big.Int).QuoRem(v, power(from-to), new(big.Int))
	if r.Sign() != 0 {
		return nil
	}
	return q
}

func power(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(n, 2*maxDigits))), nil)
}

// Unscaled appends the decimal number that b, big-endian two's complement, is when scale of
// its digits stand behind the point.
func (c *Column) Unscaled(b []byte, scale int) error {
	if len(b) == 0 {
		return c.refuse("a decimal without bytes")
	}
	if scale > maxDigits || scale < -maxDigits {
		return c.refuse("a scale of %d", scale)
	}
	if len(b) <= 8 && scale == c.Type.Scale && c.Type.Kind == schema.KindDecimal {
		v := int64(int8(b[0]))
		for _, x := range b[1:] {
			v = v<<8 | int64(x)
		}
		return c.unscaled64(v)
	}
	return c.unscaled(bigEndian(b), scale)
}

func bigEndian(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// unscaled64 appends an unscaled value of the column's own scale.
func (c *Column) unscaled64(v int64) error {
	switch b := c.b.(type) {
	case *array.Decimal128Builder:
		n := decimal128.FromI64(v)
		if !n.FitsInPrecision(int32(c.Type.Precision)) {
			return c.refuse("it has more digits")
		}
		b.Append(n)
		return nil
	case *array.Decimal256Builder:
		n := decimal256.FromI64(v)
		if !n.FitsInPrecision(int32(c.Type.Precision)) {
			return c.refuse("it has more digits")
		}
		b.Append(n)
		return nil
	}
	return c.unscaled(big.NewInt(v), c.Type.Scale)
}

// unscaled appends v, scale digits of which stand behind the point.
func (c *Column) unscaled(v *big.Int, scale int) error {
	switch b := c.b.(type) {
	case *array.Decimal128Builder, *array.Decimal256Builder:
		n := rescale(v, scale, c.Type.Scale)
		if n == nil || n.BitLen() > 255 {
			return c.refuse("it has more digits")
		}
		if b, ok := b.(*array.Decimal256Builder); ok {
			d := decimal256.FromBigInt(n)
			if !d.FitsInPrecision(int32(c.Type.Precision)) {
				return c.refuse("it has more digits")
			}
			b.Append(d)
			return nil
		}
		if n.BitLen() > 127 || !decimal128.FromBigInt(n).FitsInPrecision(int32(c.Type.Precision)) {
			return c.refuse("it has more digits")
		}
		b.(*array.Decimal128Builder).Append(decimal128.FromBigInt(n))
		return nil
	case *array.StringBuilder:
		c.scratch = appendPlain(c.scratch[:0], v, scale)
		b.Append(str(c.scratch))
		return nil
	}
	c.scratch = appendPlain(c.scratch[:0], v, scale)
	return c.Number(c.scratch)
}

// numeric appends a number to a column of NUMERIC, in plain notation.
func (c *Column) numeric(text []byte) error {
	b := c.b.(*array.StringBuilder)
	switch string(text) {
	case "NaN", "NAN":
		b.Append("NaN")
		return nil
	case "Infinity", "POSITIVE_INFINITY", "+Inf", "Inf":
		b.Append("Infinity")
		return nil
	case "-Infinity", "NEGATIVE_INFINITY", "-Inf":
		b.Append("-Infinity")
		return nil
	}
	unscaled, scale, ok := parseDecimal(text)
	if !ok {
		return c.refuse("%.80s", text)
	}
	c.scratch = appendPlain(c.scratch[:0], unscaled, scale)
	b.Append(str(c.scratch))
	return nil
}

// appendPlain prints a decimal number without an exponent.
func appendPlain(dst []byte, v *big.Int, scale int) []byte {
	if scale < 0 {
		v, scale = rescale(v, scale, 0), 0
	}
	if v.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := new(big.Int).Abs(v).Append(nil, 10)
	if pad := scale + 1 - len(digits); pad > 0 {
		digits = append(bytes.Repeat([]byte{'0'}, pad), digits...)
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[len(digits)-scale:]...)
	}
	return dst
}
