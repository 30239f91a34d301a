package debezium

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
)

// field is a column as a member of an object.
type field struct {
	column  int    // its number in the table
	name    []byte // "name":
	null    string // what stands for NULL
	missing string
	cell    cell
	valid   validity
}

// newField makes a field. A NULL becomes the default where there is one, unless
// keepNulls is set, and where it can't be null something that the type allows.
func newField(name string, m mapping, keepNulls bool) field {
	f := field{name: append(appendString(nil, name), ':'), cell: m.cell, null: "null", missing: m.missing}
	switch {
	case m.def != nil && !(keepNulls && m.optional):
		f.null = string(m.def)
	case !m.optional:
		f.null = m.zero
	}
	return f
}

func (f *field) bind(col arrow.Array) {
	f.valid = validityOf(col)
	f.cell.bind(col)
}

func (f *field) append(dst []byte, i int) ([]byte, error) {
	dst = append(dst, f.name...)
	if f.valid.null(i) {
		return append(dst, f.null...), nil
	}
	return f.cell.append(dst, i)
}

// rowWriter prints rows of a record as objects.
type rowWriter struct {
	table  *schema.Table
	fields []field
}

func (w *rowWriter) bind(rec arrow.RecordBatch) {
	for i := range w.fields {
		w.fields[i].bind(rec.Column(w.fields[i].column))
	}
}

// append prints row i; unchanged are the cells that the server did not send.
func (w *rowWriter) append(dst []byte, i int, unchanged []schema.Cell) (_ []byte, err error) {
	if len(w.fields) == 0 {
		return append(dst, "{}"...), nil
	}
	for n := range w.fields {
		f := &w.fields[n]
		dst = append(dst, "{,"[min(n, 1)])
		if len(unchanged) > 0 && isUnchanged(unchanged, f.column) {
			if dst = append(append(dst, f.name...), f.missing...); f.missing == "" {
				err = ErrUnavailable
			}
		} else {
			dst, err = f.append(dst, i)
		}
		if err != nil {
			return dst, &ValueError{Table: w.table.ID.String(), Column: w.table.Columns[f.column].Name, Row: i, Err: err, Hint: hintOf(err)}
		}
	}
	return append(dst, '}'), nil
}

func isUnchanged(cells []schema.Cell, column int) bool {
	for _, c := range cells {
		if int(c.Column) == column {
			return true
		}
	}
	return false
}
