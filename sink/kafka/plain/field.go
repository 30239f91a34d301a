package plain

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// field is a column as a member of an object or a line.
type field struct {
	column int    // its number in the table
	name   []byte // "name": for objects
	value  value
	null   cell.Validity
}

func newField(name string, v value) field {
	return field{name: append(appendString(nil, name), ':'), value: v}
}

func (f *field) bind(col arrow.Array) {
	f.null = cell.ValidityOf(col)
	f.value.bind(col)
}

// rowWriter prints rows of a record as objects or lines.
type rowWriter struct {
	table  *schema.Table
	fields []field
	json   JSONOptions
	csv    *csvText // nil: objects
	omit   bool     // what the server did not send is left out
}

// newRowWriter returns a writer of columns of a table, given by their numbers.
func newRowWriter(t *schema.Table, f Format, j JSONOptions, c CSVOptions, columns []int) (*rowWriter, error) {
	w := &rowWriter{table: t, json: j}
	if f == CSV {
		w.csv = newCSVText(c)
	}
	for _, i := range columns {
		v, err := w.value(c, t.Columns[i].Type)
		if err != nil {
			return nil, &TableError{Table: t.ID.String(), Column: t.Columns[i].Name, Msg: err.Error(),
				Hint: "leave the column out by a projection, or choose another format"}
		}
		fd := newField(t.Columns[i].Name, v)
		fd.column = i
		w.fields = append(w.fields, fd)
	}
	return w, nil
}

func (w *rowWriter) value(c CSVOptions, t schema.Type) (value, error) {
	if w.csv != nil {
		return c.value(t, w.csv)
	}
	return w.json.value(t)
}

func (w *rowWriter) bind(rec arrow.RecordBatch) {
	for i := range w.fields {
		w.fields[i].bind(rec.Column(w.fields[i].column))
	}
}

// append prints the columns of row i, without braces; unchanged are the cells that the
// server did not send. first: nothing stands in front of them.
func (w *rowWriter) append(dst []byte, i int, first bool, unchanged []schema.Cell) (_ []byte, err error) {
	for n := range w.fields {
		f := &w.fields[n]
		if len(unchanged) > 0 && isUnchanged(unchanged, f.column) {
			if w.omit {
				continue
			}
			return dst, w.fail(f, i, ErrUnavailable)
		}
		null := f.null.Null(i)
		if null && w.csv == nil && w.json.IgnoreNulls {
			continue
		}
		if !first {
			dst = append(dst, w.delimiter())
		}
		first = false
		if w.csv == nil {
			dst = append(dst, f.name...)
		}
		switch {
		case !null:
			if dst, err = f.value.append(dst, i); err != nil {
				return dst, w.fail(f, i, err)
			}
		case w.csv != nil:
			dst = append(dst, w.csv.o.Null...)
		default:
			dst = append(dst, "null"...)
		}
	}
	return dst, nil
}

func (w *rowWriter) delimiter() byte {
	if w.csv != nil {
		return w.csv.o.Delimiter
	}
	return ','
}

func (w *rowWriter) fail(f *field, row int, err error) error {
	return NewValueError(w.table.ID.String(), w.table.Columns[f.column].Name, row, err)
}

func isUnchanged(cells []schema.Cell, column int) bool {
	for _, c := range cells {
		if int(c.Column) == column {
			return true
		}
	}
	return false
}

// Key writes the keys of a table's rows.
type Key struct {
	row      *rowWriter
	open     []byte // what stands before the columns
	objects  bool
	nothing  bool // in front of the columns
	columned bool // the columns are not the table's own key
}

// NewKey returns the writer of a table's keys, nil for a table without any.
func NewKey(t *schema.Table, o KeyOptions) (*Key, error) {
	o.Format, o.JSON, o.CSV = orElse(o.Format, JSON), o.JSON.withDefaults(), o.CSV.withDefaults()
	if err := oneOf("key.format", string(o.Format), string(JSON), string(CSV)); err != nil {
		return nil, err
	}
	if err := checkFormat(o.Format, o.JSON, o.CSV); err != nil {
		return nil, err
	}
	names := o.Columns
	if names == nil {
		names = t.PrimaryKey
	}
	if len(names) == 0 {
		return nil, nil
	}
	columns := make([]int, len(names))
	for i, name := range names {
		if _, columns[i] = t.Column(name); columns[i] < 0 {
			return nil, &TableError{Table: t.ID.String(), Column: name, Msg: "the key has a column that is not there", Hint: "look at message.key.columns"}
		}
	}
	w, err := newRowWriter(t, o.Format, o.JSON, o.CSV, columns)
	if err != nil {
		return nil, err
	}
	k := &Key{row: w, objects: o.Format == JSON, nothing: !o.TableID, columned: o.Columns != nil}
	if k.objects {
		k.open = append(k.open, '{')
	}
	if o.TableID && k.objects {
		k.open = appendString(append(k.open, `"TableId":`...), t.ID.String())
	} else if o.TableID {
		if k.open, err = w.csv.finish(append(k.open, t.ID.String()...), 0); err != nil {
			return nil, fmt.Errorf("table %s: its name as part of the key: %w", t.ID, err)
		}
	}
	return k, nil
}

// Bind takes up the rows of a record.
func (k *Key) Bind(rec arrow.RecordBatch) { k.row.bind(rec) }

// Append appends the key of row i.
func (k *Key) Append(dst []byte, i int) ([]byte, error) {
	dst, err := k.row.append(append(dst, k.open...), i, k.nothing, nil)
	if err == nil && k.objects {
		dst = append(dst, '}')
	}
	return dst, err
}

// errOrder is a mistake of the caller.
var errOrder = errors.New("plain: rows are not selected in order")
