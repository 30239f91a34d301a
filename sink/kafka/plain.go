package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/sink/kafka/producer"
	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

// producing is what writers and committer need of a producer; [producer.Producer] has it.
// Produce may be called by several goroutines, but by none while Prepare runs.
type producing interface {
	Produce(ctx context.Context, r *kgo.Record) error
	Prepare(ctx context.Context, checkpoint int64, position uint64) ([]txn.Committable, error)
	Commit(ctx context.Context, checkpoint int64) error
	Close() error
}

// lastFlush is how long the end of a producer without guarantees waits for what is buffered.
const lastFlush = 5 * time.Second

// plainProducer writes without transactions.
type plainProducer struct {
	kafka *kgo.Client
	// waits: everything is acknowledged before a checkpoint goes on.
	waits bool

	mu  sync.Mutex
	err error // of the first record that was not written
}

func newPlainProducer(p properties, g guarantee) (*plainProducer, error) {
	k, err := kgo.NewClient(append(append([]kgo.Opt{}, p.common...), p.producing...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return &plainProducer{kafka: k, waits: g == atLeastOnce}, nil
}

// Produce hands a record over; it waits while the buffer is full.
func (p *plainProducer) Produce(ctx context.Context, r *kgo.Record) error {
	p.kafka.Produce(ctx, r, func(r *kgo.Record, err error) {
		if err == nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err == nil {
			p.err = producer.NewRecordError(r, err)
		}
	})
	return nil
}

// Prepare waits until everything is written, if it is to be waited for, and says what was not.
func (p *plainProducer) Prepare(ctx context.Context, _ int64, _ uint64) ([]txn.Committable, error) {
	if p.waits {
		if err := p.kafka.Flush(ctx); err != nil {
			return nil, fmt.Errorf("kafka: waiting for the acknowledgements: %w", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, fmt.Errorf("kafka: %w", p.err)
	}
	return nil, nil
}

// Commit has nothing to do: what is written is visible.
func (p *plainProducer) Commit(context.Context, int64) error { return nil }

// Close gives up what is not written. Where nobody has waited for it, it waits a little.
func (p *plainProducer) Close() (err error) {
	if !p.waits {
		ctx, cancel := context.WithTimeout(context.Background(), lastFlush)
		defer cancel()
		if err = p.kafka.Flush(ctx); err != nil {
			err = fmt.Errorf("kafka: not everything was written at the end: %w", err)
		}
	}
	p.kafka.Close()
	return err
}
