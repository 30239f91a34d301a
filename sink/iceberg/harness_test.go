package iceberg

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	iceio "github.com/apache/iceberg-go/io"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	statemem "github.com/freshet-cdc/freshet/runtime/state/memory"
	statepebble "github.com/freshet-cdc/freshet/runtime/state/pebble"
	"github.com/freshet-cdc/freshet/runtime/state/statetest"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

const testMaxParallelism = 16

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// rig runs writers over a real state back end and keeps what a committer would
// have made of their committables.
type rig struct {
	t       failer
	mem     memory.Allocator
	dir     string
	cfg     writerConfig
	backend state.Backend
	files   *statetest.DirFiles
	attempt int

	writers []*writer
	stores  []state.Store

	// The last checkpoint.
	checkpoint int64
	states     [][]byte
	handles    []state.Handle
	tables     map[schema.TableID]*committed
}

// committed is the content of a table as a reader would see it.
type committed struct {
	schema *stagedSchema
	files  map[string]*committedFile
	staged map[string]*committedFile
}

type committedFile struct {
	rows    int64
	deleted map[int64]bool
}

func newRig(t failer, dir string, mem memory.Allocator, mode writeMode, backend string) *rig {
	r := &rig{t: t, mem: mem, dir: dir, files: &statetest.DirFiles{Dir: filepath.Join(dir, "shared")}, tables: map[schema.TableID]*committed{}}
	if err := os.MkdirAll(r.files.Dir, 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	r.cfg = writerConfig{FS: iceio.LocalFS{}, Mode: mode, Allocator: mem, Location: func(id schema.TableID) string {
		return filepath.Join(dir, "warehouse", id.String())
	}}
	r.backend = statemem.NewBackend(statemem.Options{})
	if backend == "pebble" {
		r.backend = statepebble.NewBackend(statepebble.Options{Logger: slog.New(slog.DiscardHandler)})
	}
	return r
}

// start opens writers at the last checkpoint.
func (r *rig) start(parallelism int) {
	r.t.Helper()
	r.attempt++
	for i := range parallelism {
		groups := keygroup.RangeOf(i, testMaxParallelism, parallelism)
		var store state.Store
		open := func() (state.Store, error) {
			if store != nil {
				return store, nil
			}
			s, err := r.backend.Open(context.Background(), state.Options{
				Dir: filepath.Join(r.dir, fmt.Sprintf("state-%d-%d", r.attempt, i)), Operator: "writer", Subtask: i, KeyGroups: groups, Restore: r.handles, Files: r.files,
			})
			store = s
			return s, err
		}
		s, err := open()
		if err != nil {
			r.t.Fatalf("%v", err)
		}
		r.stores = append(r.stores, s)
		w, err := newWriter(context.Background(), r.cfg, sink.Context{
			Pipeline: "p", Lineage: "0badcafe-0000-4000-8000-000000000000", Subtask: i, Parallelism: parallelism, MaxParallelism: testMaxParallelism,
			KeyGroups: groups, Restored: r.checkpoint > 0, RestoredID: r.checkpoint, State: r.states, Store: open,
			Logger: slog.New(slog.DiscardHandler), Reached: func(string) {},
		})
		if err != nil {
			r.t.Fatalf("%v", err)
		}
		r.writers = append(r.writers, w)
	}
}

// crash ends the writers without a checkpoint.
func (r *rig) crash() {
	r.t.Helper()
	for i, w := range r.writers {
		if err := w.Close(); err != nil {
			r.t.Fatalf("closing writer %d: %v", i, err)
		}
		if err := r.stores[i].Close(); err != nil {
			r.t.Fatalf("closing store %d: %v", i, err)
		}
	}
	r.writers, r.stores = nil, nil
}

// close ends the back end.
func (r *rig) close() {
	r.t.Helper()
	if c, ok := r.backend.(io.Closer); ok {
		if err := c.Close(); err != nil {
			r.t.Fatalf("%v", err)
		}
	}
}

// batch hands rows to the writers of their keys; it takes over b.
func (r *rig) batch(target schema.TableID, b *schema.Batch) error {
	selects := make([][]int32, len(r.writers))
	enc := schema.NewKeyEncoder(b.Table)
	var keys schema.Keys
	var err error
	if enc != nil {
		if keys, err = enc.Encode(b.Record, keys); err != nil {
			b.Release()
			return err
		}
	}
	for row := range b.Rows() {
		to := row % len(r.writers)
		if enc != nil {
			to = keygroup.OperatorIndex(keygroup.Of(keys.Hash(row), testMaxParallelism), testMaxParallelism, len(r.writers))
		}
		selects[to] = append(selects[to], int32(row))
	}
	b.Retain(len(r.writers))
	defer b.Release()
	for i, w := range r.writers {
		sel := selects[i]
		if len(sel) == b.Rows() {
			sel = nil
		} else if sel == nil {
			sel = []int32{}
		}
		if e := w.Write(context.Background(), sink.Input{Table: target, Batch: b, Select: sel}); e != nil && err == nil {
			err = e
		}
	}
	return err
}

func (r *rig) change(target schema.TableID, c *schema.Change) error {
	for _, w := range r.writers {
		if err := w.Write(context.Background(), sink.Input{Table: target, Change: c}); err != nil {
			return err
		}
	}
	return nil
}

// prepare takes a checkpoint and commits it.
func (r *rig) prepare() {
	r.t.Helper()
	r.checkpoint++
	r.states, r.handles = nil, nil
	byTable := map[schema.TableID][]*tableCommittable{}
	for i, w := range r.writers {
		cs, blob, err := w.Prepare(context.Background(), r.checkpoint)
		if err != nil {
			r.t.Fatalf("prepare: %v", err)
		}
		if _, ok := cs[0].(writerInfo); !ok {
			r.t.Fatalf("the first committable is a %T", cs[0])
		}
		for _, c := range cs[1:] {
			tc := c.(*tableCommittable)
			byTable[tc.Table] = append(byTable[tc.Table], tc)
		}
		r.states = append(r.states, blob)
		snap, err := r.stores[i].Snapshot(context.Background(), r.checkpoint)
		if err != nil {
			r.t.Fatalf("%v", err)
		}
		h, err := snap.Upload(context.Background(), r.files)
		if err != nil {
			r.t.Fatalf("%v", err)
		}
		r.handles = append(r.handles, h)
	}
	for id, cs := range byTable {
		r.commit(id, cs)
	}
}

// commit does what the committer does, on paper.
func (r *rig) commit(id schema.TableID, cs []*tableCommittable) {
	r.t.Helper()
	steps := 0
	for _, c := range cs {
		steps = max(steps, len(c.Steps))
	}
	t := r.tables[id]
	if t == nil {
		t = &committed{files: map[string]*committedFile{}, staged: map[string]*committedFile{}}
		r.tables[id] = t
	}
	for s := range steps {
		for _, c := range cs {
			if len(c.Steps) != steps {
				r.t.Fatalf("table %s: writers disagree on the steps: %d and %d", id, len(c.Steps), steps)
			}
			if (s == 0) != (c.Steps[s].Change == nil) {
				r.t.Fatalf("table %s: step %d has change %v", id, s, c.Steps[s].Change)
			}
		}
		r.commitStep(t, cs, s)
	}
}

func (r *rig) commitStep(t *committed, cs []*tableCommittable, s int) {
	r.t.Helper()
	first := cs[0].Steps[s]
	t.schema = first.Schema
	if first.Change != nil {
		switch first.Change.Kind {
		case schema.ChangeTruncate, schema.ChangeReset:
			t.files, t.staged = map[string]*committedFile{}, map[string]*committedFile{}
		case schema.ChangeSnapshotDone:
			for p, f := range t.staged {
				t.files[p] = f
			}
			t.staged = map[string]*committedFile{}
		}
	}
	var parts [][]fileDeletes
	for _, c := range cs {
		for _, df := range c.Steps[s].Files {
			f := &committedFile{rows: df.Count(), deleted: map[int64]bool{}}
			if c.Steps[s].Staged {
				t.staged[df.FilePath()] = f
			} else {
				t.files[df.FilePath()] = f
			}
			if info, err := os.Stat(df.FilePath()); err != nil || info.Size() != df.FileSizeBytes() {
				r.t.Fatalf("%s: %v, size %d in the entry", df.FilePath(), err, df.FileSizeBytes())
			}
		}
		parts = append(parts, c.Steps[s].Deletes)
	}
	for _, d := range mergeDeletes(parts...) {
		f := t.files[d.Path]
		if f == nil {
			f = t.staged[d.Path]
		}
		if f == nil {
			r.t.Fatalf("a delete names %s, which is not in the table", d.Path)
		}
		for _, pos := range d.Positions {
			if pos >= f.rows || f.deleted[pos] {
				r.t.Fatalf("%s: row %d deleted (of %d rows; before: %v)", d.Path, pos, f.rows, f.deleted[pos])
			}
			f.deleted[pos] = true
		}
	}
}

// rows reads the table's visible rows, each as "column=value" of the columns
// asked for, found by field id, joined by blanks; sorted.
func (r *rig) rows(id schema.TableID, columns ...string) []string {
	r.t.Helper()
	var out []string
	t := r.tables[id]
	if t == nil {
		return nil
	}
	for path, f := range t.files {
		out = append(out, r.fileRows(t, path, f, columns)...)
	}
	sort.Strings(out)
	return out
}

func (r *rig) fileRows(t *committed, path string, f *committedFile, columns []string) (out []string) {
	r.t.Helper()
	pr, err := file.OpenParquetFile(path, false)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	defer func() { _ = pr.Close() }()
	fr, err := pqarrow.NewFileReader(pr, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	tbl, err := fr.ReadTable(context.Background())
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	defer tbl.Release()
	if tbl.NumRows() != f.rows {
		r.t.Fatalf("%s: %d rows, its entry says %d", path, tbl.NumRows(), f.rows)
	}
	texts := make([][]string, tbl.NumRows())
	for _, c := range columns {
		field, ok := t.schema.Iceberg.FindFieldByName(c)
		if !ok {
			r.t.Fatalf("no column %s in the table's schema", c)
		}
		at := slices.IndexFunc(tbl.Schema().Fields(), func(a arrow.Field) bool { return fieldID(a) == field.ID })
		for row := range texts {
			v := array.NullValueStr
			if at >= 0 {
				v = chunkedText(tbl.Column(at).Data(), row)
			}
			texts[row] = append(texts[row], c+"="+v)
		}
	}
	for row, text := range texts {
		if !f.deleted[int64(row)] {
			out = append(out, strings.Join(text, " "))
		}
	}
	return out
}

func chunkedText(col *arrow.Chunked, row int) string {
	for _, c := range col.Chunks() {
		if row < c.Len() {
			return c.ValueStr(row)
		}
		row -= c.Len()
	}
	return "?"
}

// dataFiles returns the files in a table's data folder.
func (r *rig) dataFiles(id schema.TableID) []string {
	found, err := filepath.Glob(filepath.Join(r.dir, "warehouse", id.String(), "data", "*"))
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	return found
}

// event is one row for rowsBatch: values in text by column, missing means NULL.
type event struct {
	op        schema.Op
	pos       uint64
	ordinal   uint32
	values    map[string]string
	unchanged []string
}

// rowsBatch builds a batch.
func rowsBatch(mem memory.Allocator, def *schema.Table, events []event) *schema.Batch {
	b := array.NewRecordBuilder(mem, def.ArrowSchema())
	defer b.Release()
	batch := &schema.Batch{}
	reads := true
	for i, e := range events {
		for c, col := range def.Columns {
			v, ok := e.values[col.Name]
			if slices.Contains(e.unchanged, col.Name) {
				ok = false
				batch.Unchanged = append(batch.Unchanged, schema.Cell{Row: int32(i), Column: int32(c)})
			}
			if !ok {
				b.Field(c).AppendNull()
			} else if err := b.Field(c).AppendValueFromString(v); err != nil {
				panic(err)
			}
		}
		batch.Ops = append(batch.Ops, e.op)
		batch.Positions = append(batch.Positions, e.pos)
		batch.Ordinals = append(batch.Ordinals, e.ordinal)
		reads = reads && e.op == schema.OpRead
		if n := len(batch.Txs); n > 0 && batch.Txs[n-1].Commit == e.pos {
			batch.Txs[n-1].Rows++
		} else {
			batch.Txs = append(batch.Txs, schema.Tx{ID: e.pos * 10, Commit: e.pos, CommitTime: int64(e.pos) * 1000, Rows: 1})
		}
	}
	out := schema.NewBatch(def, b.NewRecordBatch())
	out.Unchanged, out.Txs = batch.Unchanged, batch.Txs
	if !reads {
		out.Ops, out.Positions, out.Ordinals = batch.Ops, batch.Positions, batch.Ordinals
	}
	return out
}

// leakChecked returns an allocator whose leaks fail the test.
func leakChecked(t *testing.T) memory.Allocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}
