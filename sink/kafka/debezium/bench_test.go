package debezium

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
	column := func(name string, t schema.Type, source string) schema.Column {
		return schema.Column{Name: name, Type: t, Nullable: true, Source: schema.SourceType{Name: source, Length: -1, Scale: -1}}
	}
	t := &schema.Table{ID: schema.TableID{Schema: "public", Table: "orders"}, PrimaryKey: []string{"id"}, Columns: []schema.Column{
		column("id", schema.BigInt(), "int8"), column("customer", schema.Int(), "int4"), column("note", schema.String(), "text"),
		column("amount", schema.Decimal(12, 2), "numeric"), column("created", schema.Timestamp(6), "timestamp"),
		column("updated", schema.TimestampLTZ(6), "timestamptz"), column("paid", schema.Boolean(), "bool"), column("rate", schema.Double(), "float8"),
	}}
	t.Columns[0].Nullable = false
	return t
}

func benchBatch(t *schema.Table, n int) *schema.Batch {
	build := func() arrow.RecordBatch {
		b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
		defer b.Release()
		for i := range n {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.Int32Builder).Append(int32(i * 7))
			b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("a note about order %d, \"quoted\"", i))
			b.Field(3).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i) * 1999))
			b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + i))
			b.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + i))
			b.Field(6).(*array.BooleanBuilder).Append(i%2 == 0)
			b.Field(7).(*array.Float64Builder).Append(float64(i) / 8)
		}
		return b.NewRecordBatch()
	}
	b := schema.NewBatch(t, build())
	b.Before = build()
	for i := range n {
		b.Ops, b.Positions, b.Ordinals = append(b.Ops, schema.OpUpdate), append(b.Positions, uint64(1000+i)), append(b.Ordinals, uint32(i))
	}
	b.Txs = []schema.Tx{{ID: 1, Commit: 5000, CommitTime: 1_700_000_000_000_000, Rows: n}}
	return b
}

// BenchmarkUpdate encodes updates with the row before, eight columns.
func BenchmarkUpdate(b *testing.B) {
	t := benchTable()
	batch := benchBatch(t, 1000)
	for _, schemas := range []bool{false, true} {
		b.Run(fmt.Sprintf("schemas=%v", schemas), func(b *testing.B) {
			e, err := New(t, "shop.public.orders", Options{Connector: PostgreSQL, Prefix: "shop", Database: "shop", Schemas: schemas})
			if err != nil {
				b.Fatal(err)
			}
			var out Output
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := e.Append(&out, batch, nil, Origin{}, 1_700_000_000_000_000_000); err != nil {
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
	e, err := New(table, "shop.public.orders", Options{Connector: PostgreSQL, Prefix: "shop", Database: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	var out Output
	n := testing.AllocsPerRun(50, func() {
		out.Reset()
		if err := e.Append(&out, batch, nil, Origin{}, 0); err != nil {
			t.Fatal(err)
		}
	})
	if n >= 50 { // 100 rows; what is left is for the batch
		t.Errorf("%v allocations for 100 rows", n)
	}
}
