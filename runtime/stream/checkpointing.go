package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/task"
)

// errAborted ends the uploads of a checkpoint that was given up.
var errAborted = errors.New("checkpoint was aborted")

// pending is a checkpoint between its trigger and its publication or end.
type pending struct {
	id      checkpoint.ID
	time    time.Time
	ctx     context.Context // ends with the checkpoint
	cancel  context.CancelCauseFunc
	uploads sync.WaitGroup
	acked   map[int]bool
	states  []stageState         // of all subtasks that have acknowledged
	meta    *checkpoint.Metadata // set when it is handed to the store
}

// stageState is one operator's part of one subtask's acknowledgement.
type stageState struct {
	uid     string
	subtask int
	state   []byte
	keyed   *state.Handle
}

func (a *attempt) trigger(id checkpoint.ID, last bool) {
	p := &pending{id: id, time: time.Now(), acked: map[int]bool{}}
	p.ctx, p.cancel = context.WithCancelCause(a.ctx)
	a.mu.Lock()
	a.pending, a.nextID = p, id+1
	a.mu.Unlock()
	a.env.cfg.Metrics.InProgress.Store(1)
	a.env.cfg.Reached(PointTriggered)
	for _, s := range a.sources {
		s.Trigger(id, last)
	}
}

// Snapshotted implements task.Listener: the upload runs beside the subtask.
func (a *attempt) Snapshotted(t int, id int64, snaps []task.Snapshot) {
	a.mu.Lock()
	p := a.pending
	if p == nil || p.id != id {
		a.mu.Unlock()
		task.Discard(snaps)
		return
	}
	p.uploads.Add(1)
	a.mu.Unlock()
	a.wg.Go(func() {
		states, err := a.upload(p, snaps)
		p.uploads.Done()
		ev := coordinatorEvent{Event: checkpoint.Event{Kind: checkpoint.EventAck, Task: t, ID: id}, states: states}
		if err != nil {
			ev.Kind, ev.Err = checkpoint.EventDecline, err
		}
		a.send(ev)
	})
}

// upload stores the keyed state of a subtask's stages, one after the other.
func (a *attempt) upload(p *pending, snaps []task.Snapshot) (states []stageState, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = task.Panicked(nil, v)
		}
	}()
	for i, s := range snaps {
		st := stageState{uid: s.UID, subtask: s.Subtask, state: s.State}
		if s.Keyed != nil {
			h, err := s.Keyed.Upload(p.ctx, a.session.Files())
			if err != nil {
				task.Discard(snaps[i+1:])
				return nil, fmt.Errorf("operator %q, subtask %d: upload of the keyed state: %w", s.UID, s.Subtask, err)
			}
			st.keyed = &h
		}
		states = append(states, st)
	}
	return states, nil
}

// collect keeps what an event brings for the checkpoint, before the coordinator sees it.
func (a *attempt) collect(ev coordinatorEvent) {
	p := a.pending // only the coordinator's goroutine changes it
	if p == nil || p.id != ev.ID {
		return
	}
	switch ev.Kind {
	case checkpoint.EventAck:
		if !p.acked[ev.Task] {
			p.acked[ev.Task] = true
			p.states = append(p.states, ev.states...)
		}
	case checkpoint.EventPublished:
		a.published(a.end())
	}
}

// end lets no checkpoint be pending: what comes for it now is discarded.
func (a *attempt) end() *pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pending
	a.pending = nil
	a.env.cfg.Metrics.InProgress.Store(0)
	return p
}

// publish hands the checkpoint to the store, which has the timeout once more.
func (a *attempt) publish(id checkpoint.ID) {
	p := a.pending
	p.meta = a.metadata(p)
	a.wg.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, a.env.cfg.Checkpoint.Timeout)
		defer cancel()
		ev := coordinatorEvent{Event: checkpoint.Event{Kind: checkpoint.EventPublished, ID: id}}
		if ev.Oldest, ev.Err = a.session.Publish(ctx, p.meta); ev.Err != nil {
			ev.Kind, ev.Err = checkpoint.EventPublishFailed, fmt.Errorf("publish: %w", ev.Err)
		}
		a.send(ev)
	})
}

func (a *attempt) metadata(p *pending) *checkpoint.Metadata {
	m := &checkpoint.Metadata{ID: p.id, Time: p.time, MaxParallelism: a.maxParallelism, Operators: map[string]checkpoint.OperatorState{}}
	for _, n := range a.env.nodes {
		m.Operators[n.uid] = checkpoint.OperatorState{Parallelism: n.parallelism, States: make([][]byte, n.parallelism)}
	}
	slices.SortFunc(p.states, func(a, b stageState) int { return cmp.Compare(a.subtask, b.subtask) })
	for _, st := range p.states {
		op := m.Operators[st.uid]
		op.States[st.subtask] = st.state
		if st.keyed != nil {
			op.Keyed = append(op.Keyed, *st.keyed)
		}
		m.Operators[st.uid] = op
	}
	return m
}

// published updates the figures.
func (a *attempt) published(p *pending) {
	p.cancel(nil)
	now := time.Now()
	total, added := p.meta.Bytes()
	mt := a.env.cfg.Metrics
	mt.Completed.Add(1)
	mt.LastID.Store(p.id)
	mt.LastDurationNanos.Store(int64(now.Sub(p.time)))
	mt.LastBytes.Store(added)
	mt.LastFullBytes.Store(total)
	mt.LastCompletedUnixNano.Store(now.UnixNano())
	a.env.cfg.Logger.Debug("checkpoint complete", "id", p.id, "duration", now.Sub(p.time), "bytes", total, "added", added)
}

// abort ends a checkpoint that will not be published. What was uploaded is
// forgotten once no upload runs any more.
func (a *attempt) abort(id checkpoint.ID, cause error) {
	p := a.giveUp(id, cause)
	for _, r := range a.subtasks {
		r.Abort(id)
	}
	a.wg.Go(func() {
		p.uploads.Wait()
		a.session.Abort(context.WithoutCancel(a.ctx), id)
	})
}

func (a *attempt) giveUp(id checkpoint.ID, cause error) *pending {
	p := a.end()
	p.cancel(errAborted)
	a.env.cfg.Metrics.Failed.Add(1)
	a.env.cfg.Logger.Warn("checkpoint failed", "id", id, "error", cause)
	return p
}
