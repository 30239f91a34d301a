package debezium

import (
	"math"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// zonedTime turns 12:34:56.789+02:30 into the same time in UTC.
func zonedTime(dst []byte, s string) ([]byte, error) {
	nanos, rest, ok := clock(s)
	if !ok {
		return dst, ErrText
	}
	offset, ok := offsetSeconds(rest)
	if !ok {
		return dst, ErrText
	}
	nanos = (nanos - offset*javatext.NanosPerSecond) % (javatext.SecondsPerDay * javatext.NanosPerSecond)
	if nanos < 0 {
		nanos += javatext.SecondsPerDay * javatext.NanosPerSecond
	}
	return append(javatext.AppendClock(append(dst, '"'), nanos, -1), 'Z', '"'), nil
}

// clock takes hours, of two digits or three, minutes, seconds and a fraction from the
// front of s.
func clock(s string) (nanos int64, rest string, ok bool) {
	i := strings.IndexByte(s, ':')
	if i < 2 || i > 3 || len(s) < i+6 || s[i+3] != ':' {
		return 0, "", false
	}
	h, err1 := strconv.ParseUint(s[:i], 10, 16)
	m, err2 := strconv.ParseUint(s[i+1:i+3], 10, 8)
	sec, err3 := strconv.ParseUint(s[i+4:i+6], 10, 8)
	if err1 != nil || err2 != nil || err3 != nil || m > 59 || sec > 60 {
		return 0, "", false
	}
	nanos = (int64(h)*3600 + int64(m)*60 + int64(sec)) * javatext.NanosPerSecond
	rest = s[i+6:]
	if len(rest) == 0 || rest[0] != '.' {
		return nanos, rest, true
	}
	unit, n := javatext.NanosPerSecond, 1
	for ; n < len(rest) && rest[n]-'0' <= 9; n++ {
		unit /= 10
		nanos += int64(rest[n]-'0') * unit
	}
	return nanos, rest[n:], n > 1 && n <= 10
}

// offsetSeconds reads Z, +hh, +hh:mm or +hh:mm:ss, east of UTC.
func offsetSeconds(s string) (seconds int64, ok bool) {
	if s == "Z" || s == "" {
		return 0, true
	}
	if s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	unit := int64(3600)
	for i, part := range strings.Split(s[1:], ":") {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil || len(part) != 2 || i > 2 {
			return 0, false
		}
		seconds += int64(n) * unit
		unit /= 60
	}
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// mysqlTime turns MySQL's text of a TIME, which goes to 838 hours on both sides of
// zero, into a number of units of so many nanoseconds, rounded towards minus infinity.
func mysqlTime(unit int64) func(dst []byte, s string) ([]byte, error) {
	return func(dst []byte, s string) ([]byte, error) {
		body, negative := strings.CutPrefix(s, "-")
		nanos, rest, ok := clock(body)
		if !ok || rest != "" {
			return dst, ErrText
		}
		if negative {
			nanos = -nanos
		}
		return strconv.AppendInt(dst, javatext.FloorDiv(nanos, unit), 10), nil
	}
}

// mysqlISOTime prints MySQL's text of a TIME that is a time of day.
func mysqlISOTime(dst []byte, s string) ([]byte, error) {
	nanos, rest, ok := clock(s)
	if !ok || rest != "" {
		if strings.HasPrefix(s, "-") {
			return dst, ErrRange
		}
		return dst, ErrText
	}
	if nanos > javatext.SecondsPerDay*javatext.NanosPerSecond {
		return dst, ErrRange
	}
	return append(javatext.AppendClock(append(dst, '"'), nanos, -1), 'Z', '"'), nil
}

// interval is a span of time in the parts that PostgreSQL keeps apart.
type interval struct{ months, days, micros int64 }

// Average lengths as Debezium has them: a month is a twelfth of 365.25 days.
const microsPerMonth = 2_629_800_000_000

// parseInterval reads an ISO 8601 duration in which each part has a sign of its own.
func parseInterval(s string) (v interval, ok bool) {
	rest, ok := strings.CutPrefix(s, "P")
	if !ok || rest == "" {
		return v, false
	}
	clock := false
	for rest != "" {
		if rest[0] == 'T' {
			clock, rest = true, rest[1:]
			continue
		}
		i := strings.IndexAny(rest, "YMWDHS")
		if i < 1 {
			return v, false
		}
		text, unit := rest[:i], rest[i]
		rest = rest[i+1:]
		if unit == 'S' {
			micros, ok := secondsText(text)
			if !ok {
				return v, false
			}
			v.micros = saturatingAdd(v.micros, micros)
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return v, false
		}
		part, size := &v.micros, int64(60_000_000)
		switch {
		case unit == 'Y':
			part, size = &v.months, 12
		case unit == 'M' && !clock:
			part, size = &v.months, 1
		case unit == 'W':
			part, size = &v.days, 7
		case unit == 'D':
			part, size = &v.days, 1
		case unit == 'H':
			size = 3_600_000_000
		}
		*part = saturatingAdd(*part, saturatingMul(n, size))
	}
	return v, true
}

// secondsText reads seconds with up to six digits of a fraction as microseconds.
func secondsText(s string) (micros int64, ok bool) {
	body, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(body, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || len(fraction) > 6 {
		return 0, false
	}
	unit := int64(1_000_000)
	micros = saturatingMul(n, unit)
	for _, c := range []byte(fraction) {
		if c < '0' || c > '9' {
			return 0, false
		}
		unit /= 10
		micros = saturatingAdd(micros, int64(c-'0')*unit)
	}
	if negative {
		micros = -micros
	}
	return micros, true
}

// intervalMicros writes an interval as microseconds. What 64 bits don't hold is
// the largest number or the smallest, as in Debezium.
func intervalMicros(dst []byte, s string) ([]byte, error) {
	v, ok := parseInterval(s)
	if !ok {
		return dst, ErrText
	}
	total := v.micros
	for _, part := range [...][2]int64{{v.days, microsPerDay}, {v.months, microsPerMonth}} {
		total = saturatingAdd(total, saturatingMul(part[0], part[1]))
	}
	return strconv.AppendInt(dst, total, 10), nil
}

func saturatingMul(a, b int64) int64 {
	switch {
	case a > math.MaxInt64/b:
		return math.MaxInt64
	case a < math.MinInt64/b:
		return math.MinInt64
	}
	return a * b
}

func saturatingAdd(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// intervalText writes an interval with all its parts.
func intervalText(dst []byte, s string) ([]byte, error) {
	v, ok := parseInterval(s)
	if !ok {
		return dst, ErrText
	}
	part := func(n int64, unit byte) {
		dst = append(strconv.AppendInt(dst, n, 10), unit)
	}
	dst = append(dst, '"', 'P')
	part(v.months/12, 'Y')
	part(v.months%12, 'M')
	part(v.days, 'D')
	dst = append(dst, 'T')
	part(v.micros/3_600_000_000, 'H')
	part(v.micros/60_000_000%60, 'M')
	rest := v.micros % 60_000_000
	if rest < 0 {
		dst = append(dst, '-')
		rest = -rest
	}
	dst = strconv.AppendInt(dst, rest/1_000_000, 10)
	if rest %= 1_000_000; rest != 0 {
		dst = append(dst, '.')
		for unit := int64(100_000); rest > 0; unit /= 10 {
			dst = append(dst, byte('0'+rest/unit))
			rest %= unit
		}
	}
	return append(dst, 'S', '"'), nil
}
