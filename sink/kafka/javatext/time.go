package javatext

import "strconv"

// Units of time.
const (
	NanosPerSecond = int64(1_000_000_000)
	SecondsPerDay  = int64(86_400)
)

// FloorDiv divides and rounds down.
func FloorDiv(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// AppendClock appends nanoseconds since midnight as hh:mm:ss and a fraction of so many
// digits (at most 9), -1 for as many as there are.
func AppendClock(dst []byte, nanos int64, digits int) []byte {
	seconds, fraction := nanos/NanosPerSecond, nanos%NanosPerSecond
	dst = appendTwo(dst, seconds/3600)
	dst = appendTwo(append(dst, ':'), seconds/60%60)
	dst = appendTwo(append(dst, ':'), seconds%60)
	if digits == 0 || digits < 0 && fraction == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := NanosPerSecond / 10; unit > 0 && (digits > 0 || digits < 0 && fraction > 0); unit /= 10 {
		dst = append(dst, byte('0'+fraction/unit))
		fraction %= unit
		if digits > 0 {
			digits--
		}
	}
	return dst
}

func appendTwo(dst []byte, v int64) []byte {
	return append(dst, byte('0'+v/10), byte('0'+v%10))
}

// AppendDate appends the date of a day counted from 1970 as Java does: four digits
// of the year, more with a sign.
func AppendDate(dst []byte, days int64) []byte {
	year, month, day := Civil(days)
	switch {
	case year > 9999:
		dst = append(dst, '+')
	case year < 0:
		dst = append(dst, '-')
		year = -year
	}
	for limit := int64(1000); year < limit && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, year, 10)
	dst = appendTwo(append(dst, '-'), month)
	return appendTwo(append(dst, '-'), day)
}

// Civil returns the date of a day counted from 1970 in the proleptic Gregorian
// calendar. Years begin in March here, so that the leap day is the last.
func Civil(days int64) (year, month, day int64) {
	days += 719_468 // from 0000-03-01
	era := FloorDiv(days, 146_097)
	inEra := days - era*146_097
	yearOfEra := (inEra - inEra/1_460 + inEra/36_524 - inEra/146_096) / 365
	dayOfYear := inEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153
	year, month, day = era*400+yearOfEra, shifted+3, dayOfYear-(153*shifted+2)/5+1
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

// DaysOf is the inverse of [Civil].
func DaysOf(year, month, day int64) int64 {
	if month -= 3; month < 0 {
		year, month = year-1, month+12
	}
	era := FloorDiv(year, 400)
	inEra := year - era*400
	return era*146_097 + inEra*365 + inEra/4 - inEra/100 + (153*month+2)/5 + day - 1 - 719_468
}
