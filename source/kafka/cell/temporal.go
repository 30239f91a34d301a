package cell

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// Unit is a unit of time, in nanoseconds.
type Unit int64

// The units of times in messages.
const (
	Millis Unit = 1e6
	Micros Unit = 1e3
	Nanos  Unit = 1
)

// adaptive is the unit in which Debezium writes a time of so many fractional digits.
func adaptive(precision int) Unit {
	switch {
	case precision <= 3:
		return Millis
	case precision <= 6:
		return Micros
	}
	return Nanos
}

// The infinities of [schema.KindDate] and [schema.KindTimestamp].
const (
	minDate, maxDate   = math.MinInt32, math.MaxInt32
	minStamp, maxStamp = math.MinInt64, math.MaxInt64
)

// What Debezium writes for PostgreSQL's infinite timestamps, in milliseconds times a
// thousand whatever the unit.
const (
	debeziumMin = -9223372036832400000
	debeziumMax = 9223372036825200000
)

func infinite[T any](sign int, low, high T) T {
	if sign < 0 {
		return low
	}
	return high
}

// Date appends a date in days since 1970.
func (c *Column) Date(days int64) error {
	switch b := c.b.(type) {
	case *array.Date32Builder:
		if days <= minDate || days >= maxDate {
			return c.refuse("day %d", days)
		}
		b.Append(arrow.Date32(days))
		return nil
	case *array.TimestampBuilder:
		return c.stamp(days*86400, 0)
	}
	return c.refuse("a date")
}

// Time appends a time of day, or a span of time.
func (c *Column) Time(v int64, unit Unit) error {
	b, ok := c.b.(*array.Time64Builder)
	if !ok {
		return c.refuse("a time")
	}
	switch {
	case unit == Millis && (v > math.MaxInt64/1000 || v < math.MinInt64/1000), unit == Nanos && v%1000 != 0:
		return c.refuse("%d", v)
	case unit == Millis:
		v *= 1000
	case unit == Nanos:
		v /= 1000
	}
	b.Append(arrow.Time64(v))
	return nil
}

// Timestamp appends a point in time since 1970.
func (c *Column) Timestamp(v int64, unit Unit) error {
	b, ok := c.b.(*array.TimestampBuilder)
	if !ok {
		return c.refuse("a timestamp")
	}
	limit := int64(1)
	if unit == Millis {
		limit = 1000
	}
	switch {
	case unit != Nanos && v == debeziumMin/limit:
		b.Append(minStamp)
		return nil
	case unit != Nanos && v == debeziumMax/limit:
		b.Append(maxStamp)
		return nil
	case unit == Micros && c.Type.Precision <= 6:
		b.Append(arrow.Timestamp(v))
		return nil
	}
	perSecond := int64(1e9) / int64(unit)
	seconds, rest := v/perSecond, v%perSecond
	if rest < 0 {
		seconds, rest = seconds-1, rest+perSecond
	}
	return c.stamp(seconds, rest*int64(unit))
}

// stamp appends seconds since 1970 and nanoseconds, 0 to 999,999,999.
func (c *Column) stamp(seconds, nanos int64) error {
	b, ok := c.b.(*array.TimestampBuilder)
	if !ok {
		return c.refuse("a timestamp")
	}
	unit, fraction := int64(1e6), nanos/1000
	if c.Type.Precision > 6 {
		unit, fraction = 1e9, nanos
	} else if nanos%1000 != 0 {
		return c.refuse("it has more digits behind the second")
	}
	if seconds > math.MaxInt64/unit-1 || seconds < math.MinInt64/unit+1 {
		return c.refuse("it is too far from 1970")
	}
	b.Append(arrow.Timestamp(seconds*unit + fraction))
	return nil
}

// Micros appends a duration, to a column of INTERVAL as ISO 8601.
func (c *Column) Micros(v int64) error {
	b, ok := c.b.(*array.StringBuilder)
	if !ok || c.Type.Kind != schema.KindInterval {
		return c.Int(v)
	}
	c.scratch = appendDuration(c.scratch[:0], v)
	b.Append(str(c.scratch))
	return nil
}

func appendDuration(dst []byte, v int64) []byte {
	dst = append(dst, "PT"...)
	u := uint64(v)
	if v < 0 {
		dst, u = append(dst, '-'), -u
	}
	dst = appendUint(dst, u/1e6, 1)
	if f := u % 1e6; f != 0 {
		dst = append(dst, '.')
		dst = bytes.TrimRight(appendUint(dst, f, 6), "0")
	}
	return append(dst, 'S')
}

func appendUint(dst []byte, v uint64, width int) []byte {
	var digits [20]byte
	i := len(digits)
	for v > 0 || len(digits)-i < width {
		i--
		digits[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, digits[i:]...)
}
