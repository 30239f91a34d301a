package jsontext

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep values may be nested.
const maxDepth = 512

// SyntaxError is a text that is no JSON, or other JSON than was expected.
type SyntaxError struct {
	Offset int // in bytes
	Msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d of the JSON", e.Msg, e.Offset)
}

// Scanner reads one text from its beginning to its end. The zero value reads an empty one.
type Scanner struct {
	data  []byte
	pos   int
	first bool // the next key or element is the first of its object or array
	text  []byte
	key   []byte
}

// Reset begins with another text, which must not change while it is read.
func (s *Scanner) Reset(data []byte) { s.data, s.pos, s.first = data, 0, false }

// Rest returns what has not been read.
func (s *Scanner) Rest() []byte { return s.data[s.pos:] }

func (s *Scanner) fail(format string, args ...any) error {
	return &SyntaxError{Offset: s.pos, Msg: fmt.Sprintf(format, args...)}
}

func (s *Scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// Peek says what the next value is by its first byte: one of { [ " t f n, 0 for a number,
// and 0xff for the end of the text or what begins no value.
func (s *Scanner) Peek() byte {
	s.space()
	if s.pos >= len(s.data) {
		return 0xff
	}
	switch c := s.data[s.pos]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0xff
}

// End fails if there is more than white space.
func (s *Scanner) End() error {
	if s.space(); s.pos < len(s.data) {
		return s.fail("text behind the value")
	}
	return nil
}

// Enter begins an object or array: c is { or [.
func (s *Scanner) Enter(c byte) error {
	if s.space(); s.pos >= len(s.data) || s.data[s.pos] != c {
		return s.fail("there is no %c", c)
	}
	s.pos++
	s.first = true
	return nil
}

// NextKey returns the next key of the object that was entered, valid until the next call,
// and stands in front of its value; at the end of the object it leaves it and returns false.
func (s *Scanner) NextKey() (key []byte, ok bool, err error) {
	if ok, err = s.next('}'); !ok || err != nil {
		return nil, false, err
	}
	if s.space(); s.pos >= len(s.data) || s.data[s.pos] != '"' {
		return nil, false, s.fail("there is no key")
	}
	if key, s.key, err = s.quoted(s.key); err != nil {
		return nil, false, err
	}
	if s.space(); s.pos >= len(s.data) || s.data[s.pos] != ':' {
		return nil, false, s.fail("there is no colon behind a key")
	}
	s.pos++
	return key, true, nil
}

// NextElem stands in front of the next element of the array that was entered; at its end
// it leaves it and returns false.
func (s *Scanner) NextElem() (bool, error) { return s.next(']') }

func (s *Scanner) next(end byte) (bool, error) {
	first := s.first
	s.first = false
	if s.space(); s.pos >= len(s.data) {
		return false, s.fail("the text ends before its %c", end)
	}
	switch c := s.data[s.pos]; {
	case c == end:
		s.pos++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.pos++
		return true, nil
	}
	return false, s.fail("there is no comma and no %c", end)
}

// Text reads a string. What it returns is valid until the next call.
func (s *Scanner) Text() (text []byte, err error) {
	if s.space(); s.pos >= len(s.data) || s.data[s.pos] != '"' {
		return nil, s.fail("there is no string")
	}
	text, s.text, err = s.quoted(s.text)
	return text, err
}

// quoted reads a string, into buf where it has escapes.
func (s *Scanner) quoted(buf []byte) (text, next []byte, err error) {
	start := s.pos + 1
	for i := start; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			if text = s.data[start:i]; !utf8.Valid(text) {
				return nil, buf, s.fail("a string is not valid UTF-8")
			}
			s.pos = i + 1
			return text, buf, nil
		case c == '\\':
			return s.escaped(buf, start, i)
		case c < ' ':
			s.pos = i
			return nil, buf, s.fail("a control character in a string")
		}
	}
	return nil, buf, s.fail("a string does not end")
}

// escaped reads a string on from its first escape, at i.
func (s *Scanner) escaped(buf []byte, start, i int) (text, next []byte, err error) {
	buf = append(buf[:0], s.data[start:i]...)
	for i < len(s.data) {
		c := s.data[i]
		switch {
		case c == '"':
			if !utf8.Valid(buf) {
				return nil, buf, s.fail("a string is not valid UTF-8")
			}
			s.pos = i + 1
			return buf, buf, nil
		case c < ' ':
			s.pos = i
			return nil, buf, s.fail("a control character in a string")
		case c != '\\':
			buf = append(buf, c)
			i++
			continue
		}
		if buf, i, err = s.escape(buf, i); err != nil {
			return nil, buf, err
		}
	}
	return nil, buf, s.fail("a string does not end")
}

// escape reads the escape at i and returns where it ends.
func (s *Scanner) escape(buf []byte, i int) ([]byte, int, error) {
	s.pos = i
	if i+1 >= len(s.data) {
		return buf, i, s.fail("a string does not end")
	}
	if at := bytes.IndexByte([]byte(`"\/bfnrt`), s.data[i+1]); at >= 0 {
		return append(buf, "\"\\/\b\f\n\r\t"[at]), i + 2, nil
	}
	r, ok := s.hex(i)
	if !ok {
		return buf, i, s.fail("an escape that there is not")
	}
	i += 6
	if utf16.IsSurrogate(r) {
		low, ok := s.hex(i)
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return buf, i, s.fail("half of a surrogate pair")
		}
		i += 6
	}
	return utf8.AppendRune(buf, r), i, nil
}

// hex reads a \u escape at i.
func (s *Scanner) hex(i int) (r rune, ok bool) {
	if i+6 > len(s.data) || s.data[i] != '\\' || s.data[i+1] != 'u' {
		return 0, false
	}
	for _, c := range s.data[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Number reads a number and returns its text.
func (s *Scanner) Number() ([]byte, error) {
	s.space()
	start := s.pos
	i := s.pos
	digits := func() bool {
		from := i
		for i < len(s.data) && s.data[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if i < len(s.data) && s.data[i] == '-' {
		i++
	}
	zero := i < len(s.data) && s.data[i] == '0'
	if from := i; !digits() || zero && i > from+1 {
		return nil, s.fail("there is no number")
	}
	if i < len(s.data) && s.data[i] == '.' {
		if i++; !digits() {
			return nil, s.fail("a number without digits behind its point")
		}
	}
	if i < len(s.data) && s.data[i]|0x20 == 'e' {
		i++
		if i < len(s.data) && (s.data[i] == '+' || s.data[i] == '-') {
			i++
		}
		if !digits() {
			return nil, s.fail("a number without an exponent behind its e")
		}
	}
	s.pos = i
	return s.data[start:i], nil
}

// Bool reads true or false.
func (s *Scanner) Bool() (bool, error) {
	if s.Peek() == 't' {
		return true, s.literal("true")
	}
	return false, s.literal("false")
}

// Null reads null.
func (s *Scanner) Null() error { return s.literal("null") }

func (s *Scanner) literal(text string) error {
	s.space()
	if !bytes.HasPrefix(s.data[s.pos:], []byte(text)) {
		return s.fail("there is no %s", text)
	}
	s.pos += len(text)
	return nil
}

// Skip passes over a value, checks it, and returns its text.
func (s *Scanner) Skip() ([]byte, error) {
	s.space()
	start := s.pos
	if err := s.skip(0); err != nil {
		return nil, err
	}
	s.first = false
	return s.data[start:s.pos], nil
}

func (s *Scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.fail("values are nested deeper than %d", maxDepth)
	}
	switch c := s.Peek(); c {
	case '"':
		_, err := s.Text()
		return err
	case '0':
		_, err := s.Number()
		return err
	case 't', 'f':
		_, err := s.Bool()
		return err
	case 'n':
		return s.Null()
	case '{':
		return s.skipObject(depth)
	case '[':
		if err := s.Enter(c); err != nil {
			return err
		}
		for {
			if ok, err := s.NextElem(); !ok || err != nil {
				return err
			}
			if err := s.skip(depth + 1); err != nil {
				return err
			}
		}
	}
	return s.fail("there is no value")
}

func (s *Scanner) skipObject(depth int) error {
	if err := s.Enter('{'); err != nil {
		return err
	}
	for {
		if _, ok, err := s.NextKey(); !ok || err != nil {
			return err
		}
		if err := s.skip(depth + 1); err != nil {
			return err
		}
	}
}
