package value

import (
	"github.com/apache/arrow-go/v18/arrow/array"
)

// temporal returns the reader of a DATE, TIME, DATETIME or TIMESTAMP, nil for others.
// TIMESTAMP is printed in the session's zone, UTC.
func (m *textMaker) temporal(b array.Builder) TextReader {
	switch b := b.(type) {
	case *array.Date32Builder:
		return m.date(addDate(b, m.place, m.o.ZeroDates))
	case *array.Time64Builder, *array.StringBuilder:
		if m.name == "time" {
			return m.time(addTime(b, m.place, m.o, fraction(m.c)))
		}
	case *array.TimestampBuilder:
		return m.datetime(addDatetime(b, m.place, m.o.ZeroDates))
	}
	return nil
}

// digits reads two digits, more than 99 if they are none.
func digits(a, b byte) int {
	x, y := uint(a-'0'), uint(b-'0')
	if x > 9 || y > 9 {
		return 1000
	}
	return int(x*10 + y)
}

// parseDay reads 2024-02-29; the parts need not make a day.
func parseDay(v []byte) (year, month, day int, ok bool) {
	if len(v) != 10 || v[4] != '-' || v[7] != '-' {
		return 0, 0, 0, false
	}
	century, inCentury := digits(v[0], v[1]), digits(v[2], v[3])
	month, day = digits(v[5], v[6]), digits(v[8], v[9])
	return century*100 + inCentury, month, day, century < 100 && inCentury < 100 && month <= 12 && day <= 31
}

// parseFraction reads .5 with up to six digits; nothing is 0.
func parseFraction(v []byte) (micros int64, ok bool) {
	if len(v) == 0 {
		return 0, true
	}
	if v[0] != '.' || len(v) == 1 || len(v) > 7 {
		return 0, false
	}
	unit := microsPerSecond
	for _, c := range v[1:] {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		unit /= 10
		micros += int64(d) * unit
	}
	return micros, true
}

// parseClock reads mm:ss with a fraction, behind the hours and their colon.
func parseClock(hours int64, v []byte) (micros int64, ok bool) {
	if len(v) < 5 || v[2] != ':' {
		return 0, false
	}
	minutes, seconds := digits(v[0], v[1]), digits(v[3], v[4])
	f, ok := parseFraction(v[5:])
	return (hours*3600+int64(minutes)*60+int64(seconds))*microsPerSecond + f, ok && minutes < 60 && seconds < 60
}

func (m *textMaker) date(add func(year, month, day int) error) TextReader {
	return func(v []byte) error {
		year, month, day, ok := parseDay(v)
		if !ok {
			return m.fail(malformed(v, "DATE"))
		}
		return add(year, month, day)
	}
}

func (m *textMaker) datetime(add func(year, month, day int, micros int64) error) TextReader {
	return func(v []byte) error {
		if len(v) < 19 || v[10] != ' ' || v[13] != ':' {
			return m.fail(malformed(v, "DATETIME"))
		}
		year, month, day, ok1 := parseDay(v[:10])
		hours := digits(v[11], v[12])
		micros, ok2 := parseClock(int64(hours), v[14:])
		if !ok1 || !ok2 || hours > 23 {
			return m.fail(malformed(v, "DATETIME"))
		}
		return add(year, month, day, micros)
	}
}

// time reads -838:59:59.5: two digits of hours, or three.
func (m *textMaker) time(add func(micros int64) error) TextReader {
	return func(v []byte) error {
		micros, ok := parseTime(v)
		if !ok {
			return m.fail(malformed(v, "TIME"))
		}
		return add(micros)
	}
}

func parseTime(v []byte) (micros int64, ok bool) {
	sign := int64(1)
	if len(v) > 0 && v[0] == '-' {
		sign, v = -1, v[1:]
	}
	if len(v) < 8 {
		return 0, false
	}
	hours := digits(v[0], v[1])
	v = v[2:]
	if v[0] != ':' {
		last := int(v[0] - '0')
		if hours > 99 || last > 9 {
			return 0, false
		}
		hours, v = hours*10+last, v[1:]
	}
	if hours > 838 || v[0] != ':' {
		return 0, false
	}
	micros, ok = parseClock(int64(hours), v[1:])
	return sign * micros, ok
}
