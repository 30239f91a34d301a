package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// traced writes down what is called; fail names the call that fails.
type traced struct {
	uid  string
	log  *[]string
	fail string
}

func (s *traced) call(what string) error {
	*s.log = append(*s.log, s.uid+" "+what)
	switch s.fail {
	case what:
		return errors.New("refused")
	case what + "!":
		panic("fell")
	}
	return nil
}

func (s *traced) UID() string                               { return s.uid }
func (s *traced) Subtask() int                              { return 3 }
func (s *traced) Open(context.Context) error                { return s.call("open") }
func (s *traced) Complete(_ context.Context, _ int64) error { return s.call("complete") }
func (s *traced) Close() error                              { return s.call("close") }

func (s *traced) Barrier(context.Context, int64) ([]byte, error) {
	return []byte(s.uid), s.call("barrier")
}

func (s *traced) Snapshot(context.Context, int64) (state.Snapshot, error) {
	return &tracedSnapshot{s}, s.call("snapshot")
}

type tracedSnapshot struct{ s *traced }

func (t *tracedSnapshot) Discard() { t.s.call("discard") }
func (t *tracedSnapshot) Upload(context.Context, state.Files) (state.Handle, error) {
	return state.Handle{}, nil
}

type tracedPort struct{ log *[]string }

func (p tracedPort) Mark(m exchange.Mark) { *p.log = append(*p.log, fmt.Sprintf("mark %d", m.Value)) }

func newTraced() (c *Chain, a, b *traced, log *[]string) {
	log = new([]string)
	a, b = &traced{uid: "a", log: log}, &traced{uid: "b", log: log}
	return &Chain{Stages: []Stage{a, b}, Ports: []Port{tracedPort{log}}}, a, b, log
}

func TestChainOrder(t *testing.T) {
	ctx := t.Context()
	c, _, _, log := newTraced()
	err := c.Open(ctx)
	snaps, berr := c.Barrier(ctx, 7)
	if err := errors.Join(err, berr, c.Complete(ctx, 7), c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	want := "b open, a open, a barrier, a snapshot, b barrier, b snapshot, mark 7, a complete, b complete, a close, b close"
	if got := strings.Join(*log, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(snaps) != 2 || string(snaps[1].State) != "b" || snaps[1].Subtask != 3 {
		t.Errorf("snapshots %v", snaps)
	}
}

func TestChainFailures(t *testing.T) {
	for _, test := range []struct{ stage, fail, log string }{
		{"b", "open", "b open, b close"},
		{"a", "open", "b open, a open, a close, b close"},
		{"a", "open!", "b open, a open, a close, b close"},
		// No barrier goes on, and the keyed snapshots taken already are given up.
		{"b", "barrier", "b open, a open, a barrier, a snapshot, b barrier, a discard, a close, b close"},
		{"b", "barrier!", "b open, a open, a barrier, a snapshot, b barrier, a discard, a close, b close"},
		{"a", "complete!", "b open, a open, a barrier, a snapshot, b barrier, b snapshot, mark 1, a complete, a close, b close"},
		{"a", "close!", "b open, a open, a barrier, a snapshot, b barrier, b snapshot, mark 1, a complete, b complete, a close, b close"},
	} {
		t.Run(test.stage+" "+test.fail, func(t *testing.T) {
			ctx := t.Context()
			c, a, b, log := newTraced()
			map[string]*traced{"a": a, "b": b}[test.stage].fail = test.fail
			err := c.Open(ctx)
			if err == nil {
				_, err = c.Barrier(ctx, 1)
			}
			if err == nil {
				err = c.Complete(ctx, 1)
			}
			err = errors.Join(err, c.Close())
			var named *Error
			if !errors.As(err, &named) || named.UID != test.stage {
				t.Errorf("got %v", err)
			}
			if got := strings.Join(*log, ", "); got != test.log {
				t.Errorf("got  %s\nwant %s", got, test.log)
			}
		})
	}
}

// TestAttributeOnce: an error that passes through the operators above keeps the
// name of the one that it comes from.
func TestAttributeOnce(t *testing.T) {
	_, a, b, _ := newTraced()
	inner := errors.New("full")
	err := Attribute(a, fmt.Errorf("emit: %w", Attribute(b, inner)))
	if want := `emit: operator "b", subtask 3: full`; err.Error() != want || !errors.Is(err, inner) {
		t.Errorf("got %v", err)
	}
}
