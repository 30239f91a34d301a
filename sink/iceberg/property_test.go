package iceberg

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// TestWriterAgainstModel drives writers with a random log (rows with left-out
// cells, snapshots in chunks, schema changes, truncates, resets), random
// checkpoints, crashes and rescalings, and compares what a reader would see
// with a model after every checkpoint.
func TestWriterAgainstModel(t *testing.T) {
	for _, backend := range []string{"hashmap", "pebble"} {
		for _, mode := range []writeMode{modeUpsert, modeAppend} {
			t.Run(backend+"/"+mode.String(), func(t *testing.T) {
				if backend == "pebble" { // each start opens files
					defer fewerChecks(t, 3)()
				}
				rapid.Check(t, func(rt *rapid.T) { runScript(rt, mode, backend) })
			})
		}
	}
}

// fewerChecks divides the number of rapid's checks until undo is called.
func fewerChecks(t *testing.T, by int) (undo func()) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	was := checks.Value.String()
	n, err := strconv.Atoi(was)
	must(t, err)
	must(t, flag.Set(checks.Name, strconv.Itoa(max(1, n/by))))
	return func() { must(t, flag.Set(checks.Name, was)) }
}

func runScript(rt *rapid.T, mode writeMode, backend string) {
	dir, err := os.MkdirTemp("", "iceberg-writer")
	if err != nil {
		rt.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	p := newScript(rt, newRig(rt, dir, mem, mode, backend), mode)
	p.run()
	p.rig.crash()
	p.rig.close()
	if n := mem.CurrentAlloc(); n != 0 {
		rt.Fatalf("%d bytes of Arrow memory leaked", n)
	}
}

const scriptKeys = 6

// script makes the log and the model of it.
type script struct {
	rt   *rapid.T
	rig  *rig
	mode writeMode
	def  *schema.Table
	next int // column ordinals
	pos  uint64
	n    int // makes values unique

	source map[int]map[int]string // rows by key: values by column ordinal
	sink   model
	log    []element // since the last checkpoint

	snapshot *chunks
	hit      bool // a snapshot was run already
}

// element is one element of the log as data, to be sent again after a crash.
type element struct {
	def    *schema.Table
	events []event
	change *schema.Change
}

// chunks is a running snapshot.
type chunks struct {
	left []int // keys not read yet
	seen map[int]bool
	odd  map[int]bool // had an event with left-out cells
	open map[int]map[int]string
}

func newScript(rt *rapid.T, r *rig, mode writeMode) *script {
	s := &script{rt: rt, rig: r, mode: mode, source: map[int]map[int]string{}, sink: newModel(mode)}
	s.def = testDef()
	s.def.Columns = s.def.Columns[:3]
	s.def.Columns = append(s.def.Columns, schema.Column{Name: "doc2", Type: schema.String(), Nullable: true})
	for i := range s.def.Columns {
		s.def.Columns[i].Ordinal = i
	}
	s.next = len(s.def.Columns)
	r.cfg.TargetFileSize = int64(rapid.SampledFrom([]int{1, 4096, 1 << 20}).Draw(rt, "target"))
	r.cfg.BulkMinimum = rapid.SampledFrom([]int{1, 3, 8192}).Draw(rt, "bulk")
	r.cfg.MaxOpenFiles = rapid.SampledFrom([]int{1, 32}).Draw(rt, "open")
	r.cfg.BufferBytes = int64(rapid.SampledFrom([]int{1, 20_000, 1 << 20}).Draw(rt, "buffer"))
	return s
}

func (s *script) run() {
	s.rig.start(s.draw(1, 3, "parallelism"))
	s.send(element{change: created(s.def)})
	// Rows that are there before the snapshot starts: the tail drops their events.
	for k := range scriptKeys {
		if s.draw(0, 1, "exists") == 1 {
			s.source[k] = s.newRow(k)
		}
	}
	if s.draw(0, 3, "startSnapshot") > 0 {
		s.startSnapshot()
	} else {
		clear(s.source)
	}
	for range s.draw(5, 40, "steps") {
		s.step()
	}
	s.finishSnapshot()
	s.checkpoint()
}

func (s *script) draw(low, high int, label string) int {
	return rapid.IntRange(low, high).Draw(s.rt, label)
}

func (s *script) step() {
	switch s.draw(0, 19, "step") {
	case 0, 1, 2:
		s.checkpoint()
	case 3, 4:
		s.crash()
	case 5, 6, 7, 8:
		if s.snapshot != nil {
			s.chunkStep()
			return
		}
		s.rows()
	case 9:
		s.finishSnapshot()
	case 10:
		s.evolve()
	case 11:
		s.truncate()
	case 12:
		s.startSnapshot()
	default:
		s.rows()
	}
}

// send gives an element to the writers and remembers it.
func (s *script) send(e element) {
	s.log = append(s.log, e)
	s.sendAgain(e)
}

func (s *script) sendAgain(e element) {
	s.rt.Helper()
	var err error
	if e.change != nil {
		err = s.rig.change(testTable, e.change)
	} else {
		for part := range slices.Chunk(e.events, s.draw(1, 4, "batch")) {
			if err = s.rig.batch(testTable, rowsBatch(s.rig.mem, e.def, part)); err != nil {
				break
			}
			if s.draw(0, 3, "flush") == 0 {
				err = flushErr(s.rig)
			}
		}
	}
	if err != nil {
		s.rt.Fatalf("%v", err)
	}
}

func (s *script) newRow(k int) map[int]string {
	row := map[int]string{}
	for _, c := range s.def.Columns {
		if c.Name == "id" {
			row[c.Ordinal] = strconv.Itoa(k)
			continue
		}
		if s.draw(0, 4, "null") > 0 {
			s.n++
			row[c.Ordinal] = strconv.Itoa(s.n)
		}
	}
	return row
}

// values names the values as the present definition does.
func (s *script) values(row map[int]string) map[string]string {
	out := map[string]string{}
	for _, c := range s.def.Columns {
		if v, ok := row[c.Ordinal]; ok {
			out[c.Name] = v
		}
	}
	return out
}

// rows emits one transaction.
func (s *script) rows() {
	s.pos++
	e := element{def: s.def}
	for i := range s.draw(1, 5, "events") {
		k := s.draw(0, scriptKeys-1, "key")
		ev := event{pos: s.pos, ordinal: uint32(i)}
		old, exists := s.source[k]
		switch {
		case !exists:
			ev.op = schema.OpInsert
			s.source[k] = s.newRow(k)
			ev.values = s.values(s.source[k])
		case s.draw(0, 3, "delete") == 0:
			ev.op = schema.OpDelete
			delete(s.source, k)
			ev.values = map[string]string{"id": strconv.Itoa(k)}
		default:
			ev = s.update(ev, k, old)
		}
		if s.snapshot != nil {
			s.snapshot.seen[k] = true
			if len(ev.unchanged) > 0 {
				s.snapshot.odd[k] = true
			}
		}
		e.events = append(e.events, ev)
		s.sink.apply(ev.op, k, ev.pos, ev.ordinal, maps.Clone(s.source[k]), s.ordinals(ev.unchanged))
	}
	s.send(e)
}

func (s *script) update(ev event, k int, old map[int]string) event {
	ev.op = schema.OpUpdate
	row := s.newRow(k)
	for _, c := range s.def.Columns {
		if !strings.HasPrefix(c.Name, "doc") || s.draw(0, 1, "unchanged") == 0 {
			continue
		}
		ev.unchanged = append(ev.unchanged, c.Name)
		delete(row, c.Ordinal)
		if v, ok := old[c.Ordinal]; ok {
			row[c.Ordinal] = v
		}
	}
	s.source[k] = row
	ev.values = s.values(row)
	return ev
}

func (s *script) ordinals(columns []string) (out []int) {
	for _, name := range columns {
		c, _ := s.def.Column(name)
		out = append(out, c.Ordinal)
	}
	return out
}

func (s *script) startSnapshot() {
	if s.snapshot != nil || s.hit && s.draw(0, 1, "reset") == 0 {
		return
	}
	if s.hit {
		s.pos++
		s.send(element{change: kind(s.def, schema.ChangeReset)})
		s.sink.reset()
	}
	s.hit = true
	s.send(element{change: kind(s.def, schema.ChangeSnapshotStart)})
	s.snapshot = &chunks{seen: map[int]bool{}, odd: map[int]bool{}}
	s.sink.snapshotting = true
	for k := range scriptKeys {
		s.snapshot.left = append(s.snapshot.left, k)
	}
}

// chunkStep opens a chunk, or closes the open one.
func (s *script) chunkStep() {
	c := s.snapshot
	if c.open == nil {
		n := min(len(c.left), s.draw(1, 3, "chunk"))
		c.open = map[int]map[int]string{}
		for _, k := range c.left[:n] {
			if row, ok := s.source[k]; ok {
				c.open[k] = maps.Clone(row)
			}
		}
		c.left = c.left[n:]
		return
	}
	e := element{def: s.def}
	for _, k := range slices.Sorted(maps.Keys(c.open)) {
		row := c.open[k]
		switch {
		case !c.seen[k]:
			e.events = append(e.events, event{op: schema.OpRead, pos: s.pos, values: s.values(row)})
			s.sink.apply(schema.OpRead, k, s.pos, 0, row, nil)
		case c.odd[k]:
			e.events = append(e.events, event{op: schema.OpFill, pos: s.pos, values: s.values(row)})
			s.sink.fill(k)
		}
	}
	c.open = nil
	if len(e.events) > 0 {
		s.send(e)
	}
}

func (s *script) finishSnapshot() {
	if s.snapshot == nil {
		return
	}
	for s.snapshot.open != nil || len(s.snapshot.left) > 0 {
		s.chunkStep()
	}
	s.snapshot, s.sink.snapshotting = nil, false
	s.send(element{change: kind(s.def, schema.ChangeSnapshotDone)})
}

func (s *script) truncate() {
	if s.snapshot != nil {
		return
	}
	s.pos++
	s.send(element{change: kind(s.def, schema.ChangeTruncate)})
	clear(s.source)
	s.sink.reset()
}

// evolve changes the schema; the source resets a snapshot that runs.
func (s *script) evolve() {
	if s.snapshot != nil {
		return
	}
	s.pos++
	before, after := s.def, s.def.Clone()
	after.Version++
	c := &schema.Change{Table: before.ID, Before: before, After: after, Position: s.pos}
	last := after.Columns[len(after.Columns)-1]
	switch s.draw(0, 3, "evolve") {
	case 0:
		c.Kind = schema.ChangeAddColumn
		col := schema.Column{Name: fmt.Sprintf("doc%d", 10+s.next), Type: schema.String(), Nullable: true, Ordinal: s.next}
		s.next++
		after.Columns = append(after.Columns, col)
		c.Columns = []schema.Column{col}
	case 1:
		if len(after.Columns) < 4 {
			return
		}
		c.Kind = schema.ChangeDropColumn
		after.Columns = after.Columns[:len(after.Columns)-1]
		c.Columns = []schema.Column{last}
	case 2:
		c.Kind = schema.ChangeRenameColumn
		name := fmt.Sprintf("doc%d", 1000+s.pos)
		after.Columns[len(after.Columns)-1].Name = name
		c.Renames = map[string]string{last.Name: name}
	default:
		if after.Columns[1].Type.Kind != schema.KindInt {
			return
		}
		c.Kind = schema.ChangeAlterColumn
		after.Columns[1].Type = schema.BigInt()
		c.Columns = []schema.Column{after.Columns[1]}
	}
	s.def = after
	s.send(element{change: c})
}

func (s *script) checkpoint() {
	s.rig.prepare()
	s.log = nil
	s.sink.commit()
	s.compare()
}

// crash goes back to the last checkpoint and sends the log after it again.
func (s *script) crash() {
	s.rig.crash()
	s.rig.start(s.draw(1, 4, "parallelism"))
	if s.rig.checkpoint > 0 {
		for _, w := range s.rig.writers {
			if len(w.order) != 1 {
				s.rt.Fatalf("restored with %d tables", len(w.order))
			}
		}
		def := s.rig.writers[0].order[0].layout.staged.Source
		if err := s.rig.change(testTable, created(def)); err != nil {
			s.rt.Fatalf("%v", err)
		}
	}
	for _, e := range s.log {
		s.sendAgain(e)
	}
}

func (s *script) compare() {
	s.rt.Helper()
	names := make([]string, 0, len(s.def.Columns))
	for _, c := range s.def.Columns {
		names = append(names, c.Name)
	}
	if s.mode == modeAppend {
		names = append(names, columnOp, columnPos, columnOrdinal)
	}
	got := s.rig.rows(testTable, names...)
	var want []string
	for _, r := range s.sink.rows() {
		var parts []string
		for _, c := range s.def.Columns {
			v, ok := r.values[c.Ordinal]
			if !ok {
				v = "(null)"
			}
			parts = append(parts, c.Name+"="+v)
		}
		if s.mode == modeAppend {
			parts = append(parts, fmt.Sprintf("%s=%c %s=%d %s=%d", columnOp, r.op, columnPos, r.pos, columnOrdinal, r.ordinal))
		}
		want = append(want, strings.Join(parts, " "))
	}
	sort.Strings(want)
	if !slices.Equal(got, want) {
		s.rt.Fatalf("checkpoint %d: the table holds\n  %s\nbut should hold\n  %s", s.rig.checkpoint, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// model is what the sink must hold: by key in upsert mode, all changes in append mode.
type model struct {
	mode         writeMode
	snapshotting bool
	visible      map[int]modelRow
	changes      []modelRow
	known        map[int]bool // a complete row is the key's newest
	waiting      map[int][]modelRow
}

type modelRow struct {
	op      schema.Op
	pos     uint64
	ordinal uint32
	values  map[int]string
	missing []int
}

func newModel(mode writeMode) model {
	return model{mode: mode, visible: map[int]modelRow{}, known: map[int]bool{}, waiting: map[int][]modelRow{}}
}

func (m *model) reset() { *m = newModel(m.mode) }

func (m *model) commit() {}

func (m *model) emit(k int, r modelRow) {
	m.changes = append(m.changes, r)
	m.visible[k] = r
}

// apply takes a change whose row is now values.
func (m *model) apply(op schema.Op, k int, pos uint64, ordinal uint32, values map[int]string, unchanged []int) {
	r := modelRow{op: op, pos: pos, ordinal: ordinal, values: values}
	if op == schema.OpDelete {
		r.values = map[int]string{0: strconv.Itoa(k)}
		delete(m.waiting, k)
		m.known[k] = false
		m.emit(k, r)
		delete(m.visible, k)
		return
	}
	if !m.known[k] {
		for _, c := range unchanged {
			w := m.waiting[k]
			if len(w) == 0 || slices.Contains(w[len(w)-1].missing, c) {
				r.missing = append(r.missing, c)
			}
		}
	}
	if len(r.missing) == 0 {
		delete(m.waiting, k)
		m.known[k] = true
		m.emit(k, r)
		return
	}
	kept := []modelRow{}
	for _, w := range m.waiting[k] {
		if !slices.ContainsFunc(w.missing, func(c int) bool { return !slices.Contains(r.missing, c) }) {
			kept = append(kept, w)
		}
	}
	m.waiting[k] = append(kept, r)
}

// fill completes what waits: the row is the one that the source had.
func (m *model) fill(k int) {
	for _, w := range m.waiting[k] {
		m.known[k] = true
		m.emit(k, w)
	}
	delete(m.waiting, k)
}

func (m *model) rows() []modelRow {
	if m.mode == modeAppend {
		return m.changes
	}
	return slices.Collect(maps.Values(m.visible))
}
