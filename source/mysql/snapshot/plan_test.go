package snapshot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestPlan runs the scripts of testdata/plan: a plan of one table, what is asked of it
// and what it is told.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		var p *Plan
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return planCommand(t, &p, d) })
	})
}

func planCommand(t *testing.T, p **Plan, d *datadriven.TestData) string {
	n := 1
	d.MaybeScanArgs(t, "n", &n)
	switch d.Cmd {
	case "plan":
		*p = planOf(t, d)
	case "next":
		var b strings.Builder
		for range n {
			r, ok := (*p).Next()
			if !ok {
				fmt.Fprintf(&b, "nothing now, more %t\n", (*p).More())
				break
			}
			fmt.Fprintln(&b, r)
		}
		return b.String()
	case "walk":
		w, ok := (*p).Walk()
		if !ok {
			return "no walk"
		}
		return fmt.Sprintf("%s in steps of %d rows, %d steps", w.Span, w.Rows, w.Steps)
	case "walked":
		var bounds []Bound
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			if line != "" {
				bounds = append(bounds, strings.Split(line, " "))
			}
		}
		(*p).Walked(bounds, d.HasArg("end"))
	case "took":
		c := &Chunk{}
		d.ScanArgs(t, "rows", &c.Rows)
		d.ScanArgs(t, "bytes", &c.Bytes)
		if d.HasArg("from") {
			c.Rest = &Range{From: bound(t, d, "from"), To: bound(t, d, "to")}
		}
		(*p).Took(c)
	case "back":
		(*p).Back(Range{From: bound(t, d, "from"), To: bound(t, d, "to")})
	case "restore": // what a checkpoint holds is all that is needed
		text, err := json.Marshal((*p).Clone())
		if err != nil {
			t.Fatal(err)
		}
		*p = &Plan{}
		if err := json.Unmarshal(text, *p); err != nil {
			t.Fatal(err)
		}
		return string(text)
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return fmt.Sprintf("rows %d, chunks %d, ready %d, spans %d, even %t", (*p).Rows, (*p).Chunks(), len((*p).Ready), len((*p).Spans), (*p).Even != nil)
}

// bound reads an argument such as from=(1,2).
func bound(t *testing.T, d *datadriven.TestData, name string) Bound {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			return a.Vals
		}
	}
	return nil
}

func planOf(t *testing.T, d *datadriven.TestData) *Plan {
	s, o := Statistics{First: bound(t, d, "first"), Last: bound(t, d, "last")}, Options{ChunkRows: 100, ChunkBytes: 1 << 20}
	d.ScanArgs(t, "rows", &s.Rows)
	d.MaybeScanArgs(t, "row-bytes", &s.RowBytes)
	d.MaybeScanArgs(t, "size", &o.ChunkRows)
	d.MaybeScanArgs(t, "bytes", &o.ChunkBytes)
	s.Empty = d.HasArg("empty")
	key := Key{Index: "PRIMARY", Columns: []KeyColumn{{Name: "a", Form: Number, Whole: !d.HasArg("text"), Descending: d.HasArg("desc"), Prefix: d.HasArg("prefix")}, {Name: "b", Form: Number}}}
	return NewPlan(key, s, o)
}

// TestCondition pins the SQL of ranges.
func TestCondition(t *testing.T) {
	datadriven.RunTest(t, "testdata/condition", func(t *testing.T, d *datadriven.TestData) string {
		k := Key{Index: "PRIMARY"}
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			f := strings.Fields(line)
			c := KeyColumn{Name: f[0], Form: Form(f[1])}
			for _, o := range f[2:] {
				switch {
				case o == "desc":
					c.Descending = true
				case o == "prefix":
					c.Prefix = true
				case c.Form == Enum:
					fmt.Sscan(o, &c.Labels)
				default:
					c.Charset = o
				}
			}
			k.Columns = append(k.Columns, c)
		}
		return fmt.Sprintf("SELECT %s%s%s ORDER BY %s", k.expressions(), k.from("t"), k.clause(Range{From: bound(t, d, "from"), To: bound(t, d, "to")}), k.order(d.HasArg("backwards")))
	})
}
