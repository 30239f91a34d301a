package postgres

import (
	"bytes"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

const (
	microsPerSecond = int64(1_000_000)
	microsPerDay    = 86_400 * microsPerSecond
)

// parseDate parses DateStyle=ISO: 2024-02-29, 0044-03-15 BC, infinity. Years
// count in the proleptic Gregorian calendar, as PostgreSQL's do.
func parseDate(v []byte) (arrow.Date32, error) {
	switch string(v) {
	case "infinity":
		return math.MaxInt32, nil
	case "-infinity":
		return math.MinInt32, nil
	}
	body, bc := bytes.CutSuffix(v, []byte(" BC"))
	days, rest, ok := parseDay(body, bc)
	if !ok || len(rest) > 0 {
		return 0, badText("date", v)
	}
	return arrow.Date32(days), nil
}

// parseTimestamp parses DateStyle=ISO: 2024-02-29 12:00:00.5, with zone followed
// by an offset, and BC at the end. It returns microseconds since 1970.
func parseTimestamp(v []byte, zone bool) (arrow.Timestamp, error) {
	switch string(v) {
	case "infinity":
		return math.MaxInt64, nil
	case "-infinity":
		return math.MinInt64, nil
	}
	body, bc := bytes.CutSuffix(v, []byte(" BC"))
	days, rest, ok := parseDay(body, bc)
	if !ok || len(rest) == 0 || rest[0] != ' ' {
		return 0, badText("timestamp", v)
	}
	clock, rest, ok := parseClock(rest[1:])
	if !ok {
		return 0, badText("timestamp", v)
	}
	var offset int64
	if zone {
		if offset, rest, ok = parseOffset(rest); !ok {
			return 0, badText("timestamp with time zone", v)
		}
	}
	if len(rest) > 0 {
		return 0, badText("timestamp", v)
	}
	// PostgreSQL's last year is 294276; 64 bits of microseconds since 1970 end in 294247.
	const maxDays = math.MaxInt64/microsPerDay - 1
	if days > maxDays || days < -maxDays {
		return 0, fmt.Errorf("%w: a timestamp after the year 294246", errOutOfRange)
	}
	return arrow.Timestamp(days*microsPerDay + clock - offset), nil
}

// parseDay parses year-month-day into days since 1970; the year has 4 digits or more.
func parseDay(v []byte, bc bool) (days int64, rest []byte, ok bool) {
	var year int64
	i := 0
	for ; i < len(v) && v[i]-'0' <= 9; i++ {
		year = year*10 + int64(v[i]-'0')
		if i > 7 {
			return 0, nil, false
		}
	}
	if i < 4 || len(v) < i+6 || v[i] != '-' || v[i+3] != '-' {
		return 0, nil, false
	}
	month, ok1 := twoDigits(v[i+1:])
	day, ok2 := twoDigits(v[i+4:])
	if !ok1 || !ok2 || month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, nil, false
	}
	if bc {
		year = 1 - year // 1 BC is the year 0
	}
	return civilDays(year, month, day), v[i+6:], true
}

// civilDays counts the days from 1970-01-01 in the proleptic Gregorian calendar
// (Howard Hinnant's days_from_civil: years begin in March, so that the leap day is last).
func civilDays(year, month, day int64) int64 {
	if month <= 2 {
		year--
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	yearOfEra := year - era*400
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	return era*146097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719468
}

func twoDigits(v []byte) (int64, bool) {
	if len(v) < 2 {
		return 0, false
	}
	a, b := v[0]-'0', v[1]-'0'
	return int64(a)*10 + int64(b), a <= 9 && b <= 9
}

// parseClock parses hh:mm:ss with up to six digits of a fraction into
// microseconds, and returns what follows. 24:00:00 is a time of day.
func parseClock(v []byte) (micros int64, rest []byte, ok bool) {
	if len(v) < 8 || v[2] != ':' || v[5] != ':' {
		return 0, nil, false
	}
	h, ok1 := twoDigits(v)
	m, ok2 := twoDigits(v[3:])
	s, ok3 := twoDigits(v[6:])
	if !ok1 || !ok2 || !ok3 || h > 24 || m > 59 || s > 60 {
		return 0, nil, false
	}
	micros, rest = (h*3600+m*60+s)*microsPerSecond, v[8:]
	if len(rest) > 0 && rest[0] == '.' {
		unit, i := microsPerSecond, 1
		for ; i < len(rest) && rest[i]-'0' <= 9; i++ {
			unit /= 10
			micros += int64(rest[i]-'0') * unit
		}
		if i == 1 || i > 7 {
			return 0, nil, false
		}
		rest = rest[i:]
	}
	return micros, rest, micros <= microsPerDay
}

// parseOffset parses +hh, +hh:mm or +hh:mm:ss into microseconds east of UTC.
func parseOffset(v []byte) (micros int64, rest []byte, ok bool) {
	if len(v) < 3 || v[0] != '+' && v[0] != '-' {
		return 0, nil, false
	}
	negative := v[0] == '-'
	v = v[1:]
	for unit := int64(3600); ; unit /= 60 {
		n, ok := twoDigits(v)
		if !ok {
			return 0, nil, false
		}
		micros, v = micros+n*unit*microsPerSecond, v[2:]
		if unit == 1 || len(v) == 0 || v[0] != ':' {
			break
		}
		v = v[1:]
	}
	if negative {
		micros = -micros
	}
	return micros, v, true
}
