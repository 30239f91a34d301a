package kafka

import (
	"strings"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/sink/kafka/topic"
)

// Keys of options that decide on more than how a row is written.
const (
	optDelimiter    = "topic.delimiter"
	optTransactions = "debezium.provide.transaction.metadata"
	optHeartbeat    = "debezium.heartbeat.interval.ms"
	optOutbox       = "debezium.outbox.tables"
	optRoute        = "debezium.route.topic.regex"
	optReselect     = "debezium.reselect.unavailable.values"
	optTimezone     = "debezium.timezone"
)

// events is what the Debezium formats do beyond a message for each change of a row.
type events struct {
	transactions   string // the topic of transactions, empty for none
	heartbeat      time.Duration
	heartbeatTopic string
	router         *debezium.Router
	outbox         *debezium.Outbox
	outboxOf       func(schema.TableID) bool
	columns, types []string // that are propagated
	reselect       bool
	// single says that there is one writer, which sees all changes of a table.
	single bool
}

// eventSpecs lists the options, by the names that Debezium and its transforms give them.
func eventSpecs() []sink.OptionSpec {
	flag := func(key, def, doc string) sink.OptionSpec {
		return sink.OptionSpec{Key: key, Type: "bool", Default: def, Doc: doc}
	}
	text := func(key, def, doc string) sink.OptionSpec {
		return sink.OptionSpec{Key: key, Type: "string", Default: def, Doc: doc}
	}
	return []sink.OptionSpec{
		text(optDelimiter, ".", "Stands between the parts of a topic's name."),
		flag(optTransactions, "false", "Write which transaction a change belongs to, and messages of transactions to a topic of their own."),
		text("debezium.topic.transaction", "transaction", "The topic of transactions, behind the prefix."),
		flag("debezium.include.query", "false", "Write the statement into the source block, where the server logs it (binlog_rows_query_log_events, binlog_annotate_row_events)."),
		flag("debezium.extended.headers.enabled", "false", "Add the headers __debezium.context.*, as Debezium does by default."),
		text("debezium.column.propagate.source.type", "", "Columns whose type at the server goes into the schema: expressions of database.table.column, with commas between them."),
		text("debezium.datatype.propagate.source.type", "", "The same, by the name of the type in the column's place."),
		{Key: optHeartbeat, Type: "int", Default: "0", Doc: "Write a heartbeat at checkpoints, so often at most; 0 for none."},
		text("debezium.topic.heartbeat.prefix", "__debezium-heartbeat", "Begins the topic of heartbeats."),
		flag(optReselect, "false", "Read a value again that the server did not send, instead of the placeholder."),
		text(optTimezone, "", "Where DATETIME and timestamp without a zone are local times, and what times with a zone are printed in, as the TimezoneConverter does; for instance Europe/Berlin."),
		text(optOutbox, "", "Tables whose rows are events of their own, as the EventRouter has them: a selector. debezium-json only."),
		text("debezium.outbox.table.field.event.id", "id", "The column of an event's id."),
		text("debezium.outbox.table.field.event.key", "aggregateid", "The column of its key."),
		text("debezium.outbox.table.field.event.payload", "payload", "The column of its value."),
		text("debezium.outbox.route.by.field", "aggregatetype", "The column that names its topic."),
		text("debezium.outbox.route.topic.prefix", "outbox.event.", "Begins the topics of events."),
		flag("debezium.outbox.route.tombstone.on.empty.payload", "false", "A message without a value for an empty payload."),
		text("debezium.outbox.headers", "", "More columns that become headers: column:header,column:header."),
		text(optRoute, "", "Topics whose messages go to another one, as the ByLogicalTableRouter does: an expression for the whole name."),
		text("debezium.route.topic.replacement", "", "The other topic; $1 is a group of the expression."),
		text("debezium.route.key.field.name", debezium.DefaultKeyField, "What is added to the keys, to tell the tables apart."),
		text("debezium.route.key.field.regex", "", "What of the topic's name is its value: an expression for the whole name; by default all of it."),
		text("debezium.route.key.field.replacement", "", "The value; $1 is a group of the expression."),
		flag("debezium.route.key.enforce.uniqueness", "true", "Add it at all."),
	}
}

// eventFamilies are the options that go with debezium-json alone.
func eventFamilies() []family {
	return []family{{"debezium.outbox.", "value.format debezium-json", func(f format) bool { return f.value == formatDebezium }}}
}

// events reads the options; o gets what is about single rows.
func (r *optionReader) events(o *debezium.Options) events {
	e := events{reselect: r.flag(optReselect), columns: list(r.text("debezium.column.propagate.source.type")),
		types: list(r.text("debezium.datatype.propagate.source.type")), heartbeat: r.millis(optHeartbeat, r.text(optHeartbeat), 0)}
	behind := func(name string) string { return name + r.text(optDelimiter) + o.Prefix }
	if o.Transactions = r.flag(optTransactions); o.Transactions {
		if e.transactions = r.text("debezium.topic.transaction"); o.Prefix != "" {
			e.transactions = o.Prefix + r.text(optDelimiter) + e.transactions
		}
	}
	if e.heartbeatTopic = r.text("debezium.topic.heartbeat.prefix"); o.Prefix != "" {
		e.heartbeatTopic = behind(e.heartbeatTopic)
	}
	for _, key := range []string{"debezium.topic.transaction", "debezium.topic.heartbeat.prefix"} {
		if name := r.text(key); topic.Sanitise(name) != name {
			r.fail(key, "a topic has letters, digits, '.', '_' and '-' only", "")
		}
	}
	o.Query = r.flag("debezium.include.query")
	if r.flag("debezium.extended.headers.enabled") {
		o.Context = &debezium.Context{Task: "0", Run: "0"}
	}
	if zone := r.text(optTimezone); zone != "" {
		var err error
		if o.Timezone, err = time.LoadLocation(zone); err != nil {
			r.fail(optTimezone, err.Error(), "for instance Europe/Berlin")
		}
	}
	if _, err := debezium.SourceTypes(schema.TableID{}, e.columns, e.types); err != nil {
		r.fail("debezium.column.propagate.source.type", err.Error(), "")
	}
	r.outbox(&e)
	r.route(&e)
	return e
}

func (r *optionReader) outbox(e *events) {
	tables := r.text(optOutbox)
	if tables == "" {
		return
	}
	p := func(key string) string { return r.text("debezium.outbox." + key) }
	e.outbox = &debezium.Outbox{ID: p("table.field.event.id"), Key: p("table.field.event.key"), Payload: p("table.field.event.payload"), RouteBy: p("route.by.field"),
		Topic: p("route.topic.prefix"), Tombstones: r.flag("debezium.outbox.route.tombstone.on.empty.payload")}
	for _, pair := range list(p("headers")) {
		column, name, _ := strings.Cut(pair, ":")
		e.outbox.Headers = append(e.outbox.Headers, debezium.OutboxHeader{Column: column, Name: name})
	}
	var err error
	if e.outboxOf, err = compileSelector(tables); err != nil {
		r.fail(optOutbox, err.Error(), `for instance shop.outbox`)
	}
}

func (r *optionReader) route(e *events) {
	regex := r.text(optRoute)
	if regex == "" {
		return
	}
	p := func(key string) string { return r.text("debezium.route." + key) }
	router, err := debezium.NewRouter(regex, p("topic.replacement"), p("key.field.regex"), p("key.field.replacement"))
	if err != nil {
		r.fail(optRoute, err.Error(), "")
		return
	}
	router.KeyField, router.NoKeyField = p("key.field.name"), !r.flag("debezium.route.key.enforce.uniqueness")
	e.router = &router
}

// apply gives the options of a table what depends on its name, and returns the name of
// its topic, by which schemas are named.
func (e events) apply(o *debezium.Options, id schema.TableID, logical string) (string, error) {
	logical, o.KeyField = e.route(topic.Sanitise(logical))
	o.UniqueKeys = e.single
	if e.outbox != nil && id.Table != "" && e.outboxOf(id) {
		o.Outbox = e.outbox
	}
	var err error
	o.SourceType, err = debezium.SourceTypes(id, e.columns, e.types)
	return logical, err
}

// route returns the topic that messages of another one go to, and what is added to keys.
func (e events) route(name string) (string, *debezium.KeyField) {
	if e.router == nil {
		return name, nil
	}
	return e.router.Route(name)
}

// topic returns the topic that message i asks for, empty for that of its table.
func (o *output) topic(i int) string {
	if len(o.plain.Messages) > 0 {
		return ""
	}
	return o.debezium.Topic(i)
}

// Asks says what the options need of a source. Only PostgreSQL's unchanged values have a
// placeholder in Debezium; where a row image of MySQL leaves columns out, the source has
// to say so.
func (s *Sink) Asks() sink.Asked {
	f := s.format()
	return sink.Asked{Origin: f.envelopes() || f.value == formatCanal, Events: true, Transactions: f.events.transactions != "",
		Unchanged: f.envelopes() && !f.events.reselect && f.debezium.Connector == debezium.PostgreSQL}
}

var _ sink.Asking = (*Sink)(nil)
