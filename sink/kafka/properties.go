package kafka

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/sink/kafka/producer"
)

// What holds where a property is not given.
const (
	defaultBuffer      = 32 << 20         // buffer.memory, as Java's
	defaultTxnTimeout  = 15 * time.Minute // the most that a broker takes by default
	unknownTopicTries  = 20               // of a topic that was just made, by brokers that don't know it yet
	largestRequest     = 1 << 30
	defaultWriteBytes  = 100 << 20 // of a request, in franz-go
	defaultCompression = "lz4"
)

// properties are the properties of the Java client as franz-go has them.
type properties struct {
	servers []string
	// common are for every client, producing for those that produce.
	common, producing []kgo.Opt
	txnTimeout        time.Duration
	// notes are properties that have no effect, with the reason.
	notes []string
}

func (p properties) warn(l *slog.Logger) {
	for _, note := range p.notes {
		l.Warn("a property has no effect", "property", note)
	}
}

// propertyReader reads properties, one after the other.
type propertyReader struct {
	optionReader
	p         properties
	guarantee guarantee
	security  security
	tokens    *tokens // of OAUTHBEARER
	codec     string
	levels    map[string]int
	// idempotent is enable.idempotence; fewer says that acks is not all.
	idempotent, fewer bool
}

// property says what becomes of a property's value.
type property func(r *propertyReader, key, value string)

// javaProperties are the properties that have a meaning here.
func javaProperties() map[string]property {
	out := map[string]property{
		"bootstrap.servers":      func(r *propertyReader, key, v string) { r.servers(key, v) },
		"client.id":              func(r *propertyReader, _, v string) { r.common(kgo.ClientID(v)) },
		"client.rack":            func(r *propertyReader, _, v string) { r.common(kgo.Rack(v)) },
		"acks":                   acks,
		"enable.idempotence":     idempotence,
		"compression.type":       func(r *propertyReader, _, v string) { r.codec = v },
		"compression.gzip.level": compressionLevel,
		"compression.lz4.level":  compressionLevel,
		"compression.zstd.level": compressionLevel,
		"linger.ms":              func(r *propertyReader, key, v string) { r.producing(kgo.ProducerLinger(r.millis(key, v, 0))) },
		"max.request.size":       requestSize,
		"buffer.memory": func(r *propertyReader, key, v string) {
			r.producing(kgo.MaxBufferedBytes(int(r.number(key, v, 1<<16, math.MaxInt))))
		},
		"delivery.timeout.ms": func(r *propertyReader, key, v string) { r.producing(kgo.RecordDeliveryTimeout(r.millis(key, v, 1000))) },
		"request.timeout.ms":  func(r *propertyReader, key, v string) { r.producing(kgo.ProduceRequestTimeout(r.millis(key, v, 100))) },
		"retries": func(r *propertyReader, key, v string) {
			r.producing(kgo.RecordRetries(int(r.number(key, v, 0, math.MaxInt32))))
		},
		"retry.backoff.ms":                      backoff,
		"metadata.max.age.ms":                   func(r *propertyReader, key, v string) { r.common(kgo.MetadataMaxAge(r.millis(key, v, 5000))) },
		"connections.max.idle.ms":               func(r *propertyReader, key, v string) { r.common(kgo.ConnIdleTimeout(r.millis(key, v, 1000))) },
		"socket.connection.setup.timeout.ms":    func(r *propertyReader, key, v string) { r.common(kgo.DialTimeout(r.millis(key, v, 100))) },
		"transaction.timeout.ms":                func(r *propertyReader, key, v string) { r.p.txnTimeout = r.millis(key, v, 1000) },
		"batch.size":                            noEffect("batches are filled up to max.request.size, and sent after linger.ms"),
		"max.in.flight.requests.per.connection": noEffect("it is 5, or 1 without idempotence, so that the order is kept"),
		"max.block.ms":                          noEffect("a full buffer is waited for"),
		"transactional.id": func(r *propertyReader, key, _ string) {
			r.fail(key, "ids are made by the sink", "they begin with "+optPrefix)
		},
	}
	maps.Copy(out, securityProperties())
	return out
}

// parseProperties reads all options that begin with properties.
func parseProperties(opts map[string]string, g guarantee) (properties, error) {
	r := &propertyReader{guarantee: g, codec: defaultCompression, levels: map[string]int{}, idempotent: true, p: properties{txnTimeout: defaultTxnTimeout}}
	r.producing(kgo.MaxBufferedBytes(defaultBuffer), kgo.UnknownTopicRetries(unknownTopicTries), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	known := javaProperties()
	for _, key := range slices.Sorted(maps.Keys(opts)) {
		name, ok := strings.CutPrefix(key, optProperties)
		if !ok {
			continue
		}
		apply := known[name]
		if apply == nil {
			r.fail(key, "there is no such property of a producer here", "the nearest is "+optProperties+nearest(name, slices.Sorted(maps.Keys(known))))
			break
		}
		apply(r, key, strings.TrimSpace(opts[key]))
	}
	r.compression()
	if !r.idempotent {
		r.producing(kgo.DisableIdempotentWrite())
	} else if r.fewer {
		r.fail(optProperties+"acks", "fewer than all replicas acknowledge, but records are written idempotently", "add properties.enable.idempotence: false, or leave acks out")
	}
	r.secure()
	r.p.common = append(r.p.common, kgo.SeedBrokers(r.p.servers...), kgo.SoftwareNameAndVersion("freshet", "1"), kgo.MetadataMinAge(producer.MetadataMinAge))
	return r.p, r.err
}

func (r *propertyReader) common(o ...kgo.Opt)    { r.p.common = append(r.p.common, o...) }
func (r *propertyReader) producing(o ...kgo.Opt) { r.p.producing = append(r.p.producing, o...) }

func noEffect(why string) property {
	return func(r *propertyReader, key, _ string) { r.p.notes = append(r.p.notes, key+": "+why) }
}

func (r *propertyReader) servers(key, value string) {
	if r.p.servers = list(value); len(r.p.servers) == 0 {
		r.fail(key, "it names no broker", "for instance broker1:9092,broker2:9092")
	}
}

func acks(r *propertyReader, key, value string) {
	opts := map[string]kgo.Opt{"all": nil, "-1": nil, "1": kgo.RequiredAcks(kgo.LeaderAck()), "0": kgo.RequiredAcks(kgo.NoAck())}
	opt, ok := opts[value]
	switch {
	case !ok:
		r.fail(key, fmt.Sprintf("%q is unknown", value), "there is all, 1, 0")
	case opt == nil:
	case r.guarantee == exactlyOnce:
		r.fail(key, "transactions need the acknowledgement of all replicas", "set acks to all, or another "+optGuarantee)
	case r.guarantee == atLeastOnce && value == "0":
		r.fail(key, "without an acknowledgement nobody knows what is written", "set acks to all or 1, or "+optGuarantee+" to none")
	default:
		r.fewer = true
		r.producing(opt)
	}
}

func idempotence(r *propertyReader, key, value string) {
	switch {
	case value != "true" && value != "false":
		r.fail(key, fmt.Sprintf("%q is neither true nor false", value), "")
	case value == "false" && r.guarantee == exactlyOnce:
		r.fail(key, "transactions are idempotent", "leave it out, or set another "+optGuarantee)
	default:
		r.idempotent = value == "true"
	}
}

func requestSize(r *propertyReader, key, value string) {
	n := int32(r.number(key, value, 1<<10, largestRequest))
	r.producing(kgo.ProducerBatchMaxBytes(n))
	if n > defaultWriteBytes/2 {
		r.common(kgo.BrokerMaxWriteBytes(n + n/16))
	}
}

func backoff(r *propertyReader, key, value string) {
	d := r.millis(key, value, 1)
	r.common(kgo.RetryBackoffFn(func(int) time.Duration { return d }))
}

// compressionLevel keeps a level for its codec; levels of others mean nothing, as in Java.
func compressionLevel(r *propertyReader, key, value string) {
	codec := strings.TrimSuffix(strings.TrimPrefix(key, optProperties+"compression."), ".level")
	r.levels[codec] = int(r.number(key, value, -131072, 22))
}

// compression sets the codec and its level.
func (r *propertyReader) compression() {
	codecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	codec, ok := codecs[r.codec]
	if !ok {
		r.fail(optProperties+"compression.type", fmt.Sprintf("%q is unknown", r.codec), "there is "+strings.Join(slices.Sorted(maps.Keys(codecs)), ", "))
	}
	if level, ok := r.levels[r.codec]; ok {
		codec = codec.WithLevel(level)
	}
	r.producing(kgo.ProducerBatchCompression(codec))
}
