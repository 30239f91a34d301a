package kafka

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/topic"
)

// Keys of the options that are read in more than one place.
const (
	optServers     = "properties.bootstrap.servers"
	optProperties  = "properties."
	optTxnTimeout  = "properties.transaction.timeout.ms"
	optGuarantee   = "sink.delivery-guarantee"
	optPrefix      = "transactional-id-prefix"
	optMarkers     = "sink.marker-topic"
	optTopic       = "topic"
	optTopicPrefix = "topic.prefix"
	optMapping     = "sink.tableId-to-topic.mapping"
	optStrategy    = "partition.strategy"
	optCreate      = "topic.creation.enable"
	optCreation    = "topic.creation.default."
	optPartitions  = "topic.creation.default.partitions"
	optReplicas    = "topic.creation.default.replication.factor"
	optCleanup     = "topic.creation.default.cleanup.policy"
	optKeyColumns  = "debezium.message.key.columns"
	optConnector   = "debezium.connector"
)

// guarantee is sink.delivery-guarantee.
type guarantee string

const (
	exactlyOnce guarantee = "exactly-once"
	atLeastOnce guarantee = "at-least-once"
	noGuarantee guarantee = "none"
)

// options are the parsed options of a sink.
type options struct {
	guarantee   guarantee
	prefix      string // of transactional ids, empty for the pipeline's name
	markers     string // empty for one that follows from the prefix
	namer       *topic.Namer
	named       []string // topics that options name
	partitioner topic.Partitioner
	strategy    topic.Strategy
	properties  properties
	creation    creation
	format      format
	tableHeader bool
	headers     []kgo.RecordHeader
}

// creation says how missing topics are made.
type creation struct {
	enabled    bool
	partitions int32
	replicas   int16
	configs    map[string]*string
}

// compacts says that only the last message of each key is kept.
func (c creation) compacts() bool {
	policy := c.configs["cleanup.policy"]
	return policy != nil && strings.Contains(*policy, "compact")
}

// Specs lists the options. The names are Flink CDC's where it has one; properties.* are
// those of Kafka's Java client, topic.creation.default.* those of Kafka Connect, debezium.* Debezium's.
func Specs() []sink.OptionSpec {
	specs := []sink.OptionSpec{
		{Key: optServers, Type: "string", Required: true, Doc: "Brokers to begin with: host:port, with commas between them."},
		{Key: "properties.sasl.jaas.config", Type: "string", Secret: true, Doc: "User and password, as the Java client wants them: ...LoginModule required username=\"u\" password=\"p\"; for OAUTHBEARER clientId, clientSecret and scope, or a token."},
		{Key: "properties.ssl.keystore.key", Type: "string", Secret: true, Doc: "The private key for mutual TLS, as PEM."},
		{Key: "properties.sasl.oauthbearer.client.credentials.client.secret", Type: "string", Secret: true, Doc: "The client's secret for OAUTHBEARER, where sasl.jaas.config does not have it."},
		{Key: "properties.ssl.truststore.password", Type: "string", Secret: true, Doc: "Refused: stores are PEM, which has no password."},
		{Key: "properties.ssl.keystore.password", Type: "string", Secret: true, Doc: "Refused: stores are PEM, which has no password."},
		{Key: "properties.ssl.key.password", Type: "string", Secret: true, Doc: "Refused: a key has no password."},
		{Key: "properties.*", Type: "string", Doc: "Properties of the Java client: acks, batch and compression, security, time-outs. Unknown ones are errors."},
		{Key: optGuarantee, Type: "enum", Default: string(exactlyOnce), Values: []string{string(exactlyOnce), string(atLeastOnce), string(noGuarantee)},
			Doc: "exactly-once writes each checkpoint in a transaction, for consumers with isolation.level=read_committed; at-least-once waits at checkpoints until all is written; none does not wait."},
		{Key: optPrefix, Type: "string", Doc: "Begins the transactional ids, one of its own for each pipeline of a cluster; by default the pipeline's name."},
		{Key: optMarkers, Type: "string", Doc: "Topic of the records that say which checkpoint is committed; by default <transactional-id-prefix>.checkpoints."},
		{Key: optTopic, Type: "string", Doc: "One topic for all tables; by default each table has its own."},
		{Key: optTopicPrefix, Type: "string", Doc: "Begins the topics of tables, <prefix>.<database or schema>.<table>, and is the name in the source block."},
		{Key: optMapping, Type: "string", Doc: "Topics of some tables: selector:topic;selector:topic. The first that matches counts."},
		{Key: optStrategy, Type: "enum", Default: string(topic.ByKey), Values: []string{string(topic.ByKey), string(topic.AllToZero), string(topic.ByTable)},
			Doc: "Partition of a message: that of its key, as the Java client's, the first, or one for each table."},
		{Key: optCreate, Type: "bool", Default: "true", Doc: "Make topics that are missing."},
		{Key: optPartitions, Type: "int", Default: "-1", Doc: "Partitions of topics that are made; -1 is the broker's default."},
		{Key: optReplicas, Type: "int", Default: "-1", Doc: "Replicas of topics that are made; -1 is the broker's default."},
		{Key: "topic.creation.default.*", Type: "string", Doc: "Configuration of topics that are made, for instance cleanup.policy."},
		{Key: "sink.add-tableId-to-header-enabled", Type: "bool", Default: "false", Doc: "Adds the headers namespace, schemaName and tableName."},
		{Key: "sink.custom-header", Type: "string", Doc: "Headers of all messages: key:value;key:value."},
	}
	return append(specs, formatSpecs()...)
}

func parseOptions(opts map[string]string) (options, error) {
	r := &optionReader{opts: opts}
	for _, key := range slices.Sorted(maps.Keys(opts)) {
		r.known(key)
	}
	r.text(optServers)
	o := options{
		guarantee:   guarantee(r.enum(optGuarantee)),
		prefix:      r.text(optPrefix),
		markers:     r.text(optMarkers),
		strategy:    topic.Strategy(r.enum(optStrategy)),
		tableHeader: r.flag("sink.add-tableId-to-header-enabled"),
		headers:     r.headers("sink.custom-header"),
		creation:    r.creation(),
		format:      r.format(),
	}
	for key, name := range map[string]string{optPrefix: o.prefix, optMarkers: o.markers} {
		if topic.Sanitise(name) != name {
			r.fail(key, fmt.Sprintf("%q has other characters than letters, digits, '.', '_' and '-'", name), "a topic is named by it")
		}
	}
	o.namer = r.namer(&o)
	if r.err == nil {
		o.partitioner, r.err = topic.NewPartitioner(o.strategy)
	}
	if r.err == nil {
		o.properties, r.err = parseProperties(opts, o.guarantee)
	}
	return o, r.err
}

// namer reads what names topics.
func (r *optionReader) namer(o *options) *topic.Namer {
	rules, err := topic.ParseMapping(r.text(optMapping), compileSelector)
	if err != nil {
		r.fail(optMapping, err.Error(), "for instance shop.orders:orders;shop.\\.*:others")
		return nil
	}
	for _, rule := range rules {
		o.named = append(o.named, rule.Topic)
	}
	one := r.text(optTopic)
	if one != "" {
		o.named = append(o.named, one)
	}
	n, err := topic.New(topic.Options{Prefix: r.text(optTopicPrefix), Delimiter: r.text(optDelimiter), Topic: one, Mapping: rules})
	if bad := (*topic.NameError)(nil); errors.As(err, &bad) {
		key := optTopic
		switch bad.Name {
		case r.text(optTopicPrefix):
			key = optTopicPrefix
		case r.text(optDelimiter):
			key = optDelimiter
		}
		r.fail(key, err.Error(), "")
	} else if err != nil {
		r.fail(optTopic, err.Error(), "")
	}
	return n
}

// creation reads what missing topics are made with.
func (r *optionReader) creation() creation {
	c := creation{enabled: r.flag(optCreate), configs: map[string]*string{}}
	c.partitions = int32(r.number(optPartitions, r.text(optPartitions), -1, math.MaxInt32))
	c.replicas = int16(r.number(optReplicas, r.text(optReplicas), -1, math.MaxInt16))
	if c.partitions == 0 {
		r.fail(optPartitions, "a topic has at least one partition", "-1 is the broker's default")
	}
	if c.replicas == 0 {
		r.fail(optReplicas, "a topic has at least one replica", "-1 is the broker's default")
	}
	for key, value := range r.opts {
		if name, ok := strings.CutPrefix(key, optCreation); ok && key != optPartitions && key != optReplicas {
			c.configs[name] = &value
		}
	}
	return c
}

// headers reads the headers of all messages. Flink CDC takes semicolons, and says commas.
func (r *optionReader) headers(key string) (out []kgo.RecordHeader) {
	separator := ";"
	if !strings.Contains(r.text(key), separator) {
		separator = ","
	}
	for _, pair := range strings.Split(r.text(key), separator) {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			r.fail(key, fmt.Sprintf("%q is no header", pair), "for instance origin:shop;stage:test")
			return nil
		}
		out = append(out, kgo.RecordHeader{Key: name, Value: []byte(strings.TrimSpace(value))})
	}
	return out
}
