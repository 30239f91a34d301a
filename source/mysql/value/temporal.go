package value

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

const (
	microsPerSecond = int64(1_000_000)
	microsPerDay    = 86_400 * microsPerSecond
)

// civilDays counts the days from 1970-01-01 in the proleptic Gregorian calendar, ok
// for days that exist. Years begin in March here, so that the leap day is last.
func civilDays(year, month, day int) (days int32, ok bool) {
	if month < 1 || month > 12 || day < 1 || day > 28 && day > monthDays(year, month) {
		return 0, false
	}
	if month <= 2 {
		year, month = year-1, month+12
	}
	y := uint(year + 400) // the year may be -1 here
	return int32(365*y+y/4-y/100+y/400+uint(153*(month-3)+2)/5) + int32(day) - 865_566, true
}

func monthDays(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// absent appends what stands for a day that does not exist.
type absent struct {
	place
	mode  ZeroDates
	null  func()
	epoch func()
}

func (a *absent) add(year, month, day int) error {
	switch a.mode {
	case ZeroDateNull:
		a.null()
	case ZeroDateEpoch:
		a.epoch()
	default:
		return a.fail(fmt.Errorf("%w: %04d-%02d-%02d is no date; zero-dates: null, or epoch, carries it", ErrRange, year, month, day))
	}
	return nil
}

// addDate returns the function that appends a day.
func addDate(b *array.Date32Builder, p place, mode ZeroDates) func(year, month, day int) error {
	a := &absent{place: p, mode: mode, null: b.AppendNull, epoch: func() { b.Append(0) }}
	return func(year, month, day int) error {
		days, ok := civilDays(year, month, day)
		if !ok {
			return a.add(year, month, day)
		}
		b.Append(arrow.Date32(days))
		return nil
	}
}

// addDatetime returns the function that appends a day and the microseconds in it.
func addDatetime(b *array.TimestampBuilder, p place, mode ZeroDates) func(year, month, day int, micros int64) error {
	a := &absent{place: p, mode: mode, null: b.AppendNull, epoch: func() { b.Append(0) }}
	return func(year, month, day int, micros int64) error {
		days, ok := civilDays(year, month, day)
		if !ok {
			return a.add(year, month, day)
		}
		b.Append(arrow.Timestamp(int64(days)*microsPerDay + micros))
		return nil
	}
}

// addTime returns the function that appends a TIME, in microseconds.
func addTime(b array.Builder, p place, o Options, fraction int) func(micros int64) error {
	if b, ok := b.(*array.StringBuilder); ok {
		var buf []byte
		return func(micros int64) error {
			buf = appendTime(buf[:0], micros, fraction)
			b.BinaryBuilder.Append(buf)
			return nil
		}
	}
	t := b.(*array.Time64Builder)
	return func(micros int64) error {
		switch {
		case micros >= 0 && micros < microsPerDay:
			t.Append(arrow.Time64(micros))
		case o.Time == TimeOrNull:
			t.AppendNull()
		default:
			return p.fail(fmt.Errorf("%w: %s is no time of day; time.mode: string carries every TIME, time-or-null makes such values NULL",
				ErrRange, appendTime(nil, micros, fraction)))
		}
		return nil
	}
}

// appendTime prints a TIME as the server does, with fraction digits behind the second.
func appendTime(dst []byte, micros int64, fraction int) []byte {
	if micros < 0 {
		dst, micros = append(dst, '-'), -micros
	}
	seconds := micros / microsPerSecond
	hours := seconds / 3600
	if hours > 99 {
		dst = append(dst, byte('0'+hours/100%10))
	}
	dst = appendTwo(dst, hours%100)
	dst = appendTwo(append(dst, ':'), seconds/60%60)
	dst = appendTwo(append(dst, ':'), seconds%60)
	return appendFraction(dst, micros%microsPerSecond, fraction)
}

func appendTwo(dst []byte, n int64) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// appendFraction prints the first digits of micros, with the point.
func appendFraction(dst []byte, micros int64, digits int) []byte {
	if digits == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(100_000); digits > 0; digits-- {
		dst = append(dst, byte('0'+micros/unit%10))
		unit = max(unit/10, 1)
	}
	return dst
}
