package readers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

// Message is a message as Kafka's console consumer prints it; nil is null.
type Message struct {
	Partition int
	Offset    int64
	// Headers are printed as name:value,name:value, empty for none.
	Headers    string
	Key, Value Text
}

// endKey is the key of the message by which a reader knows that it has seen all of a
// partition.
const endKey = "e2e-end-of-reading"

// topicTimeout bounds the reading of a topic. What is behind a transaction that stays
// open is not printed.
const topicTimeout = 5 * time.Minute

// ReadTopic calls fn for each message of a topic that a consumer with
// isolation.level=read_committed sees, in the order of each partition. The consumer is
// Kafka's own, in Java. So that it knows the end, a message is written behind what is in
// each partition; the topic is not to be used by others any more.
func ReadTopic(ctx context.Context, broker, topic string, fn func(Message) error) error {
	programs, err := servers.KafkaPrograms(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, topicTimeout)
	defer cancel()
	partitions, err := markEnds(ctx, broker, topic)
	if err != nil {
		return fmt.Errorf("readers: topic %s: %w", topic, err)
	}
	args := []string{"--bootstrap-server", broker, "--topic", topic, "--from-beginning", "--isolation-level", "read_committed"}
	for _, p := range []string{"print.partition", "print.offset", "print.headers", "print.key"} {
		args = append(args, "--formatter-property", p+"=true")
	}
	args = append(args, "--formatter-property", "null.literal="+nullLiteral)
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "kafka-console-consumer"), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("readers: %w", err)
	}
	err = readMessages(out, partitions, fn)
	cancel() // it would wait for more
	_ = cmd.Wait()
	if err != nil {
		text := stderr.String()
		return fmt.Errorf("readers: topic %s: %w: %s", topic, err, text[max(0, len(text)-2000):])
	}
	return nil
}

// nullLiteral stands for a missing key or value; JSON can't be that.
const nullLiteral = "<null>"

// readMessages reads what the console consumer prints until it has come to the ends of
// all partitions.
func readMessages(out io.Reader, partitions int, fn func(Message) error) error {
	ends := 0
	lines := bufio.NewReaderSize(out, 1<<20)
	for ends < partitions {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the consumer ended, or stood still, before the end of %d of %d partitions (is a transaction still open?): %w", partitions-ends, partitions, err)
		}
		m, ok, err := parseMessage(strings.TrimSuffix(line, "\n"))
		switch {
		case err != nil:
			return err
		case !ok:
		case m.Key != nil && *m.Key == endKey:
			ends++
		default:
			if err := fn(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseMessage takes a line apart; ok is false for one that is not a message.
func parseMessage(line string) (m Message, ok bool, err error) {
	parts := strings.SplitN(line, "\t", 5)
	partition, found := strings.CutPrefix(parts[0], "Partition:")
	if !found || len(parts) != 5 {
		return m, false, nil // the consumer says something about itself
	}
	if m.Partition, err = strconv.Atoi(partition); err == nil {
		m.Offset, err = strconv.ParseInt(strings.TrimPrefix(parts[1], "Offset:"), 10, 64)
	}
	if err != nil {
		return m, false, fmt.Errorf("a line of the consumer: %q: %w", line[:min(len(line), 100)], err)
	}
	if parts[2] != "NO_HEADERS" {
		m.Headers = parts[2]
	}
	if parts[3] != nullLiteral {
		m.Key = &parts[3]
	}
	if parts[4] != nullLiteral {
		m.Value = &parts[4]
	}
	return m, true, nil
}

// markEnds writes the last message of each partition and returns how many there are.
func markEnds(ctx context.Context, broker, topic string) (int, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	found, err := kadm.NewClient(client).ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	if err := found[topic].Err; err != nil || len(found[topic].Partitions) == 0 {
		return 0, errors.Join(errors.New("there is no such topic"), err)
	}
	for p := range found[topic].Partitions {
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: p, Key: []byte(endKey)}).FirstErr(); err != nil {
			return 0, err
		}
	}
	return len(found[topic].Partitions), nil
}

// Topics returns the names of a broker's topics.
func Topics(ctx context.Context, broker string) ([]string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found, err := kadm.NewClient(client).ListTopics(ctx)
	if err != nil {
		return nil, err
	}
	return found.Names(), nil
}
