package window

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/schema"
)

// script drives a Core by the lines of a test file, as a source would.
type script struct {
	core   *Core
	rows   map[uint64][]string // of chunks that were read
	number map[string]uint64   // chunk names of the script
	name   map[uint64]string
	saved  []byte
	sets   map[schema.TableID]map[string]string
	out    strings.Builder
}

func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			if err := s.run(t, d); err != nil {
				fmt.Fprintf(&s.out, "error: %v\n", err)
			}
			return s.out.String()
		})
	})
}

func (s *script) run(t *testing.T, d *datadriven.TestData) error {
	switch d.Cmd {
	case "new":
		var o Options
		d.MaybeScanArgs(t, "max-open", &o.MaxOpen)
		d.MaybeScanArgs(t, "max-bytes", &o.MaxBytes)
		s.fresh(o)
	case "require":
		return s.require(t, d)
	case "table":
		var set Set
		if !d.HasArg("keyless") {
			set = NewMemSet()
		}
		s.core.Add(tableID(d), set != nil, set)
	case "start":
		return s.do(s.core.Start(s.core.Table(tableID(d))))
	case "event":
		return s.event(t, d)
	case "visible", "opened":
		var text string
		d.ScanArgs(t, "snapshot", &text)
		snap, err := ParseSnapshot(text)
		if err != nil {
			return err
		}
		if d.Cmd == "opened" {
			return s.do(s.core.Opened(s.core.Table(tableID(d)), snap))
		}
		return s.do(s.core.Visible(snap))
	case "advance":
		var pos uint64
		d.ScanArgs(t, "to", &pos)
		return s.do(s.core.Advance(pos))
	default:
		return s.runChunk(t, d)
	}
	return nil
}

func (s *script) runChunk(t *testing.T, d *datadriven.TestData) error {
	switch d.Cmd {
	case "open":
		if !s.core.CanOpen() {
			fmt.Fprintln(&s.out, "no: bounds reached")
			return nil
		}
		id := s.core.Open(s.core.Table(tableID(d)))
		s.number[d.CmdArgs[1].Key], s.name[id] = id, d.CmdArgs[1].Key
	case "read":
		return s.read(t, d)
	case "planned":
		return s.do(s.core.Planned(s.core.Table(tableID(d))))
	case "reset", "truncate", "ddl", "relfilenode":
		actions, err := s.core.Reset(s.core.Table(tableID(d)))
		if err != nil {
			return err
		}
		if actions == nil {
			fmt.Fprintln(&s.out, "no window: the change just passes")
		}
		return s.do(actions)
	case "checkpoint":
		s.checkpoint()
	case "restore":
		return s.restore()
	case "status":
		s.status()
	case "remove":
		return s.core.Remove(s.core.Table(tableID(d)))
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return nil
}

func (s *script) fresh(o Options) {
	if o.MaxOpen == 0 {
		o.MaxOpen = 8
	}
	s.core = New(o)
	s.rows, s.number, s.name = make(map[uint64][]string), make(map[string]uint64), make(map[uint64]string)
}

func tableID(d *datadriven.TestData) schema.TableID {
	return schema.TableID{Table: d.CmdArgs[0].Key}
}

func (s *script) require(t *testing.T, d *datadriven.TestData) error {
	var c Cover
	d.MaybeScanArgs(t, "before", &c.Before)
	var text string
	if d.MaybeScanArgs(t, "initial", &text); text != "" {
		snap, err := ParseSnapshot(text)
		if err != nil {
			return err
		}
		c.Initial = &snap
	}
	s.core.Require(c)
	return nil
}

// event table xid=N key=(a,b) [unchanged]: the keys that the event touches.
func (s *script) event(t *testing.T, d *datadriven.TestData) error {
	var xid uint64
	d.ScanArgs(t, "xid", &xid)
	tab := s.core.Table(tableID(d))
	v := s.core.Event(tab, xid)
	fmt.Fprintln(&s.out, v)
	if v != PassNoted {
		return nil
	}
	for _, a := range d.CmdArgs {
		if a.Key != "key" {
			continue
		}
		for _, k := range a.Vals {
			var partial []byte
			if d.HasArg("unchanged") {
				partial = []byte("row " + k)
			}
			if err := tab.Note([]byte(k), partial); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *script) read(t *testing.T, d *datadriven.TestData) error {
	var high uint64
	var bytes int64
	d.ScanArgs(t, "high", &high)
	d.MaybeScanArgs(t, "bytes", &bytes)
	id := s.number[d.CmdArgs[1].Key]
	for _, a := range d.CmdArgs {
		if a.Key == "rows" {
			s.rows[id] = a.Vals
		}
	}
	return s.do(s.core.Read(s.core.Table(tableID(d)), id, high, bytes))
}

// do carries actions out and prints them.
func (s *script) do(actions []Action) error {
	for _, a := range actions {
		switch a.Kind {
		case ActClose:
			fmt.Fprintf(&s.out, "close %s %s:", a.Table.ID, s.name[a.Chunk])
			for _, k := range s.rows[a.Chunk] {
				v := Pass
				if a.Table.FiltersRows() {
					var err error
					if v, err = a.Table.Filter([]byte(k)); err != nil {
						return err
					}
				}
				fmt.Fprintf(&s.out, " %s %s;", v, k)
			}
			fmt.Fprintln(&s.out)
		case ActDiscard:
			fmt.Fprintf(&s.out, "discard %s %s\n", a.Table.ID, s.name[a.Chunk])
		case ActDone:
			fmt.Fprintf(&s.out, "done %s\n", a.Table.ID)
			if err := a.Table.Finish(); err != nil {
				return err
			}
		default:
			fmt.Fprintf(&s.out, "%s %s\n", a.Kind, a.Table.ID)
		}
	}
	return nil
}

func (s *script) status() {
	high, waits := s.core.High()
	fmt.Fprintf(&s.out, "position %d, needs visible %t, can open %t, idle %t", s.core.Position(), s.core.NeedsVisible(), s.core.CanOpen(), s.core.Idle())
	if waits {
		fmt.Fprintf(&s.out, ", waits for %d", high)
	}
	fmt.Fprintf(&s.out, ", passed %v\n", s.core.passed.XIDs)
	for _, t := range s.core.Tables() {
		fmt.Fprintf(&s.out, "%s: %s", t.ID, t.Phase())
		if t.seen != nil {
			fmt.Fprintf(&s.out, ", seen %d", t.seen.Len())
			if n := t.Partial(); n > 0 {
				fmt.Fprintf(&s.out, ", %d partial", n)
			}
		}
		fmt.Fprintln(&s.out)
	}
}

func (s *script) checkpoint() {
	s.saved, _ = json.Marshal(s.core.State())
	s.sets = make(map[schema.TableID]map[string]string)
	for _, t := range s.core.Tables() {
		if m, ok := t.seen.(*MemSet); ok && m != nil {
			s.sets[t.ID] = make(map[string]string)
			m.all(func(k, v string) bool { s.sets[t.ID][k] = v; return true })
		}
	}
	fmt.Fprintf(&s.out, "%s\n", s.saved)
}

func (s *script) restore() error {
	var st State
	if err := json.Unmarshal(s.saved, &st); err != nil {
		return err
	}
	s.fresh(s.core.opts)
	actions, err := s.core.Restore(st, func(id schema.TableID) (Set, error) {
		set := NewMemSet()
		for k, v := range s.sets[id] {
			set.put([]byte(k), v)
		}
		return set, nil
	})
	if err != nil {
		return err
	}
	return s.do(actions)
}

// FuzzParseSnapshot: the server's text is a snapshot or an error, and prints as it was read.
func FuzzParseSnapshot(f *testing.F) {
	for _, s := range []string{"10:20:10,14,15", "1:1:", "18446744073709551615:0:7", "a:b:c", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSnapshot(text)
		if err != nil {
			return
		}
		again, err := ParseSnapshot(s.String())
		if err != nil || again.String() != s.String() || s.Sees(s.Xmax) && s.Xmax >= s.Xmin {
			t.Errorf("%q is read as %s, then as %s, %v", text, s, again, err)
		}
	})
}
