package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// Stage is one operator of a chain, as far as checkpoints and lifecycle go.
type Stage interface {
	// UID and Subtask name it.
	UID() string
	Subtask() int
	Open(ctx context.Context) error
	// Barrier ends the checkpoint for the operator and returns its state.
	Barrier(ctx context.Context, id int64) ([]byte, error)
	// Snapshot fixes the keyed state; nil when there is none.
	Snapshot(ctx context.Context, id int64) (state.Snapshot, error)
	// Complete runs the commits of a published checkpoint.
	Complete(ctx context.Context, id int64) error
	// Close is called once after Open, also after an error.
	Close() error
}

// Port is an output of a chain into an exchange.
type Port interface {
	// Mark sends a mark to every consumer.
	Mark(exchange.Mark)
}

// Chain is the operators of one subtask and where their output leaves it.
type Chain struct {
	// Stages holds every operator after the one that feeds it.
	Stages []Stage
	Ports  []Port
	// Counters are those of the stages and of the source, to flush them.
	Counters []*Counters
	// current is the stage whose code runs, to name it when it panics.
	current Stage
	opened  int // stages whose Open was called, from the end
}

// Snapshot is what one stage gave for a checkpoint.
type Snapshot struct {
	UID     string
	Subtask int
	State   []byte
	Keyed   state.Snapshot // nil: no keyed state
}

// Discard gives up the keyed snapshots.
func Discard(snaps []Snapshot) {
	for _, s := range snaps {
		if s.Keyed != nil {
			s.Keyed.Discard()
		}
	}
}

// Enter notes that s runs now and returns the one that ran before, for Leave.
func (c *Chain) Enter(s Stage) (before Stage) {
	before, c.current = c.current, s
	return before
}

// Leave notes that before runs again. After a panic it is not called.
func (c *Chain) Leave(before Stage) { c.current = before }

// Open opens all stages, consumers first, so that what an operator emits in its
// Open finds its consumer open.
func (c *Chain) Open(ctx context.Context) (err error) {
	defer c.recover(&err)
	for c.opened < len(c.Stages) {
		s := c.Stages[len(c.Stages)-1-c.opened]
		c.opened++
		before := c.Enter(s)
		if err := s.Open(ctx); err != nil {
			return Attribute(s, err)
		}
		c.Leave(before)
	}
	return nil
}

// Barrier takes checkpoint id through all stages and sends it on. first are
// snapshots taken already (a source's).
func (c *Chain) Barrier(ctx context.Context, id int64, first ...Snapshot) (snaps []Snapshot, err error) {
	snaps = first
	defer func() {
		if err != nil {
			Discard(snaps)
			snaps = nil
		}
	}()
	defer c.recover(&err)
	for _, s := range c.Stages {
		before := c.Enter(s)
		op, err := s.Barrier(ctx, id)
		if err != nil {
			return snaps, Attribute(s, fmt.Errorf("checkpoint %d: %w", id, err))
		}
		keyed, err := s.Snapshot(ctx, id)
		if err != nil {
			return snaps, Attribute(s, fmt.Errorf("snapshot of the keyed state for checkpoint %d: %w", id, err))
		}
		c.Leave(before)
		snaps = append(snaps, Snapshot{UID: s.UID(), Subtask: s.Subtask(), State: op, Keyed: keyed})
	}
	c.mark(exchange.Mark{Kind: exchange.Barrier, Value: id})
	c.flush()
	return snaps, nil
}

// flush publishes what the counters have gathered.
func (c *Chain) flush() {
	for _, n := range c.Counters {
		n.Flush()
	}
}

func (c *Chain) mark(m exchange.Mark) {
	for _, p := range c.Ports {
		p.Mark(m)
	}
}

// Complete runs the commits of checkpoint id in all stages.
func (c *Chain) Complete(ctx context.Context, id int64) (err error) {
	defer c.recover(&err)
	for _, s := range c.Stages {
		before := c.Enter(s)
		if err := s.Complete(ctx, id); err != nil {
			return Attribute(s, fmt.Errorf("commit of checkpoint %d: %w", id, err))
		}
		c.Leave(before)
	}
	return nil
}

// Close closes every stage whose Open was called, producers first.
func (c *Chain) Close() error {
	var errs []error
	for n := c.opened; n > 0; n-- {
		errs = append(errs, c.closeStage(c.Stages[len(c.Stages)-n]))
	}
	c.opened = 0
	return errors.Join(errs...)
}

func (c *Chain) closeStage(s Stage) (err error) {
	c.current = s
	defer c.recover(&err)
	if err := s.Close(); err != nil {
		return Attribute(s, fmt.Errorf("close: %w", err))
	}
	return nil
}

// recover is deferred around code of operators.
func (c *Chain) recover(err *error) {
	if v := recover(); v != nil {
		*err = Panicked(c.current, v)
	}
}

// Error is an error of an operator or a source.
type Error struct {
	UID     string
	Subtask int
	Err     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("operator %q, subtask %d: %v", e.UID, e.Subtask, e.Err)
}

// Unwrap returns what the operator returned.
func (e *Error) Unwrap() error { return e.Err }

// PanicError is a panic in the code of an operator.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Attribute adds the stage's name to err, unless it names an operator already:
// in a chain errors pass through the operators above.
func Attribute(s Stage, err error) error {
	var known *Error
	if err == nil || s == nil || errors.As(err, &known) {
		return err
	}
	return &Error{UID: s.UID(), Subtask: s.Subtask(), Err: err}
}

// Panicked makes an error of a recovered value. It is called by the deferred
// function that recovered, so that the stack is still there.
func Panicked(s Stage, value any) error {
	return Attribute(s, &PanicError{Value: value, Stack: debug.Stack()})
}
