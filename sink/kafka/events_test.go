package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// raw reads n messages as topic, key, value and headers, and a moment longer for more.
func (c *consumer) raw(n int) (out []string) {
	c.t.Helper()
	for deadline, quiet := time.Now().Add(time.Minute), false; !quiet || len(out) < n && time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(c.t.Context(), 60*time.Millisecond)
		fetches := c.kafka.PollFetches(ctx)
		cancel()
		quiet = fetches.NumRecords() == 0
		fetches.EachRecord(func(r *kgo.Record) {
			text := fmt.Sprintf("%s %s %s", strings.TrimPrefix(r.Topic, c.brokers.topic("")), r.Key, r.Value)
			for _, h := range r.Headers {
				text += fmt.Sprintf(" %s=%s", h.Key, h.Value)
			}
			out = append(out, text)
		})
	}
	slices.Sort(out)
	return out
}

// TestEvents: rows of an outbox go to the topics that they name, those of a routed table
// to its other topic, transactions and heartbeats to theirs.
func TestEvents(t *testing.T) { each(t, testEvents) }

func testEvents(t *testing.T, k brokers) {
	s := open(t, k, map[string]string{
		optOutbox: "s.box", "debezium.outbox.table.field.event.key": "n", "debezium.outbox.table.field.event.payload": "txt", "debezium.outbox.route.by.field": "txt",
		"debezium.outbox.route.topic.prefix": k.topic("event."), "debezium.outbox.headers": "n:number",
		optRoute: `(.*)shard_(\d)`, "debezium.route.topic.replacement": "$1shards", "debezium.route.key.field.name": "shard", "debezium.route.key.field.regex": `.*_(\d)`,
		"debezium.route.key.field.replacement": "$1", optTransactions: "true", optHeartbeat: "1",
	})
	box, shard := table("box", "id"), table("shard_7", "id")
	r := rig(t, s, 2, box, shard)
	write(t, r, box, row{schema.OpInsert, 1, 11, "order"}, row{schema.OpUpdate, 1, 12, "order"}, row{schema.OpDelete, 1, 12, "order"})
	write(t, r, shard, row{schema.OpInsert, 2, 22, "x"})
	c := &schema.Change{Kind: schema.ChangeTransactions, Transactions: []schema.Transaction{{Tx: schema.Tx{Commit: 30, CommitTime: 4_000, Rows: 1},
		Origin: schema.TxOrigin{GTID: "a:5"}, Tables: []schema.TableRows{{Table: shard.ID, Rows: 1}}}}}
	for _, w := range r.Writers {
		must(t, w.Write(t.Context(), sink.Input{Change: c}))
	}
	checkpoint(t, r)

	prefix := strings.TrimSuffix(k.topic(""), ".")
	name := func(topic string) string { return strings.TrimPrefix(topic, k.topic("")) }
	transactions, heartbeats := k.topic("transaction"), "__debezium-heartbeat"
	if prefix != "" {
		heartbeats += "." + prefix
	}
	reader := consume(t, brokers{addresses: k.addresses}, k.topic("event.order"), k.topic("s.shards"), transactions, heartbeats)
	reader.brokers = k
	got := reader.raw(5)
	want := []string{
		name(heartbeats) + fmt.Sprintf(` {"serverName":"%s"} `, prefix),
		`event.order 11 "order" id=1 number=11`,
		`s.shards {"id":2,"shard":"7"} {"before":null,"after":{"id":2,"n":22,"txt":"x"},"source":`,
		`transaction {"id":"a:5"} {"status":"BEGIN","id":"a:5","event_count":null,"data_collections":null,"ts_ms":4}`,
		`transaction {"id":"a:5"} {"status":"END","id":"a:5","event_count":1,"data_collections":[{"data_collection":"s.shard_7","event_count":1}],"ts_ms":4}`,
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %s\nwant %s...", got[i], want[i])
		}
	}
}

// TestEventOptions: options that mean nothing together, or at all, are errors.
func TestEventOptions(t *testing.T) {
	for _, c := range []struct{ key, value, format, want string }{
		{optOutbox, "s.box", formatDebeziumAvro, "no effect"},
		{optOutbox, "s.box", formatJSON, "no effect"},
		{optRoute, "(", formatDebezium, "missing closing"},
		{optTimezone, "Mars/Olympus", formatDebezium, "Mars/Olympus"},
		{optHeartbeat, "-1", formatDebezium, "number"},
		{"debezium.topic.transaction", "a b", formatDebezium, "letters"},
		{optDelimiter, "/", formatDebezium, "delimiter"},
		{"debezium.column.propagate.source.type", "s.(", formatDebezium, "missing closing"},
	} {
		opts := map[string]string{optServers: "x:1", optValueFormat: c.format, c.key: c.value}
		if c.format == formatDebeziumAvro {
			opts["schema.registry.url"] = "http://x"
		}
		_, err := New(opts, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s=%s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
}

// TestAsks: what the source is asked for follows from the format.
func TestAsks(t *testing.T) {
	for _, c := range []struct {
		source string
		opts   map[string]string
		want   sink.Asked
	}{
		{"postgres", nil, sink.Asked{Origin: true, Events: true, Unchanged: true}},
		{"mysql", nil, sink.Asked{Origin: true, Events: true}},
		{"postgres", map[string]string{optTransactions: "true", optReselect: "true"}, sink.Asked{Origin: true, Events: true, Transactions: true}},
		{"postgres", map[string]string{optValueFormat: formatJSON}, sink.Asked{Events: true}},
	} {
		opts := map[string]string{optServers: "x:1"}
		for k, v := range c.opts {
			opts[k] = v
		}
		s, err := New(opts, nil)
		must(t, err)
		s.SetSource(c.source, "")
		if got := s.Asks(); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.opts, got, c.want)
		}
	}
}
