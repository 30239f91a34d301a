package value

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// PartialReader appends the JSON value that an update leaves, from the cell of the
// row before and the cell of the row after, which has what changed
// (binlog_row_value_options=PARTIAL_JSON); it returns the bytes that after took.
// Otherwise it is a [CellReader].
type PartialReader func(before, after []byte) (n int, err error)

// NewPartialReader returns the reader of a JSON column's partial cells. [Skip] measures them too.
func NewPartialReader(c schema.Column, t CellType, b array.Builder, o Options) (PartialReader, error) {
	p := placeOf(c)
	s, err := ShapeOf(t)
	text, ok := b.(*array.StringBuilder)
	switch {
	case err != nil:
		return nil, p.fail(err)
	case !ok || t.Type != cellJSON || baseName(c.Source.Name) != "json":
		return nil, p.fail(fmt.Errorf("%w: a partial update of %s", ErrMismatch, t))
	}
	printer := newJSONPrinter(o.LegacyJSON)
	return func(before, after []byte) (int, error) {
		old, _, err := s.cut(before)
		if err != nil {
			return 0, p.fail(err)
		}
		diff, n, err := s.cut(after)
		if err == nil {
			err = printer.patched(old, diff)
		}
		if err != nil {
			return 0, p.fail(err)
		}
		text.BinaryBuilder.Append(printer.out)
		return n, nil
	}, nil
}

// The operations of a diff.
const (
	diffReplace = iota
	diffInsert
	diffRemove
)

// patched prints the document old after the changes of diff: each an operation, a
// path and, but for a removal, a value, both with their length in front.
func (p *jsonPrinter) patched(old, diff []byte) error {
	if len(old) == 0 {
		return badJSON("a partial update of nothing")
	}
	p.out, p.budget = p.out[:0], len(old)+len(diff)
	root := &jsonNode{typ: old[0], data: old[1:]}
	for len(diff) > 0 {
		op := diff[0]
		path, rest, err := lengthEncoded(diff[1:])
		if err != nil {
			return err
		}
		var v *jsonNode
		if op != diffRemove {
			var doc []byte
			if doc, rest, err = lengthEncoded(rest); err != nil {
				return err
			}
			if len(doc) == 0 {
				return badJSON("a partial update without a value")
			}
			v = &jsonNode{typ: doc[0], data: doc[1:]}
		}
		legs, err := parsePath(path)
		if err == nil {
			err = p.apply(root, op, legs, v)
		}
		if err != nil {
			return fmt.Errorf("the partial update of %q: %w", shorten(path), err)
		}
		diff = rest
	}
	return p.node(root, 0)
}

// lengthEncoded reads a string with its length in front, as the protocol writes it.
func lengthEncoded(v []byte) (s, rest []byte, err error) {
	if len(v) == 0 {
		return nil, nil, errShort
	}
	n, size := uint64(v[0]), 1
	if n > 250 {
		size = map[byte]int{252: 3, 253: 4, 254: 9}[v[0]]
		if size == 0 || len(v) < size {
			return nil, nil, errShort
		}
		n = littleEndian(v[1:], size-1)
	}
	if n > uint64(len(v)-size) {
		return nil, nil, errShort
	}
	return v[size : uint64(size)+n], v[uint64(size)+n:], nil
}

// jsonNode is a value of a document. Only those on the way of a path are opened, the
// others stay as they are.
type jsonNode struct {
	typ    byte
	data   []byte
	opened bool
	object bool
	keys   [][]byte // of an object, in the order of the document
	values []*jsonNode
}

// open takes an object or an array apart; it reports false for other values.
func (p *jsonPrinter) open(n *jsonNode) (bool, error) {
	if n.opened {
		return true, nil
	}
	if n.typ > jsonLargeArray {
		return false, nil
	}
	c, err := parseContainer(n.typ, n.data)
	if err == nil {
		err = p.spend(c.count)
	}
	if err != nil {
		return false, err
	}
	n.opened, n.object = true, c.object
	for i := range c.count {
		typ, v, err := c.value(i)
		if err == nil && c.object {
			var k []byte
			k, err = c.key(i)
			n.keys = append(n.keys, k)
		}
		if err != nil {
			return false, err
		}
		n.values = append(n.values, &jsonNode{typ: typ, data: v})
	}
	return true, nil
}

// place returns the index that a leg names in n, found for one that is there, and
// else where it would be inserted.
func (p *jsonPrinter) place(n *jsonNode, leg pathLeg) (i int, found bool, err error) {
	ok, err := p.open(n)
	switch {
	case err != nil:
		return 0, false, err
	case !ok || n.object != leg.member:
		return 0, false, errNoPath
	case !n.object:
		i, found = leg.position(len(n.values))
		return i, found, nil
	}
	i, found = slices.BinarySearchFunc(n.keys, leg.name, compareKeys)
	return i, found, nil
}

// compareKeys is the order of the keys of an object: short ones first.
func compareKeys(a, b []byte) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

var errNoPath = fmt.Errorf("%w: the value before the update has no such place", ErrMalformed)

// apply changes the document of which n is the root.
func (p *jsonPrinter) apply(n *jsonNode, op byte, legs []pathLeg, v *jsonNode) error {
	if len(legs) == 0 {
		return errNoPath
	}
	last := len(legs) - 1
	for _, leg := range legs[:last] {
		i, found, err := p.place(n, leg)
		if err != nil {
			return err
		}
		if !found {
			return errNoPath
		}
		n = n.values[i]
	}
	i, found, err := p.place(n, legs[last])
	if err != nil {
		return err
	}
	switch {
	case op == diffReplace && found:
		n.values[i] = v
	case op == diffRemove && found:
		n.values = slices.Delete(n.values, i, i+1)
		if n.object {
			n.keys = slices.Delete(n.keys, i, i+1)
		}
	case op == diffInsert && n.object && !found:
		n.keys = slices.Insert(n.keys, i, legs[last].name)
		n.values = slices.Insert(n.values, i, v)
	case op == diffInsert && !n.object:
		n.values = slices.Insert(n.values, i, v)
	case op > diffRemove:
		return badJSON("the operation %d", op)
	default:
		return errNoPath
	}
	return nil
}

// node prints a document that may have been opened in parts.
func (p *jsonPrinter) node(n *jsonNode, depth int) error {
	if !n.opened {
		return p.value(n.typ, n.data, depth)
	}
	if depth == maxJSONDepth {
		return badJSON("nested deeper than %d", maxJSONDepth)
	}
	brackets := "[]"
	if n.object {
		brackets = "{}"
	}
	p.out = append(p.out, brackets[0])
	for i, v := range n.values {
		if i > 0 {
			p.out = append(p.out, p.comma...)
		}
		if n.object {
			if err := p.text(n.keys[i]); err != nil {
				return err
			}
			p.out = append(p.out, p.colon...)
		}
		if err := p.node(v, depth+1); err != nil {
			return err
		}
	}
	p.out = append(p.out, brackets[1])
	return nil
}
