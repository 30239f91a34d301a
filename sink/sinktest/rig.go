package sinktest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	statemem "github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/runtime/state/statetest"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

const maxParallelism = 16

// Rig stands for the engine: it opens writers and the committer, takes checkpoints,
// crashes and restores. Tests of a sink may use it by themselves.
type Rig struct {
	T       testing.TB
	Sink    sink.Sink
	Dir     string
	Lineage string
	Mem     memory.Allocator
	// Reached is called at the sink's named points.
	Reached func(point string)
	// Checkpoints are the published ones, oldest first.
	Checkpoints []*Checkpoint
	// Retained is what the sink is told of the checkpoints that are kept.
	Retained int
	// Position is the log's; every transaction moves it.
	Position uint64

	backend state.Backend
	files   *statetest.DirFiles
	attempt int
	nextID  int64

	Writers   []sink.Writer
	Committer sink.Committer
	stores    []state.Store
}

// Checkpoint is what a published checkpoint holds.
type Checkpoint struct {
	ID        int64
	Position  uint64
	writers   [][]byte
	handles   []state.Handle
	committer []byte
	// Model is whatever the test wants back with it.
	Model any
}

// NewRig returns a rig with a new lineage.
func NewRig(t testing.TB, s sink.Sink, mem memory.Allocator) *Rig {
	dir := t.TempDir()
	return &Rig{T: t, Sink: s, Dir: dir, Lineage: uuid.NewString(), Mem: mem, Reached: func(string) {},
		backend: statemem.NewBackend(statemem.Options{}), files: &statetest.DirFiles{Dir: dir}, nextID: 1}
}

// Start opens an attempt at the newest published checkpoint.
func (r *Rig) Start(ctx context.Context, parallelism int) error {
	r.attempt++
	var cp *Checkpoint
	sc := sink.Context{Pipeline: "p", Lineage: r.Lineage, Parallelism: parallelism, MaxParallelism: maxParallelism, Retained: r.Retained,
		Logger: slog.New(slog.DiscardHandler), Reached: func(p string) { r.Reached(p) }}
	if n := len(r.Checkpoints); n > 0 {
		cp = r.Checkpoints[n-1]
		sc.Restored, sc.RestoredID, sc.State = true, cp.ID, [][]byte{cp.committer}
	}
	c, err := r.Sink.NewCommitter(ctx, sc)
	if err != nil {
		return err
	}
	r.Committer = c
	for i := range parallelism {
		if err := r.openWriter(ctx, sc, cp, i); err != nil {
			r.Crash()
			return fmt.Errorf("writer %d: %w", i, err)
		}
	}
	return nil
}

func (r *Rig) openWriter(ctx context.Context, sc sink.Context, cp *Checkpoint, subtask int) error {
	sc.Subtask, sc.KeyGroups, sc.State = subtask, keygroup.RangeOf(subtask, maxParallelism, sc.Parallelism), nil
	opts := state.Options{Dir: filepath.Join(r.Dir, fmt.Sprintf("store-%d-%d", r.attempt, subtask)), Operator: "sink", Subtask: subtask, KeyGroups: sc.KeyGroups, Files: r.files}
	if cp != nil {
		sc.State, opts.Restore = cp.writers, cp.handles
	}
	store, err := r.backend.Open(ctx, opts)
	if err != nil {
		return err
	}
	r.stores = append(r.stores, store)
	sc.Store = func() (state.Store, error) { return store, nil }
	w, err := r.Sink.NewWriter(ctx, sc)
	if err == nil {
		r.Writers = append(r.Writers, w)
	}
	return err
}

// Crash ends the attempt and throws away what was not published.
func (r *Rig) Crash() {
	r.T.Helper()
	var err error
	for _, w := range r.Writers {
		err = errors.Join(err, w.Close())
	}
	if r.Committer != nil {
		err = errors.Join(err, r.Committer.Close())
	}
	for _, s := range r.stores {
		err = errors.Join(err, s.Close())
	}
	r.Writers, r.Committer, r.stores = nil, nil, nil
	if err != nil {
		r.T.Fatalf("ending the attempt: %v", err)
	}
}

// Change hands a change to every writer.
func (r *Rig) Change(ctx context.Context, target schema.TableID, c *schema.Change) error {
	c.Position = r.Position
	for _, w := range r.Writers {
		if err := w.Write(ctx, sink.Input{Table: target, Change: c}); err != nil {
			return err
		}
	}
	return nil
}

// Rows hands the rows of a batch to the writers of their keys.
func (r *Rig) Rows(ctx context.Context, target schema.TableID, b *schema.Batch) error {
	defer b.Release()
	selected := make([][]int32, len(r.Writers))
	var keys schema.Keys
	enc := schema.NewKeyEncoder(b.Table)
	if enc != nil {
		var err error
		if keys, err = enc.Encode(b.Record, keys); err != nil {
			return err
		}
	}
	for i := range b.Rows() {
		to := i % len(r.Writers)
		if enc != nil {
			to = keygroup.OperatorIndex(keygroup.Of(keys.Hash(i), maxParallelism), maxParallelism, len(r.Writers))
		}
		selected[to] = append(selected[to], int32(i))
	}
	for i, w := range r.Writers {
		if len(selected[i]) == 0 {
			continue
		}
		b.Retain(1)
		if err := w.Write(ctx, sink.Input{Table: target, Batch: b, Select: selected[i]}); err != nil {
			return err
		}
	}
	return nil
}

// Prepare takes a checkpoint up to the committer's state; publish says whether it
// is published then.
func (r *Rig) Prepare(ctx context.Context, publish bool, model any) (*Checkpoint, error) {
	cp := &Checkpoint{ID: r.nextID, Position: r.Position, Model: model}
	r.nextID++
	var all [][]sink.Committable
	for i, w := range r.Writers {
		cs, blob, err := w.Prepare(ctx, cp.ID)
		if err != nil {
			return nil, err
		}
		snap, err := r.stores[i].Snapshot(ctx, cp.ID)
		if err != nil {
			return nil, err
		}
		h, err := snap.Upload(ctx, r.files)
		if err != nil {
			return nil, err
		}
		all, cp.writers, cp.handles = append(all, cs), append(cp.writers, blob), append(cp.handles, h)
	}
	var err error
	if cp.committer, err = r.Committer.Collect(ctx, cp.ID, cp.Position, all); err != nil {
		return nil, err
	}
	if publish {
		r.Checkpoints = append(r.Checkpoints, cp)
	}
	return cp, nil
}

// Checkpoint takes, publishes and commits a checkpoint.
func (r *Rig) Checkpoint(ctx context.Context, model any) (*Checkpoint, error) {
	cp, err := r.Prepare(ctx, true, model)
	if err != nil {
		return nil, err
	}
	return cp, r.Committer.Commit(ctx, cp.ID)
}

// Read returns what the sink holds of a table, in text, sorted by nothing.
func (r *Rig) Read(ctx context.Context, def *schema.Table, target schema.TableID) ([]string, uint64, error) {
	var out []string
	pos, err := r.Sink.Rows(ctx, def, target, func(b *schema.Batch) error {
		out = append(out, batchText(b)...)
		return nil
	})
	return out, pos, err
}
