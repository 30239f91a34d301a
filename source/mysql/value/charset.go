package value

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// decoder appends text in a column's character set to dst as UTF-8. It reports
// false for bytes that mean nothing there: a replacement character would be a
// value that nobody wrote. It keeps no state and is safe for concurrent use.
type decoder func(dst, v []byte) ([]byte, bool)

// decoderOf returns the decoder of a character set as the servers name it, nil for UTF-8 itself.
func decoderOf(charset string) (decoder, error) {
	switch charset {
	case "utf8mb4", "utf8mb3", "utf8":
		return nil, nil
	case "ascii":
		return decodeASCII, nil
	case "ucs2":
		return decodeUCS2, nil
	case "utf16":
		return func(dst, v []byte) ([]byte, bool) { return decodeUTF16(dst, v, binary.BigEndian) }, nil
	case "utf16le":
		return func(dst, v []byte) ([]byte, bool) { return decodeUTF16(dst, v, binary.LittleEndian) }, nil
	case "utf32":
		return decodeUTF32, nil
	case "swe7":
		return decodeSwe7, nil
	}
	if upper, ok := singleByte[charset]; ok {
		return singleByteDecoder(upper), nil
	}
	if c, ok := doubleByte[charset]; ok {
		return c.decode, nil
	}
	if charset == "" {
		return nil, fmt.Errorf("%w: a text column without a character set", ErrUnsupported)
	}
	return nil, fmt.Errorf("%w: character set %s", ErrUnsupported, charset)
}

// DecodeText appends v, which is in a character set of the servers, to dst as UTF-8.
// Bytes that mean nothing there are [ErrMalformed], an unknown one is [ErrUnsupported].
func DecodeText(dst []byte, charset string, v []byte) ([]byte, error) {
	decode, err := decoderOf(charset)
	if err != nil {
		return dst, err
	}
	if decode == nil {
		decode = decodeUTF8
	}
	out, ok := decode(dst, v)
	if !ok {
		return dst, fmt.Errorf("%w: %q has no meaning in the character set %s", ErrMalformed, shorten(v), charset)
	}
	return out, nil
}

func decodeUTF8(dst, v []byte) ([]byte, bool) { return append(dst, v...), utf8.Valid(v) }

func decodeASCII(dst, v []byte) ([]byte, bool) {
	for _, c := range v {
		if c >= utf8.RuneSelf {
			return dst, false
		}
	}
	return append(dst, v...), true
}

// swe7 are the letters that Swedish 7-bit ASCII has in place of signs.
const swe7From, swe7To = "@[\\]^`{|}~", "ÉÄÖÅÜéäöåü"

func decodeSwe7(dst, v []byte) ([]byte, bool) {
	letters := []rune(swe7To)
	for _, c := range v {
		if c >= 0x7F {
			return dst, false
		}
		r := rune(c)
		if i := slices.Index([]byte(swe7From), c); i >= 0 {
			r = letters[i]
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

// singleByteDecoder decodes with a table of the bytes from 0x80 on.
func singleByteDecoder(upper string) decoder {
	runes := []rune(upper)
	return func(dst, v []byte) ([]byte, bool) {
		for _, c := range v {
			if c < utf8.RuneSelf {
				dst = append(dst, c)
				continue
			}
			r := runes[c-utf8.RuneSelf]
			if r == utf8.RuneError {
				return dst, false
			}
			dst = utf8.AppendRune(dst, r)
		}
		return dst, true
	}
}

func decodeUCS2(dst, v []byte) ([]byte, bool) {
	if len(v)%2 != 0 {
		return dst, false
	}
	for ; len(v) > 0; v = v[2:] {
		r := rune(binary.BigEndian.Uint16(v))
		if utf16.IsSurrogate(r) {
			return dst, false
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

func decodeUTF16(dst, v []byte, order binary.ByteOrder) ([]byte, bool) {
	for len(v) >= 2 {
		r := rune(order.Uint16(v))
		v = v[2:]
		if utf16.IsSurrogate(r) {
			if len(v) < 2 {
				return dst, false
			}
			// The replacement character can't come out of a pair.
			if r = utf16.DecodeRune(r, rune(order.Uint16(v))); r == utf8.RuneError {
				return dst, false
			}
			v = v[2:]
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, len(v) == 0
}

func decodeUTF32(dst, v []byte) ([]byte, bool) {
	if len(v)%4 != 0 {
		return dst, false
	}
	for ; len(v) > 0; v = v[4:] {
		u := binary.BigEndian.Uint32(v)
		if u > utf8.MaxRune || !utf8.ValidRune(rune(u)) {
			return dst, false
		}
		dst = utf8.AppendRune(dst, rune(u))
	}
	return dst, true
}

// lazy makes a table when its character set is first met.
type lazy struct {
	once  sync.Once
	table []rune
}

func (l *lazy) get(fill func() []rune) []rune {
	l.once.Do(func() { l.table = fill() })
	return l.table
}
