package event

import "encoding/binary"

// reader walks over the bytes of an event. Reading beyond the end sets bad and
// gives zeros, so that a parser checks once.
type reader struct {
	p   []byte
	at  int
	bad bool
}

// take returns the next n bytes, which belong to the event's buffer.
func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.p)-r.at {
		r.bad = true
		return nil
	}
	b := r.p[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

func (r *reader) skip(n int) { r.take(n) }

// rest returns everything that is left.
func (r *reader) rest() []byte { return r.take(r.left()) }

func (r *reader) left() int {
	if r.bad {
		return 0
	}
	return len(r.p) - r.at
}

func (r *reader) u8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// fixed reads a little-endian number of n bytes.
func (r *reader) fixed(n int) uint64 {
	var v uint64
	for i, b := range r.take(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// packed reads a length-encoded integer: one byte up to 250, else 252, 253 or 254
// and 2, 3 or 8 bytes.
func (r *reader) packed() uint64 {
	switch b := r.u8(); b {
	case 252:
		return uint64(r.u16())
	case 253:
		return r.fixed(3)
	case 254:
		return r.u64()
	case 251, 255: // NULL and an error in the protocol, neither is a number
		r.bad = true
		return 0
	default:
		return uint64(b)
	}
}

// packedBytes reads a length-encoded string.
func (r *reader) packedBytes() []byte {
	n := r.packed()
	if n > uint64(r.left()) {
		r.bad = true
		return nil
	}
	return r.take(int(n))
}
