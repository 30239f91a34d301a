package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

// brokerJVM is how the broker runs in a measurement, as a user's would: the tests' own
// options are for starting fast.
const brokerJVM = "-Xms1g -Xmx1g"

// The latency is measured over so many changes a second, in transactions of latencyRows.
const (
	latencyRate = 2000
	latencyRows = 20
	latencyTime = 30 * time.Second
	latencyWarm = 10 * time.Second // before that
)

// kafkaBench measures a group whose sink is Kafka: one broker on the same machine.
type kafkaBench struct {
	*bench
	broker *servers.Server
}

// measureKafka measures the backlog into a topic, exactly once, and how long after its
// commit in the database a change can be seen by a consumer.
func measureKafka(ctx context.Context, b *bench) error {
	if os.Getenv("KAFKA_JVM") == "" {
		os.Setenv("KAFKA_JVM", brokerJVM)
	}
	broker, err := servers.StartKafka(ctx, fmt.Sprintf("bench-%d", os.Getpid()), "transaction.max.timeout.ms=900000")
	if err != nil {
		return err
	}
	defer broker.Wipe()
	k := &kafkaBench{bench: b, broker: broker}
	// The first run takes note of where the log ends; the table is not copied.
	backlog := k.pipeline("backlog", map[string]string{"execution.checkpointing.interval": "10s"}, nil)
	if err := backlog.Write(); err != nil {
		return err
	}
	if _, err := k.run(ctx, backlog); err != nil {
		return err
	}
	drain, err := b.backlog(ctx)
	if err != nil {
		return err
	}
	if err := k.measureBacklog(ctx, backlog, drain); err != nil {
		return err
	}
	for _, l := range []struct{ guarantee, interval string }{{"exactly-once", "1s"}, {"at-least-once", "1s"}} {
		if err := k.measureLatency(ctx, l.guarantee, l.interval); err != nil {
			return fmt.Errorf("latency, %s: %w", l.guarantee, err)
		}
	}
	return nil
}

// pipeline is what a user would write, at the defaults.
func (k *kafkaBench) pipeline(name string, settings, sink map[string]string) process.Pipeline {
	url, tables, options := k.db.source()
	source := map[string]string{"scan.startup.mode": "latest-offset"}
	for key, v := range options {
		source[key] = v
	}
	settings["parallelism"] = "2"
	all := map[string]string{"properties.compression.type": "lz4"}
	for key, v := range sink {
		all[key] = v
	}
	return process.Pipeline{Name: "bench-" + name, Dir: filepath.Join(k.dir, name), SourceURL: url, Tables: tables,
		Source: source, Kafka: k.broker.URL, KafkaDefaults: true, Sink: all, Settings: settings}
}

// run runs the pipeline until it has caught up.
func (k *kafkaBench) run(ctx context.Context, p process.Pipeline) (process.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	r, err := process.Run(ctx, k.binary, []string{"run", "--until", "caught-up", p.Path()})
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("%s: exit code %d:\n%s", p.Name, r.Code, r.Tail(30))
	}
	return r, err
}

// measureBacklog prints the line, and makes sure that a consumer sees every change.
func (k *kafkaBench) measureBacklog(ctx context.Context, p process.Pipeline, floor time.Duration) error {
	before, beforeBroker := k.db.cpu(ctx), processCPU(ctx, k.broker, itself)
	r, err := k.run(ctx, p)
	if err != nil {
		return err
	}
	k.report(ctx, "backlog", k.changes, r, before, floor)
	fmt.Printf("backlog: broker %.1f s of CPU\n", (processCPU(ctx, k.broker, itself) - beforeBroker).Seconds())
	// Two of ten changes are deletes, which have a tombstone.
	want := k.changes + k.changes/10*2
	got, err := k.visible(ctx, p, want)
	if err == nil && got != want {
		err = fmt.Errorf("a consumer of committed messages sees %d, want %d", got, want)
	}
	return err
}

// topic is the topic of the measured table.
func (k *kafkaBench) topic(p process.Pipeline) string {
	_, tables, _ := k.db.source()
	return p.Topic(tables)
}

func (k *kafkaBench) consumer(p process.Pipeline, from kgo.Offset) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(k.broker.URL), kgo.ConsumeTopics(k.topic(p)), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(from), kgo.FetchMaxWait(100*time.Millisecond), kgo.MetadataMinAge(100*time.Millisecond))
}

// visible counts the messages that a consumer of committed messages sees: it waits for
// as many as are wanted, and a moment for more.
func (k *kafkaBench) visible(ctx context.Context, p process.Pipeline, want int) (n int, err error) {
	client, err := k.consumer(p, kgo.NewOffset().AtStart())
	if err != nil {
		return 0, err
	}
	defer client.Close()
	for deadline, quiet := time.Now().Add(2*time.Minute), false; !quiet || n < want && time.Now().Before(deadline); {
		poll, cancel := context.WithTimeout(ctx, time.Second)
		fetches := client.PollFetches(poll)
		cancel()
		quiet = fetches.NumRecords() == 0
		n += fetches.NumRecords()
	}
	return n, ctx.Err()
}

// measureLatency lets the pipeline follow a steady writer and prints how long after the
// commit, which each message tells, a consumer has the message.
func (k *kafkaBench) measureLatency(ctx context.Context, guarantee, interval string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := k.pipeline(guarantee, map[string]string{"execution.checkpointing.interval": interval}, map[string]string{"sink.delivery-guarantee": guarantee})
	if err := p.Write(); err != nil {
		return err
	}
	if _, err := k.run(ctx, p); err != nil { // takes note of where the log ends
		return err
	}
	run, err := process.Start(k.binary, []string{"run", p.Path()})
	if err != nil {
		return err
	}
	defer func() {
		run.Kill()
		run.Wait()
	}()
	written := make(chan error, 1)
	go func() { written <- k.writeSteadily(ctx) }()
	latencies, err := k.follow(ctx, p)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, run.Output())
	}
	cancel()
	if err := <-written; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	slices.Sort(latencies)
	at := func(part float64) float64 {
		return latencies[int(part*float64(len(latencies)-1))].Seconds() * 1000
	}
	fmt.Printf("bench %s-latency-%s: %d changes/s, checkpoints every %s, %d messages, median %.0f ms, 99th percentile %.0f ms, longest %.0f ms\n",
		k.group, guarantee, latencyRate, interval, len(latencies), at(0.5), at(0.99), at(1))
	return nil
}

// writeSteadily changes rows at the rate of the measurement until ctx ends.
func (k *kafkaBench) writeSteadily(ctx context.Context) error {
	tick := time.NewTicker(time.Second * latencyRows / latencyRate)
	defer tick.Stop()
	for id := k.rows / 2; ; id += latencyRows {
		if id > k.rows-latencyRows {
			id = k.rows / 2
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := k.db.statement(context.WithoutCancel(ctx), fmt.Sprintf("UPDATE orders SET amount = amount + 1 WHERE id BETWEEN %d AND %d", id, id+latencyRows-1)); err != nil {
			return err
		}
	}
}

// follow consumes what comes, and returns how old each message is behind the warm-up.
func (k *kafkaBench) follow(ctx context.Context, p process.Pipeline) ([]time.Duration, error) {
	if err := k.awaitTopic(ctx, p); err != nil {
		return nil, err
	}
	client, err := k.consumer(p, kgo.NewOffset().AtEnd())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var latencies []time.Duration
	begin := time.Now().Add(latencyWarm)
	for end := begin.Add(latencyTime); time.Now().Before(end); {
		poll, cancel := context.WithDeadline(ctx, end)
		fetches := client.PollFetches(poll)
		cancel()
		now := time.Now()
		if now.Before(begin) {
			continue
		}
		for _, r := range fetches.Records() {
			at, err := commitTime(r.Value)
			if err != nil {
				return nil, err
			}
			latencies = append(latencies, now.Sub(at))
		}
	}
	// A second of them may be under way.
	if least := int(latencyRate * (latencyTime - 5*time.Second) / time.Second); len(latencies) < least {
		return nil, fmt.Errorf("only %d messages came, fewer than %d: it can't keep up, or the writer can't", len(latencies), least)
	}
	return latencies, ctx.Err()
}

// awaitTopic waits until the pipeline has made the topic.
func (k *kafkaBench) awaitTopic(ctx context.Context, p process.Pipeline) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.broker.URL), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		found, err := admin.ListTopics(ctx, k.topic(p))
		if err != nil {
			return err
		}
		if found[k.topic(p)].Err == nil && len(found[k.topic(p)].Partitions) > 0 {
			return nil
		}
	}
	return fmt.Errorf("the pipeline has made no topic %s", k.topic(p))
}

// sourceTime is what stands before the time of the commit, in microseconds since 1970.
var sourceTime = []byte(`"ts_us":`)

// commitTime returns when a message's change was committed.
func commitTime(value []byte) (time.Time, error) {
	_, after, found := bytes.Cut(value, []byte(`"source":{`))
	if found {
		_, after, found = bytes.Cut(after, sourceTime)
	}
	if !found {
		return time.Time{}, fmt.Errorf("a message without source.ts_us: %.200s", value)
	}
	digits := after[:max(0, bytes.IndexAny(after, ",}"))]
	micros, err := strconv.ParseInt(string(digits), 10, 64)
	return time.UnixMicro(micros), err
}
