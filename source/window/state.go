package window

import (
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
)

// State is what a checkpoint holds of a Core, beside the sets: those, and which
// chunks have entered the log, the source keeps.
type State struct {
	Position uint64       `json:"position"`
	Passed   Cover        `json:"passed"`
	Tables   []TableState `json:"tables"`
}

// TableState is the part of one table.
type TableState struct {
	Table schema.TableID `json:"table"`
	Keyed bool           `json:"keyed"`
	Phase string         `json:"phase"`
	Cover Cover          `json:"cover"`
}

// State returns the state at this point of the log. It may only be taken once
// all actions have been carried out. Open chunks are not part of it: they are
// read again after a restart.
func (c *Core) State() State {
	s := State{Position: c.position, Passed: c.passed.clone()}
	for _, t := range c.order {
		s.Tables = append(s.Tables, TableState{t.ID, t.keyed, t.phase.String(), t.cover.clone()})
	}
	return s
}

// Restore fills a new Core. sets returns the set of a table whose snapshot is
// under way, with its content. A table without a key that was being read comes
// back with ActReset: its one snapshot is gone. Tables that are covered come
// back with ActRead.
func (c *Core) Restore(s State, sets func(id schema.TableID) (Set, error)) ([]Action, error) {
	c.position, c.passed = s.Position, s.Passed.clone()
	for _, ts := range s.Tables {
		t := &Table{ID: ts.Table, keyed: ts.Keyed, cover: ts.Cover.clone()}
		switch ts.Phase {
		case Waiting.String():
			t.phase = Waiting
		case Covering.String():
			t.phase = Covering
		case Reading.String():
			t.phase = Reading
		case Done.String():
			t.phase = Done
		default:
			return nil, fmt.Errorf("window: state of table %s: unknown phase %q", ts.Table, ts.Phase)
		}
		c.insert(t)
		if t.phase == Done {
			continue
		}
		c.undone++
		if err := c.resume(t, sets); err != nil {
			return nil, err
		}
	}
	return c.take(), nil
}

// resume brings one table of a restored state back to where it can go on.
func (c *Core) resume(t *Table, sets func(id schema.TableID) (Set, error)) error {
	if !t.keyed {
		if t.phase == Reading {
			t.phase, t.cover = Covering, c.passed.clone()
			c.emit(ActReset, t, 0)
		}
		return nil
	}
	seen, err := sets(t.ID)
	if err != nil {
		return err
	}
	t.seen = seen
	if t.phase == Reading {
		c.emit(ActRead, t, 0)
	}
	return nil
}
