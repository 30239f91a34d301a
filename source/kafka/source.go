package kafka

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/format"
	"github.com/freshet-cdc/freshet/source/kafka/split"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// How many records Discover looks at in each partition, at its beginning and its end.
const (
	sampleFirst = 500
	sampleLast  = 500
)

// Check implements source.Source: the brokers are there, and the topics can be read.
func (s *Source) Check(ctx context.Context) []error {
	cl, err := s.connect(ctx)
	if err != nil {
		return []error{err}
	}
	defer cl.Close()
	c := s.cluster(cl)
	all, err := c.partitions(ctx)
	if err != nil {
		return []error{err}
	}
	if len(all) == 0 {
		return []error{fmt.Errorf("%w: no topic has a name like %s", ErrTopic, s.cfg.pattern)}
	}
	want := facts{group: s.cfg.properties.group != ""}
	if _, err := c.brokers(ctx, all, want); err != nil {
		return []error{err}
	}
	return nil
}

// Discover implements source.Source: it looks at the first and the last records of each
// partition. Rows counts the records of a topic that holds one table.
func (s *Source) Discover(ctx context.Context) ([]source.Table, error) {
	cl, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	c := s.cluster(cl)
	all, err := c.partitions(ctx)
	if err != nil {
		return nil, err
	}
	known, err := c.brokers(ctx, all, facts{})
	if err != nil {
		return nil, err
	}
	set := s.tables(source.Needs{Before: true, KeylessUpdates: true, ResolvesUnchanged: true}, nil, discard)
	defer set.Release()
	decoder, err := format.New(s.cfg.format, set)
	if err != nil {
		return nil, err
	}
	var first, last []split.Split
	for _, p := range all {
		b := known[0][p.Key]
		middle := min(b.Start+sampleFirst, b.End)
		first = append(first, split.Split{Key: p.Key, Next: b.Start, Stop: middle})
		last = append(last, split.Split{Key: p.Key, Next: max(middle, b.End-sampleLast), Stop: b.End})
	}
	for _, sample := range [][]split.Split{first, last} {
		if err := s.scan(ctx, sample, func(m *format.Message, _ int64) error { return decoder.Decode(ctx, m) }); err != nil {
			return nil, err
		}
	}
	return s.found(set)
}

func discard(e source.Element) error {
	if e.Batch != nil {
		e.Batch.Release()
	}
	return nil
}

// found returns the tables of a set, and those that the user has defined.
func (s *Source) found(set *table.Set) ([]source.Table, error) {
	var out []source.Table
	for _, def := range set.Definitions() {
		out = append(out, source.Table{Schema: def, Rows: -1, Bytes: -1, Notes: notes(def)})
	}
	for _, def := range s.cfg.given.Named() {
		if set.Get(def.ID) == nil && s.cfg.match(def.ID) {
			out = append(out, source.Table{Schema: def, Rows: -1, Bytes: -1, Notes: notes(def)})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: they are empty, or tables selects none of theirs (the option schema names tables before their first message)", ErrNoTables)
	}
	slices.SortFunc(out, func(a, b source.Table) int {
		return compareText(a.Schema.ID.String(), b.Schema.ID.String())
	})
	return out, nil
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// notes are limits that apply to a table.
func notes(def *schema.Table) (out []string) {
	if !def.HasKey() {
		out = append(out, "its messages have no key that is known: each is a row of its own, and updates and deletes need the row before them")
	}
	return out
}

// tables returns a set of tables; only is one table to read into its present definition, nil
// for all that are captured.
func (s *Source) tables(needs source.Needs, only *schema.Table, emit func(source.Element) error) *table.Set {
	cfg := table.Config{Needs: needs, Match: s.cfg.match, Given: s.cfg.given.For, Placeholder: s.cfg.format.Placeholder,
		MaxRows: batchRows, MaxBytes: batchBytes, Emit: emit, Memory: allocator}
	if only != nil {
		cfg.Match = func(id schema.TableID) bool { return id == only.ID }
		cfg.Given = func(schema.TableID) *schema.Table { return only }
	}
	return table.NewSet(cfg)
}

// consumer returns a client that reads splits; an offset that the broker does not have is an
// error, never another offset. Control records are kept, since they move the offset on.
func (s *Source) consumer(ctx context.Context, splits []split.Split) (*kgo.Client, error) {
	opts := []kgo.Opt{kgo.ConsumePartitions(offsets(splits)), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords()}
	if s.cfg.properties.committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	return s.connect(ctx, opts...)
}

func offsets(splits []split.Split) map[string]map[int32]kgo.Offset {
	out := map[string]map[int32]kgo.Offset{}
	for _, sp := range splits {
		if out[sp.Topic] == nil {
			out[sp.Topic] = map[int32]kgo.Offset{}
		}
		out[sp.Topic][sp.Partition] = kgo.NewOffset().At(sp.Next)
	}
	return out
}

// scan reads splits up to their ends.
func (s *Source) scan(ctx context.Context, splits []split.Split, fn func(m *format.Message, offset int64) error) error {
	set := split.New()
	for _, sp := range splits {
		if err := set.Add(sp); err != nil {
			return err
		}
	}
	if set.Done() {
		return nil
	}
	var open []split.Split
	for _, sp := range splits {
		if sp.Next < sp.Stop {
			open = append(open, sp)
		}
	}
	cl, err := s.consumer(ctx, open)
	if err != nil {
		return err
	}
	defer cl.Close()
	for !set.Done() {
		fetches := cl.PollRecords(ctx, pollRecords)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fetchError(fetches); err != nil {
			return err
		}
		if err := scanned(fetches, set, fn); err != nil {
			return err
		}
	}
	return nil
}

func scanned(fetches kgo.Fetches, set *split.Set, fn func(m *format.Message, offset int64) error) error {
	var err error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		k := split.Key{Topic: p.Topic, Partition: p.Partition}
		for _, r := range p.Records {
			if err != nil {
				return
			}
			var position uint64
			var use bool
			if position, use, err = set.Record(k, r.Offset); !use || err != nil || r.Attrs.IsControl() {
				continue
			}
			if err = fn(message(r, position), r.Offset); err != nil {
				err = &RecordError{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Err: err}
			}
		}
		set.Emptied(k, p.LogStartOffset)
	})
	return err
}

// message is a record as decoders take it.
func message(r *kgo.Record, position uint64) *format.Message {
	return &format.Message{Topic: r.Topic, Partition: r.Partition, Time: r.Timestamp.UnixMicro(), Position: position, Key: r.Key, Value: r.Value}
}
