package kafka

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/topic"
	"github.com/freshet-cdc/freshet/sink/sinktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// brokers is a cluster, and what a test's topics and transactional ids begin with there.
type brokers struct {
	addresses []string
	// name is that, empty where the test has the cluster for itself.
	name string
}

// cluster starts a cluster of one broker.
func cluster(t *testing.T, opts ...kfake.Opt) brokers {
	t.Helper()
	k, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.DefaultNumPartitions(3)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return brokers{addresses: k.ListenAddrs()}
}

// versions runs a test on clusters of both versions of the protocol, and on a real broker.
func versions(t *testing.T, fn func(t *testing.T, k brokers)) {
	for name, opts := range map[string][]kfake.Opt{"V1": {kfake.MaxVersions(kversion.V3_9_0())}, "V2": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, cluster(t, opts...))
		})
	}
	onReal(t, fn)
}

// each runs a test on a cluster of one broker, and on a real broker.
func each(t *testing.T, fn func(t *testing.T, k brokers)) {
	t.Run("fake", func(t *testing.T) { fn(t, cluster(t)) })
	onReal(t, fn)
}

// runs makes what this run of the tests leaves on a broker other than what the last one left.
var runs = fmt.Sprintf("%d-%d", time.Now().UnixNano(), os.Getpid())

// onReal runs a test on the broker that FRESHET_KAFKA_URL names, where other tests are too.
func onReal(t *testing.T, fn func(t *testing.T, k brokers)) {
	t.Run("real", func(t *testing.T) {
		address := os.Getenv("FRESHET_KAFKA_URL")
		if address == "" {
			t.Skip("no broker: FRESHET_KAFKA_URL is not set; bash e2e/run.sh starts one")
		}
		fn(t, brokers{addresses: strings.Split(address, ","), name: topic.Sanitise(t.Name()) + "-" + runs})
	})
}

// open returns a sink; more are options beside the usual ones.
func open(t *testing.T, k brokers, more map[string]string) *Sink {
	t.Helper()
	opts := map[string]string{optServers: strings.Join(k.addresses, ","), "properties.linger.ms": "0", optTxnTimeout: "60000"}
	maps.Copy(opts, more)
	if k.name != "" {
		opts[optTopicPrefix] = strings.TrimSuffix(k.name+"."+opts[optTopicPrefix], ".")
		opts[optPrefix] = k.name + opts[optPrefix]
	}
	s, err := New(opts, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	s.SetSource("mysql", "")
	return s
}

// topic returns the topic's name on the cluster.
func (k brokers) topic(name string) string {
	if k.name == "" {
		return name
	}
	return k.name + "." + name
}

// table returns a table s.name with columns id, n and txt.
func table(name string, key ...string) *schema.Table {
	return &schema.Table{ID: schema.TableID{Schema: "s", Table: name}, Version: 1, PrimaryKey: key, Columns: []schema.Column{
		column("id", schema.Int(), "int"), column("n", schema.Int(), "int"), column("txt", schema.Varchar(200), "varchar(200)"),
	}}
}

func column(name string, typ schema.Type, source string) schema.Column {
	return schema.Column{Name: name, Type: typ, Nullable: name != "id", Source: schema.SourceType{Name: source, Length: -1, Scale: -1, Modifier: -1}}
}

// row is a row of a batch: an operation, a key, and a number that no other row has.
type row struct {
	op    schema.Op
	id, n int
	txt   string
}

func batch(t testing.TB, mem memory.Allocator, def *schema.Table, position uint64, rows ...row) *schema.Batch {
	t.Helper()
	b := array.NewRecordBuilder(mem, def.ArrowSchema())
	defer b.Release()
	for _, r := range rows {
		for i, c := range def.Columns {
			v := map[string]string{"id": fmt.Sprint(r.id), "n": fmt.Sprint(r.n), "txt": r.txt}[c.Name]
			if c.Name != "id" && c.Name != "n" && v == "" {
				b.Field(i).AppendNull()
			} else if err := b.Field(i).AppendValueFromString(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := schema.NewBatch(def, b.NewRecordBatch())
	out.Txs = []schema.Tx{{ID: position, Commit: position, CommitTime: int64(position), Rows: len(rows)}}
	for i, r := range rows {
		out.Ops, out.Positions, out.Ordinals = append(out.Ops, r.op), append(out.Positions, position), append(out.Ordinals, uint32(i))
	}
	return out
}

// message is what a consumer sees of a message.
type message struct {
	topic, key, op string
	partition      int32
	id, n          int
	tombstone      bool
	headers        string
	value          string
}

func (m message) String() string { return fmt.Sprintf("%s %s %d", m.topic, m.op, m.n) }

// consumer reads topics, and of transactions what is committed.
type consumer struct {
	t       *testing.T
	brokers brokers
	kafka   *kgo.Client
	seen    []message
}

func consume(t *testing.T, k brokers, topics ...string) *consumer {
	t.Helper()
	for i := range topics {
		topics[i] = k.topic(topics[i])
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addresses...), kgo.ConsumeTopics(topics...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(20*time.Millisecond), kgo.MetadataMinAge(20*time.Millisecond), kgo.MetadataMaxAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &consumer{t: t, brokers: k, kafka: client}
}

// read waits until n messages are there, and a moment longer for more.
func (c *consumer) read(n int) []message {
	c.t.Helper()
	for deadline, quiet := time.Now().Add(time.Minute), false; !quiet || len(c.seen) < n && time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(c.t.Context(), 60*time.Millisecond)
		fetches := c.kafka.PollFetches(ctx)
		cancel()
		quiet = fetches.NumRecords() == 0
		fetches.EachRecord(func(r *kgo.Record) { c.seen = append(c.seen, c.message(r)) })
	}
	return c.seen
}

func (c *consumer) message(r *kgo.Record) message {
	c.t.Helper()
	m := message{topic: strings.TrimPrefix(r.Topic, c.brokers.topic("")), key: string(r.Key), partition: r.Partition, tombstone: r.Value == nil, value: string(r.Value)}
	for _, h := range r.Headers {
		m.headers += h.Key + "=" + string(h.Value) + ";"
	}
	var v struct {
		Op            string
		Before, After *struct{ ID, N int }
	}
	if r.Value != nil {
		if err := json.Unmarshal(r.Value, &v); err != nil {
			c.t.Fatalf("%s: %v", r.Value, err)
		}
	}
	m.op = v.Op
	if row := v.After; row != nil {
		m.id, m.n = row.ID, row.N
	} else if row = v.Before; row != nil {
		m.id, m.n = row.ID, row.N
	}
	return m
}

// texts returns the messages that are no tombstones, in text, sorted.
func texts(messages []message) (out []string) {
	for _, m := range messages {
		if !m.tombstone {
			out = append(out, m.String())
		}
	}
	slices.Sort(out)
	return out
}

// rig returns a rig that has been started, with a table announced.
func rig(t *testing.T, s *Sink, writers int, tables ...*schema.Table) *sinktest.Rig {
	t.Helper()
	r := sinktest.NewRig(t, s, memory.DefaultAllocator)
	start(t, r, writers, tables...)
	t.Cleanup(r.Crash)
	return r
}

func start(t *testing.T, r *sinktest.Rig, writers int, tables ...*schema.Table) {
	t.Helper()
	must(t, r.Start(t.Context(), writers))
	for _, def := range tables {
		must(t, r.Change(t.Context(), def.ID, &schema.Change{Kind: schema.ChangeCreateTable, Table: def.ID, After: def}))
	}
}

// write gives rows to the writers of their keys.
func write(t *testing.T, r *sinktest.Rig, def *schema.Table, rows ...row) {
	t.Helper()
	r.Position += 10
	must(t, r.Rows(t.Context(), def.ID, batch(t, r.Mem, def, r.Position, rows...)))
}

func checkpoint(t *testing.T, r *sinktest.Rig) {
	t.Helper()
	_, err := r.Checkpoint(t.Context(), nil)
	must(t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
