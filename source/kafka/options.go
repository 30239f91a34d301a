package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/definition"
	"github.com/freshet-cdc/freshet/source/kafka/format"
	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// Names of options that are needed in more than one place.
const (
	optServers    = "properties.bootstrap.servers"
	optProperties = "properties."
	optTopic      = "topic"
	optPattern    = "topic-pattern"
	optStart      = "scan.startup.mode"
	optStop       = "scan.bounded.mode"
	optSchema     = "schema"
	optRegistry   = "schema-registry.url"
	optFormat     = "value.format"
	optKeyFormat  = "key.format"
)

// Specs lists the options. The names are those of Flink's Kafka connector, properties.* those
// of Kafka's Java client, debezium.* Debezium's.
func Specs() []source.OptionSpec {
	specs := []source.OptionSpec{
		{Key: optServers, Type: "string", Required: true, Doc: "Brokers to begin with: host:port, with commas between them."},
		{Key: optTopic, Type: "string", Doc: "Topics to read, with semicolons between them. One of topic and topic-pattern is needed."},
		{Key: optPattern, Type: "string", Doc: "Regular expression of the names of topics to read, of the whole name; topics that come later are read from their beginning."},
		{Key: "tables", Type: "string", Doc: `Tables to capture, of those that the topics hold; regular expressions in each part, several separated by commas, for instance shop.\.*. All by default.`},
		{Key: "tables.exclude", Type: "string", Doc: "Tables to leave out, in the same form."},
		{Key: "table-id.include-database", Type: "bool", Default: "false", Doc: "Name tables of databases with schemas database.schema.table instead of schema.table."},
		{Key: optStart, Type: "enum", Default: string(split.Earliest), Values: modes(split.Earliest, split.Latest, split.Group, split.Timestamp, split.Specific),
			Doc: "Where to begin when there is no checkpoint. After one the offsets in it count alone."},
		{Key: "scan.startup.timestamp-millis", Type: "int", Doc: "For the start mode timestamp: milliseconds since 1970."},
		{Key: "scan.startup.specific-offsets", Type: "string", Doc: "For the start mode specific-offsets: partition:0,offset:42;partition:1,offset:300, each with topic:name, in front where there are several."},
		{Key: optStop, Type: "enum", Default: string(split.Unbounded), Values: modes(split.Unbounded, split.Latest, split.Group, split.Timestamp, split.Specific),
			Doc: "Where the pipeline ends; latest-offset is the end of each partition at the start."},
		{Key: "scan.bounded.timestamp-millis", Type: "int", Doc: "For the end mode timestamp: milliseconds since 1970."},
		{Key: "scan.bounded.specific-offsets", Type: "string", Doc: "For the end mode specific-offsets: the first offset of each partition that is not read."},
		{Key: "scan.topic-partition-discovery.interval", Type: "duration", Default: "5m", Doc: "How often new partitions and topics are looked for."},
		{Key: "properties.group.id", Type: "string", Doc: "Group to which the offsets of completed checkpoints are committed, for tools that show the lag, and which the start mode group-offsets reads."},
		{Key: "properties.sasl.jaas.config", Type: "string", Secret: true, Doc: "User and password, as the Java client wants them: ...LoginModule required username=\"u\" password=\"p\";"},
		{Key: "properties.ssl.keystore.key", Type: "string", Secret: true, Doc: "The private key for mutual TLS, as PEM."},
		{Key: "properties.*", Type: "string", Doc: "Properties of the Java client: isolation.level (read_committed by default), auto.offset.reset (none by default), fetching, security, time-outs. Unknown ones are errors."},
	}
	return append(specs, formatSpecs()...)
}

func formatSpecs() []source.OptionSpec {
	return []source.OptionSpec{
		{Key: optFormat, Type: "enum", Default: format.DebeziumJSON, Values: []string{format.DebeziumJSON, format.DebeziumAvro, format.CanalJSON, format.JSON, format.Avro}, Doc: "Format of values."},
		{Key: optKeyFormat, Type: "enum", Values: []string{format.JSON, format.Avro, format.None}, Doc: "Format of keys, whose fields are the tables' primary keys; by default that of the values, and none for canal-json, which names them itself."},
		{Key: "json.schema-include", Type: "bool", Default: "false", Doc: "Messages of the format json carry their schema, as JsonConverter writes it with schemas.enable."},
		{Key: optSchema, Type: "string", Doc: "Definitions of tables whose messages tell no types, as in Flink SQL: shop.orders (id BIGINT, price DECIMAL(10, 2), PRIMARY KEY (id)); ... One without a name is for all others. Other fields of messages are passed over."},
		{Key: optRegistry, Type: "string", Doc: "Schema registry of Avro messages, with commas between several addresses."},
		{Key: "schema-registry.username", Type: "string", Doc: "User of the schema registry."},
		{Key: "schema-registry.password", Type: "string", Secret: true, Doc: "Password of the schema registry."},
		{Key: "debezium.decimal.handling.mode", Type: "enum", Default: "string", Values: []string{"precise", "string", "double"}, Doc: "How decimals are written in debezium-json without schemas: as Connect's bytes (precise) or as numbers or texts. With schemas the messages tell."},
		{Key: "debezium.unavailable.value.placeholder", Type: "string", Default: "__debezium_unavailable_value", Doc: "What Debezium writes for a value of PostgreSQL or Oracle that did not change and was not in the log."},
		{Key: "tombstone.unknown-table", Type: "enum", Default: "error", Values: []string{"error", "ignore"}, Doc: "What becomes of a tombstone alone in a topic of several tables: nothing in it says which table it is of."},
	}
}

func modes(m ...split.Mode) (out []string) {
	for _, x := range m {
		out = append(out, string(x))
	}
	return out
}

// config is the parsed form of the options.
type config struct {
	match      func(schema.TableID) bool
	given      *definition.Tables
	topics     []string
	pattern    *regexp.Regexp
	start      split.Mode
	stop       split.Mode
	startAt    int64 // milliseconds since 1970
	stopAt     int64
	startGiven split.Offsets
	stopGiven  split.Offsets
	discovery  time.Duration
	properties properties
	format     format.Options
}

// Source is the topics of one Kafka cluster. It is safe for concurrent use.
type Source struct {
	cfg    *config
	logger *slog.Logger
}

// New returns the source that opts describe, without connecting. match selects the captured
// tables. Errors are *source.OptionError.
func New(opts map[string]string, match func(schema.TableID) bool, logger *slog.Logger) (*Source, error) {
	r := &optionReader{opts: opts}
	r.known()
	c := &config{match: match, topics: r.list(optTopic, ";"), start: split.Mode(r.enum(optStart)), stop: split.Mode(r.enum(optStop))}
	c.discovery = r.duration("scan.topic-partition-discovery.interval")
	r.text(optServers)
	r.selection(c)
	r.modes(c)
	r.format(c)
	c.properties = r.properties()
	if c.properties.group == "" && (c.start == split.Group || c.stop == split.Group) {
		r.fail("properties.group.id", "it is missing", "the mode group-offsets reads the offsets of a group")
	}
	if r.err != nil {
		return nil, r.err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Source{cfg: c, logger: logger}, nil
}

// selection reads which topics are read.
func (r *optionReader) selection(c *config) {
	pattern := r.text(optPattern)
	switch {
	case pattern == "" && len(c.topics) == 0:
		r.fail(optTopic, "it is missing", "name topics, or a topic-pattern")
	case pattern != "" && len(c.topics) > 0:
		r.fail(optPattern, "there is the option topic as well", "give one of them")
	case pattern != "":
		var err error
		if c.pattern, err = regexp.Compile("^(?:" + pattern + ")$"); err != nil {
			r.fail(optPattern, err.Error(), "it is a regular expression")
		}
	}
}

// modes reads where to begin and to end.
func (r *optionReader) modes(c *config) {
	for _, end := range []struct {
		name  string
		mode  split.Mode
		at    *int64
		given *split.Offsets
	}{{"scan.startup", c.start, &c.startAt, &c.startGiven}, {"scan.bounded", c.stop, &c.stopAt, &c.stopGiven}} {
		stamp, offsets := end.name+".timestamp-millis", end.name+".specific-offsets"
		_, hasStamp := r.opts[stamp]
		_, hasOffsets := r.opts[offsets]
		switch {
		case hasStamp != (end.mode == split.Timestamp):
			r.fail(stamp, "it goes with the mode timestamp, and that with it", "")
		case hasOffsets != (end.mode == split.Specific):
			r.fail(offsets, "it goes with the mode specific-offsets, and that with it", "")
		case hasStamp:
			*end.at = r.number(stamp, r.text(stamp), 0, 1<<53)
		case hasOffsets:
			var err error
			if *end.given, err = split.ParseOffsets(r.text(offsets)); err != nil {
				r.fail(offsets, err.Error(), "for instance partition:0,offset:42;partition:1,offset:300")
			}
			for k := range *end.given {
				if k.Topic == "" && len(c.topics) != 1 {
					r.fail(offsets, "a partition has no topic, and there are several", "for instance topic:orders,partition:0,offset:42")
				}
			}
		}
	}
}

// format reads how messages are decoded.
func (r *optionReader) format(c *config) {
	o := format.Options{
		Value: r.enum(optFormat), Key: r.enum(optKeyFormat), Schema: r.flag("json.schema-include"), Namespace: r.flag("table-id.include-database"),
		Precise:        r.enum("debezium.decimal.handling.mode") == "precise",
		PassTombstones: r.enum("tombstone.unknown-table") == "ignore",
		Placeholder:    r.text("debezium.unavailable.value.placeholder"),
	}
	avro := o.Value == format.Avro || o.Value == format.DebeziumAvro
	switch {
	case o.Key != "":
	case avro:
		o.Key = format.Avro
	case o.Value == format.CanalJSON:
		o.Key = format.None
	default:
		o.Key = format.JSON
	}
	if o.Value == format.CanalJSON && o.Key != format.None {
		r.fail(optKeyFormat, "messages of canal-json name their keys themselves", "leave it out")
	}
	if avro || o.Key == format.Avro {
		registry, err := r.registry()
		if err != nil {
			r.fail(optRegistry, err.Error(), "for instance http://registry:8081")
		}
		o.Registry = registry
	}
	var err error
	if c.given, err = definition.Parse(r.text(optSchema)); err != nil {
		r.fail(optSchema, err.Error(), "for instance shop.orders (id BIGINT, note STRING, PRIMARY KEY (id))")
	}
	c.format = o
}

// optionReader reads options by their specs; the first error stays.
type optionReader struct {
	opts map[string]string
	err  error
}

func (r *optionReader) fail(key, msg, hint string) {
	if r.err == nil {
		r.err = &source.OptionError{Key: key, Msg: msg, Hint: hint}
	}
}

// known reports keys that no spec has.
func (r *optionReader) known() {
	specs := Specs()
	for key := range r.opts {
		if !slices.ContainsFunc(specs, func(s source.OptionSpec) bool {
			family, ok := strings.CutSuffix(s.Key, "*")
			return s.Key == key || ok && strings.HasPrefix(key, family)
		}) {
			r.fail(key, "the source kafka has no such option", "")
		}
	}
}

func (r *optionReader) spec(key string) source.OptionSpec {
	specs := Specs()
	return specs[slices.IndexFunc(specs, func(s source.OptionSpec) bool { return s.Key == key })]
}

// text returns an option, or its default.
func (r *optionReader) text(key string) string {
	if v, ok := r.opts[key]; ok {
		return v
	}
	s := r.spec(key)
	if s.Required {
		r.fail(key, "it is missing", s.Doc)
	}
	return s.Default
}

func (r *optionReader) enum(key string) string {
	v := r.text(key)
	if values := r.spec(key).Values; v != "" && !slices.Contains(values, v) {
		r.fail(key, fmt.Sprintf("%q is unknown", v), "there is "+strings.Join(values, ", "))
	}
	return v
}

func (r *optionReader) flag(key string) bool {
	b, err := strconv.ParseBool(r.text(key))
	if err != nil {
		r.fail(key, fmt.Sprintf("%q is neither true nor false", r.text(key)), "")
	}
	return b
}

func (r *optionReader) duration(key string) time.Duration {
	d, err := time.ParseDuration(r.text(key))
	if err != nil || d <= 0 {
		r.fail(key, fmt.Sprintf("%q is no duration", r.text(key)), "use a number with a unit, for instance 30s")
	}
	return d
}

func (r *optionReader) number(key, text string, low, high int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < low || n > high {
		r.fail(key, fmt.Sprintf("%q is not a number from %d to %d", text, low, high), "")
		return low
	}
	return n
}

// list splits an option; blanks around the parts don't count.
func (r *optionReader) list(key, separator string) (out []string) {
	for _, part := range strings.Split(r.text(key), separator) {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// Kind returns kafka.
func (s *Source) Kind() string { return "kafka" }

// FormatPosition prints a position: the sum of the next offsets of all partitions.
func (s *Source) FormatPosition(pos uint64) string { return strconv.FormatUint(pos, 10) }

// Close does nothing: every call has connections of its own.
func (s *Source) Close() error { return nil }

// connect returns a client without a consumer.
func (s *Source) connect(_ context.Context, more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(slices.Clone(s.cfg.properties.opts), more...)...)
}
