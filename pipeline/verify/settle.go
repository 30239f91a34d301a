package verify

import (
	"context"
	"time"

	"github.com/freshet-cdc/freshet/schema"
)

// state is what is known about a key that differed.
type state struct {
	src, snk     fold   // as last read, the source before the sink
	srcAt, snkAt uint64 // the positions of these reads
	confirmed    int    // times that the difference was confirmed in a row
	behind       bool   // the sink had not committed the position of the source's read
}

// judge takes the source's row as it is after the sink was read.
func (s *state) judge(after fold) (equal bool) {
	switch {
	case s.snk == s.src || s.snk == after:
		return true
	case s.src != after: // it changes: nothing is known
		s.confirmed, s.behind = 0, false
	case s.snkAt < s.srcAt:
		s.behind = true
	default:
		s.confirmed, s.behind = s.confirmed+1, false
	}
	return false
}

// settle compares the candidates again until each of them is equal, or certain
// to differ, or nothing moves any more. It returns the keys that are wrong.
func (c *comparison) settle(ctx context.Context, keys map[uint64]*state) (map[uint64]bool, error) {
	start, moved, lastPosition := time.Now(), time.Now(), c.result.SinkPosition
	wrong := map[uint64]bool{}
	for round := 0; len(keys) > 0; round++ {
		after, position, err := c.folds(ctx, "source", c.Source, keys)
		if err != nil {
			return nil, err
		}
		c.result.Rounds++
		for key, s := range keys {
			switch {
			case s.judge(after[key]):
				delete(keys, key)
				continue
			case s.confirmed >= 2:
				wrong[key] = true
				delete(keys, key)
				continue
			}
			s.src, s.srcAt = after[key], position
		}
		if len(keys) == 0 {
			break
		}
		if lastPosition != c.result.SinkPosition {
			lastPosition, moved = c.result.SinkPosition, time.Now()
		}
		if round > 0 && (time.Since(moved) >= c.Patience && onlyBehind(keys) || time.Since(start) >= c.Limit) {
			break
		}
		if err := sleep(ctx, c.Pause); err != nil {
			return nil, err
		}
		snk, at, err := c.folds(ctx, "sink", c.Sink, keys)
		if err != nil {
			return nil, err
		}
		for key, s := range keys {
			if s.confirmed > 0 && s.snk != snk[key] {
				s.confirmed = 0
			}
			s.snk, s.snkAt = snk[key], at
		}
		c.result.SourcePosition, c.result.SinkPosition = position, at
	}
	for key, s := range keys {
		if s.behind || s.confirmed > 0 {
			wrong[key] = true
			c.result.Behind = c.result.Behind || s.behind
		} else {
			c.result.Undecided++
		}
	}
	c.result.Differing = int64(len(wrong))
	return wrong, nil
}

// onlyBehind says that all keys wait for the sink's position.
func onlyBehind(keys map[uint64]*state) bool {
	for _, s := range keys {
		if !s.behind {
			return false
		}
	}
	return true
}

// folds reads one side for the keys alone.
func (c *comparison) folds(ctx context.Context, side string, rows Rows, keys map[uint64]*state) (map[uint64]fold, uint64, error) {
	out := make(map[uint64]fold, len(keys))
	position, err := c.read(ctx, side, rows, func(_ *schema.Batch, _ int, key, hash uint64) {
		if keys[key] != nil {
			f := out[key]
			f.add(mix(key, hash))
			out[key] = f
		}
	})
	return out, position, err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
