package cell

import (
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// Zone is where an instant is printed. The zero value is UTC, marked by a Z.
type Zone struct{ loc *time.Location }

// In returns the zone of a location; the texts have no mark then.
func In(loc *time.Location) Zone { return Zone{loc} }

// temporal returns the cell of a date, a time or a timestamp, else nil.
func temporal(t schema.Type, o Options) Cell {
	f := form{unit: 1000, digits: -1, separator: ' '}
	if o.ISO {
		f.separator = 'T'
	}
	if o.AllDigits {
		f.digits = t.Precision
	}
	switch t.Kind {
	case schema.KindDate:
		return &dateCell{}
	case schema.KindTime:
		return &timeCell{form: f}
	case schema.KindTimestamp, schema.KindTimestampLTZ:
		if t.Precision > 6 {
			f.unit = 1
		}
		if t.Kind == schema.KindTimestampLTZ {
			f.loc, f.utc = o.Zone.loc, o.Zone.loc == nil
		}
		return &timestampCell{form: f}
	}
	return nil
}

// form is how times are printed.
type form struct {
	unit      int64 // nanoseconds that a value counts
	digits    int   // of the fraction, -1 for as many as are needed
	separator byte
	utc       bool
	loc       *time.Location
}

type dateCell struct{ values []int32 }

func (c *dateCell) Bind(col arrow.Array) { c.values = arrow.GetValues[int32](col.Data(), 1) }

func (c *dateCell) Append(dst []byte, i int) ([]byte, error) {
	v := c.values[i]
	if v == math.MaxInt32 || v == math.MinInt32 {
		return append(dst, infinity(v > 0)...), nil
	}
	return javatext.AppendDate(dst, int64(v)), nil
}

type timeCell struct {
	values []int64
	form   form
}

func (c *timeCell) Bind(col arrow.Array) { c.values = arrow.GetValues[int64](col.Data(), 1) }

func (c *timeCell) Append(dst []byte, i int) ([]byte, error) {
	v := c.values[i]
	if v < 0 || v > javatext.SecondsPerDay*javatext.NanosPerSecond/c.form.unit {
		return dst, ErrRange
	}
	return javatext.AppendClock(dst, v*c.form.unit, c.form.digits), nil
}

type timestampCell struct {
	values []int64
	form   form
}

func (c *timestampCell) Bind(col arrow.Array) { c.values = arrow.GetValues[int64](col.Data(), 1) }

func (c *timestampCell) Append(dst []byte, i int) ([]byte, error) {
	v, f := c.values[i], &c.form
	if v == math.MaxInt64 || v == math.MinInt64 {
		return append(dst, infinity(v > 0)...), nil
	}
	perSecond := javatext.NanosPerSecond / f.unit
	seconds := javatext.FloorDiv(v, perSecond)
	nanos := (v - seconds*perSecond) * f.unit
	if f.loc != nil {
		_, offset := time.Unix(seconds, 0).In(f.loc).Zone()
		seconds += int64(offset)
	}
	days := javatext.FloorDiv(seconds, javatext.SecondsPerDay)
	dst = append(javatext.AppendDate(dst, days), f.separator)
	dst = javatext.AppendClock(dst, (seconds-days*javatext.SecondsPerDay)*javatext.NanosPerSecond+nanos, f.digits)
	if f.utc {
		dst = append(dst, 'Z')
	}
	return dst, nil
}

func infinity(positive bool) string {
	if positive {
		return "infinity"
	}
	return "-infinity"
}
