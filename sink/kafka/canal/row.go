package canal

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// field is a column as a member of an object.
type field struct {
	mapping
	name []byte // "name":
	null cell.Validity
}

// rowWriter prints rows of a record as objects of texts.
type rowWriter struct {
	table   *schema.Table
	fields  []field // one for each column
	omit    bool    // what the server did not send is left out
	scratch []byte
}

func newRowWriter(t *schema.Table, o *Options) (*rowWriter, error) {
	w := &rowWriter{table: t, omit: o.OmitUnchanged}
	for _, c := range t.Columns {
		m, err := o.describe(c)
		if err != nil {
			return nil, &plain.TableError{Table: t.ID.String(), Column: c.Name, Msg: err.Error(),
				Hint: "leave the column out by a projection, or choose another format"}
		}
		w.fields = append(w.fields, field{mapping: m, name: append(appendString(nil, c.Name), ':')})
	}
	return w, nil
}

func (w *rowWriter) bind(rec arrow.RecordBatch) {
	for i := range w.fields {
		w.fields[i].null = cell.ValidityOf(rec.Column(i))
		w.fields[i].cell.Bind(rec.Column(i))
	}
}

// value appends the value of column n in row i.
func (w *rowWriter) value(dst []byte, n, i int) ([]byte, error) {
	f := &w.fields[n]
	if f.null.Null(i) {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '"')
	start := len(dst)
	dst, err := f.cell.Append(dst, i)
	if err != nil {
		return dst, w.fail(n, i, err)
	}
	if f.class == cell.Free {
		dst, w.scratch = javatext.Fastjson.Behind(dst, start, w.scratch)
	}
	return append(dst, '"'), nil
}

func (w *rowWriter) fail(n, row int, err error) error {
	return plain.NewValueError(w.table.ID.String(), w.table.Columns[n].Name, row, err)
}

// append prints row i and sets where each column's value lies, plain.None for those that
// are left out; unchanged are the cells that the server did not send.
func (w *rowWriter) append(dst []byte, i int, unchanged []schema.Cell, at []plain.Span) (_ []byte, err error) {
	dst = append(dst, '{')
	body := len(dst)
	for n := range w.fields {
		at[n] = plain.None
		if len(unchanged) > 0 && isUnchanged(unchanged, n) {
			if w.omit {
				continue
			}
			return dst, w.fail(n, i, plain.ErrUnavailable)
		}
		if len(dst) > body {
			dst = append(dst, ',')
		}
		dst = append(dst, w.fields[n].name...)
		start := len(dst)
		if dst, err = w.value(dst, n, i); err != nil {
			return dst, err
		}
		at[n] = plain.Span{Start: start, End: len(dst)}
	}
	return append(dst, '}'), nil
}

// appendChanged prints those columns of row i that differ from what lies at the places.
func (w *rowWriter) appendChanged(dst []byte, i int, at []plain.Span) (_ []byte, err error) {
	dst = append(dst, '{')
	body := len(dst)
	for n := range w.fields {
		if at[n] == plain.None { // the server did not send it, since it had not changed
			continue
		}
		end := len(dst)
		if end > body {
			dst = append(dst, ',')
		}
		dst = append(dst, w.fields[n].name...)
		start := len(dst)
		if dst, err = w.value(dst, n, i); err != nil {
			return dst, err
		}
		if bytes.Equal(dst[start:], dst[at[n].Start:at[n].End]) {
			dst = dst[:end]
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
