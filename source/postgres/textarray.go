package postgres

import (
	"bytes"
	"errors"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// errArrayShape is returned for an array whose dimensions are not those that its
// column declares, which PostgreSQL allows and a list can't hold.
var errArrayShape = errors.New("the array has other dimensions than its column declares; declare the column with as many [], or set array.mode: text")

// arrayAppender parses {1,NULL,"a,b"} into nested lists as deep as the column
// declares. Lower bounds other than 1 ([0:2]={...}) are not kept: lists have none.
func arrayAppender(t schema.Type, source string, b *array.ListBuilder, o textOptions) func(v []byte) error {
	p := &arrayParser{delim: ','}
	if source == "_box" { // the one built-in type whose arrays are delimited otherwise
		p.delim = ';'
	}
	for {
		p.lists = append(p.lists, b)
		elem := *t.Elem
		inner, nested := b.ValueBuilder().(*array.ListBuilder)
		if !nested {
			p.value = b.ValueBuilder()
			p.elem = appender(elem, source, p.value, o)
			break
		}
		// An element that is an array of its own (a domain over an array) comes quoted.
		p.quoted = append(p.quoted, arrayAppender(elem, source, inner, o))
		t, b = elem, inner
	}
	return p.parse
}

type arrayParser struct {
	delim  byte
	lists  []*array.ListBuilder // from the outermost
	quoted []func(v []byte) error
	value  array.Builder
	elem   func(v []byte) error
	buf    []byte
}

func (p *arrayParser) parse(v []byte) error {
	body := v
	if len(body) > 0 && body[0] == '[' {
		i := bytes.IndexByte(body, '=')
		if i < 0 {
			return badText("array", v)
		}
		body = body[i+1:]
	}
	rest, err := p.list(body, 0)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return badText("array", v)
	}
	return nil
}

// list parses one {...} of the given depth and returns what follows it.
func (p *arrayParser) list(v []byte, depth int) ([]byte, error) {
	if len(v) < 2 || v[0] != '{' {
		return nil, badText("array", v)
	}
	p.lists[depth].Append(true)
	v = v[1:]
	if v[0] == '}' {
		return v[1:], nil
	}
	for {
		var err error
		if v, err = p.item(v, depth); err != nil {
			return nil, err
		}
		switch {
		case len(v) == 0:
			return nil, badText("array", v)
		case v[0] == '}':
			return v[1:], nil
		case v[0] != p.delim:
			return nil, badText("array", v)
		}
		v = v[1:]
	}
}

func (p *arrayParser) item(v []byte, depth int) ([]byte, error) {
	innermost := depth == len(p.lists)-1
	switch {
	case len(v) == 0:
		return nil, badText("array", v)
	case v[0] == '{':
		if innermost {
			return nil, errArrayShape
		}
		return p.list(v, depth+1)
	case v[0] == '"':
		text, rest, err := p.quotedItem(v[1:])
		if err != nil {
			return nil, err
		}
		if !innermost {
			if len(text) == 0 || text[0] != '{' && text[0] != '[' {
				return nil, errArrayShape
			}
			return rest, p.quoted[depth](append([]byte(nil), text...))
		}
		return rest, p.elem(text)
	}
	end := 0
	for end < len(v) && v[end] != p.delim && v[end] != '}' {
		end++
	}
	if end == 0 || end == len(v) {
		return nil, badText("array", v)
	}
	word := v[:end]
	isNull := len(word) == 4 && bytes.EqualFold(word, []byte("NULL"))
	switch {
	case isNull && innermost:
		p.value.AppendNull()
	case isNull:
		p.lists[depth+1].AppendNull()
	case !innermost:
		return nil, errArrayShape
	default:
		return v[end:], p.elem(word)
	}
	return v[end:], nil
}

// quotedItem takes the text up to the closing quote, without its backslashes. The
// text is valid until the next call.
func (p *arrayParser) quotedItem(v []byte) (text, rest []byte, err error) {
	p.buf, rest, err = unquote(p.buf[:0], v)
	return p.buf, rest, err
}

// unquote appends to dst the text up to the closing quote, where a backslash
// stands before each quote and backslash, and returns what follows the quote.
func unquote(dst, v []byte) (text, rest []byte, err error) {
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			return dst, v[i+1:], nil
		case '\\':
			if i++; i == len(v) {
				return dst, nil, badText("quoted text", v)
			}
		}
		dst = append(dst, v[i])
	}
	return dst, nil, badText("quoted text", v)
}

// hstoreAppender parses "key"=>"value", "key"=>NULL.
func hstoreAppender(b *array.MapBuilder) func(v []byte) error {
	h := &hstoreParser{keys: b.KeyBuilder().(*array.StringBuilder), items: b.ItemBuilder().(*array.StringBuilder)}
	return func(v []byte) error {
		b.Append(true)
		for rest := v; len(rest) > 0; {
			var ok bool
			if rest, ok = h.pair(rest); !ok {
				return badText("hstore", v)
			}
			if len(rest) == 0 {
				break
			}
			if rest, ok = bytes.CutPrefix(rest, []byte(", ")); !ok || len(rest) == 0 {
				return badText("hstore", v)
			}
		}
		return nil
	}
}

type hstoreParser struct {
	keys, items *array.StringBuilder
	buf         []byte
}

// pair parses one pair and returns what follows it.
func (h *hstoreParser) pair(v []byte) (rest []byte, ok bool) {
	if v[0] != '"' {
		return nil, false
	}
	var err error
	if h.buf, rest, err = unquote(h.buf[:0], v[1:]); err != nil {
		return nil, false
	}
	h.keys.BinaryBuilder.Append(h.buf)
	if rest, ok = bytes.CutPrefix(rest, []byte("=>")); !ok {
		return nil, false
	}
	if after, null := bytes.CutPrefix(rest, []byte("NULL")); null {
		h.items.AppendNull()
		return after, true
	}
	if len(rest) == 0 || rest[0] != '"' {
		return nil, false
	}
	if h.buf, rest, err = unquote(h.buf[:0], rest[1:]); err != nil {
		return nil, false
	}
	h.items.BinaryBuilder.Append(h.buf)
	return rest, true
}
