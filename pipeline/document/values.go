package document

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var durationUnits = map[string]time.Duration{
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"µs": time.Microsecond, "micro": time.Microsecond, "micros": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ns": time.Nanosecond, "nano": time.Nanosecond, "nanos": time.Nanosecond, "nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond,
	"": time.Millisecond,
}

// ParseDuration reads a duration as Flink writes it: a whole number and a unit
// (d, h, min or m, s, ms, µs, ns, or their names), "10s" or "3 min"; a number
// alone is milliseconds. Go's form, "1m30s" or "1.5s", is read too.
func ParseDuration(text string) (time.Duration, error) {
	digits, unit := splitNumber(text)
	if digits == "" {
		return 0, errors.New("it does not start with a number")
	}
	if d, err := time.ParseDuration(strings.TrimSpace(text)); err == nil && d >= 0 {
		return d, nil
	}
	scale, ok := durationUnits[strings.ToLower(unit)]
	if !ok {
		return 0, fmt.Errorf("the unit %q is none of d, h, min, s, ms", unit)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/int64(scale) {
		return 0, errors.New("it is too long")
	}
	return time.Duration(n) * scale, nil
}

// canonicalDuration prints a duration as one whole number with a unit, which
// every reader of durations understands.
func canonicalDuration(d time.Duration) string {
	switch {
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	}
	return fmt.Sprintf("%dns", d)
}

var byteUnits = map[string]int64{
	"": 1, "b": 1, "bytes": 1,
	"k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "kibibytes": 1 << 10,
	"m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20, "mebibytes": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30, "gibibytes": 1 << 30,
	"t": 1 << 40, "tb": 1 << 40, "tib": 1 << 40, "tebibytes": 1 << 40,
}

// ParseBytes reads a memory size as Flink writes it: "64mb" or "1 g"; all units
// are powers of 1024, a number alone is bytes.
func ParseBytes(text string) (int64, error) {
	digits, unit := splitNumber(text)
	if digits == "" {
		return 0, errors.New("it does not start with a number")
	}
	scale, ok := byteUnits[strings.ToLower(unit)]
	if !ok {
		return 0, fmt.Errorf("the unit %q is none of b, kb, mb, gb, tb", unit)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/scale {
		return 0, errors.New("it is too large")
	}
	return n * scale, nil
}

// splitNumber cuts text into its leading digits and the unit after them.
func splitNumber(text string) (digits, unit string) {
	text = strings.TrimSpace(text)
	i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimSpace(text[i:])
}

// parseBool reads true or false in any case.
func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("want true or false")
}
