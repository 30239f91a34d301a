package kafka

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// stateVersion is the version of readerState that this program writes.
const stateVersion = 1

// readerState is what a checkpoint holds of a reader, as JSON.
type readerState struct {
	Version int               `json:"version"`
	Splits  []split.Split     `json:"splits"`
	Tables  []json.RawMessage `json:"tables"`
}

// state returns the state at this point of the log.
func (r *reader) state() ([]byte, error) {
	s := readerState{Version: stateVersion, Splits: r.splits.All()}
	saved := map[*schema.Table]json.RawMessage{}
	for _, def := range r.set.Definitions() {
		text := r.saved[def]
		if text == nil {
			var err error
			if text, err = json.Marshal(def); err != nil {
				return nil, err
			}
		}
		saved[def] = text
		s.Tables = append(s.Tables, text)
	}
	r.saved = saved
	return json.Marshal(s)
}

// decodeState reads what state returned.
func decodeState(data []byte) ([]split.Split, []*schema.Table, error) {
	var s readerState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if s.Version != stateVersion {
		return nil, nil, fmt.Errorf("%w: it has version %d (use the version of freshet that wrote it)", ErrState, s.Version)
	}
	var tables []*schema.Table
	for _, text := range s.Tables {
		def := new(schema.Table)
		if err := json.Unmarshal(text, def); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrState, err)
		}
		if def.ID.IsZero() {
			return nil, nil, fmt.Errorf("%w: it has a table without a name", ErrState)
		}
		tables = append(tables, def)
	}
	return s.Splits, tables, nil
}

// begin sets the splits: those of the checkpoint, or those of a pipeline that begins.
func (r *reader) begin(ctx context.Context, c *cluster) error {
	all, err := c.partitions(ctx)
	if err != nil {
		return err
	}
	var splits []split.Split
	var tables []*schema.Table
	if r.rc.Restored && len(r.rc.State) > 0 {
		if splits, tables, err = decodeState(r.rc.State); err != nil {
			return err
		}
		if splits, err = r.resume(ctx, c, all, splits); err != nil {
			return err
		}
	} else if splits, err = c.first(ctx, all); err != nil {
		return err
	}
	r.splits = split.New()
	for _, sp := range splits {
		if err := r.splits.Add(sp); err != nil {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
	}
	for _, def := range tables {
		if r.src.cfg.match(def.ID) {
			if err := r.set.Restore(def, r.splits.Position()); err != nil {
				return err
			}
		}
	}
	r.shared.start(r.splits)
	if open := unfinished(splits); len(open) > 0 {
		r.client, err = r.src.consumer(ctx, open)
	}
	return err
}

func unfinished(splits []split.Split) (out []split.Split) {
	for _, sp := range splits {
		if sp.Stop == split.Never || sp.Next < sp.Stop {
			out = append(out, sp)
		}
	}
	return out
}

// resume checks that the broker still has what comes after the checkpoint, and adds
// partitions that have come since.
func (r *reader) resume(ctx context.Context, c *cluster, all []partition, saved []split.Split) ([]split.Split, error) {
	have := map[split.Key]string{}
	for _, sp := range saved {
		have[sp.Key] = sp.TopicID
	}
	added, err := compare(all, have)
	if err != nil {
		return nil, err
	}
	known, err := c.brokers(ctx, all, facts{})
	if err != nil {
		return nil, err
	}
	reset := r.src.cfg.properties.reset
	for i := range saved {
		sp := &saved[i]
		b := known[0][sp.Key]
		err := split.Check(*sp, b.Start, b.End)
		switch {
		case err == nil:
		case reset == split.ResetEarliest && sp.Next < b.Start, reset == split.ResetLatest && sp.Next < b.Start:
			next := b.Start
			if reset == split.ResetLatest {
				next = b.End
			}
			r.logger.Warn("records are skipped that the broker does not have any more", "topic", sp.Topic, "partition", sp.Partition, "from", sp.Next, "to", next)
			sp.Next = next
		default:
			return nil, err
		}
	}
	if r.src.cfg.stop != split.Unbounded {
		return saved, nil
	}
	found, err := c.found(ctx, added)
	return append(saved, found...), err
}

// have returns the partitions that are read, with the numbers of their topics.
func (r *reader) have() map[split.Key]string {
	out := map[split.Key]string{}
	for _, sp := range r.splits.All() {
		out[sp.Key] = sp.TopicID
	}
	return out
}
