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
	Version int             `json:"version"`
	Splits  []split.Split   `json:"splits"`
	Tables  []*schema.Table `json:"tables"`
}

// state returns the state at this point of the log.
func (r *reader) state() ([]byte, error) {
	return json.Marshal(readerState{Version: stateVersion, Splits: r.splits.All(), Tables: r.set.Definitions()})
}

// decodeState reads what state returned.
func decodeState(data []byte) (*readerState, error) {
	var s readerState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%w: it has version %d (use the version of freshet that wrote it)", ErrState, s.Version)
	}
	for _, t := range s.Tables {
		if t == nil || t.ID.IsZero() {
			return nil, fmt.Errorf("%w: it has a table without a name", ErrState)
		}
	}
	return &s, nil
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
		s, err := decodeState(r.rc.State)
		if err != nil {
			return err
		}
		if splits, err = r.resume(ctx, c, all, s.Splits); err != nil {
			return err
		}
		tables = s.Tables
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
