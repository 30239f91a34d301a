package kafka

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

// session is what the committer and the writers of one execution share.
type session struct {
	producer producing
	topics   *topics
	logger   *slog.Logger
	writers  int
	// patience is how long a checkpoint may take; one that is not collected by then has been
	// given up.
	patience time.Duration
	// barrier keeps records out of a transaction that is being prepared.
	barrier sync.RWMutex

	mu sync.Mutex
	// moved is closed, and another one made, when anything below changes.
	moved     chan struct{}
	collected int64 // the newest checkpoint whose records are flushed
	// arrivals counts the writers that have come to a change that gives a message, by its
	// number; the last one writes it. written is the number of the last that was.
	arrivals map[int]int
	written  int
	closed   bool
}

func newSession(p producing, t *topics, logger *slog.Logger, writers int, patience time.Duration) *session {
	return &session{producer: p, topics: t, logger: logger, writers: writers, patience: patience, moved: make(chan struct{}), arrivals: map[int]int{}}
}

// move changes the session and wakes who waits.
func (s *session) move(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.moved)
	s.moved = make(chan struct{})
}

// wait returns when a writer may produce: the checkpoint that it has prepared last is
// collected, so what comes belongs to the next one, and the change that it has met last
// is written, so what comes lies behind it.
//
// Nobody tells writers of a checkpoint that is given up: some have passed its barrier, others
// never will. Once it must be over, those who wait go on, in the same transaction, since
// all of it belongs to the next checkpoint now.
func (s *session) wait(ctx context.Context, prepared int64, change int) error {
	var over <-chan time.Time
	for {
		s.mu.Lock()
		ready, closed, moved := s.collected >= prepared && s.written >= change, s.closed, s.moved
		s.mu.Unlock()
		switch {
		case closed:
			return errClosed
		case ready:
			return nil
		case over == nil:
			t := time.NewTimer(s.patience)
			defer t.Stop()
			over = t.C
		}
		select {
		case <-moved:
		case <-over:
			s.logger.Warn("a checkpoint was given up while a writer waited for its end", "checkpoint", prepared, "waited", s.patience)
			prepared, over = 0, make(chan time.Time)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// arrive says that a writer has come to a change, and whether it is the last one to.
func (s *session) arrive(change int) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals[change]++
	if s.arrivals[change] < s.writers {
		return false
	}
	delete(s.arrivals, change)
	return true
}

// produce hands records over.
func (s *session) produce(ctx context.Context, records []kgo.Record) error {
	s.barrier.RLock()
	defer s.barrier.RUnlock()
	for i := range records {
		if err := s.producer.Produce(ctx, &records[i]); err != nil {
			return err
		}
	}
	if ctx.Err() != nil { // what could not be buffered any more has failed
		return context.Cause(ctx)
	}
	return nil
}

// collect prepares a checkpoint, and lets the writers go on that wait for it.
func (s *session) collect(ctx context.Context, checkpoint int64, position uint64) ([]txn.Committable, error) {
	s.barrier.Lock()
	defer s.barrier.Unlock()
	pending, err := s.producer.Prepare(ctx, checkpoint, position)
	if err == nil {
		s.move(func() { s.collected = checkpoint })
	}
	return pending, err
}

// close ends the producer; what is prepared stays so.
func (s *session) close() error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.move(func() { s.closed = true })
	err := s.producer.Close()
	s.topics.admin.Close()
	return err
}
