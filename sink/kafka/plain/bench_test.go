package plain

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// benchTable has one column of each of the types that tables mostly have.
func benchTable() *schema.Table {
	column := func(name string, t schema.Type) schema.Column {
		return schema.Column{Name: name, Type: t, Nullable: true}
	}
	return &schema.Table{ID: schema.TableID{Schema: "public", Table: "orders"}, PrimaryKey: []string{"id"}, Columns: []schema.Column{
		column("id", schema.BigInt()), column("customer", schema.Int()), column("note", schema.String()), column("amount", schema.Decimal(12, 2)),
		column("created", schema.Timestamp(6)), column("updated", schema.TimestampLTZ(6)), column("paid", schema.Boolean()), column("rate", schema.Double()),
	}}
}

func benchBatch(t *schema.Table, n int) *schema.Batch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int32Builder).Append(int32(i * 7))
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("a note about order %d, \"quoted\"", i))
		b.Field(3).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i) * -1999))
		b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + i))
		b.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + i))
		b.Field(6).(*array.BooleanBuilder).Append(i%2 == 0)
		b.Field(7).(*array.Float64Builder).Append(float64(i) * 1e6)
	}
	batch := schema.NewBatch(t, b.NewRecordBatch())
	for i := range n {
		batch.Ops, batch.Positions = append(batch.Ops, schema.OpUpdate), append(batch.Positions, uint64(1000+i))
	}
	batch.Txs = []schema.Tx{{ID: 1, Commit: 5000, CommitTime: 1_700_000_000_000_000, Rows: n}}
	return batch
}

var benchOptions = map[string]Options{
	"json":          {},
	"json-metadata": {Metadata: []Metadata{MetaOp, MetaTable, MetaOpTime, MetaPosition}, JSON: JSONOptions{PlainDecimals: true}},
	"avro":          {Format: Avro, Name: "shop.orders.Value", Key: KeyOptions{Format: Avro, Name: "shop.orders.Key"}},
	"csv":           {Format: CSV, Key: KeyOptions{Format: CSV}},
}

// BenchmarkUpdate encodes rows of eight columns with their keys.
func BenchmarkUpdate(b *testing.B) {
	t := benchTable()
	batch := benchBatch(t, 1000)
	for name, o := range benchOptions {
		b.Run(name, func(b *testing.B) {
			e, err := New(t, o)
			if err != nil {
				b.Fatal(err)
			}
			var out Output
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := e.Append(&out, batch, nil, 1_700_000_000_000_000_000); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(out.Data)))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
		})
	}
}

// TestNoAllocation holds that a row costs no allocation once the output has grown.
func TestNoAllocation(t *testing.T) {
	table := benchTable()
	batch := benchBatch(table, 100)
	for name, o := range benchOptions {
		e, err := New(table, o)
		if err != nil {
			t.Fatal(err)
		}
		var out Output
		n := testing.AllocsPerRun(50, func() {
			out.Reset()
			if err := e.Append(&out, batch, nil, 0); err != nil {
				t.Fatal(err)
			}
		})
		if n >= 50 { // 100 rows; what is left is for the batch
			t.Errorf("%s: %v allocations for 100 rows", name, n)
		}
	}
}

// TestSelected: only the rows that are asked for are written, in order.
func TestSelected(t *testing.T) {
	table := benchTable()
	batch := benchBatch(table, 5)
	e, err := New(table, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out Output
	if err := e.Append(&out, batch, []int32{1, 3}, 0); err != nil || len(out.Messages) != 2 || out.Messages[1].Row != 3 || string(out.Key(0)) != `{"id":1}` {
		t.Errorf("%+v, %v", out.Messages, err)
	}
	if err := e.Append(&out, batch, []int32{3, 1}, 0); err == nil {
		t.Error("rows were taken out of order")
	}
}
