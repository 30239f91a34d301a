package kafka

import (
	"bytes"
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
)

// originOf returns what a source tells of rows, which is nothing where it tells nothing.
func originOf(o *schema.Origin) debezium.Origin {
	if o == nil {
		return debezium.Origin{}
	}
	return *o
}

// ended writes the messages of transactions that have ended; the first writer does.
func (w *writer) ended(ctx context.Context, c *schema.Change) error {
	f := w.sink.format()
	if w.subtask != 0 || f.events.transactions == "" {
		return nil
	}
	if w.transactions == nil {
		var err error
		if w.transactions, err = debezium.NewTransactions(f.eventOptions()); err != nil {
			return err
		}
	}
	var out debezium.Output
	w.transactions.Append(&out, c)
	return w.send(ctx, f.events.transactions, &out)
}

// heartbeat writes a heartbeat, if it is time for one; the first writer does.
func (w *writer) heartbeat(ctx context.Context) error {
	f, now := w.sink.format(), w.sink.now()
	if w.subtask != 0 || f.events.heartbeat == 0 || now.Sub(w.beaten) < f.events.heartbeat {
		return nil
	}
	h, err := debezium.NewHeartbeats(f.eventOptions())
	if err != nil {
		return err
	}
	w.beaten = now
	var out debezium.Output
	h.Append(&out, now.UnixMilli())
	return w.send(ctx, f.events.heartbeatTopic, &out)
}

// send hands over messages of no table.
func (w *writer) send(ctx context.Context, name string, out *debezium.Output) error {
	partitions, err := w.s.topics.partitions(ctx, name, true)
	if err != nil {
		return err
	}
	if err := w.s.wait(ctx, w.prepared, w.changes); err != nil {
		return err
	}
	w.prepared = 0
	f := w.sink.format()
	records := make([]kgo.Record, len(out.Messages))
	for i := range records {
		r := &records[i]
		r.Topic = name
		if r.Key, err = f.event(ctx, name, out.Key(i), true); err != nil {
			return err
		}
		if r.Value, err = f.event(ctx, name, out.Value(i), false); err != nil {
			return err
		}
		r.Partition = w.sink.opts.partitioner.Partition(name, r.Key, partitions)
		for _, h := range out.Headers(nil, i) {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: bytes.Clone(h.Value)})
		}
		r.Headers = append(r.Headers, w.sink.opts.headers...)
	}
	return w.s.produce(ctx, records)
}
