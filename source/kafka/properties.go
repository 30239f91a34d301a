package kafka

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// How much is fetched at once, where properties don't say. A client holds one answer of each
// broker, so that bounds its memory.
const (
	defaultFetch          = 16 << 20
	defaultFetchPartition = 4 << 20
)

// properties are the properties of the Java client as franz-go has them.
type properties struct {
	opts      []kgo.Opt
	group     string
	reset     string // auto.offset.reset
	committed bool   // isolation.level
}

// property says what becomes of a property's value.
type property func(r *optionReader, p *properties, key, value string)

// javaProperties are the properties that have a meaning here.
func javaProperties() map[string]property {
	add := func(opt func(r *optionReader, key, v string) kgo.Opt) property {
		return func(r *optionReader, p *properties, key, v string) { p.opts = append(p.opts, opt(r, key, v)) }
	}
	size := func(opt func(int32) kgo.Opt) property {
		return add(func(r *optionReader, key, v string) kgo.Opt { return opt(int32(r.number(key, v, 1, math.MaxInt32))) })
	}
	millis := func(opt func(time.Duration) kgo.Opt) property {
		return add(func(r *optionReader, key, v string) kgo.Opt {
			return opt(time.Duration(r.number(key, v, 1, math.MaxInt32)) * time.Millisecond)
		})
	}
	out := map[string]property{
		"bootstrap.servers":                  servers,
		"group.id":                           func(_ *optionReader, p *properties, _, v string) { p.group = v },
		"isolation.level":                    isolation,
		"auto.offset.reset":                  reset,
		"client.id":                          add(func(_ *optionReader, _, v string) kgo.Opt { return kgo.ClientID(v) }),
		"client.rack":                        add(func(_ *optionReader, _, v string) kgo.Opt { return kgo.Rack(v) }),
		"fetch.min.bytes":                    size(func(n int32) kgo.Opt { return kgo.FetchMinBytes(n) }),
		"fetch.max.bytes":                    size(func(n int32) kgo.Opt { return kgo.FetchMaxBytes(n) }),
		"max.partition.fetch.bytes":          size(func(n int32) kgo.Opt { return kgo.FetchMaxPartitionBytes(n) }),
		"fetch.max.wait.ms":                  millis(func(d time.Duration) kgo.Opt { return kgo.FetchMaxWait(d) }),
		"metadata.max.age.ms":                millis(func(d time.Duration) kgo.Opt { return kgo.MetadataMaxAge(d) }),
		"connections.max.idle.ms":            millis(func(d time.Duration) kgo.Opt { return kgo.ConnIdleTimeout(d) }),
		"socket.connection.setup.timeout.ms": millis(func(d time.Duration) kgo.Opt { return kgo.DialTimeout(d) }),
		"retry.backoff.ms": millis(func(d time.Duration) kgo.Opt {
			return kgo.RetryBackoffFn(func(int) time.Duration { return d })
		}),
		"enable.auto.commit": func(r *optionReader, _ *properties, key, v string) {
			if v != "false" {
				r.fail(key, "offsets are committed with checkpoints, not by themselves", "leave it out")
			}
		},
	}
	for _, name := range securityProperties {
		out[name] = func(*optionReader, *properties, string, string) {} // see optionReader.secure
	}
	return out
}

// properties reads all options that begin with properties.
func (r *optionReader) properties() properties {
	p := properties{reset: split.ResetNone, committed: true}
	p.opts = append(p.opts, kgo.SoftwareNameAndVersion("freshet", "1"), kgo.MetadataMinAge(metadataAge), kgo.FetchMaxBytes(defaultFetch), kgo.FetchMaxPartitionBytes(defaultFetchPartition))
	known := javaProperties()
	for _, key := range slices.Sorted(maps.Keys(r.opts)) {
		name, ok := strings.CutPrefix(key, optProperties)
		if !ok {
			continue
		}
		apply := known[name]
		if apply == nil {
			r.fail(key, "there is no such property of a consumer here", "there is "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			break
		}
		apply(r, &p, key, strings.TrimSpace(r.opts[key]))
	}
	p.opts = append(p.opts, r.secure()...)
	return p
}

func servers(r *optionReader, p *properties, key, _ string) {
	list := r.list(key, ",")
	if len(list) == 0 {
		r.fail(key, "it names no broker", "for instance broker1:9092,broker2:9092")
	}
	p.opts = append(p.opts, kgo.SeedBrokers(list...))
}

func isolation(r *optionReader, p *properties, key, value string) {
	if value != "read_committed" && value != "read_uncommitted" {
		r.fail(key, fmt.Sprintf("%q is unknown", value), "there is read_committed, read_uncommitted")
	}
	p.committed = value == "read_committed"
}

func reset(r *optionReader, p *properties, key, value string) {
	if value != split.ResetNone && value != split.ResetEarliest && value != split.ResetLatest {
		r.fail(key, fmt.Sprintf("%q is unknown", value), "there is none, earliest, latest")
	}
	p.reset = value
}
