package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

// Versions of requests that matter.
const (
	keyFetch    = 1
	keyEndTxn   = 26
	endTxnV1    = 4  // the last that raises no epoch
	fetchByName = 12 // the last that names topics
)

// carryOut does what the machine wants and returns the answer, nil where it wants none.
func (p *Producer) carryOut(ctx context.Context, a txn.Action) (txn.Input, error) {
	p.cfg.Logger.Debug("kafka transaction", "action", fmt.Sprintf("%T%+v", a, a))
	switch a := a.(type) {
	case txn.Init:
		if err := pause(ctx, a.Try); err != nil {
			return nil, err
		}
		r, err := p.init(ctx, a.ID)
		p.cfg.Reached("kafka-initialised")
		return txn.Inited{ID: a.ID, Result: r}, err
	case txn.Begin:
		return p.begin(ctx, a.ID)
	case txn.WriteMarker:
		return nil, p.writeMarker(ctx, a)
	case txn.Flush:
		r, err := p.flush(ctx, a.ID)
		p.cfg.Reached("kafka-flushed")
		return txn.Flushed{ID: a.ID, Result: r}, err
	case txn.End:
		if err := pause(ctx, a.Try); err != nil {
			return nil, err
		}
		p.cfg.Reached("kafka-commit")
		r, err := p.end(ctx, a)
		p.cfg.Reached("kafka-ended")
		return txn.Ended{ID: a.Committable.ID, Result: r}, err
	case txn.ReadMarker:
		if err := pause(ctx, a.Try); err != nil {
			return nil, err
		}
		m, found, err := p.readMarker(ctx)
		r, err := classify(ctx, err)
		return txn.MarkerRead{Found: found, Marker: m, Result: r}, err
	case txn.Committed:
		p.cfg.Reached("kafka-committed")
	}
	return nil, nil
}

// pause waits before all attempts but the first.
func pause(ctx context.Context, try int) error {
	if try <= 1 {
		return nil
	}
	t := time.NewTimer(min(50*time.Millisecond<<min(try-2, 10), 2*time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// classify makes an error the result of a request; one that no attempt will mend is
// returned.
func classify(ctx context.Context, err error) (txn.Result, error) {
	var code *kerr.Error
	switch {
	case err == nil:
		return txn.Done, nil
	case ctx.Err() != nil:
		return txn.Unknown, ctx.Err()
	case errors.Is(err, kerr.InvalidTxnState), errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidProducerEpoch),
		errors.Is(err, kerr.InvalidProducerIDMapping), errors.Is(err, kerr.UnknownProducerID):
		return txn.Refused, nil
	case errors.Is(err, kerr.ConcurrentTransactions), errors.Is(err, kerr.CoordinatorLoadInProgress):
		return txn.Again, nil
	case errors.As(err, &code) && !code.Retriable && !errors.Is(err, kerr.OperationNotAttempted) && !errors.Is(err, kerr.UnknownServerError):
		return txn.Unknown, fmt.Errorf("kafka: %w", err)
	case errors.As(err, &code) && code.Retriable:
		return txn.Again, nil
	}
	return txn.Unknown, nil
}

func (p *Producer) client(id string) *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clients[id]
}

// init makes a new client of an id, which fences who had it before.
func (p *Producer) init(ctx context.Context, id string) (txn.Result, error) {
	p.mu.Lock()
	if c := p.clients[id]; c != nil {
		c.kafka.Close()
		delete(p.clients, id)
	}
	p.mu.Unlock()
	opts := append(append(append([]kgo.Opt{}, p.cfg.Options...), p.cfg.Producing...), kgo.TransactionalID(id), kgo.TransactionTimeout(p.cfg.Timeout))
	k, err := kgo.NewClient(opts...)
	if err != nil {
		return txn.Unknown, fmt.Errorf("kafka: %w", err)
	}
	if _, _, err := k.ProducerID(ctx); err != nil {
		k.Close()
		return classify(ctx, err)
	}
	p.mu.Lock()
	p.clients[id] = &client{kafka: k}
	p.mu.Unlock()
	return txn.Done, nil
}

func (p *Producer) begin(ctx context.Context, id string) (txn.Input, error) {
	c := p.client(id)
	if c == nil {
		return nil, fmt.Errorf("%w: the id %s was not initialised", txn.ErrOrder, id)
	}
	_ = c.take()
	out := txn.Began{ID: id}
	err := c.kafka.BeginTransaction()
	if err == nil {
		out.ProducerID, out.Epoch, err = c.kafka.ProducerID(ctx)
	}
	if err == nil {
		out.Version, err = p.version(ctx)
	}
	out.Result, err = classify(ctx, err)
	return out, err
}

// version asks for the cluster's finalized transaction.version, by which clients
// choose their requests.
func (p *Producer) version(ctx context.Context) (txn.Version, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "freshet", "1"
	resp, err := req.RequestWith(ctx, p.plain)
	if err != nil {
		return 0, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return 0, err
	}
	for _, f := range resp.FinalizedFeatures {
		if f.Name == "transaction.version" && f.MaxVersionLevel >= 2 {
			return txn.V2, nil
		}
	}
	return txn.V1, nil
}

func (p *Producer) writeMarker(ctx context.Context, a txn.WriteMarker) error {
	value, err := json.Marshal(a.Marker)
	if err != nil {
		return fmt.Errorf("kafka: encoding a marker: %w", err)
	}
	c := p.client(a.ID)
	c.kafka.Produce(ctx, &kgo.Record{Topic: p.cfg.Markers, Key: []byte(p.cfg.Prefix), Value: value}, func(r *kgo.Record, err error) {
		if err != nil {
			c.fail(NewRecordError(r, err))
		}
	})
	return nil
}

// flush waits until all records are acknowledged.
func (p *Producer) flush(ctx context.Context, id string) (txn.Result, error) {
	c := p.client(id)
	if err := c.kafka.Flush(ctx); err != nil {
		return classify(ctx, err)
	}
	err := c.take()
	r, fatal := classify(ctx, err)
	if fatal != nil {
		return r, fatal
	}
	if r == txn.Again || r == txn.Unknown {
		p.cfg.Logger.Warn("records were not written", "transaction", id, "error", err)
	}
	return r, nil
}

// end commits a transaction, by its own client or by its numbers.
func (p *Producer) end(ctx context.Context, a txn.End) (txn.Result, error) {
	c := a.Committable
	if live := p.client(c.ID); a.Live && live != nil {
		return classify(ctx, live.kafka.EndTransaction(ctx, kgo.TryCommit))
	}
	through := p.plain
	if c.Version < txn.V2 {
		through = p.old
	}
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = c.ID, c.ProducerID, c.Epoch, true
	resp, err := req.RequestWith(ctx, through)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	return classify(ctx, err)
}

// sentHook marks the point at which the broker has been asked to end a transaction and has
// not answered yet.
type sentHook struct{ reached func(point string) }

var _ kgo.HookBrokerWrite = sentHook{}

// OnBrokerWrite is called behind each request.
func (h sentHook) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == keyEndTxn && err == nil {
		h.reached("kafka-end-sent")
	}
}
