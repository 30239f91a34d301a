package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
)

func admin(t *testing.T, k brokers) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addresses...))
	must(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// TestTopics: topics are made as options say, and those that are there are taken as they are.
func TestTopics(t *testing.T) { each(t, testTopics) }

func testTopics(t *testing.T, k brokers) {
	a := admin(t, k)
	_, err := a.CreateTopic(t.Context(), 2, 1, nil, k.topic("s.old"))
	must(t, err)
	r := rig(t, open(t, k, map[string]string{optPartitions: "5", optReplicas: "1", optCleanup: "compact", "topic.creation.default.retention.ms": "1000"}), 2,
		table("new", "id"), table("old", "id"))
	markers := "p.checkpoints"
	if k.name != "" {
		markers = k.name + ".checkpoints"
	}
	meta, err := a.Metadata(t.Context(), k.topic("s.new"), k.topic("s.old"), markers)
	must(t, err)
	for name, n := range map[string]int{k.topic("s.new"): 5, k.topic("s.old"): 2, markers: 1} {
		if got := len(meta.Topics[name].Partitions); got != n {
			t.Errorf("%s has %d partitions, want %d", name, got, n)
		}
	}
	configs, err := a.DescribeTopicConfigs(t.Context(), k.topic("s.new"))
	must(t, err)
	want := map[string]string{"cleanup.policy": "compact", "retention.ms": "1000"}
	for _, c := range configs[0].Configs {
		if v, ok := want[c.Key]; ok && (c.Value == nil || *c.Value != v) {
			t.Errorf("%s is %v", c.Key, c.Value)
		}
	}
	def := table("keyless") // which a compacted topic does not take
	err = r.Change(t.Context(), def.ID, &schema.Change{Kind: schema.ChangeCreateTable, Table: def.ID, After: def})
	if !errors.Is(err, ErrTopic) {
		t.Errorf("%v", err)
	}
}

// TestNoTopic: without leave, no topic is made.
func TestNoTopic(t *testing.T) { each(t, testNoTopic) }

func testNoTopic(t *testing.T, k brokers) {
	r := rig(t, open(t, k, map[string]string{optCreate: "false", optGuarantee: "none"}), 1)
	def := table("t", "id")
	err := r.Change(t.Context(), def.ID, &schema.Change{Kind: schema.ChangeCreateTable, Table: def.ID, After: def})
	var missing *TopicError
	if !errors.As(err, &missing) || missing.Topic != k.topic("s.t") {
		t.Errorf("%v", err)
	}
}

// TestStrategies: where messages go.
func TestStrategies(t *testing.T) { each(t, testStrategies) }

func testStrategies(t *testing.T, k brokers) {
	for _, c := range []struct {
		strategy string
		most     int // partitions that are used
	}{{"all-to-zero", 1}, {"by-table", 1}, {"hash-by-key", 3}} {
		t.Run(c.strategy, func(t *testing.T) {
			def := table("t", "id")
			r := rig(t, open(t, k, map[string]string{optStrategy: c.strategy, optPartitions: "3", optTopicPrefix: c.strategy, optPrefix: c.strategy}), 1, def)
			write(t, r, def, insert(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)...)
			checkpoint(t, r)
			used := map[int32]bool{}
			for _, m := range consume(t, k, c.strategy+".s.t").read(12) {
				used[m.partition] = true
			}
			if len(used) != c.most || c.strategy == "all-to-zero" && !used[0] {
				t.Errorf("partitions %v", used)
			}
		})
	}
}
