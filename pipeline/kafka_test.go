package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/document"
	"github.com/freshet-cdc/freshet/runtime/stream"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
)

// writeKafka writes a document into dir, with more lines at the end of its blocks.
func writeKafka(t *testing.T, dir string, srv *pgtest.Server, brokers []string, more map[string]string) string {
	t.Helper()
	port := 5432
	if srv != nil {
		port = srv.Port()
	}
	text := fmt.Sprintf(`source:
  type: postgres
  hostname: 127.0.0.1
  port: %d
  username: postgres
  password: ${TEST_PASSWORD:-sesame-sesame}
  tables: postgres.public.\.*
  slot.name: freshet_kafka
%s
sink:
  type: kafka
  properties.bootstrap.servers: %s
  topic.prefix: shop
%s
pipeline:
  name: shop
  parallelism: 2
  execution.checkpointing.interval: 200 ms
  execution.checkpointing.dir: file://%s
  restart-strategy.exponential-delay.initial-backoff: 10 ms
  metrics.address: 127.0.0.1:0
%s
`, port, more["source"], strings.Join(brokers, ","), more["sink"], filepath.Join(dir, "checkpoints"), more["pipeline"])
	file := filepath.Join(dir, "test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestKafkaOptions: what the sink refuses has its place in the document.
func TestKafkaOptions(t *testing.T) {
	for _, c := range []struct{ block, line, says string }{
		{"sink", "  sink.delivery-guarantee: twice", "test.yaml:14:"},
		{"sink", "  properties.lingr.ms: 5", "lingr.ms"},
		{"sink", "  properties.transaction.timeout.ms: 5000", "test.yaml:14:"},
		{"pipeline", "  execution.checkpointing.num-retained: 1", "exactly-once needs 2 retained checkpoints"},
	} {
		_, err := pipeline.Open(writeKafka(t, t.TempDir(), nil, []string{"localhost:9092"}, map[string]string{c.block: c.line}), pipeline.Options{})
		var problems document.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
}

// TestKafkaExample: the example is valid as it stands, and its source keeps what
// Debezium's format shows.
func TestKafkaExample(t *testing.T) {
	p, _ := open(t, filepath.Join("..", "examples", "kafka.yaml"))
	if p.Sink.Kind() != "kafka" || p.Document.Source.Options["time.mode"] != "string" {
		t.Errorf("sink %s, options of the source %v", p.Sink.Kind(), p.Document.Source.Options)
	}
}

// cluster is a Kafka of one process.
type cluster struct {
	t       *testing.T
	brokers []string
	client  *kgo.Client
	admin   *kadm.Client
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &cluster{t: t, brokers: fake.ListenAddrs(), client: client, admin: kadm.NewClient(client)}
}

// abort ends all open transactions as the broker does after their time-out, and returns how
// many there were.
func (c *cluster) abort(ctx context.Context) (int, error) {
	open, err := c.admin.ListTransactions(ctx, nil, []string{"Ongoing"})
	if err != nil {
		return 0, err
	}
	for _, id := range open.TransactionalIDs() {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, 60_000
		if resp, err := req.RequestWith(ctx, c.client); err != nil || resp.ErrorCode != 0 {
			return 0, fmt.Errorf("abort %s: %v, %v", id, resp, err)
		}
	}
	return len(open.TransactionalIDs()), nil
}

// ids returns the ids of the rows that the topic's messages hold, sorted; those of messages
// that will never be visible are left out.
func (c *cluster) ids(topic string, n int) (ids []int) {
	c.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(20*time.Millisecond))
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	for until, quiet := time.Now().Add(time.Minute), false; !quiet || len(ids) < n && time.Now().Before(until); {
		ctx, cancel := context.WithTimeout(c.t.Context(), 200*time.Millisecond)
		fetches := client.PollFetches(ctx)
		cancel()
		quiet = fetches.NumRecords() == 0
		fetches.EachRecord(func(r *kgo.Record) {
			var v struct{ After struct{ ID int } }
			if err := json.Unmarshal(r.Value, &v); err != nil {
				c.t.Fatalf("%s: %v", r.Value, err)
			}
			ids = append(ids, v.After.ID)
		})
	}
	slices.Sort(ids)
	return ids
}

// syncBuffer is a buffer that several goroutines write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestKafkaLostTransaction: the broker gives up the transaction of a checkpoint that is
// complete. The rows come from the database again, once, whether the process lives on
// or another one finds out.
func TestKafkaLostTransaction(t *testing.T) {
	srv, conn := server(t, "CREATE TABLE orders (id bigint PRIMARY KEY, status text); INSERT INTO orders SELECT i, 'new' FROM generate_series(1, 500) i")
	k := startCluster(t)
	file := writeKafka(t, t.TempDir(), srv, k.brokers, nil)
	rows := 500
	insert := func(n int) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "INSERT INTO orders SELECT i, 'late' FROM generate_series($1::bigint, $2) i", rows+1, rows+n); err != nil {
			t.Fatal(err)
		}
		rows += n
	}
	// run runs until all is committed. Once it may abort what is prepared and published.
	run := func(abort, die bool) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var log syncBuffer
		p, err := pipeline.Open(file, pipeline.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Reached: func(point string) {
			if point != stream.PointPublished || !abort {
				return
			}
			n, err := k.abort(ctx)
			if err != nil {
				t.Error(err)
			}
			if abort = n == 0; !abort && die {
				cancel()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Run(ctx, pipeline.RunOptions{UntilCaughtUp: true}); err != nil && !(die && errors.Is(err, context.Canceled)) {
			t.Fatalf("%v\n%s", err, log.String())
		}
		if abort {
			t.Fatal("there was no transaction to abort")
		}
		return log.String()
	}
	const lost = "checkpoint is lost"
	run(false, false)
	insert(100)
	if log := run(true, false); !strings.Contains(log, lost) {
		t.Errorf("nothing was lost:\n%s", log)
	}
	insert(100)
	run(true, true)
	if log := run(false, false); !strings.Contains(log, lost) {
		t.Errorf("the next process did not see that something was lost:\n%s", log)
	}
	got := k.ids("shop.public.orders", rows)
	want := make([]int, rows)
	for i := range want {
		want[i] = i + 1
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d messages, want ids 1 to %d once each: %v", len(got), rows, got)
	}
}
