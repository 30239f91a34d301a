package stream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/task"
)

// stage runs one subtask of a user's operator: it implements task.Stage for the
// chain and Collector for what comes before it.
type stage[In, Out any] struct {
	op       Operator[In, Out]
	out      Collector[Out]
	context  Context
	keyed    *keyed
	chain    *task.Chain
	counters *task.Counters
	traits   exchange.Traits[In]
}

// Collect processes one element.
func (s *stage[In, Out]) Collect(ctx context.Context, elem In) error {
	records := 1
	if s.traits.Weighs() {
		records, _ = s.traits.Weight(elem)
	}
	s.counters.In(records)
	before := s.chain.Enter(s)
	if err := s.op.Process(ctx, elem, s.out); err != nil {
		return task.Attribute(s, err)
	}
	s.chain.Leave(before)
	return nil
}

func (s *stage[In, Out]) UID() string  { return s.context.UID }
func (s *stage[In, Out]) Subtask() int { return s.context.Subtask }

func (s *stage[In, Out]) Open(ctx context.Context) error {
	s.context.Store = s.keyed.opener(ctx)
	return s.op.Open(ctx, s.context)
}

func (s *stage[In, Out]) Barrier(ctx context.Context, id int64) ([]byte, error) {
	return s.op.Barrier(ctx, id, s.out)
}

func (s *stage[In, Out]) Snapshot(ctx context.Context, id int64) (state.Snapshot, error) {
	return s.keyed.snapshot(ctx, id)
}

func (s *stage[In, Out]) Complete(ctx context.Context, id int64) error {
	return s.op.CheckpointComplete(ctx, id)
}

func (s *stage[In, Out]) Close() (err error) {
	defer func() { err = errors.Join(err, s.keyed.close()) }() // also when Close panics
	return s.op.Close()
}

// sourceStage is a source as far as its keyed state goes.
type sourceStage struct {
	uid     string
	subtask int
	keyed   *keyed
}

func (s *sourceStage) UID() string                                    { return s.uid }
func (s *sourceStage) Subtask() int                                   { return s.subtask }
func (s *sourceStage) Open(context.Context) error                     { return nil }
func (s *sourceStage) Barrier(context.Context, int64) ([]byte, error) { return nil, nil }
func (s *sourceStage) Complete(context.Context, int64) error          { return nil }
func (s *sourceStage) Close() error                                   { return s.keyed.close() }

func (s *sourceStage) Snapshot(ctx context.Context, id int64) (state.Snapshot, error) {
	return s.keyed.snapshot(ctx, id)
}

// keyed is the keyed state of one subtask, opened when it is first needed.
type keyed struct {
	backend  state.Backend
	options  state.Options
	volatile bool // no checkpoint store: nothing to snapshot for
	store    state.Store
}

var errNoBackend = errors.New("keyed state needs Config.Backend")

// opener returns the function of Context.Store.
func (k *keyed) opener(ctx context.Context) func() (state.Store, error) {
	return func() (state.Store, error) { return k.open(ctx) }
}

func (k *keyed) open(ctx context.Context) (state.Store, error) {
	if k.store != nil {
		return k.store, nil
	}
	if k.backend == nil {
		return nil, errNoBackend
	}
	if err := os.MkdirAll(k.options.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("folder of the keyed state: %w", err)
	}
	store, err := k.backend.Open(ctx, k.options)
	if err != nil {
		return nil, fmt.Errorf("open keyed state (%s): %w", k.backend.Name(), err)
	}
	k.store = store
	return store, nil
}

// snapshot fixes the store's content. A store with state to restore is opened
// for it, should the operator not have needed it yet: the state must not be lost.
func (k *keyed) snapshot(ctx context.Context, id int64) (state.Snapshot, error) {
	if k.volatile {
		return nil, nil
	}
	if k.store == nil && len(k.options.Restore) > 0 {
		if _, err := k.open(ctx); err != nil {
			return nil, err
		}
	}
	if k.store == nil {
		return nil, nil
	}
	return k.store.Snapshot(ctx, id)
}

func (k *keyed) close() error {
	if k.store == nil {
		return nil
	}
	err := k.store.Close()
	k.store = nil
	return err
}

// storeDir is the local folder of a subtask's keyed state.
func storeDir(dir, uid string, subtask int) string {
	return filepath.Join(dir, "op-"+url.PathEscape(uid), strconv.Itoa(subtask))
}
