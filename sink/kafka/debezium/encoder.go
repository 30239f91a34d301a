package debezium

import (
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// Encoder writes the messages of one version of a table. It is used by one
// goroutine at a time.
type Encoder struct {
	o     Options
	table *schema.Table
	// The row after a change and before it, and the keys of both.
	after, before, key, keyBefore rowWriter
	keyed                         bool
	leftOut                       []string

	// What stands around keys and values.
	keyOpen, valueOpen, end []byte
	source                  sourceBlock
	context                 []headerSpan
	flat                    *flattener // nil: envelopes
	outbox                  *outbox    // nil: a table like others
	keyTail                 []byte     // what Options.KeyField adds to a key, and its end
	times                   []byte     // the end of the envelope
}

// New returns an encoder for a table. topic is the name that the table's topic
// would have in Debezium, prefix and all: its schemas are named by it.
func New(t *schema.Table, topic string, o Options) (*Encoder, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	e := &Encoder{o: o, table: t, source: newSourceBlock(&o, t.ID)}
	topic = o.SchemaNames.schema(topic)
	row := plain("struct")
	row.name, row.optional = topic+".Value", true
	if err := e.columns(&row); err != nil {
		return nil, err
	}
	key := plain("struct")
	key.name = topic + ".Key"
	if err := e.keys(&key); err != nil {
		return nil, err
	}
	if f := o.KeyField; f != nil && e.keyed {
		key.fields = append(key.fields, connectField{f.Name, plain("string")})
		e.keyTail = append(appendString(append(appendString([]byte{','}, f.Name), ':'), f.Value), '}')
	}
	if o.Context != nil {
		e.context = o.Context.headers(&o)
	}
	if o.Outbox != nil {
		var err error
		if e.outbox, err = newOutbox(e); err != nil {
			return nil, err
		}
	}
	value := envelopeType(&o, topic, row)
	if o.Flatten != nil {
		var err error
		if e.flat, err = newFlattener(&o, e.table); err != nil {
			return nil, err
		}
		value = e.flat.valueType(row)
	}
	if o.Schemas {
		e.keyOpen = append(key.appendSchema([]byte(`{"schema":`), ""), `,"payload":`...)
		e.valueOpen = append(value.appendSchema([]byte(`{"schema":`), ""), `,"payload":`...)
		e.end = []byte{'}'}
	}
	return e, nil
}

// LeftOut names the columns that the messages do not have, because Debezium knows
// no form for their type.
func (e *Encoder) LeftOut() []string { return e.leftOut }

// columns fills the writers of whole rows, and the fields of their type.
func (e *Encoder) columns(row *connectType) error {
	e.after.table, e.before.table = e.table, e.table
	for i, c := range e.table.Columns {
		for _, w := range []*rowWriter{&e.after, &e.before} { // each has cells of its own
			m, ok, err := e.column(c)
			if err != nil {
				return err
			}
			if !ok {
				if w == &e.after {
					e.leftOut = append(e.leftOut, c.Name)
				}
				continue
			}
			e.o.convertZone(c, &m)
			f := newField(e.o.FieldNames.field(c.Name), m, e.o.KeepNulls)
			f.column = i
			w.fields = append(w.fields, f)
			if w == &e.after {
				m.params = append(m.params, e.o.sourceParams(c)...)
				row.fields = append(row.fields, connectField{e.o.FieldNames.field(c.Name), m.connectType})
			}
		}
	}
	return nil
}

// column maps a column of the table, with its default and comment.
func (e *Encoder) column(c schema.Column) (mapping, bool, error) {
	m, ok, err := e.o.describe(c)
	if err != nil {
		return m, false, &TableError{Table: e.table.ID.String(), Column: c.Name, Msg: err.Error(), Hint: "leave the column out by a projection, or choose another format"}
	}
	m.optional = c.Nullable
	if e.o.Comments {
		m.doc = c.Comment
	}
	if ok {
		m.def = e.o.defaultOf(c, m)
	}
	return m, ok, nil
}

// keys fills the writers of keys in key order, and the fields of their type.
func (e *Encoder) keys(key *connectType) error {
	if e.o.UniqueKeys && e.o.KeyColumns == nil && !e.table.HasKey() {
		e.o.KeyColumns = e.table.UniqueKey
	}
	columns := e.o.KeyColumns
	if columns == nil {
		columns = e.table.PrimaryKey
	}
	e.keyed = len(columns) > 0
	e.key.table, e.keyBefore.table = e.table, e.table
	for _, name := range columns {
		c, i := e.table.Column(name)
		if i < 0 {
			return &TableError{Table: e.table.ID.String(), Column: name, Msg: "the key has a column that is not there", Hint: "look at message.key.columns"}
		}
		for _, w := range []*rowWriter{&e.key, &e.keyBefore} {
			m, ok, err := e.column(c)
			if err != nil {
				return err
			}
			if !ok {
				return &TableError{Table: e.table.ID.String(), Column: name, Msg: fmt.Sprintf("the key has a column of type %s, for which Debezium has no form", c.Source.Name),
					Hint: "choose another key by message.key.columns, or set include.unknown.datatypes"}
			}
			f := newField(e.o.FieldNames.field(name), m, e.o.KeepNulls)
			f.column = i
			w.fields = append(w.fields, f)
			if w == &e.key {
				key.fields = append(key.fields, connectField{e.o.FieldNames.field(name), m.connectType})
			}
		}
	}
	return nil
}

// envelopeType is the schema of values.
func envelopeType(o *Options, topic string, row connectType) connectType {
	optional := plain("int64")
	optional.optional = true
	block := connectType{typ: "struct", name: "event.block", version: 1, optional: true, fields: []connectField{
		{"id", plain("string")}, {"total_order", plain("int64")}, {"data_collection_order", plain("int64")}}}
	return connectType{typ: "struct", name: topic + ".Envelope", version: 2, fields: []connectField{
		{"before", row}, {"after", row}, {"source", sourceType(o)}, {"transaction", block}, {"op", plain("string")},
		{"ts_ms", optional}, {"ts_us", optional}, {"ts_ns", optional}}}
}

// Append appends the messages of a batch's rows, of those in selected or, where that
// is nil, of all. now is the time of processing in nanoseconds since 1970.
func (e *Encoder) Append(out *Output, b *schema.Batch, selected []int32, origin Origin, now int64) error {
	e.after.bind(b.Record)
	e.key.bind(b.Record)
	if e.outbox != nil {
		e.outbox.bind(b)
	}
	if b.Before != nil {
		e.before.bind(b.Before)
		e.keyBefore.bind(b.Before)
	}
	r := run{e: e, out: out, b: b, origin: &origin, tx: -1, query: -1}
	if b.Origin != nil {
		r.origin = b.Origin
	}
	r.stamp(now)
	if selected == nil {
		for i := range b.Rows() {
			if err := r.row(i); err != nil {
				return err
			}
		}
		return nil
	}
	if !slices.IsSorted(selected) {
		return fmt.Errorf("debezium: rows of %s are not selected in order", e.table.ID)
	}
	for _, i := range selected {
		if err := r.row(int(i)); err != nil {
			return err
		}
	}
	return nil
}
