package value

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// pow10 holds the powers of ten below 2^64.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// decimalForm is how a DECIMAL of some precision and scale is stored: groups of nine
// digits in four bytes on both sides of the point, what is over in fewer bytes at the
// ends. The first bit is set for a value that is not negative; a negative one has
// all its bits turned.
type decimalForm struct {
	groups []decimalGroup
	size   int
	digits int
}

type decimalGroup struct{ bytes, digits int }

// leftOver are the bytes of fewer than nine digits.
var leftOver = [9]int{0, 1, 1, 2, 2, 3, 3, 4, 4}

// maxDecimalForm: a DECIMAL has 65 digits; in JSON the server rounds up to groups.
const maxDecimalForm = 81

func newDecimalForm(precision, scale int) (f decimalForm, ok bool) {
	if precision < 1 || precision > maxDecimalForm || scale < 0 || scale > precision {
		return f, false
	}
	whole := precision - scale
	f.digits = precision
	f.add(whole % 9)
	for range whole / 9 {
		f.add(9)
	}
	for range scale / 9 {
		f.add(9)
	}
	f.add(scale % 9)
	return f, true
}

func (f *decimalForm) add(digits int) {
	n := 4
	if digits < 9 {
		n = leftOver[digits]
	}
	if n > 0 {
		f.groups = append(f.groups, decimalGroup{n, digits})
		f.size += n
	}
}

// small reads a value of at most 18 digits, which p has.
func (f *decimalForm) small(p []byte) (int64, bool) {
	turned, flip := uint32(0), byte(0x80)
	if p[0]&0x80 == 0 {
		turned, flip = 0xFFFFFFFF, 0x7F
	}
	var n uint64
	for i, g := range f.groups {
		var v uint32
		switch {
		case i == 0:
			v = uint32(p[0] ^ flip)
			for _, b := range p[1:g.bytes] {
				v = v<<8 | uint32(b^byte(turned))
			}
		case g.bytes == 4:
			v = binary.BigEndian.Uint32(p) ^ turned
		default:
			for _, b := range p[:g.bytes] {
				v = v<<8 | uint32(b^byte(turned))
			}
		}
		if uint64(v) >= pow10[g.digits] {
			return 0, false
		}
		n, p = n*pow10[g.digits]+uint64(v), p[g.bytes:]
	}
	if turned != 0 {
		return -int64(n), true
	}
	return int64(n), true
}

// large reads any value into 256 bits, which p has.
func (f *decimalForm) large(p []byte) (w wide, negative, ok bool) {
	turned := byte(0)
	if p[0]&0x80 == 0 {
		negative, turned = true, 0xFF
	}
	first := byte(0x80)
	for _, g := range f.groups {
		var v uint64
		for _, b := range p[:g.bytes] {
			v = v<<8 | uint64(b^turned^first)
			first = 0
		}
		if v >= pow10[g.digits] || !w.mulAdd(pow10[g.digits], v) {
			return w, false, false
		}
		p = p[g.bytes:]
	}
	return w, negative, true
}

// wide is a number of 256 bits, little end first.
type wide [4]uint64

// mulAdd multiplies by m and adds a; it reports false where 256 bits are too few.
func (w *wide) mulAdd(m, a uint64) bool {
	carry := a
	for i := range w {
		hi, lo := bits.Mul64(w[i], m)
		var c uint64
		w[i], c = bits.Add64(lo, carry, 0)
		carry = hi + c
	}
	return carry == 0
}

func (w wide) decimal128(negative bool) decimal128.Num {
	n := decimal128.New(int64(w[1]), w[0])
	if negative {
		n = n.Negate()
	}
	return n
}

func (w wide) decimal256(negative bool) decimal256.Num {
	n := decimal256.New(w[3], w[2], w[1], w[0])
	if negative {
		n = n.Negate()
	}
	return n
}

func (w wide) bigInt() *big.Int {
	var b [32]byte
	for i, word := range w {
		binary.BigEndian.PutUint64(b[24-8*i:], word)
	}
	return new(big.Int).SetBytes(b[:])
}

func (m *cellMaker) decimal128(b *array.Decimal128Builder) CellReader {
	f, _ := newDecimalForm(m.c.Type.Precision, m.c.Type.Scale)
	size := f.size
	if f.digits <= 18 {
		return func(p []byte) (int, error) {
			if len(p) < size {
				return 0, m.fail(errShort)
			}
			n, ok := f.small(p)
			if !ok {
				return 0, m.fail(malformedDecimal(p[:size]))
			}
			b.Append(decimal128.FromI64(n))
			return size, nil
		}
	}
	return func(p []byte) (int, error) {
		if len(p) < size {
			return 0, m.fail(errShort)
		}
		w, negative, ok := f.large(p)
		if !ok {
			return 0, m.fail(malformedDecimal(p[:size]))
		}
		b.Append(w.decimal128(negative))
		return size, nil
	}
}

func (m *cellMaker) decimal256(b *array.Decimal256Builder) CellReader {
	f, _ := newDecimalForm(m.c.Type.Precision, m.c.Type.Scale)
	size := f.size
	return func(p []byte) (int, error) {
		if len(p) < size {
			return 0, m.fail(errShort)
		}
		w, negative, ok := f.large(p)
		if !ok {
			return 0, m.fail(malformedDecimal(p[:size]))
		}
		b.Append(w.decimal256(negative))
		return size, nil
	}
}

func malformedDecimal(v []byte) error {
	return fmt.Errorf("%w: %x is no DECIMAL", ErrMalformed, v)
}
