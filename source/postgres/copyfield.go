package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/freshet-cdc/freshet/schema"
)

// PostgreSQL counts days and microseconds from 2000-01-01.
const (
	epochDays   = 10957
	epochMicros = int64(epochDays) * 86_400_000_000
)

// errOutOfRange is returned for a value that its column's type can't hold.
var errOutOfRange = errors.New("value out of range")

// copyField appends the values of one column of a COPY stream.
type copyField interface {
	appendValue(v []byte) error
	appendNull()
}

// binaryTypes are the server types whose binary form is decoded; all others are
// sent as text, so that the snapshot and the log show the same.
var binaryTypes = map[string]bool{
	"bool": true, "int2": true, "int4": true, "int8": true, "float4": true, "float8": true, "numeric": true, "oid": true,
	"text": true, "varchar": true, "bpchar": true, "name": true, "json": true, "jsonb": true, "bytea": true, "uuid": true,
	"date": true, "time": true, "timestamp": true, "timestamptz": true,
}

// copyInBinary reports whether a column is copied in PostgreSQL's own binary form.
func copyInBinary(c schema.Column) bool {
	return binaryTypes[c.Source.Name] && c.Type.Kind != schema.KindNumeric && (c.Type.Kind != schema.KindDecimal || c.Type.Precision <= 38)
}

// textField parses what the server sends as text.
type textField struct {
	b     array.Builder
	parse func([]byte) error
}

func (f textField) appendValue(v []byte) error { return f.parse(v) }
func (f textField) appendNull()                { f.b.AppendNull() }

// fixedField decodes values of a fixed width.
type fixedField struct {
	b     array.Builder
	width int
	add   func(v []byte) error
}

func (f fixedField) appendNull() { f.b.AppendNull() }

func (f fixedField) appendValue(v []byte) error {
	if len(v) != f.width {
		return fmt.Errorf("%w: %d bytes where %d belong", errCopyFormat, len(v), f.width)
	}
	return f.add(v)
}

// binaryField returns the decoder of a column that needs its builder, nil for a
// type that has none; see newCopyColumn for the others.
func binaryField(c schema.Column, b array.Builder) copyField {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return fixedField{b, 1, func(v []byte) error { b.Append(v[0] != 0); return nil }}
	case *array.Int64Builder:
		if c.Source.Name == "oid" {
			return fixedField{b, 4, func(v []byte) error { b.Append(int64(binary.BigEndian.Uint32(v))); return nil }}
		}
	case *array.FixedSizeBinaryBuilder:
		return fixedField{b, 16, func(v []byte) error { b.Append(v); return nil }}
	}
	return nil
}

// dateOf shifts a day; PostgreSQL's infinities are the ends of the range, as ours.
func dateOf(day int32) arrow.Date32 {
	if day == math.MaxInt32 || day == math.MinInt32 {
		return arrow.Date32(day)
	}
	return arrow.Date32(day + epochDays)
}

// timestampOf shifts microseconds. The last 47 years that PostgreSQL knows (from
// 294247) can't be counted from 1970 in 64 bits.
func timestampOf(micros int64) (arrow.Timestamp, error) {
	if micros == math.MaxInt64 || micros == math.MinInt64 {
		return arrow.Timestamp(micros), nil
	}
	if micros >= math.MaxInt64-epochMicros {
		return 0, fmt.Errorf("%w: a timestamp after the year 294246", errOutOfRange)
	}
	return arrow.Timestamp(micros + epochMicros), nil
}

// A numeric is a count of base-10000 digits, the weight of the first one, the sign
// and the display scale, then the digits (numeric_send in PostgreSQL's
// utils/adt/numeric.c).
const (
	numericNegative = 0x4000
	numericSpecial  = 0xC000 // NaN; 0xD000 and 0xF000 are the infinities
)

// errSpecialDecimal is returned for a NaN or an infinity in a DECIMAL column.
var errSpecialDecimal = errors.New("NaN and Infinity can't be held by a DECIMAL; declare the column as numeric without precision, or set decimal.special-values: null")

// decodeNumeric decodes what numeric_send wrote, with the scale of its column.
// null stands for a special value where those are NULL.
func decodeNumeric(v []byte, scale int, precision int32, specialNull bool) (num decimal128.Num, null bool, err error) {
	if len(v) < 8 {
		return num, false, fmt.Errorf("%w: numeric of %d bytes", errCopyFormat, len(v))
	}
	n, weight, sign := int(binary.BigEndian.Uint16(v)), int(int16(binary.BigEndian.Uint16(v[2:]))), binary.BigEndian.Uint16(v[4:])
	if sign&numericSpecial == numericSpecial {
		if specialNull {
			return num, true, nil
		}
		return num, false, errSpecialDecimal
	}
	if len(v) != 8+2*n {
		return num, false, fmt.Errorf("%w: numeric of %d digits in %d bytes", errCopyFormat, n, len(v))
	}
	if num, err = numericDigits(v[8:], n, 4*(weight-n+1)+scale); err != nil {
		return num, false, err
	}
	if sign == numericNegative {
		num = num.Negate()
	}
	if !num.FitsInPrecision(precision) {
		return num, false, fmt.Errorf("%w: numeric of more than %d digits", errOutOfRange, precision)
	}
	return num, false, nil
}

// numericDigits returns the number that n base-10000 digits make, times 10^exp.
// The fraction that a negative exp cuts off is zeros, for the server has rounded
// the value to its column's scale.
func numericDigits(digits []byte, n, exp int) (decimal128.Num, error) {
	if n <= 4 && exp <= 2 { // below 10^18: the products stay in 64 bits
		var small uint64
		for i := range n {
			small = small*10_000 + uint64(binary.BigEndian.Uint16(digits[2*i:]))
		}
		for ; exp > 0; exp-- {
			small *= 10
		}
		for ; exp < 0; exp++ {
			small /= 10
		}
		return decimal128.FromU64(small), nil
	}
	if exp <= -4 || exp > 38 {
		return decimal128.Num{}, fmt.Errorf("%w: numeric of another scale than its column", errCopyFormat)
	}
	var num decimal128.Num
	for i := range n {
		digit, base := uint64(binary.BigEndian.Uint16(digits[2*i:])), uint64(10_000)
		for cut := exp; i == n-1 && cut < 0; cut++ { // only what counts, so that 38 digits never overflow
			digit, base = digit/10, base/10
		}
		num = num.Mul(decimal128.FromU64(base)).Add(decimal128.FromU64(digit))
	}
	if exp > 0 {
		num = num.Mul(decimal128.GetScaleMultiplier(exp))
	}
	return num, nil
}
