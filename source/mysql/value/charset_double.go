package value

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// span is a range of bytes.
type span struct{ from, to byte }

// charset of one and two bytes a character, and more for some; lead and trail are the
// bytes that a pair may consist of. What a pair means is asked of x/text, whose
// tables are those of browsers, and then amended where the servers have it otherwise.
type charset struct {
	standard    encoding.Encoding
	lead, trail []span
	amend       []amendment
	// kana: the bytes 0xA1 to 0xDF are half-width katakana by themselves (SJIS).
	kana bool
	// euc: 0x8E leads half-width katakana, 0x8F a pair of another plane (EUC-JP).
	euc        bool
	amendPlane []amendment
	// four: a lead byte and a digit begin a character of four bytes (GB18030).
	four bool

	pairs, plane lazy
}

var (
	shiftLead  = []span{{0x81, 0x9F}, {0xE0, 0xFC}}
	shiftTrail = []span{{0x40, 0x7E}, {0x80, 0xFC}}
	eucBytes   = []span{{0xA1, 0xFE}}
	gbkLead    = []span{{0x81, 0xFE}}
	gbkTrail   = []span{{0x40, 0x7E}, {0x80, 0xFE}}
)

var doubleByte = map[string]*charset{
	"big5":    {standard: traditionalchinese.Big5, lead: []span{{0xA1, 0xF9}}, trail: []span{{0x40, 0x7E}, {0xA1, 0xFE}}, amend: big5Amend},
	"cp932":   {standard: japanese.ShiftJIS, lead: shiftLead, trail: shiftTrail, amend: cp932Amend, kana: true},
	"sjis":    {standard: japanese.ShiftJIS, lead: shiftLead, trail: shiftTrail, amend: sjisAmend, kana: true},
	"ujis":    {standard: japanese.EUCJP, lead: eucBytes, trail: eucBytes, amend: ujisAmend, euc: true, amendPlane: ujisPlaneAmend},
	"eucjpms": {standard: japanese.EUCJP, lead: eucBytes, trail: eucBytes, amend: eucjpmsAmend, euc: true, amendPlane: eucjpmsPlaneAmend},
	"euckr":   {standard: korean.EUCKR, lead: []span{{0x81, 0xFE}}, trail: []span{{0x41, 0x5A}, {0x61, 0x7A}, {0x81, 0xFE}}},
	"gb2312":  {standard: simplifiedchinese.GBK, lead: []span{{0xA1, 0xF7}}, trail: eucBytes, amend: gb2312Amend},
	"gbk":     {standard: simplifiedchinese.GBK, lead: gbkLead, trail: gbkTrail},
	"gb18030": {standard: simplifiedchinese.GB18030, lead: gbkLead, trail: gbkTrail, amend: gb18030Amend, four: true},
}

// each calls fn for every pair that the character set has, in order.
func (c *charset) each(fn func(a, b byte)) {
	for _, l := range c.lead {
		for a := int(l.from); a <= int(l.to); a++ {
			for _, t := range c.trail {
				for b := int(t.from); b <= int(t.to); b++ {
					fn(byte(a), byte(b))
				}
			}
		}
	}
}

// index of a pair in a table; 0 in the table means nothing.
func index(a, b byte) int { return int(a&0x7F)<<8 | int(b) }

// fill makes the table of the pairs, behind prefix.
func (c *charset) fill(prefix []byte, amend []amendment) []rune {
	table := make([]rune, 1<<15)
	d := c.standard.NewDecoder()
	c.each(func(a, b byte) {
		u, err := d.Bytes(append(append([]byte(nil), prefix...), a, b))
		if r, n := utf8.DecodeRune(u); err == nil && r != utf8.RuneError && n == len(u) {
			table[index(a, b)] = r
		}
	})
	for _, m := range amend {
		runes := []rune(m.runes)
		i := 0
		c.each(func(a, b byte) {
			if code := uint16(a)<<8 | uint16(b); code < m.from || code > m.to {
				return
			}
			if len(runes) == 1 {
				table[index(a, b)] = runes[0] + rune(i)
			} else {
				table[index(a, b)] = runes[i]
			}
			i++
		})
	}
	return table
}

// decode is the decoder of the character set.
func (c *charset) decode(dst, v []byte) ([]byte, bool) {
	pairs := c.pairs.get(func() []rune { return c.fill(nil, c.amend) })
	for len(v) > 0 {
		a := v[0]
		if a < utf8.RuneSelf {
			dst, v = append(dst, a), v[1:]
			continue
		}
		var r rune
		n := 2
		switch {
		case c.kana && a >= 0xA1 && a <= 0xDF:
			r, n = halfWidth(a), 1
		case c.euc && a == 0x8E && len(v) >= 2 && v[1] >= 0xA1 && v[1] <= 0xDF:
			r = halfWidth(v[1])
		case c.euc && a == 0x8F && len(v) >= 3 && v[1] >= utf8.RuneSelf:
			plane := c.plane.get(func() []rune { return c.fill([]byte{0x8F}, c.amendPlane) })
			r, n = plane[index(v[1], v[2])], 3
		case c.four && len(v) >= 4 && v[1] >= '0' && v[1] <= '9':
			r, n = fourBytes([4]byte(v)), 4
		case len(v) >= 2:
			r = pairs[index(a, v[1])]
		}
		if r == 0 {
			return dst, false
		}
		dst, v = utf8.AppendRune(dst, r), v[n:]
	}
	return dst, true
}

func halfWidth(b byte) rune { return 0xFF61 + rune(b) - 0xA1 }

// fourBytes decodes a character of GB18030, 0 for none.
func fourBytes(v [4]byte) rune {
	switch v {
	case [4]byte{0x81, 0x35, 0xF4, 0x37}:
		return 0xE7C7 // as in the standard of 2000; A8BC is U+1E3F
	case [4]byte{0x84, 0x31, 0xA4, 0x37}:
		return utf8.RuneError // the character itself
	}
	u, err := simplifiedchinese.GB18030.NewDecoder().Bytes(v[:])
	r, n := utf8.DecodeRune(u)
	if err != nil || r == utf8.RuneError || n != len(u) {
		return 0
	}
	return r
}
