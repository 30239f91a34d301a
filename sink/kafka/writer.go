package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
)

// A writer encodes so many rows before it hands them over that they are about
// pieceBytes; a buffer beyond maxScratch is not kept.
const (
	pieceBytes = 256 << 10
	maxPiece   = 4096 // rows
	maxScratch = 4 << 20
)

var _ sink.Writer = (*writer)(nil)

// writer encodes the rows of its keys and hands them to the session's producer.
type writer struct {
	sink     *Sink
	s        *session
	subtask  int
	prepared int64 // the checkpoint whose end must be waited for, 0 for none
	changes  int   // that gave a message
	tables   map[target]*tableWriter

	out      output
	headers  []debezium.Header
	selected []int32
	piece    int // rows that are encoded at once

	transactions *debezium.Transactions // made when they first come
	beaten       time.Time              // when the newest heartbeat was written
}

// target is a table on its way to a topic.
type target struct{ source, sink schema.TableID }

// tableWriter writes the present version of a table.
type tableWriter struct {
	table      *schema.Table
	name       string // the source's, for partitions by table
	topic      string
	partitions int32
	encoder    encoder
	headers    []kgo.RecordHeader // of every message
}

// Write takes over the input.
func (w *writer) Write(ctx context.Context, in sink.Input) error {
	defer in.Release()
	if in.Change != nil {
		return w.change(ctx, in.Table, in.Change)
	}
	t, err := w.table(ctx, in.Batch.Table, in.Table)
	if err != nil {
		return err
	}
	n := len(in.Select)
	if in.Select == nil {
		n = in.Batch.Rows()
	}
	for start := 0; start < n; {
		end := min(n, start+w.piece)
		if err := w.write(ctx, t, in, start, end); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// write encodes rows start to end of those that are meant, and hands them over.
func (w *writer) write(ctx context.Context, t *tableWriter, in sink.Input, start, end int) error {
	rows := in.Select
	if rows == nil {
		w.selected = w.selected[:0]
		for i := start; i < end; i++ {
			w.selected = append(w.selected, int32(i))
		}
		rows = w.selected
	} else {
		rows = rows[start:end]
	}
	w.out.Reset()
	if err := t.encoder.Append(&w.out, in.Batch, rows, originOf(in.Batch.Origin), w.sink.now().UnixNano()); err != nil {
		return &TableError{Table: in.Batch.Table.ID, Topic: t.topic, Err: err}
	}
	switch size := w.out.size(); {
	case size < pieceBytes/2:
		w.piece = min(2*w.piece, maxPiece)
	case size > 2*pieceBytes:
		w.piece = max(w.piece/2, 1)
	}
	if err := w.s.wait(ctx, w.prepared, w.changes); err != nil {
		return err
	}
	w.prepared = 0
	return w.handOver(ctx, t)
}

// handOver makes records of the encoder's messages, with memory of their own, since
// they live until they are acknowledged.
func (w *writer) handOver(ctx context.Context, t *tableWriter) error {
	restore := w.out.detach(maxScratch)
	records := make([]kgo.Record, w.out.Len())
	for i := range records {
		r := &records[i]
		r.Topic, r.Key, r.Value, r.Headers = t.topic, w.out.Key(i), w.out.Value(i), t.headers
		partitions := t.partitions
		if own := w.out.topic(i); own != "" {
			var err error
			if partitions, err = w.s.topics.partitions(ctx, own, true); err != nil {
				restore()
				return err
			}
			r.Topic = own
		}
		r.Partition = w.sink.opts.partitioner.Partition(t.name, r.Key, partitions)
		if w.headers = w.out.Headers(w.headers[:0], i); len(w.headers) > 0 {
			r.Headers = make([]kgo.RecordHeader, 0, len(w.headers)+len(t.headers))
			for _, h := range w.headers {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
			}
			r.Headers = append(r.Headers, t.headers...)
		}
	}
	restore()
	return w.s.produce(ctx, records)
}

// change takes note of a change; only a truncate gives a message, and that if it is wanted.
func (w *writer) change(ctx context.Context, to schema.TableID, c *schema.Change) error {
	if c.Kind == schema.ChangeTransactions {
		return w.ended(ctx, c)
	}
	def := c.After
	if def == nil {
		def = c.Before
	}
	if def == nil {
		return nil
	}
	if w.subtask == 0 && c.Kind == schema.ChangeReset {
		w.s.logger.Warn("a table is read again: its rows are written again, and rows that are gone are not deleted", "table", c.Table.String())
	}
	t, err := w.table(ctx, def, to)
	if err != nil || c.Kind != schema.ChangeTruncate || !w.sink.opts.format.truncates() {
		return err
	}
	w.changes++
	if !w.s.arrive(w.changes) {
		return nil
	}
	if err := w.s.wait(ctx, w.prepared, w.changes-1); err != nil {
		return err
	}
	w.prepared = 0
	w.out.Reset()
	now := w.sink.now()
	tx := c.Tx
	if tx.CommitTime == 0 {
		tx = schema.Tx{Commit: c.Position, CommitTime: now.UnixMicro()}
	}
	if err := t.encoder.AppendTruncate(&w.out, c.Position, tx, originOf(c.Origin), now.UnixNano()); err != nil {
		return &TableError{Table: c.Table, Topic: t.topic, Err: err}
	}
	if err := w.handOver(ctx, t); err != nil {
		return err
	}
	w.s.move(func() { w.s.written = w.changes })
	return nil
}

// table returns the writer of a table, made anew for another version of it.
func (w *writer) table(ctx context.Context, def *schema.Table, to schema.TableID) (*tableWriter, error) {
	key := target{def.ID, to}
	old := w.tables[key]
	if old != nil && old.table == def {
		return old, nil
	}
	o := &w.sink.opts
	t := &tableWriter{table: def, name: def.ID.String(), headers: o.headers}
	t.topic, _ = o.format.events.route(o.namer.Of(to))
	if errs := o.namer.Check([]schema.TableID{to}); len(errs) > 0 {
		return nil, &TableError{Table: def.ID, Topic: t.topic, Err: errs[0]}
	}
	var err error
	if t.encoder, err = w.sink.encoder(ctx, def, to); err != nil {
		return nil, err
	}
	if t.partitions, err = w.s.topics.partitions(ctx, t.topic, o.format.keyed(def)); err != nil {
		return nil, err
	}
	if o.tableHeader {
		t.headers = appendTableHeaders(o.headers[:len(o.headers):len(o.headers)], to)
	}
	if left := t.encoder.LeftOut(); len(left) > 0 && w.subtask == 0 {
		w.s.logger.Warn("columns are left out: Debezium has no form for their types", "table", t.name, "columns", left, "option", "debezium.include.unknown.datatypes")
	}
	w.tables[key] = t
	return t, nil
}

// Prepare ends the writer's part of a checkpoint. The committer waits for the records.
func (w *writer) Prepare(ctx context.Context, checkpoint int64) ([]sink.Committable, []byte, error) {
	if err := w.heartbeat(ctx); err != nil {
		return nil, nil, err
	}
	w.prepared = checkpoint
	return nil, nil, nil
}

// Close has nothing to do: the committer ends the producer.
func (w *writer) Close() error { return nil }
