package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
// partition. A table all of whose messages lie between them is found when the reader meets it.
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
	var first, last []split.Split
	for _, p := range all {
		b := known[0][p.Key]
		middle := min(b.Start+sampleFirst, b.End)
		first = append(first, split.Split{Key: p.Key, Next: b.Start, Stop: middle})
		last = append(last, split.Split{Key: p.Key, Next: max(middle, b.End-sampleLast), Stop: b.End})
	}
	defs, err1 := s.sample(ctx, first, nil)
	defs, err2 := s.sample(ctx, last, defs)
	if err := errors.Join(err1, err2); err != nil && (len(defs) == 0 || !errors.Is(err, ErrDecode)) {
		return nil, err
	} else if err != nil {
		// The pipeline may begin behind the record, or have passed it; where it has not, the reader fails.
		s.logger.Warn("a record was met that can't be decoded; tables behind it may not be known yet", "error", err)
	}
	return s.found(defs)
}

// sample reads splits into definitions, beginning with those that are known.
func (s *Source) sample(ctx context.Context, splits []split.Split, known []*schema.Table) ([]*schema.Table, error) {
	set := s.tables(source.Needs{Before: true, KeylessUpdates: true, ResolvesUnchanged: true}, nil, discard)
	defer set.Release()
	for _, def := range known {
		if err := set.Restore(def, 0); err != nil {
			return known, err
		}
	}
	decoder, err := format.New(s.cfg.format, set)
	if err != nil {
		return known, err
	}
	err = s.scan(ctx, splits, func(m *format.Message, _ int64) error { return decoder.Decode(ctx, m) })
	return set.Definitions(), err
}

func discard(e source.Element) error {
	if e.Batch != nil {
		e.Batch.Release()
	}
	return nil
}

// found returns tables, and those that the user has defined.
func (s *Source) found(defs []*schema.Table) ([]source.Table, error) {
	for _, def := range s.cfg.given.Named() {
		if s.cfg.match(def.ID) && !slices.ContainsFunc(defs, func(o *schema.Table) bool { return o.ID == def.ID }) {
			defs = append(defs, def)
		}
	}
	var out []source.Table
	for _, def := range defs {
		out = append(out, source.Table{Schema: def, Rows: -1, Bytes: -1, Notes: notes(def)})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: they are empty, or tables selects none of theirs (the option schema names tables before their first message)", ErrNoTables)
	}
	slices.SortFunc(out, func(a, b source.Table) int {
		return strings.Compare(a.Schema.ID.String(), b.Schema.ID.String())
	})
	return out, nil
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
	var m format.Message
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
			m = message(r, position)
			if err = fn(&m, r.Offset); err != nil {
				err = &RecordError{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Err: err}
			}
		}
		set.Emptied(k, p.LogStartOffset)
	})
	return err
}

// message is a record as decoders take it.
func message(r *kgo.Record, position uint64) format.Message {
	return format.Message{Topic: r.Topic, Partition: r.Partition, Time: r.Timestamp.UnixMicro(), Position: position, Key: r.Key, Value: r.Value}
}
