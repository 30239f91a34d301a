package plain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/avro"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// field is a column as a member of an object or a line.
type field struct {
	column int    // its number in the table
	name   []byte // what stands before a value: "name": in objects, the branch of Avro's union
	empty  []byte // what stands for NULL, nil where nothing can
	value  value
	null   cell.Validity
}

func newField(name string, v value) field {
	name = string(append(appendString(nil, name), ':'))
	return field{name: []byte(name), empty: []byte(name + "null"), value: v}
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
	csv    *csvText // nil: objects, or Avro
	avro   bool
	record []avro.Field // of Avro's schema
	omit   bool         // what the server did not send is left out
}

// newRowWriter returns a writer of columns of a table, given by their numbers. name is
// that of Avro's record.
func newRowWriter(t *schema.Table, f Format, name string, j JSONOptions, c CSVOptions, columns []int) (*rowWriter, error) {
	w := &rowWriter{table: t, json: j, avro: f == Avro}
	if f == CSV {
		w.csv = newCSVText(c)
	}
	for _, i := range columns {
		fd, err := w.field(t.Columns[i], name, c)
		if err != nil {
			return nil, &TableError{Table: t.ID.String(), Column: t.Columns[i].Name, Msg: err.Error(),
				Hint: "leave the column out by a projection, or choose another format"}
		}
		fd.column = i
		w.fields = append(w.fields, fd)
	}
	return w, nil
}

// field returns a column's field.
func (w *rowWriter) field(c schema.Column, name string, o CSVOptions) (field, error) {
	switch {
	case w.csv != nil:
		v, err := o.value(c.Type, w.csv)
		return field{value: v, empty: []byte(w.csv.o.Null)}, err
	case !w.avro:
		v, err := w.json.value(c.Type)
		return newField(c.Name, v), err
	}
	v, text, err := avro.New(c.Type, name+"_"+c.Name)
	fd := field{value: cellValue{v}}
	if c.Nullable {
		fd.name, fd.empty = avro.Value, avro.Null
	}
	w.record = append(w.record, avro.Field{Name: c.Name, Type: text, Nullable: c.Nullable})
	return fd, err
}

// cellValue is a cell that needs nothing around.
type cellValue struct{ cell cell.Cell }

func (v cellValue) bind(col arrow.Array) { v.cell.Bind(col) }

func (v cellValue) append(dst []byte, i int) ([]byte, error) { return v.cell.Append(dst, i) }

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
		if null && w.csv == nil && w.json.IgnoreNulls && !w.avro {
			continue
		}
		if !first && !w.avro {
			dst = append(dst, w.delimiter())
		}
		first = false
		switch {
		case !null:
			if dst, err = f.value.append(append(dst, f.name...), i); err != nil {
				return dst, w.fail(f, i, err)
			}
		case f.empty == nil:
			return dst, w.fail(f, i, ErrNull)
		default:
			dst = append(dst, f.empty...)
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

// schema returns the schema of a row in Avro, with fields behind the columns, empty in another
// format.
func (w *rowWriter) schema(name string, more []avro.Field) (string, error) {
	if !w.avro {
		return "", nil
	}
	text, err := avro.Record(name, slices.Concat(w.record, more))
	if bad := (*avro.NameError)(nil); errors.As(err, &bad) {
		return "", &TableError{Table: w.table.ID.String(), Column: bad.Name, Msg: err.Error(), Hint: "rename it by a projection, or choose another format"}
	}
	return text, err
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
	frame    []byte // what stands before the key
	open     []byte // what stands before the columns
	objects  bool
	nothing  bool // in front of the columns
	columned bool // the columns are not the table's own key
}

// NewKey returns the writer of a table's keys, nil for a table without any.
func NewKey(t *schema.Table, o KeyOptions) (*Key, error) {
	o.Format, o.JSON, o.CSV = orElse(o.Format, JSON), o.JSON.withDefaults(), o.CSV.withDefaults()
	if err := oneOf("key.format", string(o.Format), string(JSON), string(CSV), string(Avro)); err != nil {
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
	w, err := newRowWriter(t, o.Format, o.Name, o.JSON, o.CSV, columns)
	if err != nil {
		return nil, err
	}
	k := &Key{row: w, objects: o.Format == JSON, nothing: !o.TableID, columned: o.Columns != nil}
	if k.objects {
		k.open = append(k.open, '{')
	}
	switch {
	case !o.TableID:
	case k.objects:
		k.open = appendString(append(k.open, `"TableId":`...), t.ID.String())
	case o.Format == Avro:
		w.record = append([]avro.Field{{Name: "TableId", Type: `"string"`}}, w.record...)
		k.open = avro.AppendString(nil, t.ID.String())
	default:
		if k.open, err = w.csv.finish(append(k.open, t.ID.String()...), 0); err != nil {
			return nil, fmt.Errorf("table %s: its name as part of the key: %w", t.ID, err)
		}
	}
	return k, nil
}

// Schema returns the schema of keys in Avro, empty in another format.
func (k *Key) Schema(name string) (string, error) { return k.row.schema(name, nil) }

// Frame puts something in front of each key.
func (k *Key) Frame(b []byte) { k.frame = b }

// Bind takes up the rows of a record.
func (k *Key) Bind(rec arrow.RecordBatch) { k.row.bind(rec) }

// Append appends the key of row i.
func (k *Key) Append(dst []byte, i int) ([]byte, error) {
	dst, err := k.row.append(append(append(dst, k.frame...), k.open...), i, k.nothing, nil)
	if err == nil && k.objects {
		dst = append(dst, '}')
	}
	return dst, err
}

// errOrder is a mistake of the caller.
var errOrder = errors.New("plain: rows are not selected in order")
