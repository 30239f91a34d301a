package producer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

// Producer writes records into transactions, one for each checkpoint.
type Producer struct {
	cfg   Config
	plain *kgo.Client // without an id
	old   *kgo.Client // the same, with the requests of older versions

	opening sync.Mutex
	open    atomic.Pointer[client] // of the open transaction, nil for none

	mu      sync.Mutex // guards the machine and the clients
	machine *txn.Machine
	clients map[string]*client
}

// MetadataMinAge is how long a client waits before it asks again where a partition is, of a
// topic that was just made or whose leader has moved. All records of a transaction wait
// for the slowest.
const MetadataMinAge = 250 * time.Millisecond

// client has one transactional id.
type client struct {
	kafka *kgo.Client
	mu    sync.Mutex
	err   error // of the first record that was not written
}

func (c *client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *client) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	c.err = nil
	return err
}

// Open connects, and brings the cluster to the restored checkpoint: what it has as
// prepared is committed, everything else under the prefix is aborted. restore.Listed is
// filled in.
func Open(ctx context.Context, cfg Config, restore txn.Restore) (_ *Producer, err error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	cfg.Options = append([]kgo.Opt{kgo.MetadataMinAge(MetadataMinAge), kgo.WithHooks(sentHook{cfg.Reached})}, cfg.Options...)
	p := &Producer{cfg: cfg, machine: txn.New(txn.Config{Prefix: cfg.Prefix, Lineage: cfg.Lineage}), clients: map[string]*client{}}
	defer func() {
		if err != nil {
			p.abandon()
		}
	}()
	if p.plain, err = kgo.NewClient(cfg.Options...); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(keyEndTxn, endTxnV1)
	versions.SetMaxKeyVersion(keyFetch, fetchByName)
	if p.old, err = kgo.NewClient(append(append([]kgo.Opt{}, cfg.Options...), kgo.MaxVersions(versions))...); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	if err := p.createMarkers(ctx); err != nil {
		return nil, err
	}
	if restore.Listed, err = p.list(ctx); err != nil {
		return nil, err
	}
	_, err = p.drive(ctx, restore)
	return p, err
}

// createMarkers makes the topic of the markers where it is missing.
func (p *Producer) createMarkers(ctx context.Context) error {
	compact := "compact"
	_, err := kadm.NewClient(p.plain).CreateTopic(ctx, 1, -1, map[string]*string{"cleanup.policy": &compact}, p.cfg.Markers)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("kafka: creating the topic %s: %w", p.cfg.Markers, err)
	}
	return nil
}

// list returns the transactional ids with the prefix.
func (p *Producer) list(ctx context.Context) (ids []string, err error) {
	all, err := kadm.NewClient(p.plain).ListTransactions(ctx, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("kafka: listing transactions: %w", err)
	}
	for id := range all {
		if strings.HasPrefix(id, p.cfg.Prefix+"-") {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Produce writes a record into the open transaction. Where the record was not written in
// the end, Prepare says so, with a [*RecordError].
func (p *Producer) Produce(ctx context.Context, r *kgo.Record) error {
	c := p.open.Load()
	if c == nil {
		var err error
		if c, err = p.begun(ctx); err != nil {
			return err
		}
	}
	c.kafka.Produce(ctx, r, func(r *kgo.Record, err error) {
		if err != nil {
			c.fail(NewRecordError(r, err))
		}
	})
	return nil
}

// begun returns the client of the open transaction, which it begins if there is none.
func (p *Producer) begun(ctx context.Context) (*client, error) {
	p.opening.Lock()
	defer p.opening.Unlock()
	if c := p.open.Load(); c != nil {
		return c, nil
	}
	if _, err := p.drive(ctx, txn.Write{}); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id, ok := p.machine.Open()
	c := p.clients[id]
	if !ok || c == nil {
		return nil, fmt.Errorf("%w: no transaction is open", txn.ErrOrder)
	}
	p.open.Store(c)
	return c, nil
}

// Prepare makes everything that was produced durable and not visible, and returns what
// the checkpoint must hold: all transactions that are not known to be committed.
func (p *Producer) Prepare(ctx context.Context, checkpoint int64, position uint64) ([]txn.Committable, error) {
	p.open.Store(nil)
	if _, err := p.drive(ctx, txn.Prepare{Checkpoint: checkpoint, Position: position}); err != nil {
		return nil, err
	}
	p.cfg.Reached("kafka-prepared")
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Pending(), nil
}

// Commit makes everything visible that was prepared up to a checkpoint, which is stored.
func (p *Producer) Commit(ctx context.Context, checkpoint int64) error {
	_, err := p.drive(ctx, txn.Stored{Checkpoint: checkpoint})
	return err
}

// Close aborts what is not prepared. What is prepared stays so.
func (p *Producer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var err error
	if c := p.open.Load(); c != nil {
		if err = c.kafka.AbortBufferedRecords(ctx); err == nil {
			err = c.kafka.EndTransaction(ctx, kgo.TryAbort)
		}
	}
	p.abandon()
	return err
}

// abandon closes the connections and leaves everything as it is.
func (p *Producer) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.kafka.Close()
	}
	for _, c := range []*kgo.Client{p.plain, p.old} {
		if c != nil {
			c.Close()
		}
	}
	p.clients = map[string]*client{}
}

// step gives the machine an input.
func (p *Producer) step(in txn.Input) ([]txn.Action, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Step(in)
}

// drive gives the machine an input and carries out what it wants, and what it wants
// then, until there is nothing left to do.
func (p *Producer) drive(ctx context.Context, in txn.Input) (done []txn.Action, err error) {
	todo, err := p.step(in)
	for len(todo) > 0 && err == nil {
		a := todo[0]
		todo = todo[1:]
		var answer txn.Input
		if answer, err = p.carryOut(ctx, a); err != nil {
			return done, err
		}
		if answer == nil {
			done = append(done, a)
			continue
		}
		var more []txn.Action
		more, err = p.step(answer)
		todo = append(todo, more...)
	}
	return done, err
}
