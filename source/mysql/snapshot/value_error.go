package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// ValueError is a value of a row that its column's type can't hold.
type ValueError struct {
	Column string
	// Key shows the row's key as column=value, empty for a table without one.
	Key string
	Err error
}

func (e *ValueError) Error() string {
	where := "column " + e.Column
	if e.Key != "" {
		where += ", row " + e.Key
	}
	return fmt.Sprintf("%s: %v", where, e.Err)
}

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// valueError names the column and the row of a value that can't be read; p is the row.
func (d *decoder) valueError(p []byte, column int, cause error) error {
	e := &ValueError{Column: d.table.Columns[column].Name, Err: cause}
	keys := d.table.KeyIndexes()
	parts := make([]string, len(keys))
	bitmap, p := p[1:d.nulls], p[d.nulls:]
	for i := range d.cells {
		if bit := i + 2; bitmap[bit>>3]>>(bit&7)&1 != 0 {
			continue
		}
		v, rest, err := d.cells[i].next(p)
		if err != nil {
			return err
		}
		p = rest
		if at := slices.Index(keys, i); at >= 0 {
			if text, err := d.print(i, v); err == nil {
				parts[at] = d.table.Columns[i].Name + "=" + text
			}
		}
	}
	e.Key = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
	return e
}

// next cuts a value off.
func (c *cell) next(p []byte) (v, rest []byte, err error) {
	if c.size == 0 {
		v, null, rest, err := wire.NextCell(p)
		if err == nil && null {
			err = errRowEnd
		}
		return v, rest, err
	}
	if len(p) < c.size {
		return nil, nil, errRowEnd
	}
	return p[:c.size], p[c.size:], nil
}

// print shows a value of column i.
func (d *decoder) print(i int, v []byte) (string, error) {
	b := array.NewBuilder(memory.DefaultAllocator, d.table.Columns[i].Type.Arrow())
	defer b.Release()
	c := &d.cells[i]
	read, err := value.NewBinaryReader(d.table.Columns[i], c.typ, c.unsigned, b, d.values)
	if err != nil {
		return "", err
	}
	if err := read(v); err != nil {
		return "", err
	}
	a := b.NewArray()
	defer a.Release()
	return a.ValueStr(0), nil
}
