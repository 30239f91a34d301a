package event

import (
	"encoding/binary"
	"math/bits"
)

// message reads the self-describing format that MySQL calls mysql::serialization:
// a version, the size, the last field that a reader must know, then the fields in
// the order of their numbers, those without a value left out. All numbers are of
// variable length: as many 1 bits from the lowest as bytes follow, a 0 bit, then
// the value; nine bytes hold it behind a byte of ones.
type message struct {
	reader
	lastNeeded uint64
	nextID     uint64
}

// openMessage reads the head.
func openMessage(p []byte) (message, bool) {
	m := message{reader: reader{p: p}}
	version := m.unsigned()
	size := m.unsigned()
	m.lastNeeded = m.unsigned()
	if m.bad || version != 1 || size < uint64(m.at) || size > uint64(len(p)) {
		return m, false
	}
	m.p = p[:size]
	return m, true
}

// next returns the number of the next field, false at the end or for one that is
// not known, behind which nothing can be read.
func (m *message) next() (uint64, bool) {
	if m.left() == 0 {
		return 0, false
	}
	id := m.unsigned()
	if m.bad || id < m.nextID || id > taggedTicket {
		m.bad = m.bad || id < m.nextID
		return 0, false
	}
	m.nextID = id + 1
	return id, true
}

func (m *message) unsigned() uint64 {
	first := m.u8()
	n := bits.TrailingZeros8(^first)
	more := m.take(n)
	if m.bad {
		return 0
	}
	var raw [8]byte
	copy(raw[:], more)
	high := binary.LittleEndian.Uint64(raw[:])
	if n >= 7 { // the first byte has no bits of the value
		return high
	}
	return uint64(first)>>(n+1) | high<<(7-n)
}

// signed reads a number whose lowest bit is its sign.
func (m *message) signed() int64 {
	u := m.unsigned()
	if u&1 != 0 {
		return ^int64(u >> 1)
	}
	return int64(u >> 1)
}

// bytes reads a string of at most limit bytes.
func (m *message) bytes(limit uint64) []byte {
	n := m.unsigned()
	if n > limit {
		m.bad = true
		return nil
	}
	return m.take(int(n))
}
