package txn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the scripts in testdata: each command is one or more inputs, the
// answer is what is to be done. A committable is written checkpoint:id:producer:epoch:version.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var m *Machine
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				cfg := Config{Prefix: "p", Lineage: "L"}
				d.MaybeScanArgs(t, "ids", &cfg.MaxIDs)
				d.MaybeScanArgs(t, "tries", &cfg.Tries)
				m = New(cfg)
				return ""
			}
			actions, err := m.Step(parseInput(t, d))
			var b strings.Builder
			for _, a := range actions {
				fmt.Fprintln(&b, show(a))
			}
			if err != nil {
				fmt.Fprintln(&b, "error:", err)
			}
			if id, ok := m.Open(); ok {
				fmt.Fprintln(&b, "open:", id)
			}
			for _, c := range m.Pending() {
				fmt.Fprintln(&b, "pending:", c)
			}
			return b.String()
		})
	})
}

func parseInput(t *testing.T, d *datadriven.TestData) Input {
	var id, result string
	var checkpoint int64
	var position uint64
	d.MaybeScanArgs(t, "id", &id)
	d.MaybeScanArgs(t, "result", &result)
	d.MaybeScanArgs(t, "checkpoint", &checkpoint)
	d.MaybeScanArgs(t, "position", &position)
	r := Done
	for n, name := range resultNames {
		if name == result {
			r = Result(n)
		}
	}
	switch d.Cmd {
	case "restore":
		in := Restore{Restored: d.HasArg("checkpoint"), Checkpoint: checkpoint}
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "pending":
				for _, v := range a.Vals {
					in.Pending = append(in.Pending, parseCommittable(t, v))
				}
			case "listed":
				in.Listed = a.Vals
			}
		}
		return in
	case "inited":
		return Inited{ID: id, Result: r}
	case "write":
		return Write{}
	case "began":
		c := Committable{ProducerID: 1}
		var version uint8 = 2
		d.MaybeScanArgs(t, "producer", &c.ProducerID)
		d.MaybeScanArgs(t, "epoch", &c.Epoch)
		d.MaybeScanArgs(t, "version", &version)
		return Began{ID: id, ProducerID: c.ProducerID, Epoch: c.Epoch, Version: Version(version), Result: r}
	case "prepare":
		return Prepare{Checkpoint: checkpoint, Position: position}
	case "flushed":
		return Flushed{ID: id, Result: r}
	case "stored":
		return Stored{Checkpoint: checkpoint}
	case "ended":
		return Ended{ID: id, Result: r}
	case "marker":
		in := MarkerRead{Result: r}
		for _, a := range d.CmdArgs {
			if a.Key == "of" {
				c := parseCommittable(t, a.Vals[0])
				in.Found, in.Marker = true, Marker{Lineage: "L", Checkpoint: c.Checkpoint, ID: c.ID, ProducerID: c.ProducerID, Epoch: c.Epoch}
			}
			if a.Key == "lineage" {
				in.Marker.Lineage = a.Vals[0]
			}
		}
		return in
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return nil
}

func parseCommittable(t *testing.T, s string) Committable {
	c := Committable{}
	var version int
	if _, err := fmt.Sscanf(strings.ReplaceAll(s, ":", " "), "%d %s %d %d %d", &c.Checkpoint, &c.ID, &c.ProducerID, &c.Epoch, &version); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	c.Version = Version(version)
	return c
}

func show(a Action) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", a), "txn.")
	switch a := a.(type) {
	case Init:
		return fmt.Sprintf("%s %s try=%d", name, a.ID, a.Try)
	case End:
		return fmt.Sprintf("%s %s live=%v try=%d", name, a.Committable, a.Live, a.Try)
	case Prepared:
		if a.Empty {
			return fmt.Sprintf("%s checkpoint %d, nothing written", name, a.Checkpoint)
		}
		return fmt.Sprintf("%s %s", name, a.Committable)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %+v", name, a), " {}")
}
