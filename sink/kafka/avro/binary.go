package avro

import (
	"encoding/binary"
	"math"
)

// AppendLong appends an int or a long.
func AppendLong(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

// AppendString appends a string.
func AppendString(dst []byte, s string) []byte { return append(AppendLong(dst, int64(len(s))), s...) }

// AppendBytes appends bytes.
func AppendBytes(dst, v []byte) []byte { return append(AppendLong(dst, int64(len(v))), v...) }

// The bits of Java's NaN; Go's own may be others.
const (
	javaNaN32 = 0x7fc00000
	javaNaN64 = 0x7ff8000000000000
)

func appendFloat(dst []byte, v float32) []byte {
	b := math.Float32bits(v)
	if v != v {
		b = javaNaN32
	}
	return binary.LittleEndian.AppendUint32(dst, b)
}

func appendDouble(dst []byte, v float64) []byte {
	b := math.Float64bits(v)
	if v != v {
		b = javaNaN64
	}
	return binary.LittleEndian.AppendUint64(dst, b)
}

func appendBoolean(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// finishBlock makes one block of the items that lie behind dst[start+1:]; dst[start] is
// room for their number. No items are no block.
func finishBlock(dst []byte, start, items int) []byte {
	if items == 0 {
		return append(dst[:start], 0)
	}
	var scratch [binary.MaxVarintLen64]byte
	count := AppendLong(scratch[:0], int64(items))
	if more := len(count) - 1; more > 0 {
		dst = append(dst, count[:more]...)
		copy(dst[start+len(count):], dst[start+1:len(dst)-more])
	}
	copy(dst[start:], count)
	return append(dst, 0)
}

// appendUnscaled appends a two's complement number of 64-bit words, the first the most
// significant, as the fewest bytes that hold it.
func appendUnscaled(dst []byte, words ...uint64) []byte {
	var scratch [40]byte
	b := scratch[:0]
	for _, w := range words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return AppendBytes(dst, b)
}

// Null and Value stand for NULL, and before a value, in a union of null and a type, in this
// order.
var Null, Value = []byte{branchNull}, []byte{branchValue}
