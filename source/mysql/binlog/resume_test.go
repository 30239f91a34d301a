package binlog

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// saved is what a checkpoint would hold behind a group.
type saved struct {
	position uint64
	files    Files
	catalog  *ddl.Catalog
	gtids    *GTIDSet
	prepared []*Prepared
}

// checkpoints returns every place of a run where a checkpoint may lie.
func (p *played) checkpoints() []saved {
	var out []saved
	set := &GTIDSet{}
	position := uint64(0)
	for _, g := range p.groups {
		for _, gtid := range g.GTIDs {
			set.Add(gtid)
		}
		if g.Position != 0 {
			position = g.Position
		}
		if !g.InTransaction && position != 0 {
			out = append(out, saved{position, g.Files, g.Catalog, set.Clone(), g.Prepared})
		}
	}
	return out
}

// restore sends what a checkpoint holds through its text.
func (c saved) restore(t *testing.T, o Options) Options {
	files, err := json.Marshal(c.files)
	if err == nil {
		err = json.Unmarshal(files, &o.Files)
	}
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := json.Marshal(c.catalog)
	if err == nil {
		o.Catalog, err = ddl.Restore(catalog, o.Catalog.Options())
	}
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := json.Marshal(c.prepared)
	if err == nil {
		err = json.Unmarshal(prepared, &o.Prepared)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.After, o.Start = c.position, o.Files.Place(c.position)
	return o
}

// slowly delivers a few bytes at a time, with pauses, so that every transaction
// becomes a group.
func slowly() int {
	time.Sleep(time.Millisecond)
	return 50
}

// TestResume: from every place where a checkpoint may lie, by file and offset and
// by GTID, the rest is the same, whatever was written on the way.
func TestResume(t *testing.T) {
	for _, name := range capturedNames {
		t.Run(name, func(t *testing.T) {
			l := capturedLog(t, name).untilStatement()
			o := testOptions(strings.HasPrefix(name, "maria"))
			whole := play(t, l.dump(FirstOffset), o, slowly)
			if whole.err != nil {
				t.Fatal(whole.err)
			}
			points := whole.checkpoints()
			if len(points) < 20 || whole.position&maxOffset != l.end() {
				t.Fatalf("%d places, the last one %d of %d", len(points), whole.position&maxOffset, l.end())
			}
			for _, c := range points {
				r := c.restore(t, o)
				check := func(how string, p *played) {
					t.Helper()
					if want := whole.lines(c.position); p.err != nil || p.lines(0) != want {
						t.Errorf("%s %s: %v\n%swant\n%s", how, r.Start, p.err, p.lines(0), want)
					}
					if p.position != whole.position && c.position != whole.position {
						t.Errorf("%s %s: ends at %d, want %d", how, r.Start, p.position, whole.position)
					}
				}
				check("by place", play(t, l.dump(r.Start.Offset), r, nil))
				r.ByGTID, r.GTIDs = true, c.gtids
				check("by GTID", play(t, l.dumpByGTID(t, c.gtids), r, nil))
			}
		})
	}
}

// TestFailover: on another server, whose files have other names and numbers, the log
// goes on by GTID, and positions grow.
func TestFailover(t *testing.T) {
	l := capturedLog(t, "mysql97").untilStatement()
	o := testOptions(false)
	whole := play(t, l.dump(FirstOffset), o, slowly)
	points := whole.checkpoints()
	c := points[len(points)/2]
	r := c.restore(t, o)
	r.ByGTID, r.GTIDs, r.Follow = true, c.gtids, true
	l.name = "other.000001"
	p := play(t, l.dumpByGTID(t, c.gtids), r, nil)
	if p.err != nil {
		t.Fatal(p.err)
	}
	var had, got []string
	for _, ch := range whole.changes {
		if ch.start >= c.position {
			had = append(had, ch.table+" "+ch.text)
		}
	}
	for _, ch := range p.changes {
		got = append(got, ch.table+" "+ch.text)
		if ch.start <= c.position {
			t.Errorf("%s at %x, not behind %x", ch.text, ch.start, c.position)
		}
	}
	if strings.Join(got, "\n") != strings.Join(had, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(had, "\n"))
	}
	f := p.groups[len(p.groups)-1].Files
	if f.Base != "other" || f.Number != 1 || f.Place(p.position).File != "other.000001" {
		t.Errorf("%+v", f)
	}
}

// TestPositions: a row's position is that of the event that holds it, or, for those
// of a compressed or XA transaction, that of an event of the transaction.
func TestPositions(t *testing.T) {
	for _, name := range capturedNames {
		t.Run(name, func(t *testing.T) {
			l := capturedLog(t, name).untilStatement()
			holds := map[uint64]bool{}
			l.events(func(offset uint64, h event.Header, _ []byte) {
				holds[offset] = h.Type.IsRows() || h.Type == event.PayloadType || h.Type == event.QueryType || h.Type == event.XAPrepareType
			})
			p := play(t, l.dump(FirstOffset), testOptions(strings.HasPrefix(name, "maria")), nil)
			n := 0
			for _, g := range p.positions {
				n++
				if !holds[g&maxOffset] {
					t.Errorf("no event with rows at %d", g&maxOffset)
				}
			}
			if n < 15 {
				t.Errorf("%d rows", n)
			}
		})
	}
}
