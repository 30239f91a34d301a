package iceberg

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	iceio "github.com/apache/iceberg-go/io"

	"github.com/freshet-cdc/freshet/schema"
)

// countingFS counts the files that are open at a time.
type countingFS struct {
	iceio.LocalFS
	open, most, made atomic.Int64
}

type countedFile struct {
	iceio.FileWriter
	fs *countingFS
}

func (f *countingFS) Create(name string) (iceio.FileWriter, error) {
	w, err := f.LocalFS.Create(name)
	if err != nil {
		return nil, err
	}
	f.made.Add(1)
	if n := f.open.Add(1); n > f.most.Load() {
		f.most.Store(n)
	}
	return &countedFile{w, f}, nil
}

func (f *countedFile) Close() error {
	f.fs.open.Add(-1)
	return f.FileWriter.Close()
}

// live is the heap after a collection.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyTablesStayBounded: 500 tables get rows at the same time, one by one (as from
// transactions that touch many tables) or some at a time. Neither the memory nor the
// open files grow with the number of tables.
func TestManyTablesStayBounded(t *testing.T) {
	const (
		tables  = 500
		budget  = 8 << 20
		maxOpen = 7
	)
	for _, c := range []struct {
		rows, rounds int // of a batch, and batches of a table
		mode         writeMode
	}{{1, 60, modeUpsert}, {1, 60, modeAppend}, {25, 8, modeUpsert}, {25, 8, modeAppend}} {
		t.Run(fmt.Sprintf("%s/%d rows", c.mode, c.rows), func(t *testing.T) {
			fs := &countingFS{}
			r := newRig(t, t.TempDir(), memory.DefaultAllocator, c.mode, "pebble")
			r.cfg.FS, r.cfg.BufferBytes, r.cfg.MaxOpenFiles = fs, budget, maxOpen
			r.start(1)
			defs := make([]*schema.Table, tables)
			for i := range defs {
				defs[i] = testDef().WithID(schema.TableID{Schema: "lake", Table: fmt.Sprintf("t%d", i)})
				defs[i].OmitsUnchanged = false
				must(t, r.change(defs[i].ID, created(defs[i])))
			}
			base, peak, n := live(), int64(0), 0
			for round := range c.rounds {
				for i, def := range defs {
					events := make([]event, c.rows)
					for k := range events {
						n++
						events[k] = row('c', uint64(n), n, k, strings.Repeat("x", 100))
					}
					must(t, r.batch(def.ID, rowsBatch(r.mem, def, events)))
					held := int64(0)
					for _, tw := range r.writers[0].order {
						held += tw.bytes()
					}
					if held > budget {
						t.Fatalf("%d bytes are held, the budget is %d", held, budget)
					}
					if i == tables/2 && round%(c.rounds/4) == c.rounds/4-1 {
						peak = max(peak, live()-base)
					}
				}
			}
			t.Logf("%d rows, peak %d KiB, %d files, %d of them open at a time", n, peak>>10, fs.made.Load(), fs.most.Load())
			if peak > 2*budget {
				t.Errorf("the heap grew by %d bytes, the budget is %d", peak, budget)
			}
			if fs.most.Load() > maxOpen {
				t.Errorf("%d files were open at a time, the limit is %d", fs.most.Load(), maxOpen)
			}
			r.prepare()
			if fs.open.Load() != 0 {
				t.Errorf("%d files are open after the checkpoint", fs.open.Load())
			}
			if left := live() - base; left > budget/2 {
				t.Errorf("%d bytes are left after the checkpoint", left)
			}
			rows := int64(0)
			for _, tbl := range r.tables {
				for _, f := range tbl.files {
					rows += f.rows
				}
			}
			if rows != int64(n) {
				t.Errorf("%d rows are in files, %d were written", rows, n)
			}
			r.crash()
			r.close()
		})
	}
}

// TestOneLargeTable: the budget holds for keys and rows of one table as well, and
// spilling keeps row groups large.
func TestOneLargeTable(t *testing.T) {
	const budget = 8 << 20
	for _, mode := range []writeMode{modeUpsert, modeAppend} {
		r := newRig(t, t.TempDir(), memory.DefaultAllocator, mode, "pebble")
		r.cfg.BufferBytes = budget
		r.start(1)
		def := testDef()
		def.OmitsUnchanged = false
		must(t, r.change(testTable, created(def)))
		base, peak, n := live(), int64(0), 0
		for batch := range 400 {
			events := make([]event, 300)
			for k := range events {
				n++
				events[k] = row('c', uint64(n), n, k, strings.Repeat("y", 100))
			}
			must(t, r.batch(testTable, rowsBatch(r.mem, def, events)))
			if batch%40 == 39 {
				peak = max(peak, live()-base)
			}
		}
		if peak > 3*budget { // the state back end is in it
			t.Errorf("%s: the heap grew by %d bytes, the budget is %d", mode, peak, budget)
		}
		r.prepare()
		if got := len(r.dataFiles(testTable)); got != 1 {
			t.Errorf("%s: %d files", mode, got)
		}
		r.crash()
		r.close()
	}
}
