package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// partition is a partition as the cluster lists it.
type partition struct {
	split.Key
	topicID string
}

// cluster asks the brokers about topics.
type cluster struct {
	admin *kadm.Client
	cfg   *config
}

func (s *Source) cluster(cl *kgo.Client) *cluster { return &cluster{kadm.NewClient(cl), s.cfg} }

// partitions lists the partitions of all selected topics, in order.
func (c *cluster) partitions(ctx context.Context) ([]partition, error) {
	var topics kadm.TopicDetails
	var err error
	if c.cfg.pattern == nil {
		topics, err = c.admin.ListTopics(ctx, c.cfg.topics...)
	} else {
		topics, err = c.admin.ListTopics(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	var out []partition
	for _, t := range topics.Sorted() {
		if c.cfg.pattern != nil && (t.IsInternal || !c.cfg.pattern.MatchString(t.Topic)) {
			continue
		}
		if t.Err != nil {
			return nil, topicError(t.Topic, t.Err)
		}
		id := ""
		if t.ID != (kadm.TopicID{}) {
			id = t.ID.String()
		}
		for _, p := range t.Partitions.Sorted() {
			out = append(out, partition{split.Key{Topic: t.Topic, Partition: p.Partition}, id})
		}
	}
	return out, nil
}

// topicError tells a topic that is not there from brokers that can't say.
func topicError(topic string, err error) error {
	if kerrIs(err, "UNKNOWN_TOPIC_OR_PARTITION", "TOPIC_AUTHORIZATION_FAILED", "INVALID_TOPIC_EXCEPTION", "UNKNOWN_TOPIC_ID") {
		return fmt.Errorf("topic %s: %w: %w", topic, ErrTopic, err)
	}
	return fmt.Errorf("topic %s: %w: %w", topic, ErrConnect, err)
}

// facts says which lists brokers needs.
type facts struct {
	group bool
	at    []int64 // timestamps, in milliseconds; the lists are in this order
}

// brokers returns what the brokers know of partitions: one list for each timestamp, or one.
func (c *cluster) brokers(ctx context.Context, all []partition, want facts) ([]map[split.Key]split.Broker, error) {
	topics := topicsOf(all)
	if len(topics) == 0 {
		return make([]map[split.Key]split.Broker, max(1, len(want.at))), nil
	}
	start, err1 := c.admin.ListStartOffsets(ctx, topics...)
	list := c.admin.ListEndOffsets
	if c.cfg.properties.committed {
		list = c.admin.ListCommittedOffsets
	}
	end, err2 := list(ctx, topics...)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	var committed kadm.OffsetResponses
	if want.group {
		var err error
		if committed, err = c.admin.FetchOffsets(ctx, c.cfg.properties.group); err != nil {
			return nil, fmt.Errorf("%w: offsets of group %s: %w", ErrConnect, c.cfg.properties.group, err)
		}
	}
	var out []map[split.Key]split.Broker
	for i := range max(1, len(want.at)) {
		var at kadm.ListedOffsets
		if len(want.at) > 0 {
			var err error
			if at, err = c.admin.ListOffsetsAfterMilli(ctx, want.at[i], topics...); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrConnect, err)
			}
		}
		m, err := gather(all, start, end, at, committed)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func topicsOf(all []partition) (out []string) {
	for _, p := range all {
		out = append(out, p.Topic)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// gather puts the lists together.
func gather(all []partition, start, end, at kadm.ListedOffsets, committed kadm.OffsetResponses) (map[split.Key]split.Broker, error) {
	out := make(map[split.Key]split.Broker, len(all))
	for _, p := range all {
		b := split.Broker{Committed: -1, At: -1}
		for _, l := range []struct {
			from kadm.ListedOffsets
			to   *int64
		}{{start, &b.Start}, {end, &b.End}, {at, &b.At}} {
			if l.from == nil {
				continue
			}
			o, ok := l.from.Lookup(p.Topic, p.Partition)
			if !ok {
				return nil, fmt.Errorf("%s: %w: its leader is not known", p.Key, ErrConnect)
			}
			if o.Err != nil { // a topic that is listed is there: a leader may not know it yet
				return nil, fmt.Errorf("%s: %w: %w", p.Key, ErrConnect, o.Err)
			}
			*l.to = o.Offset
		}
		if o, ok := committed.Lookup(p.Topic, p.Partition); ok && o.Err == nil && o.At >= 0 {
			b.Committed = o.At
		}
		// Without records behind it, the timestamp's offset is the end, which may lie behind that of
		// the last transaction.
		if b.At > b.End {
			b.At = b.End
		}
		out[p.Key] = b
	}
	return out, nil
}

// first returns the splits of a pipeline that begins.
func (c *cluster) first(ctx context.Context, all []partition) ([]split.Split, error) {
	cfg := c.cfg
	want := facts{group: cfg.start == split.Group || cfg.stop == split.Group}
	if cfg.start == split.Timestamp || cfg.stop == split.Timestamp {
		want.at = []int64{cfg.startAt, cfg.stopAt}
	}
	known, err := c.brokers(ctx, all, want)
	if err != nil {
		return nil, err
	}
	var out []split.Split
	for _, p := range all {
		sp := split.Split{Key: p.Key, TopicID: p.topicID}
		if sp.Next, err = split.Start(cfg.start, p.Key, known[0][p.Key], cfg.startGiven, cfg.properties.reset); err != nil {
			return nil, err
		}
		if sp.Stop, err = split.Stop(cfg.stop, p.Key, known[len(known)-1][p.Key], cfg.stopGiven); err != nil {
			return nil, err
		}
		out = append(out, sp)
	}
	return out, nil
}

// found returns the splits of partitions that are new: they are read from their beginning.
func (c *cluster) found(ctx context.Context, added []partition) ([]split.Split, error) {
	known, err := c.brokers(ctx, added, facts{})
	if err != nil {
		return nil, err
	}
	var out []split.Split
	for _, p := range added {
		out = append(out, split.Split{Key: p.Key, TopicID: p.topicID, Next: known[0][p.Key].Start, Stop: split.Never})
	}
	return out, nil
}

// compare finds partitions that are new; one that is gone or of another topic is an error.
func compare(all []partition, have map[split.Key]string) (added []partition, err error) {
	seen := make(map[split.Key]bool, len(all))
	for _, p := range all {
		seen[p.Key] = true
		id, ok := have[p.Key]
		switch {
		case !ok:
			added = append(added, p)
		case id != "" && p.topicID != "" && id != p.topicID:
			return nil, fmt.Errorf("topic %s: %w: it was deleted and made anew, so its offsets mean other records (start the pipeline anew)", p.Topic, ErrTopic)
		}
	}
	for k := range have {
		if !seen[k] {
			return nil, fmt.Errorf("%s: %w: it is not there any more, or not selected (start the pipeline anew)", k, ErrTopic)
		}
	}
	return added, nil
}
