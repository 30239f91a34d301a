package debezium

import (
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

const (
	nanosPerMicro  = int64(1_000)
	microsPerMilli = int64(1_000)
	microsPerDay   = int64(86_400_000_000)
)

// The microseconds that the PostgreSQL driver for Java has for infinite timestamps.
const (
	javaInfinity      = int64(9_223_372_036_825_200_000)
	javaMinusInfinity = int64(-9_223_372_036_832_400_000)
)

// epochCell writes times and timestamps as a number of units since midnight or
// 1970. per is what a value counts more finely (divided by it) or, if negative,
// more coarsely (multiplied).
type epochCell struct {
	values []int64
	per    int64
	// nanos: the column counts nanoseconds, so infinities are none of Java's.
	nanos bool
}

func (c *epochCell) bind(col arrow.Array) { c.values = arrow.GetValues[int64](col.Data(), 1) }

func (c *epochCell) append(dst []byte, i int) ([]byte, error) {
	v := c.values[i]
	if !c.nanos && (v == math.MaxInt64 || v == math.MinInt64) {
		if v = javaInfinity; c.values[i] < 0 {
			v = javaMinusInfinity
		}
	}
	switch {
	case c.per > 1:
		v = javatext.FloorDiv(v, c.per)
	case c.per < 0:
		if v > math.MaxInt64/-c.per || v < math.MinInt64/-c.per {
			return dst, ErrRange
		}
		v *= -c.per
	}
	return strconv.AppendInt(dst, v, 10), nil
}

// form says how an ISO 8601 text is printed.
type form struct {
	date, clock bool
	// digits of the fraction, -1 for as many as there are.
	digits int
	// unit is the number of nanoseconds of the column's unit.
	unit int64
	// infinite: infinities are words.
	infinite bool
}

// isoCell writes times and timestamps as ISO 8601 texts in UTC.
type isoCell struct {
	values []int64
	form   form
}

func (c *isoCell) bind(col arrow.Array) { c.values = arrow.GetValues[int64](col.Data(), 1) }

func (c *isoCell) append(dst []byte, i int) ([]byte, error) {
	return c.form.append(dst, c.values[i])
}

// append appends v, counted in the form's unit from 1970 or midnight.
func (f form) append(dst []byte, v int64) ([]byte, error) {
	if f.date && (v == math.MaxInt64 || v == math.MinInt64) {
		if f.infinite {
			return append(dst, infinityWord(v > 0)...), nil
		}
		return dst, ErrRange
	}
	perDay := javatext.SecondsPerDay * (javatext.NanosPerSecond / f.unit)
	days := javatext.FloorDiv(v, perDay)
	if !f.date && days != 0 && v != perDay {
		return dst, ErrRange
	}
	dst = append(dst, '"')
	if f.date {
		dst = javatext.AppendDate(dst, days)
		if f.clock {
			dst = append(dst, 'T')
		}
	} else {
		days = 0 // 24:00:00 is a time of day
	}
	if f.clock {
		dst = javatext.AppendClock(dst, (v-days*perDay)*f.unit, f.digits)
	}
	return append(dst, 'Z', '"'), nil
}

func infinityWord(positive bool) string {
	if positive {
		return `"infinity"`
	}
	return `"-infinity"`
}

// isoDateCell writes dates as texts.
type isoDateCell struct{ values []int32 }

func (c *isoDateCell) bind(col arrow.Array) { c.values = arrow.GetValues[int32](col.Data(), 1) }

func (c *isoDateCell) append(dst []byte, i int) ([]byte, error) {
	v := c.values[i]
	if v == math.MaxInt32 || v == math.MinInt32 {
		return append(dst, infinityWord(v > 0)...), nil
	}
	return append(javatext.AppendDate(append(dst, '"'), int64(v)), 'Z', '"'), nil
}
