package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"
)

// valueError names the column and the row of a value that can't be appended. values
// are the fields of the row's columns.
func (d *copyDecoder) valueError(values []byte, column int, cause error) error {
	name := d.table.Columns[column].Name
	if errors.Is(cause, errCopyFormat) { // the stream is broken, and another one need not be
		return fmt.Errorf("table %s, column %s: %w", d.table.ID, name, cause)
	}
	e := &ValueError{Table: d.table.ID, Column: name, Err: cause}
	var parts []string
	keys := d.table.KeyIndexes()
	for i := range d.fields {
		var v []byte
		v, values = nextField(values)
		if slices.Contains(keys, i) {
			parts = append(parts, d.table.Columns[i].Name+"="+d.print(i, v))
		}
	}
	e.Key = strings.Join(parts, ", ")
	return e
}

// print shows a value of column i, "?" where it can't be read.
func (d *copyDecoder) print(i int, v []byte) string {
	mem := memory.NewGoAllocator()
	b := array.NewBuilder(mem, d.table.Columns[i].Type.Arrow())
	defer b.Release()
	field, col := d.field(mem, i, b)
	if v == nil || field.appendValue(v) != nil {
		return "?"
	}
	newArray := b.NewArray
	if col != nil {
		newArray = col.newArray
	}
	a := newArray()
	defer a.Release()
	if u, ok := a.(*array.FixedSizeBinary); ok {
		return uuid.UUID(u.Value(0)).String()
	}
	return a.ValueStr(0)
}
