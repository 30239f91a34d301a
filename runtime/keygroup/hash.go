package keygroup

import (
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// HashString is String.hashCode: a polynomial over the UTF-16 code units. Bytes
// that are no UTF-8 count as U+FFFD, as Java decodes them.
func HashString(s string) int32 {
	var h int32
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			h = 31*h + int32(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r < 0x10000 {
			h = 31*h + r
			continue
		}
		hi, lo := utf16.EncodeRune(r)
		h = 31*(31*h+hi) + lo
	}
	return h
}

// HashUTF16 is String.hashCode of UTF-16 code units, which may hold lone surrogates.
func HashUTF16(units []uint16) int32 {
	var h int32
	for _, u := range units {
		h = 31*h + int32(u)
	}
	return h
}

// HashInt is Integer.hashCode; Short, Byte and Character hash to their value too.
func HashInt(v int32) int32 { return v }

// HashLong is Long.hashCode.
func HashLong(v int64) int32 { return int32(v ^ int64(uint64(v)>>32)) }

// HashBool is Boolean.hashCode.
func HashBool(v bool) int32 {
	if v {
		return 1231
	}
	return 1237
}

// HashDouble is Double.hashCode: all NaNs are equal, 0.0 and -0.0 are not.
func HashDouble(v float64) int32 {
	if v != v {
		return HashLong(0x7ff8000000000000)
	}
	return HashLong(int64(math.Float64bits(v)))
}

// HashFloat is Float.hashCode: all NaNs are equal, 0.0 and -0.0 are not.
func HashFloat(v float32) int32 {
	if v != v {
		return 0x7fc00000
	}
	return int32(math.Float32bits(v))
}

// HashTuple is the hashCode of a Flink Tuple with the given hashes of its fields.
func HashTuple(fields ...int32) int32 {
	if len(fields) == 0 {
		return 0
	}
	h := fields[0]
	for _, f := range fields[1:] {
		h = 31*h + f
	}
	return h
}
