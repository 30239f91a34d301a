package kafka

import (
	"context"

	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

var _ sink.Committer = (*committer)(nil)

// committer flushes at the barrier what all writers have produced, and commits it when
// the checkpoint is stored.
type committer struct{ s *session }

// Collect makes the checkpoint durable and not visible, lets the writers go on, and returns
// the prepared transactions.
func (c *committer) Collect(ctx context.Context, checkpoint int64, position uint64, _ [][]sink.Committable) ([]byte, error) {
	pending, err := c.s.collect(ctx, checkpoint, position)
	if err != nil {
		return nil, err
	}
	return txn.Encode(pending)
}

// Commit makes everything up to a checkpoint visible.
func (c *committer) Commit(ctx context.Context, checkpoint int64) error {
	return c.s.producer.Commit(ctx, checkpoint)
}

// Close ends the producer. What is not prepared is given up.
func (c *committer) Close() error { return c.s.close() }
