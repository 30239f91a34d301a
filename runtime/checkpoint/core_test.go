package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// The scripts' verbs are the events. Times are seconds since the start.
func TestCoordinator(t *testing.T) {
	datadriven.Walk(t, "testdata/coordinator", func(t *testing.T, path string) {
		var c *Coordinator
		start := time.Unix(0, 0)
		now := start
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				cfg := CoordinatorConfig{Tasks: 2, Sources: 1, Timeout: 600 * time.Second, Next: 1}
				scanCoordinator(t, d, &cfg)
				now = start
				c = NewCoordinator(cfg, now)
				return wake(c, start)
			}
			var at int
			if d.HasArg("at") {
				d.ScanArgs(t, "at", &at)
				now = start.Add(time.Duration(at) * time.Second)
			}
			var b strings.Builder
			for _, a := range c.Step(now, event(t, d)) {
				fmt.Fprintln(&b, a)
			}
			return b.String() + wake(c, start)
		})
	})
}

func scanCoordinator(t *testing.T, d *datadriven.TestData, cfg *CoordinatorConfig) {
	seconds := map[string]*time.Duration{"interval": &cfg.Interval, "first": &cfg.First, "timeout": &cfg.Timeout, "min-pause": &cfg.MinPause}
	for _, arg := range d.CmdArgs {
		var n int
		d.ScanArgs(t, arg.Key, &n)
		switch {
		case seconds[arg.Key] != nil:
			*seconds[arg.Key] = time.Duration(n) * time.Second
		case arg.Key == "tasks":
			cfg.Tasks = n
		case arg.Key == "sources":
			cfg.Sources = n
		case arg.Key == "tolerable":
			cfg.Tolerable = n
		case arg.Key == "next":
			cfg.Next = ID(n)
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
}

func event(t *testing.T, d *datadriven.TestData) Event {
	kinds := map[string]EventKind{
		"tick": EventTick, "request": EventRequest, "stop": EventStop, "source-finished": EventSourceFinished, "ack": EventAck,
		"decline": EventDecline, "published": EventPublished, "publish-failed": EventPublishFailed, "committed": EventCommitted,
	}
	ev := Event{Kind: kinds[d.Cmd]}
	if ev.Kind == 0 {
		d.Fatalf(t, "unknown verb %q", d.Cmd)
	}
	for key, dst := range map[string]*int64{"id": &ev.ID, "oldest": &ev.Oldest} {
		if d.HasArg(key) {
			d.ScanArgs(t, key, dst)
		}
	}
	if d.HasArg("task") {
		d.ScanArgs(t, "task", &ev.Task)
	}
	switch {
	case d.HasArg("fenced"):
		ev.Err = ErrFenced
	case ev.Kind == EventDecline:
		ev.Err = errors.New("upload failed")
	case ev.Kind == EventPublishFailed:
		ev.Err = errors.New("disk full")
	}
	return ev
}

func wake(c *Coordinator, start time.Time) string {
	at, ok := c.Wake()
	if !ok {
		return "no wake\n"
	}
	return fmt.Sprintf("wake at %v\n", at.Sub(start))
}

func TestAligner(t *testing.T) {
	datadriven.Walk(t, "testdata/aligner", func(t *testing.T, path string) {
		var a *Aligner
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var input, inputs int
			var id int64
			for _, arg := range d.CmdArgs {
				d.ScanArgs(t, arg.Key, map[string]any{"input": &input, "inputs": &inputs, "id": &id}[arg.Key])
			}
			var actions []AlignAction
			switch d.Cmd {
			case "new":
				a = NewAligner(inputs)
			case "barrier":
				actions = a.Barrier(input, id)
			case "end":
				actions = a.End(input)
			case "abort":
				actions = a.Abort(id)
			default:
				d.Fatalf(t, "unknown verb %s", d.Cmd)
			}
			var b strings.Builder
			for _, action := range actions {
				fmt.Fprintln(&b, action)
			}
			if cur := a.Current(); cur != 0 {
				fmt.Fprintf(&b, "aligning %d\n", cur)
			}
			if b.Len() == 0 {
				return "nothing\n"
			}
			return b.String()
		})
	})
}
