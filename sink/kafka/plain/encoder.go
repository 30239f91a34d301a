package plain

import (
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/avro"
)

// Encoder writes the messages of one version of a table. It is used by one goroutine at
// a time.
type Encoder struct {
	o     Options
	table *schema.Table
	// The row after a change and before it, and the keys of both; no keys for a table
	// without any.
	after, before  *rowWriter
	key, keyBefore *Key
	meta           []metaField
	frame          []byte // what stands before values
}

// metaField is a field of metadata. Its value is fixed, or printed for each row.
type metaField struct {
	kind  Metadata
	name  []byte // "name":
	fixed []byte
}

// New returns an encoder for a table.
func New(t *schema.Table, o Options) (*Encoder, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	e := &Encoder{o: o, table: t}
	columns := make([]int, len(t.Columns))
	for i := range columns {
		columns[i] = i
	}
	var err error
	for _, w := range []**rowWriter{&e.after, &e.before} { // each has scratch space of its own
		if *w, err = newRowWriter(t, o.Format, o.Name, o.JSON, o.CSV, columns); err != nil {
			return nil, err
		}
		(*w).omit = o.OmitUnchanged
	}
	for _, k := range []**Key{&e.key, &e.keyBefore} {
		if *k, err = NewKey(t, o.Key); err != nil {
			return nil, err
		}
	}
	for _, m := range o.Metadata {
		f, err := e.metadata(m)
		if err != nil {
			return nil, err
		}
		e.meta = append(e.meta, f)
	}
	return e, nil
}

func (e *Encoder) metadata(m Metadata) (metaField, error) {
	name := e.o.Prefix + string(m)
	if _, i := e.table.Column(name); i >= 0 && e.o.Format != CSV {
		return metaField{}, &TableError{Table: e.table.ID.String(), Column: name, Msg: "it has the name of a field of metadata", Hint: "choose another value.metadata.prefix"}
	}
	f := metaField{kind: m, name: append(appendString(nil, name), ':')}
	id, text := e.table.ID, ""
	switch m {
	case MetaDatabase:
		text = id.Namespace
	case MetaSchema:
		text = id.Schema
	case MetaTable:
		text = id.Table
	default:
		return f, nil
	}
	var err error
	switch e.o.Format {
	case JSON:
		f.fixed = appendString(nil, text)
		return f, nil
	case Avro:
		f.fixed = avro.AppendString(nil, text)
		return f, nil
	}
	if f.fixed, err = e.after.csv.finish([]byte(text), 0); err != nil {
		return f, fmt.Errorf("table %s: a part of its name as metadata: %w", id, err)
	}
	return f, nil
}

// Schemas returns the schemas of keys and values in Avro, each empty where the format is
// another one or there are no keys.
func (e *Encoder) Schemas() (key, value string, err error) {
	var fields []avro.Field
	for _, m := range e.meta {
		f := avro.Field{Name: e.o.Prefix + string(m.kind), Type: `"string"`}
		switch m.kind {
		case MetaOpTime, MetaTime:
			f.Type = `{"type":"long","logicalType":"timestamp-millis"}`
		case MetaPosition:
			f.Type, f.Nullable = `"long"`, true
		case MetaTransaction:
			f.Type = `"long"`
		}
		fields = append(fields, f)
	}
	if value, err = e.after.schema(e.o.Name, fields); err == nil && e.key != nil {
		key, err = e.key.Schema(e.o.Key.Name)
	}
	return key, value, err
}

// Frame puts something in front of each key and each value, as a registry's header.
func (e *Encoder) Frame(key, value []byte) {
	e.frame = value
	if e.key != nil {
		e.key.Frame(key)
		e.keyBefore.Frame(key)
	}
}

// Append appends the messages of a batch's rows, of those in selected or, where that
// is nil, of all. now is the time of processing in nanoseconds since 1970.
func (e *Encoder) Append(out *Output, b *schema.Batch, selected []int32, now int64) error {
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
	r := run{e: e, out: out, b: b, now: now, runs: Runs{Batch: b}}
	if selected == nil {
		for i := range b.Rows() {
			if err := r.row(i); err != nil {
				return err
			}
		}
		return nil
	}
	if !slices.IsSorted(selected) {
		return fmt.Errorf("%w: table %s", errOrder, e.table.ID)
	}
	for _, i := range selected {
		if err := r.row(int(i)); err != nil {
			return err
		}
	}
	return nil
}
