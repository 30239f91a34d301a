package canal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// benchTable has one column of each of the types that tables mostly have.
func benchTable() *schema.Table {
	column := func(name string, t schema.Type, source string, labels ...string) schema.Column {
		return schema.Column{Name: name, Type: t, Nullable: true, Source: schema.SourceType{Name: source, Length: -1, Scale: -1, Enum: labels}}
	}
	return &schema.Table{ID: schema.TableID{Schema: "shop", Table: "orders"}, PrimaryKey: []string{"id"}, Columns: []schema.Column{
		column("id", schema.BigInt(), "bigint"), column("customer", schema.BigInt(), "int unsigned"), column("note", schema.String(), "text"),
		column("amount", schema.Decimal(12, 2), "decimal"), column("created", schema.Timestamp(6), "datetime"),
		column("updated", schema.TimestampLTZ(6), "timestamp"), column("paid", schema.Boolean(), "tinyint"), column("state", schema.String(), "enum", "new", "paid"),
	}}
}

// benchBatch has updates that change the note and the amount.
func benchBatch(t *schema.Table, n int) *schema.Batch {
	build := func(version int) arrow.RecordBatch {
		b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
		defer b.Release()
		for i := range n {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.Int64Builder).Append(int64(i * 7))
			b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("note %d about order %d, \"quoted\"", version, i))
			b.Field(3).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i)*1999 + int64(version)))
			b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + i))
			b.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + i))
			b.Field(6).(*array.BooleanBuilder).Append(i%2 == 0)
			b.Field(7).(*array.StringBuilder).Append([]string{"new", "paid"}[i%2])
		}
		return b.NewRecordBatch()
	}
	b := schema.NewBatch(t, build(2))
	b.Before = build(1)
	for range n {
		b.Ops = append(b.Ops, schema.OpUpdate)
	}
	b.Txs = []schema.Tx{{ID: 1, Commit: 5000, CommitTime: 1_700_000_000_000_000, Rows: n}}
	return b
}

// BenchmarkUpdate encodes updates of eight columns with their keys.
func BenchmarkUpdate(b *testing.B) {
	t := benchTable()
	batch := benchBatch(t, 1000)
	e, err := New(t, Options{})
	if err != nil {
		b.Fatal(err)
	}
	var out plain.Output
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := e.Append(&out, batch, nil, Origin{}, 1_700_000_000_000_000_000); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(out.Data)))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

// TestNoAllocation holds that a row costs no allocation once the output has grown.
func TestNoAllocation(t *testing.T) {
	table := benchTable()
	batch := benchBatch(table, 100)
	e, err := New(table, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out plain.Output
	n := testing.AllocsPerRun(50, func() {
		out.Reset()
		if err := e.Append(&out, batch, nil, Origin{GTIDs: []string{"a:1"}}, 0); err != nil {
			t.Fatal(err)
		}
	})
	if n >= 50 { // 100 rows; what is left is for the batch
		t.Errorf("%v allocations for 100 rows", n)
	}
}

// TestSelected: only the rows that are asked for are written, in order, each with the
// transaction that it belongs to.
func TestSelected(t *testing.T) {
	table := benchTable()
	batch := benchBatch(table, 5)
	batch.Txs = []schema.Tx{{Rows: 2}, {Rows: 1}, {Rows: 2}}
	e, err := New(table, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out plain.Output
	if err := e.Append(&out, batch, []int32{1, 3}, Origin{GTIDs: []string{"a:1", "a:2", "a:3"}}, 0); err != nil {
		t.Fatal(err)
	}
	if len(out.Messages) != 2 || out.Messages[1].Row != 3 || string(out.Key(0)) != `{"id":1}` {
		t.Errorf("%+v", out.Messages)
	}
	for i, want := range []string{"a:1", "a:3"} {
		if m := string(out.Value(i)); !strings.Contains(m, `"gtid":"`+want+`"`) {
			t.Errorf("message %d has not %s: %s", i, want, m)
		}
	}
	if err := e.Append(&out, batch, []int32{3, 1}, Origin{}, 0); err == nil {
		t.Error("rows were taken out of order")
	}
}
