package kafka

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/format"
	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// Rows implements source.Source: it reads the topics twice, from their beginning to their
// present end; first to learn which message holds the present row of each key (of a table without a
// key: which rows were deleted), then to give those rows. The position is that of the ends.
func (s *Source) Rows(ctx context.Context, def *schema.Table, fn func(*schema.Batch) error) (uint64, error) {
	splits, position, err := s.everything(ctx)
	if err != nil {
		return 0, err
	}
	f := newFold(def)
	if err := s.replay(ctx, splits, def, f.learn); err != nil {
		return 0, err
	}
	f.second = true
	return position, s.replay(ctx, splits, def, func(b *schema.Batch) error { return f.give(b, position, fn) })
}

// everything returns all partitions from their first to their last record, and the position
// behind these.
func (s *Source) everything(ctx context.Context) (out []split.Split, position uint64, err error) {
	cl, err := s.connect(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer cl.Close()
	c := s.cluster(cl)
	all, err := c.partitions(ctx)
	if err != nil {
		return nil, 0, err
	}
	known, err := c.brokers(ctx, all, facts{})
	if err != nil {
		return nil, 0, err
	}
	for _, p := range all {
		b := known[0][p.Key]
		out = append(out, split.Split{Key: p.Key, Next: b.Start, Stop: b.End})
		position += uint64(b.End)
	}
	return out, position, nil
}

// partitionBits are the bits of a row's number that its offset takes; the partition is above.
const partitionBits = 44

// replay decodes all rows of one table into its present definition. The positions of the rows
// number them alike in every replay of the same splits. A truncate comes as a nil batch.
func (s *Source) replay(ctx context.Context, splits []split.Split, def *schema.Table, fn func(*schema.Batch) error) error {
	numbers := map[split.Key]uint64{}
	for i, sp := range splits {
		numbers[sp.Key] = uint64(i) << partitionBits
	}
	set := s.tables(source.Needs{Before: !def.HasKey(), KeylessUpdates: true, ResolvesUnchanged: true}, def, func(e source.Element) error {
		switch {
		case e.Batch != nil:
			defer e.Batch.Release()
			return fn(e.Batch)
		case e.Change.Kind == schema.ChangeTruncate:
			return fn(nil)
		}
		return nil
	})
	defer set.Release()
	decoder, err := format.New(s.cfg.format, set)
	if err != nil {
		return err
	}
	err = s.scan(ctx, splits, func(m *format.Message, offset int64) error {
		m.Position = numbers[split.Key{Topic: m.Topic, Partition: m.Partition}] | uint64(offset)
		return decoder.Decode(ctx, m)
	})
	if err != nil {
		return err
	}
	return set.Flush()
}

// rowNumber names a row of a replay.
type rowNumber struct {
	position uint64
	ordinal  uint32
}

// fold finds the present rows of a table.
type fold struct {
	def     *schema.Table
	encoder *schema.KeyEncoder
	keys    schema.Keys
	// current is the row of each key; of a table without a key, deleted counts what is to be left out.
	current map[string]rowNumber
	deleted map[[sha256.Size]byte]int
	// truncates counts those that came; the rows after the last one count.
	truncates, passed int
	second            bool
}

func newFold(def *schema.Table) *fold {
	return &fold{def: def, encoder: schema.NewKeyEncoder(def), current: map[string]rowNumber{}, deleted: map[[sha256.Size]byte]int{}}
}

// learn is the first pass.
func (f *fold) learn(b *schema.Batch) (err error) {
	if b == nil {
		clear(f.current)
		clear(f.deleted)
		f.truncates++
		return nil
	}
	if len(b.Unchanged) > 0 {
		return fmt.Errorf("table %s: %w: an update leaves out values that did not change", f.def.ID, ErrRows)
	}
	if f.encoder == nil {
		for i := range b.Rows() {
			switch b.Op(i) {
			case schema.OpDelete, schema.OpUpdate:
				f.deleted[rowHash(b, b.Before, i)]++
			}
		}
		return nil
	}
	if f.keys, err = f.encoder.Encode(b.Record, f.keys); err != nil {
		return err
	}
	for i := range b.Rows() {
		if b.Op(i) == schema.OpDelete {
			delete(f.current, string(f.keys.Bytes(i)))
		} else {
			f.current[string(f.keys.Bytes(i))] = rowNumber{b.Positions[i], b.Ordinals[i]}
		}
	}
	return nil
}

// give is the second pass.
func (f *fold) give(b *schema.Batch, position uint64, fn func(*schema.Batch) error) (err error) {
	if b == nil {
		f.passed++
		return nil
	}
	if f.passed < f.truncates {
		return nil
	}
	if f.encoder != nil {
		if f.keys, err = f.encoder.Encode(b.Record, f.keys); err != nil {
			return err
		}
	}
	keep := make([]bool, b.Rows()+1)
	for i := range b.Rows() {
		keep[i] = f.present(b, i)
	}
	for i := 0; i < b.Rows(); {
		if !keep[i] {
			i++
			continue
		}
		start := i
		for keep[i] {
			i++
		}
		out := schema.NewBatch(f.def, b.Record.NewSlice(int64(start), int64(i)))
		out.Txs = []schema.Tx{{Commit: position, CommitTime: b.Txs[0].CommitTime, Rows: i - start}}
		err := fn(out)
		out.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// present says that a row is there at the end. It is asked once for each row.
func (f *fold) present(b *schema.Batch, i int) bool {
	if b.Op(i) == schema.OpDelete {
		return false
	}
	if f.encoder != nil {
		return f.current[string(f.keys.Bytes(i))] == rowNumber{b.Positions[i], b.Ordinals[i]}
	}
	hash := rowHash(b, b.Record, i)
	if f.deleted[hash] > 0 {
		f.deleted[hash]--
		return false
	}
	return true
}

// rowHash is a hash of all values of a row.
func rowHash(b *schema.Batch, rec arrow.RecordBatch, i int) (out [sha256.Size]byte) {
	h := sha256.New()
	for c := range b.Table.Columns {
		col := rec.Column(c)
		if col.IsNull(i) {
			h.Write([]byte{0})
			continue
		}
		text := col.ValueStr(i)
		fmt.Fprintf(h, "%d:%s", len(text)+1, text)
	}
	h.Sum(out[:0])
	return out
}
