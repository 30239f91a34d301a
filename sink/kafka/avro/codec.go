package avro

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrPayload is JSON that is not of the codec's schema.
var ErrPayload = errors.New("avro: the JSON is not of the schema")

// Codec turns the JSON of Debezium's messages into Avro's binary encoding. It is used by
// one goroutine at a time.
type Codec struct {
	root         *node
	schema, name string
	scratch      []byte
}

// Schema is the JSON of Avro's schema.
func (c *Codec) Schema() string { return c.schema }

// Name is the full name of the schema's record, empty where it is none.
func (c *Codec) Name() string { return c.name }

// Append appends the binary encoding of a payload, which has the members of each object
// in the order of the schema's fields and no blanks, as the package debezium prints it.
func (c *Codec) Append(dst, payload []byte) ([]byte, error) {
	r := reader{in: payload, scratch: &c.scratch}
	dst, err := r.value(dst, c.root)
	if err == nil && r.at != len(payload) {
		err = r.fail("more than one value")
	}
	return dst, err
}

// kind is what a node encodes.
type kind uint8

const (
	kindBoolean kind = iota + 1
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindString
	kindBytes
	kindArray
	kindMap
	kindEntries // a map as an array of keys and values
	kindRecord
)

// node encodes the values of a schema.
type node struct {
	kind kind
	// optional is a union of null and the kind, with these branches.
	optional           bool
	nullBranch, branch byte
	items, key         *node // of arrays and maps
	fields             []*node
	names              [][]byte // what stands before the fields: {"name": or ,"name":
}

// reader goes through JSON once.
type reader struct {
	in      []byte
	at      int
	scratch *[]byte
}

func (r *reader) fail(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrPayload, what, r.at)
}

// next takes c if it comes next.
func (r *reader) next(c byte) bool {
	if r.at < len(r.in) && r.in[r.at] == c {
		r.at++
		return true
	}
	return false
}

// word takes a word if it comes next.
func (r *reader) word(w string) bool {
	if len(r.in)-r.at >= len(w) && string(r.in[r.at:r.at+len(w)]) == w {
		r.at += len(w)
		return true
	}
	return false
}

func (r *reader) value(dst []byte, n *node) ([]byte, error) {
	if r.at < len(r.in) && r.in[r.at] == 'n' && r.word("null") {
		if !n.optional {
			return dst, r.fail("null where a value must be")
		}
		return append(dst, n.nullBranch), nil
	}
	if n.optional {
		dst = append(dst, n.branch)
	}
	switch n.kind {
	case kindBoolean:
		if r.word("true") {
			return append(dst, 1), nil
		}
		if r.word("false") {
			return append(dst, 0), nil
		}
		return dst, r.fail("no boolean")
	case kindInt, kindLong:
		v, err := r.integer(n.kind == kindInt)
		return AppendLong(dst, v), err
	case kindFloat:
		v, err := r.float(32)
		return appendFloat(dst, float32(v)), err
	case kindDouble:
		v, err := r.float(64)
		return appendDouble(dst, v), err
	case kindString:
		text, err := r.text()
		return AppendBytes(dst, text), err
	case kindBytes:
		return r.bytes(dst)
	case kindRecord:
		return r.record(dst, n)
	}
	return r.items(dst, n)
}

// integer takes a whole number.
func (r *reader) integer(small bool) (int64, error) {
	start := r.at
	negative := r.next('-')
	var v uint64
	digits := r.at
	for r.at < len(r.in) && r.in[r.at]-'0' <= 9 {
		v = v*10 + uint64(r.in[r.at]-'0')
		r.at++
	}
	limit := uint64(1)<<63 - 1
	if small {
		limit = 1<<31 - 1
	}
	if negative {
		limit++
	}
	if n := r.at - digits; n == 0 || n > 19 || v > limit {
		r.at = start
		return 0, r.fail("no whole number that fits")
	}
	if negative {
		return -int64(v), nil
	}
	return int64(v), nil
}

// float takes a number, or the text of one that is none.
func (r *reader) float(bits int) (float64, error) {
	quoted := r.next('"')
	start := r.at
	for r.at < len(r.in) {
		if c := r.in[r.at]; c == ',' || c == '}' || c == ']' || c == '"' {
			break
		}
		r.at++
	}
	v, err := strconv.ParseFloat(string(r.in[start:r.at]), bits)
	if err != nil || quoted && !r.next('"') {
		return 0, r.fail("no number")
	}
	return v, nil
}

// text takes a text. It is valid until the next one.
func (r *reader) text() ([]byte, error) {
	if !r.next('"') {
		return nil, r.fail("no text")
	}
	end := bytes.IndexByte(r.in[r.at:], '"')
	if end < 0 {
		return nil, r.fail("a text without an end")
	}
	text := r.in[r.at : r.at+end]
	if bytes.IndexByte(text, '\\') < 0 {
		r.at += end + 1
		return text, nil
	}
	return r.escaped()
}

// escapes are the characters that stand behind a backslash, and what they mean.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped takes the rest of a text that has escapes.
func (r *reader) escaped() ([]byte, error) {
	dst := (*r.scratch)[:0]
	defer func() { *r.scratch = dst }()
	for r.at < len(r.in) {
		c := r.in[r.at]
		r.at++
		switch {
		case c == '"':
			return dst, nil
		case c != '\\':
			dst = append(dst, c)
			continue
		case r.at == len(r.in):
			return dst, r.fail("a text without an end")
		}
		c = r.in[r.at]
		r.at++
		if c != 'u' {
			v, ok := escapes[c]
			if !ok {
				return dst, r.fail("an unknown escape")
			}
			dst = append(dst, v)
			continue
		}
		u, ok := r.unit()
		if ok && utf16.IsSurrogate(u) && r.word(`\u`) {
			var low rune
			low, ok = r.unit()
			u = utf16.DecodeRune(u, low)
		}
		if !ok {
			return dst, r.fail("an unknown escape")
		}
		dst = utf8.AppendRune(dst, u)
	}
	return dst, r.fail("a text without an end")
}

// unit takes the four digits of an escaped character.
func (r *reader) unit() (rune, bool) {
	if len(r.in)-r.at < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(r.in[r.at:r.at+4]), 16, 16)
	r.at += 4
	return rune(v), err == nil
}

// bytes takes a text in base64.
func (r *reader) bytes(dst []byte) ([]byte, error) {
	text, err := r.text()
	if err != nil {
		return dst, err
	}
	size := len(text) / 4 * 3
	for i := len(text) - 1; i >= 0 && text[i] == '='; i-- {
		size--
	}
	dst, err = base64.StdEncoding.AppendDecode(AppendLong(dst, int64(size)), text)
	if err != nil {
		err = r.fail("no base64")
	}
	return dst, err
}

// record takes an object with the members of a record.
func (r *reader) record(dst []byte, n *node) (_ []byte, err error) {
	if len(n.fields) == 0 && !r.next('{') {
		return dst, r.fail("no object")
	}
	for i, f := range n.fields {
		name := n.names[i]
		if !bytes.HasPrefix(r.in[r.at:], name) {
			return dst, r.fail(fmt.Sprintf("no member %s", name))
		}
		r.at += len(name)
		if dst, err = r.value(dst, f); err != nil {
			return dst, err
		}
	}
	if !r.next('}') {
		return dst, r.fail("a member too many")
	}
	return dst, nil
}

// items takes an array or a map.
func (r *reader) items(dst []byte, n *node) (_ []byte, err error) {
	open, end := byte('{'), byte('}')
	if n.kind == kindArray {
		open, end = '[', ']'
	}
	if !r.next(open) {
		return dst, r.fail("no array or object")
	}
	start, count := len(dst), 0
	dst = append(dst, 0)
	for ; !r.next(end); count++ {
		if count > 0 && !r.next(',') {
			return dst, r.fail("no comma")
		}
		if n.kind != kindArray {
			if dst, err = r.key(dst, n); err != nil {
				return dst, err
			}
		}
		if dst, err = r.value(dst, n.items); err != nil {
			return dst, err
		}
	}
	return finishBlock(dst, start, count), nil
}

// key takes the key of a map; one that is no text stands in quotes.
func (r *reader) key(dst []byte, n *node) ([]byte, error) {
	text, err := r.text()
	if err != nil {
		return dst, err
	}
	if !r.next(':') {
		return dst, r.fail("no colon")
	}
	if n.kind == kindMap || n.key.kind == kindString {
		if n.key != nil && n.key.optional {
			dst = append(dst, n.key.branch)
		}
		return AppendBytes(dst, text), nil
	}
	inner := reader{in: text, scratch: r.scratch}
	return inner.value(dst, n.key)
}
