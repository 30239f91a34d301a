package debezium

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// Outbox makes the rows of a table events of their own, as Debezium's EventRouter does: a
// row that is inserted gives its payload, to a topic that a column names. Everything else
// that happens to such a table gives nothing.
type Outbox struct {
	// The columns, by default those of Debezium: id, aggregateid, payload, aggregatetype.
	ID, Key, Payload, RouteBy string
	// Topic is what a topic's name begins with; by default "outbox.event.".
	Topic string
	// Tombstones gives a message without a value for an empty payload
	// (route.tombstone.on.empty.payload).
	Tombstones bool
	// Headers are more columns that become headers, with the names they get.
	Headers []OutboxHeader
}

// OutboxHeader is a column that becomes a header.
type OutboxHeader struct{ Column, Name string }

// outbox writes events of a table.
type outbox struct {
	o                       *Outbox
	id, key, payload        outboxField
	headers                 []outboxField
	route                   int // the column that names the topic
	topics                  map[string]string
	keyOpen, valueOpen, end []byte
}

// outboxField is a column, with the name of its header.
type outboxField struct {
	field
	header string
}

func (o Outbox) withDefaults() Outbox {
	for _, f := range []struct {
		p   *string
		def string
	}{{&o.ID, "id"}, {&o.Key, "aggregateid"}, {&o.Payload, "payload"}, {&o.RouteBy, "aggregatetype"}, {&o.Topic, "outbox.event."}} {
		if *f.p == "" {
			*f.p = f.def
		}
	}
	return o
}

func newOutbox(e *Encoder) (*outbox, error) {
	o := e.o.Outbox.withDefaults()
	x := &outbox{o: &o, topics: map[string]string{}}
	take := func(name string) (f outboxField, m mapping, err error) {
		c, i := e.table.Column(name)
		if i < 0 {
			return f, m, &TableError{Table: e.table.ID.String(), Column: name, Msg: "an outbox needs it, and it is not there", Hint: "look at the options of the outbox"}
		}
		m, ok, err := e.column(c)
		if err == nil && !ok {
			err = &TableError{Table: e.table.ID.String(), Column: name, Msg: fmt.Sprintf("Debezium has no form for type %s", c.Source.Name)}
		}
		f = outboxField{field: newField(name, m, e.o.KeepNulls)}
		f.column = i
		return f, m, err
	}
	var key, payload mapping
	var err error
	if x.id, _, err = take(o.ID); err != nil {
		return nil, err
	}
	x.id.header = "id"
	if x.key, key, err = take(o.Key); err != nil {
		return nil, err
	}
	if x.payload, payload, err = take(o.Payload); err != nil {
		return nil, err
	}
	route, _, err := take(o.RouteBy)
	if err != nil {
		return nil, err
	}
	if e.table.Columns[route.column].Type.Arrow().ID() != arrow.STRING {
		return nil, &TableError{Table: e.table.ID.String(), Column: o.RouteBy, Msg: "the column that names the topic is no text"}
	}
	x.route = route.column
	for _, h := range o.Headers {
		f, _, err := take(h.Column)
		if err != nil {
			return nil, err
		}
		if f.header = h.Name; f.header == "" {
			f.header = h.Column
		}
		x.headers = append(x.headers, f)
	}
	if e.o.Schemas {
		x.keyOpen = append(key.appendSchema([]byte(`{"schema":`), ""), `,"payload":`...)
		x.valueOpen = append(payload.appendSchema([]byte(`{"schema":`), ""), `,"payload":`...)
		x.end = []byte{'}'}
	}
	return x, nil
}

func (x *outbox) bind(b *schema.Batch) {
	for _, f := range []*outboxField{&x.id, &x.key, &x.payload} {
		f.field.bind(b.Record.Column(f.column))
	}
	for i := range x.headers {
		x.headers[i].field.bind(b.Record.Column(x.headers[i].column))
	}
}

// outboxValue appends a column's value.
func (r *run) outboxValue(f *outboxField, i int) (_ span, err error) {
	start := len(r.out.Data)
	if f.valid.null(i) {
		r.out.Data = append(r.out.Data, f.null...)
	} else if r.out.Data, err = f.cell.append(r.out.Data, i); err != nil {
		err = &ValueError{Table: r.e.table.ID.String(), Column: r.e.table.Columns[f.column].Name, Row: i, Err: err, Hint: hintOf(err)}
	}
	return span{start, len(r.out.Data)}, err
}

// outboxRow appends the event of row i.
func (r *run) outboxRow(i int) error {
	x := r.e.outbox
	start := len(r.out.headers)
	r.out.headers = append(r.out.headers, r.e.context...)
	for n := -1; n < len(x.headers); n++ {
		f := &x.id
		if n >= 0 {
			f = &x.headers[n]
		}
		v, err := r.outboxValue(f, i)
		if err != nil {
			return err
		}
		r.out.headers = append(r.out.headers, headerSpan{key: f.header, value: v})
	}
	wrapped := func(open []byte, f *outboxField) (span, error) {
		at := len(r.out.Data)
		r.out.Data = append(r.out.Data, open...)
		if _, err := r.outboxValue(f, i); err != nil {
			return none, err
		}
		r.out.Data = append(r.out.Data, x.end...)
		return span{at, len(r.out.Data)}, nil
	}
	key, err := wrapped(x.keyOpen, &x.key)
	if err != nil {
		return err
	}
	value := none
	if !x.o.Tombstones || !x.payload.valid.null(i) {
		if value, err = wrapped(x.valueOpen, &x.payload); err != nil {
			return err
		}
	}
	text := r.b.Record.Column(x.route).(*array.String).Value(i)
	topic, known := x.topics[text]
	if !known {
		topic = x.o.Topic + text
		if len(x.topics) < maxTopics {
			x.topics[text] = topic
		}
	}
	r.out.Messages = append(r.out.Messages, Message{key: key, value: value, headers: span{start, len(r.out.headers)}, Row: int32(i), Operation: Create, topic: topic})
	return nil
}

// maxTopics bounds the names that an outbox remembers.
const maxTopics = 1000
