package topic

import (
	"encoding/binary"
	"fmt"
)

// Strategy says how partitions are chosen.
type Strategy string

// The strategies. The first two are Flink CDC's.
const (
	// AllToZero keeps the order of all messages of a topic.
	AllToZero Strategy = "all-to-zero"
	// ByKey keeps the order of each key, and puts it where a Java producer would.
	ByKey Strategy = "hash-by-key"
	// ByTable keeps the order of each table in a topic of several.
	ByTable Strategy = "by-table"
)

// Partitioner chooses partitions. It is safe for concurrent use.
type Partitioner struct{ strategy Strategy }

// NewPartitioner returns a partitioner for a strategy.
func NewPartitioner(s Strategy) (Partitioner, error) {
	switch s {
	case AllToZero, ByKey, ByTable:
		return Partitioner{s}, nil
	}
	return Partitioner{}, fmt.Errorf("partition.strategy: %q is none of %s, %s, %s", s, AllToZero, ByKey, ByTable)
}

// Partition returns the partition, of n, of a message of a table with a key. One
// without a key, which a Java producer puts anywhere, goes where its table's do, so
// that their order is kept.
func (p Partitioner) Partition(table string, key []byte, n int32) int32 {
	switch {
	case n <= 1 || p.strategy == AllToZero:
		return 0
	case p.strategy == ByKey && key != nil:
		return place(murmur2(key), n)
	}
	return place(murmur2([]byte(table)), n)
}

// place is how Java's producer makes a hash a partition.
func place(hash uint32, n int32) int32 { return int32(hash&0x7fffffff) % n }

// murmur2 is Austin Appleby's hash of 32 bits with the seed of Kafka's Java client.
func murmur2(data []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := seed ^ uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		k := binary.LittleEndian.Uint32(data) * m
		k = (k ^ k>>r) * m
		h = h*m ^ k
	}
	for i := len(data) - 1; i >= 0; i-- { // the rest, its last byte first
		h ^= uint32(data[i]) << (8 * i)
		if i == 0 {
			h *= m
		}
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
