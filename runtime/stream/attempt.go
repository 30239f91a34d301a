package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/task"
)

// attempt is one execution of the graph: it owns every goroutine of it.
type attempt struct {
	env     *Env
	session checkpoint.Session
	// maxParallelism is the number of key groups.
	maxParallelism int
	nextID         checkpoint.ID
	sources        []sourceRunner
	subtasks       []runner

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // all goroutines but the caller's
	opened chan struct{}  // one token per open subtask
	start  chan struct{}  // closed when all are open

	events chan coordinatorEvent

	mu      sync.Mutex
	pending *pending // the checkpoint that collects snapshots, nil when none does
}

// coordinatorEvent is an event with what comes along: a subtask's states.
type coordinatorEvent struct {
	checkpoint.Event
	states []stageState
}

func newAttempt(ctx context.Context, b *builder, nextID checkpoint.ID) *attempt {
	a := &attempt{
		env: b.env, session: b.session, nextID: nextID, maxParallelism: b.maxParallelism,
		opened: make(chan struct{}, b.plan.Subtasks),
		start:  make(chan struct{}),
		events: make(chan coordinatorEvent, 2*b.plan.Subtasks),
	}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	b.listener = a
	a.sources, a.subtasks = b.build()
	return a
}

// run executes the attempt until it fails or the job is finished. An error of a
// finished job comes from closing it. Nothing of the attempt is left when run returns.
func (a *attempt) run() (finished bool, err error) {
	for i, r := range a.subtasks {
		a.wg.Go(func() {
			if err := a.runSubtask(i, r); err != nil {
				a.fail(err)
			}
		})
	}
	finished, err = a.coordinate()
	if err != nil {
		a.fail(err)
	}
	a.wg.Wait()
	err = context.Cause(a.ctx)
	a.cancel(nil)
	for _, r := range a.subtasks {
		r.Drain()
	}
	if p := a.pending; p != nil && p.meta == nil { // not handed to the store: what was uploaded is of no use
		a.session.Abort(context.WithoutCancel(a.ctx), p.id)
	}
	return finished, err
}

// fail ends the attempt; the first error is the one that counts.
func (a *attempt) fail(err error) {
	a.cancel(err)
	for _, r := range a.subtasks {
		r.Shut()
	}
}

// runSubtask is the goroutine of one subtask. Sources start when every operator
// is open: what can't start fails before anything is read.
func (a *attempt) runSubtask(i int, r runner) (err error) {
	defer func() {
		err = errors.Join(err, a.closeSubtask(r))
	}()
	defer func() {
		if v := recover(); v != nil {
			err = task.Panicked(nil, v)
		}
	}()
	if err := r.Open(a.ctx); err != nil {
		return err
	}
	a.opened <- struct{}{}
	if i < len(a.sources) {
		select {
		case <-a.start:
		case <-a.ctx.Done():
			return nil
		}
	}
	return r.Run(a.ctx)
}

func (a *attempt) closeSubtask(r runner) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = task.Panicked(nil, v)
		}
	}()
	return r.Close()
}

// coordinate drives the checkpoint coordinator until the attempt ends. finished
// says that the job is done: the subtasks end by themselves then.
func (a *attempt) coordinate() (finished bool, err error) {
	for range a.subtasks {
		select {
		case <-a.opened:
		case <-a.ctx.Done():
			return false, context.Cause(a.ctx)
		}
	}
	a.env.cfg.Reached(PointOpened)
	a.env.cfg.Metrics.Running.Store(true)
	defer a.env.cfg.Metrics.Running.Store(false)
	close(a.start)

	ck := a.env.cfg.Checkpoint
	c := checkpoint.NewCoordinator(checkpoint.CoordinatorConfig{
		Tasks: len(a.subtasks), Sources: len(a.sources),
		Interval: ck.Interval, First: ck.First, Timeout: ck.Timeout, MinPause: ck.MinPause,
		Tolerable: ck.TolerableFailures, Next: a.nextID,
	}, time.Now())
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop := a.env.stop
	for {
		var ev coordinatorEvent
		select {
		case ev = <-a.events:
		case <-timer.C:
			ev.Kind = checkpoint.EventTick
		case <-stop:
			ev.Kind, stop = checkpoint.EventStop, nil
		case <-a.env.requested:
			ev.Kind = checkpoint.EventRequest
		case <-a.ctx.Done():
			return false, context.Cause(a.ctx)
		}
		a.collect(ev)
		for _, action := range c.Step(time.Now(), ev.Event) {
			if finished, err := a.do(action); finished || err != nil {
				return finished, err
			}
		}
		timer.Stop()
		if at, ok := c.Wake(); ok {
			timer.Reset(time.Until(at))
		}
	}
}

// do carries out what the coordinator asks for.
func (a *attempt) do(action checkpoint.Action) (finished bool, err error) {
	switch action.Kind {
	case checkpoint.ActionTrigger:
		a.trigger(action.ID, action.Last)
	case checkpoint.ActionPublish:
		a.env.cfg.Reached(PointAcked)
		a.publish(action.ID)
	case checkpoint.ActionAbort:
		a.abort(action.ID, action.Err)
	case checkpoint.ActionGiveUp:
		a.giveUp(action.ID, action.Err)
	case checkpoint.ActionDiscard:
		a.wg.Go(func() { a.session.Abort(a.ctx, action.ID) })
	case checkpoint.ActionNotifyOperators:
		a.env.cfg.Reached(PointPublished)
		a.notifyOperators(action.ID)
	case checkpoint.ActionNotifySources:
		err = a.notifySources(action.ID, action.Oldest)
	case checkpoint.ActionFail:
		err = action.Err
	case checkpoint.ActionFinish:
		a.env.cfg.Reached(PointFinished)
		for _, s := range a.sources {
			s.Finish()
		}
		return true, nil
	}
	return false, err
}

// send gives the coordinator an event; it gives up when the attempt ends.
func (a *attempt) send(ev coordinatorEvent) {
	select {
	case a.events <- ev:
	case <-a.ctx.Done():
	}
}

// notifyOperators lets all subtasks commit, at once. Those that a gate feeds do
// it in their own goroutine; operators chained to a source get one here.
func (a *attempt) notifyOperators(id int64) {
	for i, r := range a.subtasks {
		if i >= len(a.sources) {
			r.Complete(a.ctx, id)
			continue
		}
		a.wg.Go(func() {
			if err := r.Complete(a.ctx, id); err != nil {
				a.fail(err)
			}
		})
	}
}

func (a *attempt) notifySources(id, oldest int64) (err error) {
	m := a.env.cfg.Metrics
	m.LastCommitNanos.Store(time.Now().UnixNano() - m.LastCompletedUnixNano.Load())
	a.env.cfg.Reached(PointCommitted)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("source, notified of checkpoint %d: %w", id, task.Panicked(nil, v))
		}
	}()
	for _, s := range a.sources {
		s.notify(id, oldest)
	}
	a.env.cfg.Reached(PointNotified)
	return nil
}

// Committed implements task.Listener.
func (a *attempt) Committed(t int, id int64) {
	a.send(coordinatorEvent{Event: checkpoint.Event{Kind: checkpoint.EventCommitted, Task: t, ID: id}})
}

// Finished implements task.Listener.
func (a *attempt) Finished(t int) {
	a.send(coordinatorEvent{Event: checkpoint.Event{Kind: checkpoint.EventSourceFinished, Task: t}})
}
