package schema_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

func TestSliceAndSelect(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	table := &schema.Table{ID: schema.TableID{Table: "t"}, Columns: []schema.Column{{Name: "id", Type: schema.BigInt()}}, PrimaryKey: []string{"id"}}
	rb := array.NewRecordBuilder(mem, table.ArrowSchema())
	defer rb.Release()
	rb.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3, 4}, nil)
	b := schema.NewBatch(table, rb.NewRecordBatch())
	b.Ops = []schema.Op{schema.OpInsert, schema.OpUpdate, schema.OpUpdate, schema.OpDelete}
	b.Positions, b.Ordinals = []uint64{10, 11, 12, 13}, []uint32{0, 1, 2, 3}
	b.Unchanged = []schema.Cell{{Row: 1}, {Row: 3}}
	if n := schema.RecordBytes(b.Record); n < 32 {
		t.Errorf("four BIGINTs take %d bytes", n)
	}
	s := b.Slice(1, 3, []schema.Tx{{ID: 7, Rows: 2}})
	b.Release()
	if s.Rows() != 2 || s.Op(0) != schema.OpUpdate || s.Positions[1] != 12 || s.Ordinals[0] != 1 || len(s.Unchanged) != 1 || s.Unchanged[0].Row != 0 {
		t.Errorf("slice: %+v", s)
	}
	s.Record.Retain()
	rec, err := schema.SelectRows(context.Background(), mem, s.Record, []bool{false, true})
	if err != nil {
		t.Fatal(err)
	}
	s.Release()
	defer rec.Release()
	if got := rec.Column(0).(*array.Int64); got.Len() != 1 || got.Value(0) != 3 {
		t.Errorf("selected %v", got)
	}
}
