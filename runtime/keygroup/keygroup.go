package keygroup

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	// MaxMaxParallelism is the largest number of key groups (Flink's
	// UPPER_BOUND_MAX_PARALLELISM): the products below stay within 32 bits.
	MaxMaxParallelism = 1 << 15
	// minDefaultMaxParallelism is Flink's DEFAULT_LOWER_BOUND_MAX_PARALLELISM.
	minDefaultMaxParallelism = 1 << 7
	// PrefixLen is the length in bytes of what AppendPrefix adds.
	PrefixLen = 2
)

// Range is a range of key groups, both ends included. One whose Last is below
// its First is empty; the zero value holds key group 0 alone.
type Range struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Contains says whether kg is in the range.
func (r Range) Contains(kg int) bool { return r.First <= kg && kg <= r.Last }

// Covers says whether all of o is in the range. An empty o always is.
func (r Range) Covers(o Range) bool {
	return o.Empty() || r.First <= o.First && o.Last <= r.Last
}

// Intersect returns the key groups that are in both ranges; it may be empty.
func (r Range) Intersect(o Range) Range {
	return Range{First: max(r.First, o.First), Last: min(r.Last, o.Last)}
}

// Empty says whether the range holds no key group.
func (r Range) Empty() bool { return r.Last < r.First }

// Len returns the number of key groups in the range.
func (r Range) Len() int { return max(0, r.Last-r.First+1) }

// String returns the range as "first-last".
func (r Range) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Bounds returns the bounds of the state keys of the range: lower <= key < upper.
func (r Range) Bounds() (lower, upper []byte) {
	if r.Empty() {
		return []byte{0, 0}, []byte{0, 0}
	}
	return AppendPrefix(nil, r.First), AppendPrefix(nil, r.Last+1)
}

// Of returns the key group of a key with the given hash, from 0 to
// maxParallelism-1. maxParallelism is between 1 and MaxMaxParallelism.
func Of[H int32 | uint32](hash H, maxParallelism int) int {
	m := murmur(uint32(hash))
	n := uint32(maxParallelism)
	if n&(n-1) == 0 { // a power of two, as every default is: no division
		return int(m & (n - 1))
	}
	return int(m % n)
}

// murmur is MurmurHash3-32 over one block of four bytes with seed 0, its sign
// folded away (MathUtils.murmurHash).
func murmur(h uint32) uint32 {
	h *= 0xcc9e2d51
	h = bits.RotateLeft32(h, 15)
	h *= 0x1b873593
	h = bits.RotateLeft32(h, 13)
	h = h*5 + 0xe6546b64
	h ^= 4
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	if int32(h) >= 0 {
		return h
	}
	return -h & 0x7fffffff // the smallest int32 becomes 0
}

// OperatorIndex returns the subtask, of parallelism many, that owns key group kg.
func OperatorIndex(kg, maxParallelism, parallelism int) int {
	return kg * parallelism / maxParallelism
}

// RangeOf returns the key groups of one subtask, which counts from 0.
// parallelism is at most maxParallelism.
func RangeOf(subtask, maxParallelism, parallelism int) Range {
	return Range{
		First: (subtask*maxParallelism + parallelism - 1) / parallelism,
		Last:  ((subtask+1)*maxParallelism - 1) / parallelism,
	}
}

// Ranges returns the key groups of every subtask.
func Ranges(maxParallelism, parallelism int) []Range {
	ranges := make([]Range, parallelism)
	for i := range ranges {
		ranges[i] = RangeOf(i, maxParallelism, parallelism)
	}
	return ranges
}

// CheckParallelism says whether a job may run with the given parallelism over
// maxParallelism key groups: 1 <= parallelism <= maxParallelism <= MaxMaxParallelism.
func CheckParallelism(parallelism, maxParallelism int) error {
	if maxParallelism < 1 || maxParallelism > MaxMaxParallelism {
		return fmt.Errorf("max parallelism %d is not between 1 and %d", maxParallelism, MaxMaxParallelism)
	}
	if parallelism < 1 || parallelism > maxParallelism {
		return fmt.Errorf("parallelism %d is not between 1 and the max parallelism, %d", parallelism, maxParallelism)
	}
	return nil
}

// DefaultMaxParallelism returns the number of key groups for a job that starts
// with the given parallelism and does not say: room for half as much again,
// as a power of two between 128 and MaxMaxParallelism. It panics when
// CheckParallelism(parallelism, MaxMaxParallelism) fails.
func DefaultMaxParallelism(parallelism int) int {
	if err := CheckParallelism(parallelism, MaxMaxParallelism); err != nil {
		panic("keygroup: " + err.Error())
	}
	p := uint(parallelism + parallelism/2)
	pow2 := 1
	if p > 1 {
		pow2 = 1 << bits.Len(p-1)
	}
	return min(max(pow2, minDefaultMaxParallelism), MaxMaxParallelism)
}

// AppendPrefix appends the key group as a key of keyed state begins with it:
// PrefixLen bytes, big endian.
func AppendPrefix(dst []byte, kg int) []byte {
	return binary.BigEndian.AppendUint16(dst, uint16(kg))
}

// FromPrefix returns the key group that a key of keyed state begins with. The
// key has at least PrefixLen bytes.
func FromPrefix(key []byte) int { return int(binary.BigEndian.Uint16(key)) }
