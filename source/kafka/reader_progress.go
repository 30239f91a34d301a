package kafka

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// commitTimeout bounds the commit of offsets to the group.
const commitTimeout = 30 * time.Second

// shared is what other goroutines see of a reader.
type shared struct {
	mu       sync.Mutex
	progress source.Progress
	ends     map[split.Key]int64
	newest   time.Time
	retained []retained
	// toCommit are the offsets to commit next, nil for none; wake says that there are some.
	toCommit []split.Split
	wake     chan struct{}
}

// retained is a checkpoint that may still complete.
type retained struct {
	id       int64
	position uint64
	splits   []split.Split
}

func (s *shared) start(set *split.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = source.Progress{Position: set.Position(), Start: set.Position(), RetainedBytes: -1, SnapshotDone: true}
	s.ends = map[split.Key]int64{}
	for _, sp := range set.All() {
		s.ends[sp.Key] = sp.Next
	}
	s.signal()
}

// signal returns the channel that wakes the goroutine which commits offsets.
func (s *shared) signal() chan struct{} {
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
	return s.wake
}

// server notes a partition's end.
func (s *shared) server(k split.Key, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends != nil {
		s.ends[k] = max(s.ends[k], end)
	}
}

// progress notes where the reader stands.
func (r *reader) progress() {
	s := &r.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.Position, s.progress.ChangeRows, s.progress.Bytes, s.newest = r.splits.Position(), r.set.Rows(), r.bytes, r.newest
	for _, sp := range r.splits.All() {
		s.ends[sp.Key] = max(s.ends[sp.Key], sp.Next)
	}
}

// keep notes the offsets of a checkpoint.
func (s *shared) keep(id int64, position uint64, splits []split.Split) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retained = append(s.retained, retained{id, position, splits})
	s.progress.Position = position
}

// Progress implements source.Reader. LagBytes counts records.
func (r *reader) Progress() source.Progress {
	s := &r.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.progress
	for _, end := range s.ends {
		p.Server += uint64(end)
	}
	p.Server = max(p.Server, p.Position)
	p.LagBytes = int64(p.Server - p.Position)
	if p.LagBytes > 0 && !s.newest.IsZero() {
		p.LagTime = max(0, time.Since(s.newest))
	}
	return p
}

// CheckpointComplete implements source.Reader. The offsets of id are committed to the group:
// nothing is released by that, so the oldest retained checkpoint does not matter.
func (r *reader) CheckpointComplete(id, oldest int64) {
	s := &r.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.retained {
		if c.id == id {
			s.progress.Committed = max(s.progress.Committed, c.position)
			s.toCommit = c.splits
			select {
			case s.signal() <- struct{}{}:
			default:
			}
		}
	}
	s.retained = slices.DeleteFunc(s.retained, func(c retained) bool { return c.id < oldest || c.id <= id })
}

// commits commits offsets until ctx is done. A failure is a warning: the next checkpoint
// commits again, and nothing but tools reads them.
func (s *shared) commits(ctx context.Context, c *cluster, logger *slog.Logger) {
	group := c.cfg.properties.group
	s.mu.Lock()
	wake := s.signal()
	s.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
		s.mu.Lock()
		splits := s.toCommit
		s.toCommit = nil
		s.mu.Unlock()
		if group == "" || splits == nil {
			continue
		}
		if err := commit(ctx, c.admin, group, splits); err != nil && ctx.Err() == nil {
			logger.Warn("offsets could not be committed to the group", "group", group, "error", err)
		}
	}
}

func commit(ctx context.Context, admin *kadm.Client, group string, splits []split.Split) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	var offsets kadm.Offsets
	for _, sp := range splits {
		offsets.AddOffset(sp.Topic, sp.Partition, sp.Next, -1)
	}
	responses, err := admin.CommitOffsets(ctx, group, offsets)
	if err != nil {
		return err
	}
	return responses.Error()
}
