package postgres

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"github.com/freshet-cdc/freshet/schema"
)

// view returns v as a string without a copy; it must not outlive v.
func view(v []byte) string { return unsafe.String(unsafe.SliceData(v), len(v)) }

// parseInt parses a decimal number of 64 bits.
func parseInt(v []byte) (int64, bool) {
	digits, negative := v, false
	if len(v) > 0 && v[0] == '-' {
		digits, negative = v[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	if negative {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n <= math.MaxInt64
}

func parseFloat(v []byte, bits int) (float64, error) {
	f, err := strconv.ParseFloat(view(v), bits)
	if err != nil && !(errors.Is(err, strconv.ErrRange) && f == 0) {
		return 0, badText("floating point number", v)
	}
	return f, nil
}

func appendFloat32(b *array.Float32Builder, v []byte) error {
	f, err := parseFloat(v, 32)
	if err == nil {
		b.Append(float32(f))
	}
	return err
}

func appendFloat64(b *array.Float64Builder, v []byte) error {
	f, err := parseFloat(v, 64)
	if err == nil {
		b.Append(f)
	}
	return err
}

// isSpecialDecimal reports NaN and the infinities.
func isSpecialDecimal(v []byte) bool {
	switch string(v) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return false
}

func decimal128Appender(b *array.Decimal128Builder, t schema.Type, source string, o textOptions) func(v []byte) error {
	scale, precision := t.Scale, int32(t.Precision)
	money := source == "money" || source == "_money"
	var buf []byte
	return func(v []byte) error {
		if money {
			buf = appendMoney(buf[:0], v)
			v = buf
		}
		n, err := parseDecimal128(v, scale)
		if err != nil {
			if isSpecialDecimal(v) {
				if o.SpecialNull {
					b.AppendNull()
					return nil
				}
				return errSpecialDecimal
			}
			return err
		}
		if !n.FitsInPrecision(precision) {
			return fmt.Errorf("%w: %s has more than %d digits", errOutOfRange, v, precision)
		}
		b.Append(n)
		return nil
	}
}

// appendMoney strips what money prints with lc_monetary=C: -$1,234.56.
func appendMoney(dst, v []byte) []byte {
	for _, c := range v {
		if c != '$' && c != ',' {
			dst = append(dst, c)
		}
	}
	return dst
}

// pow10 holds the powers of ten below 2^64.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// decimalDigits walks over the digits of a plain decimal number and adds zeros
// until it has scale digits behind the point; it calls add with at most 18
// digits at a time. More digits behind the point than scale must be zeros.
func decimalDigits(v []byte, scale int, add func(chunk uint64, digits int)) (negative bool, err error) {
	rest := v
	if len(rest) > 0 && rest[0] == '-' {
		negative, rest = true, rest[1:]
	}
	var chunk uint64
	digits, fraction, seen, point := 0, 0, 0, false
	for _, c := range rest {
		if c == '.' && !point {
			point = true
			continue
		}
		d := c - '0'
		if d > 9 {
			return false, badText("numeric", v)
		}
		seen++
		if point {
			if fraction++; fraction > scale {
				if d != 0 {
					return false, fmt.Errorf("%w: %s has more than %d digits behind the point", errOutOfRange, v, scale)
				}
				continue
			}
		}
		chunk, digits = chunk*10+uint64(d), digits+1
		if digits == 18 {
			add(chunk, digits)
			chunk, digits = 0, 0
		}
	}
	if seen == 0 {
		return false, badText("numeric", v)
	}
	for ; fraction < scale; fraction++ {
		chunk, digits = chunk*10, digits+1
		if digits == 18 {
			add(chunk, digits)
			chunk, digits = 0, 0
		}
	}
	if digits > 0 {
		add(chunk, digits)
	}
	return negative, nil
}

// integerDigits counts the digits before the point, without leading zeros.
func integerDigits(v []byte) int {
	n := 0
	for _, c := range v {
		switch {
		case c == '.':
			return n
		case c == '-' || c == '0' && n == 0:
		default:
			n++
		}
	}
	return n
}

// parseDecimal128 returns v times 10^scale.
func parseDecimal128(v []byte, scale int) (decimal128.Num, error) {
	if n, ok := parseSmallDecimal(v, scale); ok {
		return decimal128.FromI64(n), nil
	}
	var n decimal128.Num
	negative, err := decimalDigits(v, scale, func(chunk uint64, k int) {
		n = n.Mul(decimal128.FromU64(pow10[k])).Add(decimal128.FromU64(chunk))
	})
	if err != nil {
		return n, err
	}
	if integerDigits(v)+scale > 38 { // else 128 bits may have overflowed
		return n, fmt.Errorf("%w: %s has more than 38 digits", errOutOfRange, v)
	}
	if negative {
		n = n.Negate()
	}
	return n, nil
}

func decimal256Appender(b *array.Decimal256Builder, t schema.Type, o textOptions) func(v []byte) error {
	scale, precision := t.Scale, t.Precision
	return func(v []byte) error {
		if isSpecialDecimal(v) {
			if o.SpecialNull {
				b.AppendNull()
				return nil
			}
			return errSpecialDecimal
		}
		var n decimal256.Num
		negative, err := decimalDigits(v, scale, func(chunk uint64, k int) {
			n = n.Mul(decimal256.FromU64(pow10[k])).Add(decimal256.FromU64(chunk))
		})
		if err != nil {
			return err
		}
		if integerDigits(v)+scale > precision {
			return fmt.Errorf("%w: %s has more than %d digits", errOutOfRange, v, precision)
		}
		if negative {
			n = n.Negate()
		}
		b.Append(n)
		return nil
	}
}

// parseSmallDecimal is the common case: fewer than 18 digits, all of them given.
func parseSmallDecimal(v []byte, scale int) (int64, bool) {
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	i, negative := 0, v[0] == '-'
	if negative {
		i = 1
	}
	var n int64
	point := len(v) // where the point is
	for ; i < len(v); i++ {
		c := v[i]
		if c == '.' && point == len(v) {
			point = i
			continue
		}
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	fraction, digits := 0, len(v)
	if point < len(v) {
		fraction, digits = len(v)-1-point, digits-1
	}
	if negative {
		digits--
	}
	if fraction != scale || digits == 0 {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}
