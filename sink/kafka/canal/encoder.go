package canal

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// Encoder writes the messages of one version of a table. It is used by one goroutine at
// a time.
type Encoder struct {
	table *schema.Table
	// The row after a change and before it, and the keys of both; no keys for a table
	// without any.
	after, before  *rowWriter
	key, keyBefore *plain.Key
	at             []plain.Span // where the values of the present message lie

	// What stands between the parts of a message, which fastjson sorts by their names.
	database, types, keys, name []byte
	varies                      bool // the sqlTypes depend on values
}

// New returns an encoder for a table.
func New(t *schema.Table, o Options) (*Encoder, error) {
	e := &Encoder{table: t, at: make([]plain.Span, len(t.Columns))}
	var err error
	for _, w := range []**rowWriter{&e.after, &e.before} { // each has scratch space of its own
		if *w, err = newRowWriter(t, &o); err != nil {
			return nil, err
		}
	}
	for _, k := range []**plain.Key{&e.key, &e.keyBefore} {
		if *k, err = plain.NewKey(t, o.Key); err != nil {
			return nil, err
		}
	}
	e.database = append(appendString([]byte(`],"database":`), t.ID.Schema), `,"es":`...)
	e.types = []byte(`,"id":0,"isDdl":false,"mysqlType":{`)
	for i, c := range t.Columns {
		if i > 0 {
			e.types = append(e.types, ',')
		}
		e.types = appendString(append(e.types, e.after.fields[i].name...), columnType(c))
		e.varies = e.varies || e.after.fields[i].limit != ""
	}
	e.types = append(e.types, `},"old":`...)
	e.keys = append(e.pkNames([]byte(`,"pkNames":`)), `,"sql":"","sqlType":{`...)
	e.name = append(appendString([]byte(`},"table":`), t.ID.Table), `,"ts":`...)
	if !e.varies {
		e.keys = e.sqlTypes(e.keys, nil)
	}
	return e, nil
}

func (o *Options) zone() *time.Location {
	if o.Zone == nil {
		return time.UTC
	}
	return o.Zone
}

func (e *Encoder) pkNames(dst []byte) []byte {
	if !e.table.HasKey() {
		return append(dst, "null"...)
	}
	for i, name := range e.table.PrimaryKey {
		dst = appendString(append(dst, "[,"[min(i, 1)]), name)
	}
	return append(dst, ']')
}

// sqlTypes appends the types of JDBC of the present message, whose data lies in data.
func (e *Encoder) sqlTypes(dst, data []byte) []byte {
	for i := range e.after.fields {
		f := &e.after.fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		sqlType := f.sqlType
		if f.limit != "" && e.at[i] != plain.None && exceeds(data[e.at[i].Start:e.at[i].End], f.limit) {
			sqlType = f.above
		}
		dst = strconv.AppendInt(append(dst, f.name...), int64(sqlType), 10)
	}
	return dst
}

// exceeds reports whether a number in quotes is larger than limit. A NULL is not.
func exceeds(quoted []byte, limit string) bool {
	if quoted[0] != '"' {
		return false
	}
	number := quoted[1 : len(quoted)-1]
	return len(number) > len(limit) || len(number) == len(limit) && string(number) > limit
}

// Append appends the messages of a batch's rows, of those in selected or, where that
// is nil, of all. now is the time of processing in nanoseconds since 1970.
func (e *Encoder) Append(out *plain.Output, b *schema.Batch, selected []int32, origin Origin, now int64) error {
	e.after.bind(b.Record)
	if b.Before != nil {
		e.before.bind(b.Before)
	}
	if e.key != nil {
		e.key.Bind(b.Record)
		if b.Before != nil {
			e.keyBefore.Bind(b.Before)
		}
	}
	r := run{e: e, out: out, b: b, origin: origin, now: now, runs: plain.Runs{Batch: b}}
	if selected == nil {
		for i := range b.Rows() {
			if err := r.row(i); err != nil {
				return err
			}
		}
		return nil
	}
	if !slices.IsSorted(selected) {
		return fmt.Errorf("canal: rows of %s are not selected in order", e.table.ID)
	}
	for _, i := range selected {
		if err := r.row(int(i)); err != nil {
			return err
		}
	}
	return nil
}
