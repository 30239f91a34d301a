package producer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

// fetchBytes is how much of the markers is read at once.
const fetchBytes = 1 << 20

// readMarker returns the last committed marker. It reads up to the last stable offset as
// it is now: everything below is decided.
func (p *Producer) readMarker(ctx context.Context) (last txn.Marker, found bool, err error) {
	admin := kadm.NewClient(p.plain)
	ends, err := admin.ListCommittedOffsets(ctx, p.cfg.Markers)
	if err != nil {
		return last, false, err
	}
	end, ok := ends.Lookup(p.cfg.Markers, 0)
	if !ok {
		return last, false, kerr.UnknownTopicOrPartition
	}
	if end.Err != nil {
		return last, false, end.Err
	}
	starts, err := admin.ListStartOffsets(ctx, p.cfg.Markers)
	if err != nil {
		return last, false, err
	}
	start, ok := starts.Lookup(p.cfg.Markers, 0)
	if !ok || start.Err != nil {
		return last, false, kerr.UnknownTopicOrPartition
	}
	leader, err := p.leader(ctx, admin)
	if err != nil {
		return last, false, err
	}
	for at := start.Offset; at < end.Offset; {
		records, next, err := p.fetch(ctx, leader, at)
		if err != nil {
			return last, false, err
		}
		for _, r := range records {
			if string(r.Key) != p.cfg.Prefix || r.Offset >= end.Offset {
				continue
			}
			if err := json.Unmarshal(r.Value, &last); err != nil {
				return last, false, fmt.Errorf("kafka: the topic %s has a record that is no marker at offset %d: %w", p.cfg.Markers, r.Offset, err)
			}
			found = true
		}
		if next <= at {
			return last, false, kerr.NotLeaderForPartition // nothing came: ask again
		}
		at = next
	}
	return last, found, nil
}

// leader returns the broker that has the markers.
func (p *Producer) leader(ctx context.Context, admin *kadm.Client) (int32, error) {
	meta, err := admin.Metadata(ctx, p.cfg.Markers)
	if err != nil {
		return 0, err
	}
	partition, ok := meta.Topics[p.cfg.Markers].Partitions[0]
	if !ok {
		return 0, kerr.UnknownTopicOrPartition
	}
	return partition.Leader, partition.Err
}

// fetch reads committed records from an offset on, and returns the offset behind what
// it has looked at.
func (p *Producer) fetch(ctx context.Context, leader int32, at int64) ([]*kgo.Record, int64, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel = 500, 1, fetchBytes, 1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = p.cfg.Markers
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.FetchOffset, partition.PartitionMaxBytes, partition.CurrentLeaderEpoch = at, fetchBytes, -1
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	answer, err := p.old.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		return nil, at, err
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	if !ok {
		return nil, at, fmt.Errorf("kafka: the answer to a fetch is %T", answer)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, at, err
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			opts := kgo.ProcessFetchPartitionOpts{Offset: at, IsolationLevel: kgo.ReadCommitted(), Topic: p.cfg.Markers}
			fetched, next := kgo.ProcessFetchPartition(opts, &resp.Topics[i].Partitions[j], kgo.DefaultDecompressor(), nil)
			return fetched.Records, next, fetched.Err
		}
	}
	return nil, at, nil
}
