package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/format"
	"github.com/freshet-cdc/freshet/source/kafka/split"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// patience is how many records a checkpoint waits for transactions to end.
const patience = 1_000_000

// reader makes the log of one execution. Run and what it calls belong to one goroutine;
// shared is for the others.
type reader struct {
	src    *Source
	logger *slog.Logger

	rc      source.Context
	out     source.Output
	ctx     context.Context // of Run, for what is called back
	splits  *split.Set
	set     *table.Set
	decoder format.Decoder
	client  *kgo.Client // nil until there is a partition

	pending int64 // the checkpoint that wants a barrier, 0 for none
	waited  int   // records since it came
	bytes   int64
	newest  time.Time // the time of the newest record
	message format.Message
	saved   map[*schema.Table]json.RawMessage // definitions as checkpoints hold them

	shared shared
}

// NewReader implements source.Source.
func (s *Source) NewReader() source.Reader { return &reader{src: s, logger: s.logger} }

// Run implements source.Reader.
func (r *reader) Run(ctx context.Context, rc source.Context, out source.Output) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.rc, r.out, r.ctx = rc, out, ctx
	if rc.Logger != nil {
		r.logger = rc.Logger
	}
	admin, err := r.src.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	r.set = r.src.tables(rc.Needs, nil, r.emit)
	defer r.set.Release()
	if r.decoder, err = format.New(r.src.cfg.format, r.set); err != nil {
		return nil, err
	}
	if err := r.begin(ctx, r.src.cluster(admin)); err != nil {
		return nil, err
	}
	return r.run(ctx, cancel, r.src.cluster(admin))
}

// run starts the goroutines beside the loop and waits for them. A client's Close ends its polls.
func (r *reader) run(ctx context.Context, cancel context.CancelFunc, c *cluster) ([]byte, error) {
	var wg sync.WaitGroup
	polled, news := make(chan kgo.Fetches), make(chan finding)
	start := func(fn func()) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			fn()
		}()
	}
	defer func() {
		cancel()
		wg.Wait()
		if r.client != nil {
			r.client.Close()
		}
	}()
	poll := func() { start(func() { poll(ctx, r.client, polled) }) }
	if r.client != nil {
		poll()
	}
	watch := watcher{cluster: c, shared: &r.shared, logger: r.logger, bounded: r.src.cfg.stop != split.Unbounded, interval: r.src.cfg.discovery, have: r.have(), news: news}
	start(func() { watch.run(ctx) })
	start(func() { r.shared.commits(ctx, c, r.logger) })
	for {
		if r.splits.Done() && r.src.cfg.stop != split.Unbounded {
			return r.finish()
		}
		triggers := out(r.pending == 0, r.out.Triggers())
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case id := <-triggers:
			r.pending, r.waited = id, 0
		case f := <-news:
			if err := r.added(ctx, f, poll); err != nil {
				return nil, err
			}
		case fetches := <-polled:
			if err := r.fetched(ctx, fetches); err != nil {
				return nil, err
			}
		}
		if err := r.barrier(ctx); err != nil {
			return nil, err
		}
	}
}

// out returns the channel, or none.
func out(use bool, c <-chan int64) <-chan int64 {
	if use {
		return c
	}
	return nil
}

// poll hands over what the client has fetched, one lot at a time.
func poll(ctx context.Context, client *kgo.Client, to chan<- kgo.Fetches) {
	for {
		fetches := client.PollRecords(ctx, pollRecords)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return
		}
		select {
		case to <- fetches:
		case <-ctx.Done():
			return
		}
	}
}

// fetched decodes what was fetched and emits it.
func (r *reader) fetched(ctx context.Context, fetches kgo.Fetches) error {
	if err := fetchError(fetches); err != nil {
		return err
	}
	var err error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		k := split.Key{Topic: p.Topic, Partition: p.Partition}
		for _, rec := range p.Records {
			if err == nil {
				err = r.record(ctx, k, rec)
			}
		}
		r.splits.Emptied(k, p.LogStartOffset)
		r.shared.server(k, r.end(p))
	})
	if err == nil {
		err = r.set.Flush()
	}
	if err == nil {
		r.progress()
	}
	return err
}

// end is the partition's end as the fetch knew it.
func (r *reader) end(p kgo.FetchTopicPartition) int64 {
	if r.src.cfg.properties.committed {
		return p.LastStableOffset
	}
	return p.HighWatermark
}

// record takes one record.
func (r *reader) record(ctx context.Context, k split.Key, rec *kgo.Record) error {
	position, use, err := r.splits.Record(k, rec.Offset)
	if err != nil || !use {
		return err
	}
	if rec.Attrs.IsControl() {
		r.splits.End(k, rec.ProducerID)
		return r.barrier(ctx)
	}
	if r.src.cfg.properties.committed && rec.Attrs.IsTransactional() {
		r.splits.Begin(k, rec.ProducerID)
	}
	r.message = message(rec, position)
	if err := r.decoder.Decode(ctx, &r.message); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.failed(rec, err)
	}
	r.bytes += int64(len(rec.Key) + len(rec.Value))
	if rec.Timestamp.After(r.newest) {
		r.newest = rec.Timestamp
	}
	r.waited++
	return r.barrier(ctx)
}

// failed says where decoding failed; an error of the output is none of the record.
func (r *reader) failed(rec *kgo.Record, err error) error {
	if emitted, ok := errors.AsType[*emitError](err); ok {
		return emitted.err
	}
	return &RecordError{Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset, Err: err}
}

// emitError is an error of the output, on its way through a decoder.
type emitError struct{ err error }

func (e *emitError) Error() string { return e.err.Error() }
func (e *emitError) Unwrap() error { return e.err }

// barrier ends the checkpoint that waits, if there is one and the log may be cut here.
func (r *reader) barrier(ctx context.Context) error {
	if r.pending == 0 || !r.splits.Between() && r.waited < patience {
		return nil
	}
	if !r.splits.Between() {
		r.logger.Warn("a checkpoint cuts transactions that overlap without an end", "checkpoint", r.pending, "records", r.waited)
	}
	if err := r.set.Flush(); err != nil {
		return err
	}
	id := r.pending
	r.pending = 0
	state, err := r.state()
	if err != nil {
		return err
	}
	r.shared.keep(id, r.splits.Position(), r.splits.All())
	if r.rc.Reached != nil {
		r.rc.Reached("kafka-barrier")
	}
	return r.out.Barrier(ctx, id, r.splits.Position(), state)
}

// finish ends a bounded read.
func (r *reader) finish() ([]byte, error) {
	if err := r.set.Flush(); err != nil {
		return nil, err
	}
	r.progress()
	return r.state()
}

// added takes partitions that were found while the pipeline runs.
func (r *reader) added(ctx context.Context, f finding, poll func()) error {
	if f.err != nil {
		return f.err
	}
	for _, sp := range f.splits {
		if err := r.splits.Add(sp); err != nil {
			return err
		}
		r.logger.Info("a partition was found", "topic", sp.Topic, "partition", sp.Partition, "offset", sp.Next)
	}
	if r.client != nil {
		r.client.AddConsumePartitions(offsets(f.splits))
		return nil
	}
	var err error
	if r.client, err = r.src.consumer(ctx, f.splits); err != nil {
		return err
	}
	poll()
	return nil
}

// emit hands an element on.
func (r *reader) emit(e source.Element) error {
	if err := r.out.Emit(r.ctx, e); err != nil {
		return &emitError{err}
	}
	return nil
}
