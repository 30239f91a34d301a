package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// modelRow is a row of a table whose key are two numbers.
type modelRow struct {
	key  [2]int
	size int64
}

// modelTable stands for the server in the tests of the plan.
type modelTable struct {
	desc bool // the first column's index order
	rows []modelRow
}

// compare orders a row against a bound, in the order of the index.
func (m *modelTable) compare(r modelRow, b Bound) int {
	for i, literal := range b {
		n, err := strconv.Atoi(literal)
		if err != nil {
			panic(err)
		}
		c := cmp.Compare(r.key[i], n)
		if i == 0 && m.desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func (m *modelTable) bound(r modelRow) Bound {
	return Bound{strconv.Itoa(r.key[0]), strconv.Itoa(r.key[1])}
}

// in returns the rows of a range.
func (m *modelTable) in(r Range) (out []modelRow) {
	for _, row := range m.rows {
		if (r.From == nil || m.compare(row, r.From) > 0) && (r.To == nil || m.compare(row, r.To) <= 0) {
			out = append(out, row)
		}
	}
	return out
}

// read reads a job as Reader.Read does.
func (m *modelTable) read(p *Plan, r Range) (*Chunk, []modelRow) {
	job := p.Job(nil, r)
	c := &Chunk{Job: job}
	rows := m.in(r)
	for i, row := range rows {
		if i == job.Rows || i > 0 && c.Bytes >= job.Bytes {
			rows = rows[:i]
			c.Rest = &Range{From: m.bound(rows[i-1]), To: r.To}
			break
		}
		c.Rows++
		c.Bytes += row.size
	}
	return c, rows
}

func (m *modelTable) walk(w Walk) (bounds []Bound, end bool) {
	span := w.Span
	for range w.Steps {
		rows := m.in(span)
		if len(rows) < w.Rows {
			return bounds, true
		}
		span.From = m.bound(rows[w.Rows-1])
		bounds = append(bounds, span.From)
	}
	return bounds, false
}

// drawTable draws a table that is dense here and sparse there, with some large rows.
func drawTable(t *rapid.T) *modelTable {
	m := &modelTable{desc: rapid.Bool().Draw(t, "desc")}
	at := rapid.IntRange(-1000, 1000).Draw(t, "start")
	for range rapid.IntRange(0, 6).Draw(t, "regions") {
		gap := rapid.SampledFrom([]int{0, 1, 1, 3, 500}).Draw(t, "gap")
		size := rapid.SampledFrom([]int64{10, 10, 100, 5000}).Draw(t, "size")
		for i := range rapid.IntRange(0, 60).Draw(t, "rows") {
			m.rows = append(m.rows, modelRow{key: [2]int{at, i}, size: size})
			at += gap
		}
		at++
	}
	slices.SortFunc(m.rows, func(a, b modelRow) int {
		c := cmp.Compare(a.key[0], b.key[0])
		if m.desc {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.key[1], b.key[1]))
	})
	return m
}

// TestPlanModel: whatever the table, however wrong the estimates, in whatever order
// ranges are read, given back and restored: each row is read once, and the plan stays small.
func TestPlanModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawTable(t)
		s := Statistics{Rows: rapid.Int64Range(0, 3*int64(len(m.rows))).Draw(t, "estimate"), RowBytes: rapid.Int64Range(0, 100).Draw(t, "row bytes"), Empty: len(m.rows) == 0}
		if !s.Empty {
			s.First, s.Last = m.bound(m.rows[0]), m.bound(m.rows[len(m.rows)-1])
		}
		first := KeyColumn{Name: "a", Form: Number, Whole: rapid.Bool().Draw(t, "whole"), Descending: m.desc}
		if rapid.IntRange(0, 4).Draw(t, "last") == 0 {
			s.Last = nil
		}
		p := NewPlan(Key{Columns: []KeyColumn{first, {Name: "b", Form: Number}}}, s,
			Options{ChunkRows: rapid.IntRange(1, 20).Draw(t, "chunk rows"), ChunkBytes: rapid.Int64Range(1, 2000).Draw(t, "chunk bytes")})
		run := &modelRun{m: m, p: p, seen: map[[2]int]bool{}}
		for steps := 0; run.p.More() || len(run.open) > 0; steps++ {
			if steps > 100_000 {
				t.Fatalf("no end: %+v", run.p)
			}
			run.step(t)
		}
		if len(run.seen) != len(m.rows) {
			t.Fatalf("%d rows read of %d", len(run.seen), len(m.rows))
		}
	})
}

type modelRun struct {
	m    *modelTable
	p    *Plan
	open []Range
	walk *Walk
	seen map[[2]int]bool
}

func (r *modelRun) step(t *rapid.T) {
	switch rapid.IntRange(0, 11).Draw(t, "step") {
	case 0, 1:
		if r.walk == nil {
			if w, ok := r.p.Walk(); ok {
				r.walk = &w
			}
		}
	case 2, 3:
		if r.walk != nil {
			r.p.Walked(r.m.walk(*r.walk))
			r.walk = nil
		}
	case 4, 5, 6:
		if rg, ok := r.p.Next(); ok && len(r.open) < 4 {
			r.open = append(r.open, rg)
		} else if ok {
			r.p.Back(rg)
		}
	case 7, 8, 9:
		if len(r.open) > 0 {
			r.read(t, rapid.IntRange(0, len(r.open)-1).Draw(t, "chunk"))
		}
	case 10:
		if len(r.open) > 0 { // a reader failed
			r.p.Back(r.open[0])
			r.open = r.open[1:]
		}
	case 11:
		r.restart(t)
	}
	if n := len(r.p.Ready) + len(r.p.Spans); n > 2*aheadRanges+16 {
		t.Fatalf("the plan has %d ranges", n)
	}
}

func (r *modelRun) read(t *rapid.T, i int) {
	c, rows := r.m.read(r.p, r.open[i])
	r.open = slices.Delete(r.open, i, i+1)
	r.p.Took(c)
	r.p.Done++
	for _, row := range rows {
		if r.seen[row.key] {
			t.Fatalf("row %v came twice", row.key)
		}
		r.seen[row.key] = true
	}
	if got := len(r.m.in(c.Range())); got != len(rows) {
		t.Fatalf("%s has %d rows, %d were read", c.Range(), got, len(rows))
	}
}

// restart goes on from a checkpoint, which gives the open ranges back.
func (r *modelRun) restart(t *rapid.T) {
	c := r.p.Clone()
	for _, rg := range r.open {
		c.Back(rg)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	r.open, r.walk, r.p = nil, nil, &Plan{}
	if err := json.Unmarshal(text, r.p); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(r.p.Key) != fmt.Sprint(c.Key) {
		t.Fatalf("key %v", r.p.Key)
	}
}
