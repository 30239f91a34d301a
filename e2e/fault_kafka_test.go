package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

// newBroker starts a Kafka of the test's own, which it may kill.
func newBroker(t *testing.T, settings ...string) *servers.Server {
	t.Helper()
	servers.Require(t)
	k, err := servers.StartKafka(t.Context(), fmt.Sprintf("fault-%d", time.Now().UnixNano()), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Wipe(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// kafkaAdmin connects to a broker.
func kafkaAdmin(t *testing.T, address string) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// unique makes the name of a pipeline, and so of its topics, unlike that of any other run.
func unique(name string) string { return fmt.Sprintf("%s-%d", name, time.Now().UnixNano()) }

// equalTopic compares a table's topic with its source, through Kafka's own consumer.
func equalTopic(t *testing.T, p process.Pipeline, table string) {
	t.Helper()
	m, err := readers.CompareMessages(t.Context(), sourceOf(t, p), table, p.Kafka, p.Topic(table), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(m); !m.OK() {
		t.Errorf("%s", m)
	}
}

// written reports how many records a topic holds, transaction markers included.
func written(t *testing.T, admin *kadm.Client, topic string) int64 {
	t.Helper()
	ends, err := admin.ListCommittedOffsets(t.Context(), topic)
	if err != nil {
		return 0
	}
	var n int64
	ends.Each(func(o kadm.ListedOffset) { n += max(o.Offset, 0) })
	return n
}

// TestFaultBrokerDown kills the broker under a running pipeline. The pipeline waits or
// starts again by itself, and goes on when the broker is back, with each change once.
func TestFaultBrokerDown(t *testing.T) {
	k := newBroker(t)
	url := newDatabase(t)
	conn, change := orders(t, url)
	p := newPipeline(t, unique("broker-down"), url, func(p *process.Pipeline) { p.Kafka = k.URL })
	admin := kafkaAdmin(t, k.URL)
	topic := p.Topic("public.orders")
	run := start(t, p)
	eventually(t, "the first commit", time.Minute, func() bool { return written(t, admin, topic) > 0 })
	outage := 5 * time.Second
	if os.Getenv("E2E_TIER") == "full" {
		outage = time.Minute
	}
	if err := k.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	change()
	time.Sleep(outage)
	execute(t, conn, "INSERT INTO orders VALUES (77776, 'while it was down')")
	select {
	case <-run.Done():
		t.Fatalf("the process ended with the broker:\n%s", run.Wait().Tail(40))
	default:
	}
	if err := k.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "INSERT INTO orders VALUES (77777, 'after the restart')")
	catchesUp(t, p, run)
	equalTopic(t, p, "public.orders")
}

// catchesUp stops a run once it may have written everything, and has another one make sure.
func catchesUp(t *testing.T, p process.Pipeline, run *process.Process) {
	t.Helper()
	stop(t, run)
	catchUp(t, p)
}

// TestFaultLargeMessage: a row that no message holds ends the pipeline with an error that
// names the table and the setting, and nothing of its transaction is seen.
func TestFaultLargeMessage(t *testing.T) {
	address := broker(t)
	url := newDatabase(t)
	conn, _ := orders(t, url)
	p := newPipeline(t, unique("large"), url, func(p *process.Pipeline) { p.Kafka = address })
	catchUp(t, p)
	execute(t, conn, "INSERT INTO orders SELECT 88888, string_agg(md5(i::text), '') FROM generate_series(1, 100000) i")
	fails(t, p, "public.orders", "max.message.bytes")
	execute(t, conn, "UPDATE orders SET v = 'short' WHERE id = 88888")
	execute(t, conn, "DELETE FROM orders WHERE id = 88888")
	// It can be cured without losing anything: the topic takes more, and the producer too.
	value := "8388608"
	if _, err := kafkaAdmin(t, address).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &value}}, p.Topic("public.orders")); err != nil {
		t.Fatal(err)
	}
	p.Sink["properties.max.request.size"] = value
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	catchUp(t, p)
	equalTopic(t, p, "public.orders")
}

// TestFaultMissingTopic: a topic that is not to be made is named, with the option.
func TestFaultMissingTopic(t *testing.T) {
	address := broker(t)
	url := newDatabase(t)
	orders(t, url)
	p := newPipeline(t, unique("missing"), url, func(p *process.Pipeline) {
		p.Kafka = address
		p.Sink["topic.creation.enable"] = "false"
	})
	fails(t, p, p.Topic("public.orders"), "topic.creation.enable")
}

// TestFaultSamePrefix: a second pipeline with the transactional ids of a running one is
// refused, and the first goes on.
func TestFaultSamePrefix(t *testing.T) {
	address := broker(t)
	prefix := unique("prefix")
	with := func(p *process.Pipeline) {
		p.Kafka, p.Sink["transactional-id-prefix"] = address, prefix
		p.Settings["restart-strategy.exponential-delay.initial-backoff"] = "50ms"
	}
	url := newDatabase(t)
	_, change := orders(t, url)
	first := newPipeline(t, unique("prefix-first"), url, with)
	run := start(t, first)
	admin := kafkaAdmin(t, address)
	eventually(t, "the first commit", time.Minute, func() bool { return written(t, admin, first.Topic("public.orders")) > 0 })
	other := newDatabase(t)
	orders(t, other)
	fails(t, newPipeline(t, unique("prefix-second"), other, with), "transactional-id-prefix", "choose another prefix")
	// The first was thrown out of its transaction, and starts again from its checkpoint.
	change()
	since := written(t, admin, first.Topic("public.orders"))
	eventually(t, "a commit after it", time.Minute, func() bool { return written(t, admin, first.Topic("public.orders")) > since })
	catchesUp(t, first, run)
	equalTopic(t, first, "public.orders")
}
