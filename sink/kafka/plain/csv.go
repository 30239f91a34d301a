package plain

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// maxUnquoted is the number of UTF-16 characters up to which a text is looked at, by
// Jackson, whether it needs quotes; a longer one has them.
const maxUnquoted = 24

// csvText says how the text of a field is written.
type csvText struct {
	o       CSVOptions
	quotes  [256]bool // the bytes that bring quotes
	scratch []byte
}

func newCSVText(o CSVOptions) *csvText {
	t := &csvText{o: o}
	for c := range utf8.RuneSelf {
		b := byte(c)
		t.quotes[c] = b <= max(o.Delimiter, o.Quote) || b == '\\' || o.Escape != 0 && b == o.Escape
	}
	return t
}

// finish quotes or escapes the text behind dst[:start] as far as that is needed.
func (t *csvText) finish(dst []byte, start int) ([]byte, error) {
	if t.o.NoQuote {
		return t.bare(dst, start)
	}
	text := dst[start:]
	if string(text) != t.o.Null && !t.needsQuotes(text) {
		return dst, nil
	}
	t.scratch = append(t.scratch[:0], text...)
	dst = append(dst[:start], t.o.Quote)
	for _, c := range t.scratch {
		if c == t.o.Quote || t.o.Escape != 0 && c == t.o.Escape {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, t.o.Quote), nil
}

func (t *csvText) needsQuotes(text []byte) bool {
	units := 0
	for _, c := range text {
		if t.quotes[c] {
			return true
		}
		if c < 0x80 || c >= 0xc0 { // the first byte of a character
			units++
		}
		if c >= 0xf0 { // two of UTF-16
			units++
		}
	}
	return units > maxUnquoted
}

// bare writes a text without quotes, with an escape before what would be misread.
func (t *csvText) bare(dst []byte, start int) ([]byte, error) {
	special := func(c byte) bool {
		return c == t.o.Delimiter || c == '\n' || c == '\r' || t.o.Escape != 0 && c == t.o.Escape
	}
	text := dst[start:]
	if string(text) == t.o.Null && t.o.Null != "" {
		return dst, ErrUnquoted
	}
	if bytes.IndexFunc(text, func(r rune) bool { return r < utf8.RuneSelf && special(byte(r)) }) < 0 {
		return dst, nil
	}
	if t.o.Escape == 0 {
		return dst, ErrUnquoted
	}
	t.scratch = append(t.scratch[:0], text...)
	dst = dst[:start]
	for _, c := range t.scratch {
		if special(c) {
			dst = append(dst, t.o.Escape)
		}
		dst = append(dst, c)
	}
	return dst, nil
}

// csvScalar writes a field that is one value.
type csvScalar struct {
	cell  cell.Cell
	class cell.Class
	text  *csvText
}

func (o CSVOptions) value(t schema.Type, text *csvText) (value, error) {
	switch t.Kind {
	case schema.KindMap:
		return nil, fmt.Errorf("type %s has no form in CSV", t)
	case schema.KindArray:
		c, class, err := o.scalar(*t.Elem)
		return &csvList{elem: csvElement{cell: c, class: class}, text: text}, err
	case schema.KindRow:
		row := &csvRow{text: text}
		for _, f := range t.Fields {
			c, class, err := o.scalar(f.Type)
			if err != nil {
				return nil, err
			}
			row.elems = append(row.elems, csvElement{cell: c, class: class})
		}
		return row, nil
	}
	c, class, err := o.scalar(t)
	return &csvScalar{cell: c, class: class, text: text}, err
}

func (o CSVOptions) scalar(t schema.Type) (cell.Cell, cell.Class, error) {
	switch t.Kind {
	case schema.KindArray, schema.KindMap, schema.KindRow:
		return nil, 0, fmt.Errorf("type %s has no form inside of another in CSV", t)
	}
	return cell.New(t, cell.Options{Scientific: !o.PlainDecimals})
}

func (v *csvScalar) bind(col arrow.Array) { v.cell.Bind(col) }

func (v *csvScalar) append(dst []byte, i int) ([]byte, error) {
	start := len(dst)
	dst, err := v.cell.Append(dst, i)
	if err != nil || v.class < cell.Simple && string(dst[start:]) != v.text.o.Null {
		return dst, err
	}
	return v.text.finish(dst, start)
}

// csvElement writes an element of a field.
type csvElement struct {
	cell  cell.Cell
	class cell.Class
	null  cell.Validity
}

func (e *csvElement) bind(col arrow.Array) {
	e.null = cell.ValidityOf(col)
	e.cell.Bind(col)
}

func (e *csvElement) append(dst []byte, i int, o *CSVOptions) ([]byte, error) {
	if e.null.Null(i) {
		return append(dst, o.Null...), nil
	}
	start := len(dst)
	dst, err := e.cell.Append(dst, i)
	if err == nil && (string(dst[start:]) == o.Null || bytes.Contains(dst[start:], []byte(o.Elements))) {
		err = ErrElement
	}
	return dst, err
}

// csvList writes an array as its elements with a delimiter between them.
type csvList struct {
	col  *array.List
	elem csvElement
	text *csvText
}

func (v *csvList) bind(col arrow.Array) {
	v.col = col.(*array.List)
	v.elem.bind(v.col.ListValues())
}

func (v *csvList) append(dst []byte, i int) (_ []byte, err error) {
	at := len(dst)
	start, end := v.col.ValueOffsets(i)
	if end == start+1 && v.text.o.Null == "" && v.elem.null.Null(int(start)) {
		return dst, fmt.Errorf("element 0: %w", ErrElement) // it would read as an array without elements
	}
	for j := start; j < end; j++ {
		if j > start {
			dst = append(dst, v.text.o.Elements...)
		}
		if dst, err = v.elem.append(dst, int(j), &v.text.o); err != nil {
			return dst, fmt.Errorf("element %d: %w", j-start, err)
		}
	}
	return v.text.finish(dst, at)
}

// csvRow writes a row in a row as an array.
type csvRow struct {
	elems []csvElement
	text  *csvText
}

func (v *csvRow) bind(col arrow.Array) {
	s := col.(*array.Struct)
	for i := range v.elems {
		v.elems[i].bind(s.Field(i))
	}
}

func (v *csvRow) append(dst []byte, i int) (_ []byte, err error) {
	at := len(dst)
	for n := range v.elems {
		if n > 0 {
			dst = append(dst, v.text.o.Elements...)
		}
		if dst, err = v.elems[n].append(dst, i, &v.text.o); err != nil {
			return dst, fmt.Errorf("field %d: %w", n, err)
		}
	}
	return v.text.finish(dst, at)
}
