package checkpoint

import (
	"errors"
	"fmt"
	"time"
)

// ErrExpired says that a checkpoint, or the commits after it, took longer than
// the timeout.
var ErrExpired = errors.New("checkpoint expired")

// ErrTooManyFailures says that more checkpoints failed in a row than are tolerated.
var ErrTooManyFailures = errors.New("too many checkpoints failed")

// CoordinatorConfig says what a Coordinator works with.
type CoordinatorConfig struct {
	// Tasks is the number of subtasks; every one acknowledges each checkpoint.
	Tasks int
	// Sources is the number of those that are sources; they are the first ones.
	Sources int
	// Interval is the time between two triggers; 0 or less: no periodic checkpoints.
	// It is never shorter than MinPause.
	Interval time.Duration
	// First is the time from the start to the first trigger, by default Interval.
	First time.Duration
	// Timeout bounds the time from the trigger to the last acknowledgement, and
	// once more the commits.
	Timeout time.Duration
	// MinPause is the time from a completed checkpoint to the next periodic trigger.
	MinPause time.Duration
	// Tolerable is the number of failed checkpoints in a row that do not fail the job.
	Tolerable int
	// Next is the first id to use.
	Next ID
}

type phase uint8

const (
	idle       phase = iota
	collecting       // triggered, waiting for acknowledgements
	publishing       // all are here; the store makes it durable
	committing       // published; operators commit
)

// Coordinator runs the checkpoints of one attempt of a job, one at a time: it
// triggers the sources, waits until every subtask has acknowledged, has the
// store publish, lets the operators commit, then tells the sources. It is a step
// function: no clock, goroutine or store inside; the caller feeds Step and does
// what it answers, in order.
//
//	idle -trigger-> collecting -all acks-> publishing -published-> committing -all committed-> idle
//	                    |                      |                       |
//	             declined, expired         not published           expired: fail
//	                    +-> abort -> idle      +-> give up -> idle
//
// Failures are counted as Flink does: a declined, expired or unpublished
// checkpoint counts once, a success clears the count, and the job fails when the
// count passes Tolerable.
type Coordinator struct {
	cfg      CoordinatorConfig
	phase    phase
	id       ID
	last     bool // the present checkpoint is the last one
	waiting  []bool
	missing  int
	deadline time.Time
	done     ID // the newest published checkpoint of this attempt
	oldest   ID

	due        time.Time // the next periodic trigger
	pauseUntil time.Time
	requested  bool
	stopping   bool
	finished   []bool
	unfinished int
	failures   int
	over       bool // Fail or Finish was answered
}

// NewCoordinator returns a coordinator for an attempt that starts now.
func NewCoordinator(cfg CoordinatorConfig, now time.Time) *Coordinator {
	if cfg.Interval > 0 {
		cfg.Interval = max(cfg.Interval, cfg.MinPause)
		if cfg.First <= 0 {
			cfg.First = cfg.Interval
		}
	}
	return &Coordinator{
		cfg:        cfg,
		due:        now.Add(cfg.First),
		waiting:    make([]bool, cfg.Tasks),
		finished:   make([]bool, cfg.Sources),
		unfinished: cfg.Sources,
	}
}

// Step takes one event that happened at now and returns what to do.
func (c *Coordinator) Step(now time.Time, ev Event) []Action {
	if c.over {
		return nil
	}
	var actions []Action
	switch ev.Kind {
	case EventTick:
		actions = c.tick(now)
	case EventRequest:
		c.requested = true
	case EventStop:
		c.stopping = true
	case EventSourceFinished:
		if !c.finished[ev.Task] {
			c.finished[ev.Task] = true
			c.unfinished--
		}
	case EventAck:
		actions = c.ack(ev)
	case EventDecline:
		if ev.ID == c.id && c.phase == collecting {
			actions = c.fail(Action{Kind: ActionAbort, ID: ev.ID, Err: ev.Err})
		}
	case EventPublished:
		if ev.ID == c.id && c.phase == publishing {
			actions = c.published(now, ev.Oldest)
		}
	case EventPublishFailed:
		if ev.ID == c.id && c.phase == publishing {
			actions = c.publishFailed(ev.Err)
		}
	case EventCommitted:
		actions = c.committed(ev)
	}
	if c.over || c.phase != idle {
		return actions
	}
	return append(actions, c.maybeTrigger(now)...)
}

// Wake returns when the next EventTick is needed; ok is false when none is.
func (c *Coordinator) Wake() (at time.Time, ok bool) {
	switch {
	case c.over || c.phase == publishing:
		return time.Time{}, false
	case c.phase != idle:
		return c.deadline, true
	case c.cfg.Interval <= 0:
		return time.Time{}, false
	case c.pauseUntil.After(c.due):
		return c.pauseUntil, true
	default:
		return c.due, true
	}
}

func (c *Coordinator) tick(now time.Time) []Action {
	if c.phase == idle || now.Before(c.deadline) {
		return nil
	}
	switch c.phase {
	case collecting:
		err := fmt.Errorf("%w: %d of %d subtasks have not acknowledged after %v", ErrExpired, c.missing, c.cfg.Tasks, c.cfg.Timeout)
		return c.fail(Action{Kind: ActionAbort, ID: c.id, Err: err})
	case committing:
		c.over = true
		err := fmt.Errorf("checkpoint %d: %w: %d of %d subtasks have not committed after %v", c.id, ErrExpired, c.missing, c.cfg.Tasks, c.cfg.Timeout)
		return []Action{{Kind: ActionFail, Err: err}}
	}
	return nil
}

// maybeTrigger starts a checkpoint if one is wanted: the last one and requested
// ones at once, periodic ones when they are due.
func (c *Coordinator) maybeTrigger(now time.Time) []Action {
	last := c.stopping || c.unfinished == 0
	periodic := c.cfg.Interval > 0 && !now.Before(c.due) && !now.Before(c.pauseUntil)
	if !last && !c.requested && !periodic {
		return nil
	}
	c.id = max(c.id+1, c.cfg.Next)
	c.phase, c.last, c.requested = collecting, last, false
	c.due, c.deadline = now.Add(c.cfg.Interval), now.Add(c.cfg.Timeout)
	c.await()
	return []Action{{Kind: ActionTrigger, ID: c.id, Last: last}}
}

// await expects an answer from every subtask.
func (c *Coordinator) await() {
	c.missing = c.cfg.Tasks
	for i := range c.waiting {
		c.waiting[i] = true
	}
}

func (c *Coordinator) answered(task int) (all bool) {
	if c.waiting[task] {
		c.waiting[task] = false
		c.missing--
	}
	return c.missing == 0
}

func (c *Coordinator) ack(ev Event) []Action {
	if ev.ID == c.done && c.done != 0 {
		return nil // a second acknowledgement; what it names is in use
	}
	if ev.ID != c.id || c.phase == idle {
		return []Action{{Kind: ActionDiscard, ID: ev.ID, Task: ev.Task}}
	}
	if c.phase == collecting && c.answered(ev.Task) {
		c.phase = publishing
		return []Action{{Kind: ActionPublish, ID: c.id}}
	}
	return nil
}

func (c *Coordinator) published(now time.Time, oldest ID) []Action {
	c.phase, c.failures, c.done, c.oldest = committing, 0, c.id, oldest
	c.pauseUntil, c.deadline = now.Add(c.cfg.MinPause), now.Add(c.cfg.Timeout)
	c.await()
	return []Action{{Kind: ActionNotifyOperators, ID: c.id}}
}

func (c *Coordinator) publishFailed(err error) []Action {
	if errors.Is(err, ErrFenced) {
		c.over = true
		return []Action{{Kind: ActionGiveUp, ID: c.id, Err: err}, {Kind: ActionFail, Err: fmt.Errorf("checkpoint %d: %w", c.id, err)}}
	}
	return c.fail(Action{Kind: ActionGiveUp, ID: c.id, Err: err})
}

func (c *Coordinator) committed(ev Event) []Action {
	if ev.ID != c.id || c.phase != committing || !c.answered(ev.Task) {
		return nil
	}
	c.phase = idle
	actions := []Action{{Kind: ActionNotifySources, ID: c.id, Oldest: c.oldest}}
	if c.last {
		c.over = true
		actions = append(actions, Action{Kind: ActionFinish, ID: c.id})
	}
	return actions
}

// fail ends the present checkpoint with the action and counts it.
func (c *Coordinator) fail(end Action) []Action {
	c.phase = idle
	c.failures++
	if c.failures <= c.cfg.Tolerable {
		return []Action{end}
	}
	c.over = true
	err := fmt.Errorf("%w: checkpoint %d, number %d in a row, %d tolerated: %w",
		ErrTooManyFailures, c.id, c.failures, c.cfg.Tolerable, end.Err)
	return []Action{end, {Kind: ActionFail, Err: err}}
}
