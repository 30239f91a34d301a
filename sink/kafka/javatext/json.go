package javatext

import "unicode/utf8"

// Escapes is how a JSON library escapes texts.
type Escapes struct {
	digits string // of the code in \u
	pairs  bool   // what is above U+FFFF is a surrogate pair of two codes
}

// Jackson escapes as Jackson does when it writes UTF-8: control characters, quote,
// backslash, and a surrogate pair for what is above U+FFFF. Fastjson leaves the last as it
// is and writes small digits.
var (
	Jackson  = Escapes{digits: "0123456789ABCDEF", pairs: true}
	Fastjson = Escapes{digits: "0123456789abcdef"}
)

// Append appends s in quotes. Bytes that are no UTF-8 are left as they are: sources send none.
func (e Escapes) Append(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if !e.escaped(s[i]) {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		n := 1
		if c := s[i]; c < utf8.RuneSelf {
			dst = e.AppendByte(dst, c)
		} else {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			dst = e.appendRune(dst, r, s[i:i+n])
		}
		i += n
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// Behind escapes the text behind dst[:start], which has no quotes around it. It needs scratch
// space where there is something to escape, and returns it, perhaps made larger.
func (e Escapes) Behind(dst []byte, start int, scratch []byte) (_, _ []byte) {
	first := start
	for first < len(dst) && !e.escaped(dst[first]) {
		first++
	}
	if first == len(dst) {
		return dst, scratch
	}
	scratch = append(scratch[:0], dst[first:]...)
	dst = dst[:first]
	for i := 0; i < len(scratch); {
		c, n := scratch[i], 1
		switch {
		case !e.escaped(c):
			dst = append(dst, c)
		case c < utf8.RuneSelf:
			dst = e.AppendByte(dst, c)
		default:
			var r rune
			r, n = utf8.DecodeRune(scratch[i:])
			dst = e.appendRune(dst, r, string(scratch[i:i+n]))
		}
		i += n
	}
	return dst, scratch
}

// escaped reports the first bytes of what is escaped.
func (e Escapes) escaped(c byte) bool {
	return c < 0x20 || c == '"' || c == '\\' || e.pairs && c >= 0xf0
}

// appendRune appends a rune above U+FFFF, and of what is none its bytes.
func (e Escapes) appendRune(dst []byte, r rune, as string) []byte {
	if r <= 0xffff {
		return append(dst, as...)
	}
	r -= 0x10000
	return e.appendCode(e.appendCode(dst, 0xd800|uint16(r>>10)), 0xdc00|uint16(r&0x3ff))
}

// AppendByte appends the escape of a control character, a quote or a backslash.
func (e Escapes) AppendByte(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return e.appendCode(dst, uint16(c))
}

func (e Escapes) appendCode(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', e.digits[u>>12], e.digits[u>>8&15], e.digits[u>>4&15], e.digits[u&15])
}
