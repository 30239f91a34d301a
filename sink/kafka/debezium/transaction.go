package debezium

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// Transactions writes the messages of the topic of transactions
// (provide.transaction.metadata).
type Transactions struct {
	keyOpen, valueOpen, end []byte
	context                 []headerSpan
	connector               Connector
	id                      []byte
}

// Count is how many events a transaction has for a table.
type Count struct {
	// Collection names the table as Debezium does: schema and table, or database and table.
	Collection string
	Events     int64
}

// NewTransactions returns a writer for a pipeline's options.
func NewTransactions(o Options) (*Transactions, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	t := &Transactions{connector: o.Connector}
	if o.Context != nil {
		t.context = o.Context.headers(&o)
	}
	if !o.Schemas {
		return t, nil
	}
	text, long := plain("string"), plain("int64")
	key := named("struct", "io.debezium.connector.common.TransactionMetadataKey")
	key.fields = []connectField{{"id", text}}
	count := connectType{typ: "struct", name: "event.collection", version: 1, optional: true,
		fields: []connectField{{"data_collection", text}, {"event_count", long}}}
	events := long
	events.optional = true
	value := named("struct", "io.debezium.connector.common.TransactionMetadataValue")
	value.fields = []connectField{{"status", text}, {"id", text}, {"event_count", events},
		{"data_collections", connectType{typ: "array", items: &count, optional: true}}, {"ts_ms", long}}
	t.keyOpen = append(key.appendSchema([]byte(`{"schema":`), ""), `,"payload":`...)
	t.valueOpen = append(value.appendSchema([]byte(`{"schema":`), ""), `,"payload":`...)
	t.end = []byte{'}'}
	return t, nil
}

// Append appends the messages of the transactions of a schema.ChangeTransactions: for each
// that it has begun, and that it has ended.
func (t *Transactions) Append(out *Output, c *schema.Change) {
	origin := c.Origin
	if origin == nil {
		origin = &noOrigin
	}
	var counts []Count
	for i := range c.Transactions {
		tx := &c.Transactions[i]
		t.id = transactionName(t.id[:0], t.connector, tx.Tx, origin, &tx.Origin)
		counts = counts[:0]
		for _, table := range tx.Tables {
			counts = append(counts, Count{table.Table.Schema + "." + table.Table.Table, table.Rows})
		}
		id, millis := string(t.id), javatext.FloorDiv(tx.CommitTime, 1000)
		t.Begin(out, id, millis)
		t.End(out, id, counts, millis)
	}
}

// Begin appends the message that a transaction begins; millis is its time.
func (t *Transactions) Begin(out *Output, id string, millis int64) {
	t.write(out, "BEGIN", id, nil, millis)
}

// End appends the message that a transaction has ended, with what it had, its tables in
// the order in which they first came.
func (t *Transactions) End(out *Output, id string, counts []Count, millis int64) {
	ordered := make([]Count, len(counts))
	copy(ordered, counts)
	javaOrder(ordered)
	t.write(out, "END", id, ordered, millis)
}

// javaOrder sorts counts as a map of Java's with their names as keys hands them out,
// the order in which Debezium prints them.
func javaOrder(counts []Count) {
	buckets := uint32(16)
	for 4*len(counts) > 3*int(buckets) {
		buckets *= 2
	}
	bucket := func(c Count) uint32 {
		var h uint32
		for _, u := range utf16.Encode([]rune(c.Collection)) {
			h = 31*h + uint32(u)
		}
		return (h ^ h>>16) & (buckets - 1)
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(bucket(a), bucket(b)) })
}

func (t *Transactions) write(out *Output, status, id string, counts []Count, millis int64) {
	start := len(out.Data)
	dst := appendString(append(append(out.Data, t.keyOpen...), `{"id":`...), id)
	dst = append(append(dst, '}'), t.end...)
	key := span{start, len(dst)}
	dst = append(append(dst, t.valueOpen...), `{"status":"`...)
	dst = appendString(append(append(dst, status...), `","id":`...), id)
	if counts == nil {
		dst = append(dst, `,"event_count":null,"data_collections":null`...)
	} else {
		dst = appendCounts(dst, counts)
	}
	dst = strconv.AppendInt(append(dst, `,"ts_ms":`...), millis, 10)
	out.Data = append(append(dst, '}'), t.end...)
	headers := span{len(out.headers), len(out.headers) + len(t.context)}
	out.headers = append(out.headers, t.context...)
	out.Messages = append(out.Messages, Message{key: key, value: span{key.end, len(out.Data)}, headers: headers, Row: -1})
}

func appendCounts(dst []byte, counts []Count) []byte {
	var total int64
	for _, c := range counts {
		total += c.Events
	}
	dst = strconv.AppendInt(append(dst, `,"event_count":`...), total, 10)
	dst = append(dst, `,"data_collections":[`...)
	for i, c := range counts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"data_collection":`...), c.Collection)
		dst = append(strconv.AppendInt(append(dst, `,"event_count":`...), c.Events, 10), '}')
	}
	return append(dst, ']')
}
