package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/restart"
	"github.com/freshet-cdc/freshet/runtime/state"
)

var (
	// ErrUnreadable says that the store holds checkpoints of which none can be
	// read: starting afresh would process everything again.
	ErrUnreadable = errors.New("no checkpoint can be read")
	// ErrState says that a checkpoint holds state that this job has no place for.
	ErrState = errors.New("checkpoint does not fit the job")
	// ErrStopped says that the job failed while it was being stopped: its last
	// checkpoint is not the one that Stop asked for.
	ErrStopped = errors.New("stopped without a last checkpoint")
)

// Run executes the job until all sources have ended or Stop was called, and the
// last checkpoint is committed: nil; until ctx is done: ctx.Err(), at once and
// without a checkpoint; or until it fails for good. A failed attempt starts again
// from the newest readable checkpoint, as Config.Restart says. Run is called once.
func (e *Env) Run(ctx context.Context) (err error) {
	if err := e.Check(); err != nil {
		return err
	}
	r := &run{env: e, backoff: restart.NewBackoff(e.cfg.Restart.Policy), dir: e.cfg.Dir}
	if r.dir == "" && e.cfg.Backend != nil {
		if r.dir, err = os.MkdirTemp("", "freshet-state-"); err != nil {
			return fmt.Errorf("folder of the keyed state: %w", err)
		}
		defer os.RemoveAll(r.dir)
	}
	r.session = volatileSession{lineage: uuid.NewString()}
	if store := e.cfg.Checkpoint.Store; store != nil {
		if r.session, err = store.Acquire(ctx); err != nil {
			return fmt.Errorf("acquire the checkpoint store: %w", err)
		}
	}
	defer func() { err = errors.Join(err, r.session.Close()) }()
	return r.loop(ctx)
}

// run is one call of Env.Run: the attempts one after the other.
type run struct {
	env     *Env
	session checkpoint.Session
	backoff *restart.Backoff
	dir     string
	nextID  checkpoint.ID // above every id that an attempt used
}

func (r *run) loop(ctx context.Context) error {
	log, m := r.env.cfg.Logger, r.env.cfg.Metrics
	for number := 0; ; number++ {
		finished, err := r.attempt(ctx, number)
		switch {
		case err == nil || finished:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case r.env.cfg.Checkpoint.Store == nil:
			return err
		}
		if err = r.goBack(ctx, err); r.permanent(err) {
			return err
		}
		switch {
		case r.env.stopping():
			return fmt.Errorf("%w: %w", ErrStopped, err)
		}
		delay, ok := r.backoff.Failed(time.Now(), rand.Float64())
		if !ok {
			return fmt.Errorf("no restart left: %w", err)
		}
		log.Error("attempt failed, the job restarts", "job", r.env.cfg.Name, "attempt", number, "delay", delay, "error", err)
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-r.env.stop:
			timer.Stop()
			return fmt.Errorf("%w: %w", ErrStopped, err)
		}
		m.Restarts.Add(1)
	}
}

// goBack discards the checkpoints that err says are lost, so that the next attempt goes
// on from the one before them. It returns err, with what it failed with.
func (r *run) goBack(ctx context.Context, err error) error {
	var lost Lost
	if !errors.As(err, &lost) {
		return err
	}
	id := lost.LostCheckpoint()
	switch failed := r.session.Discard(ctx, id); {
	case errors.Is(failed, checkpoint.ErrLast):
		return fmt.Errorf("%w: %w", ErrLost, err)
	case failed != nil:
		return errors.Join(err, fmt.Errorf("discard checkpoint %d: %w", id, failed))
	}
	r.env.cfg.Logger.Warn("checkpoint is lost, the job goes back to the one before it", "job", r.env.cfg.Name, "checkpoint", id)
	return err
}

// attempt restores and executes the job once.
func (r *run) attempt(ctx context.Context, number int) (finished bool, err error) {
	restored, err := r.restore(ctx)
	if err != nil {
		return false, err
	}
	maxParallelism, err := r.maxParallelism(restored)
	if err != nil {
		return false, err
	}
	plan, err := r.env.graph.Plan(maxParallelism)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	b := &builder{
		env: r.env, plan: plan, maxParallelism: maxParallelism, attempt: number,
		restored: restored, session: r.session, dir: r.dir, gates: map[int][]gate{},
	}
	a := newAttempt(ctx, b, max(r.nextID, r.session.Next()))
	finished, err = a.run()
	r.nextID = a.nextID
	return finished, err
}

// restore finds the checkpoint to start from, nil for a fresh start.
func (r *run) restore(ctx context.Context) (*checkpoint.Metadata, error) {
	m, corrupt, err := r.session.Latest(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the newest checkpoint: %w", err)
	}
	if m == nil && len(corrupt) > 0 {
		return nil, fmt.Errorf("%w: %w; restore the files, or choose an empty directory to start afresh", ErrUnreadable, errors.Join(corrupt...))
	}
	for _, c := range corrupt {
		r.env.cfg.Logger.Warn("checkpoint can't be read, an older one is used", "restored", m.ID, "error", c)
	}
	mt := r.env.cfg.Metrics
	if m != nil {
		if err := r.fits(m); err != nil {
			return nil, err
		}
		r.env.cfg.Logger.Info("restored", "job", r.env.cfg.Name, "checkpoint", m.ID, "taken", m.Time)
		mt.RestoredID.Store(m.ID)
		mt.RestoredUnixNano.Store(time.Now().UnixNano())
	}
	r.env.cfg.Reached(PointRestored)
	return m, nil
}

// fits checks that every state in m belongs to an operator of the job.
func (r *run) fits(m *checkpoint.Metadata) error {
	if r.env.cfg.AllowNonRestoredState {
		return nil
	}
	known := map[string]bool{}
	for _, n := range r.env.nodes {
		known[n.uid] = true
	}
	for uid, op := range m.Operators {
		holds := len(op.Keyed) > 0
		for _, s := range op.States {
			holds = holds || s != nil
		}
		if !known[uid] && holds {
			return fmt.Errorf("%w: checkpoint %d has state of operator %q, which the job has no more; set AllowNonRestoredState to drop it", ErrState, m.ID, uid)
		}
	}
	return nil
}

func (r *run) maxParallelism(restored *checkpoint.Metadata) (int, error) {
	want := r.env.cfg.MaxParallelism
	if restored != nil && restored.MaxParallelism > 0 {
		keyed := false
		for _, op := range restored.Operators {
			keyed = keyed || len(op.Keyed) > 0
		}
		switch {
		case want == 0:
			return restored.MaxParallelism, nil
		case keyed && want != restored.MaxParallelism:
			return 0, fmt.Errorf("%w: max parallelism is %d, the keyed state of checkpoint %d was taken with %d, which can't change",
				ErrState, want, restored.ID, restored.MaxParallelism)
		}
	}
	if want > 0 {
		return want, nil
	}
	widest := 1
	for _, n := range r.env.nodes {
		widest = max(widest, n.parallelism)
	}
	return keygroup.DefaultMaxParallelism(widest), nil
}

// permanent says that another attempt can't help.
func (r *run) permanent(err error) bool {
	for _, known := range []error{
		checkpoint.ErrFenced, checkpoint.ErrLocked, checkpoint.ErrForeign, checkpoint.ErrVersion,
		ErrUnreadable, ErrState, ErrLost, ErrConfig, errNoBackend,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var p interface{ Permanent() bool }
	if errors.As(err, &p) && p.Permanent() {
		return true
	}
	return r.env.cfg.Restart.Permanent != nil && r.env.cfg.Restart.Permanent(err)
}

// volatileSession stands for the store of a job without one: checkpoints are
// protocol only, and nothing is kept.
type volatileSession struct{ lineage string }

func (s volatileSession) Lineage() string { return s.lineage }
func (volatileSession) Latest(context.Context) (*checkpoint.Metadata, []error, error) {
	return nil, nil, nil
}
func (volatileSession) Next() checkpoint.ID { return 1 }
func (volatileSession) Files() state.Files  { return noFiles{} }
func (volatileSession) Publish(_ context.Context, m *checkpoint.Metadata) (checkpoint.ID, error) {
	return m.ID, nil
}
func (volatileSession) Discard(context.Context, checkpoint.ID) error { return checkpoint.ErrLast }
func (volatileSession) Abort(context.Context, checkpoint.ID)         {}
func (volatileSession) Close() error                                 { return nil }

// noFiles is never asked for anything: a job without a store restores and uploads nothing.
type noFiles struct{}

var errNoStore = errors.New("job has no checkpoint store")

func (noFiles) Put(context.Context, string, string) error   { return errNoStore }
func (noFiles) Fetch(context.Context, string, string) error { return errNoStore }
