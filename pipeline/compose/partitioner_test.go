package compose

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

func numbers(mem memory.Allocator, def *schema.Table, ids ...int64) *schema.Batch {
	b := array.NewRecordBuilder(mem, def.ArrowSchema())
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues(ids, nil)
	for range ids {
		b.Field(1).(*array.StringBuilder).Append("x")
	}
	return schema.NewBatch(def, b.NewRecordBatch())
}

var orders = &schema.Table{
	ID:         schema.TableID{Schema: "public", Table: "orders"},
	Columns:    []schema.Column{{Name: "id", Type: schema.BigInt()}, {Name: "v", Type: schema.String(), Nullable: true}},
	PrimaryKey: []string{"id"},
}

// TestSplitProperties: each row goes to its owner once, in order, and every
// reference of the batch is accounted for.
func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		parallelism := rapid.IntRange(1, 7).Draw(t, "parallelism")
		owners := rapid.SliceOfN(rapid.Uint16Range(0, uint16(parallelism-1)), 0, 40).Draw(t, "owners")
		p := (&partitioner{}).Bind(0, 128)
		for range 2 { // its buffers are used again
			batch := numbers(mem, orders, make([]int64, len(owners))...)
			got := map[int][]int32{}
			p.Route(element{Input: sink.Input{Batch: batch}, owners: owners, rowBytes: 3}, parallelism, func(subtask int, e element) {
				if _, twice := got[subtask]; twice {
					t.Fatalf("subtask %d got two parts", subtask)
				}
				if records, bytes := e.Weight(); records != e.rows() || bytes != 3*records {
					t.Fatalf("weight %d, %d of %d rows", records, bytes, e.rows())
				}
				rows := e.Select
				if rows == nil {
					for i := range batch.Rows() {
						rows = append(rows, int32(i))
					}
				}
				got[subtask] = slices.Clone(rows)
				e.Release()
			})
			total := 0
			for subtask, rows := range got {
				total += len(rows)
				if !slices.IsSorted(rows) {
					t.Fatalf("subtask %d: rows %v are out of order", subtask, rows)
				}
				for _, row := range rows {
					if parallelism > 1 && int(owners[row]) != subtask {
						t.Fatalf("row %d of owner %d went to %d", row, owners[row], subtask)
					}
				}
			}
			if total != len(owners) {
				t.Fatalf("%d of %d rows", total, len(owners))
			}
		}
		if n := mem.CurrentAlloc(); n != 0 {
			t.Fatalf("%d bytes are left", n)
		}
	})
}

// TestChangesGoToAll and batches without a key in turn.
func TestChangesGoToAll(t *testing.T) {
	p := (&partitioner{}).Bind(0, 128)
	var got []int
	note := func(subtask int, e element) { got = append(got, subtask); e.Release() }
	p.Route(element{Input: sink.Input{Change: &schema.Change{}}}, 3, note)
	if !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("a change went to %v", got)
	}
	got = nil
	for range 6 {
		p.Route(element{Input: sink.Input{Batch: numbers(memory.DefaultAllocator, orders, 1)}}, 3, note)
	}
	slices.Sort(got)
	if !slices.Equal(got, []int{0, 0, 1, 1, 2, 2}) {
		t.Errorf("batches without a key went to %v", got)
	}
}

func BenchmarkSplit(b *testing.B) {
	owners := make([]uint16, 8192)
	for i := range owners {
		owners[i] = uint16(i*7919) % 4
	}
	batch := numbers(memory.DefaultAllocator, orders, make([]int64, len(owners))...)
	p := (&partitioner{}).Bind(0, 128)
	b.ReportAllocs()
	for b.Loop() {
		batch.Retain(1)
		p.Route(element{Input: sink.Input{Batch: batch}, owners: owners}, 4, func(_ int, e element) { e.Release() })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(owners)), "ns/row")
}
