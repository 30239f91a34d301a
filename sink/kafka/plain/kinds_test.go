package plain

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/avro"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// scalars are the types of single values, each with any value that its Arrow type holds.
var scalars = []schema.Type{
	schema.Boolean(), schema.TinyInt(), schema.SmallInt(), schema.Int(), schema.BigInt(), schema.UBigInt(), schema.Float(), schema.Double(),
	schema.Decimal(38, 12), schema.Decimal(76, 0), schema.Numeric(), schema.String(), schema.Bytes(), schema.Date(), schema.Time(6),
	schema.Timestamp(6), schema.Timestamp(9), schema.TimestampLTZ(6), schema.UUID(), schema.JSON(), schema.Interval(),
}

// fill appends a value that is drawn.
func fill(t *rapid.T, typ schema.Type, b array.Builder) {
	n := rapid.Int64().Draw(t, "n")
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(n%2 == 0)
	case *array.Int8Builder:
		b.Append(int8(n))
	case *array.Int16Builder:
		b.Append(int16(n))
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Int64Builder:
		b.Append(n)
	case *array.Uint64Builder:
		b.Append(uint64(n))
	case *array.Float32Builder:
		b.Append(rapid.Float32().Draw(t, "f"))
	case *array.Float64Builder:
		b.Append(rapid.Float64().Draw(t, "f"))
	case *array.Decimal128Builder:
		b.Append(decimal128.New(rapid.Int64Range(-5e18, 5e18).Draw(t, "high"), uint64(n)))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromI64(n))
	case *array.StringBuilder:
		s := rapid.String().Draw(t, "s")
		if typ.Kind == schema.KindNumeric {
			s = rapid.StringMatching(`NaN|-?Infinity|-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?`).Draw(t, "number")
		}
		b.Append(s)
	case *array.BinaryBuilder:
		b.Append(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	case *array.Date32Builder:
		b.Append(arrow.Date32(n))
	case *array.Time64Builder:
		b.Append(arrow.Time64(rapid.Int64Range(-1, 86_400_000_001).Draw(t, "time")))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n))
	case *array.FixedSizeBinaryBuilder:
		b.Append(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
	default:
		t.Fatalf("no values for %T", b)
	}
}

// TestEveryKind: whatever value a column holds, the object is JSON and has its field, and
// the line has two fields; a value outside its type is a [ValueError] that says so.
func TestEveryKind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(scalars).Draw(t, "type")
		table := &schema.Table{ID: schema.TableID{Table: "t"}, Columns: []schema.Column{{Name: "v", Type: typ}, {Name: "last", Type: schema.Int()}}}
		b := array.NewRecordBuilder(memory.DefaultAllocator, table.ArrowSchema())
		defer b.Release()
		fill(t, typ, b.Field(0))
		b.Field(1).(*array.Int32Builder).Append(7)
		batch := schema.NewBatch(table, b.NewRecordBatch())
		for _, o := range []Options{{}, {JSON: JSONOptions{PlainDecimals: true, Timestamps: ISO}}, {Format: CSV}, {Format: CSV, CSV: CSVOptions{Delimiter: '|', PlainDecimals: true}}, {Format: Avro, Name: "t.Value"}} {
			e, err := New(table, o)
			if err != nil {
				t.Fatal(err)
			}
			var out Output
			if err := e.Append(&out, batch, nil, 0); err != nil {
				if v := (*ValueError)(nil); typ.Kind != schema.KindTime && o.Format != Avro || !errors.Is(err, cell.ErrRange) || !errors.As(err, &v) || v.Column != "v" || v.Hint == "" {
					t.Fatal(err)
				}
				continue
			}
			if o.Format == Avro {
				readAvro(t, e, out.Value(0))
				continue
			}
			if o.Format == CSV {
				r := csv.NewReader(strings.NewReader(string(out.Value(0))))
				r.Comma = rune(orElse(o.CSV.Delimiter, ','))
				if got, err := r.Read(); err != nil || len(got) != 2 || got[1] != "7" {
					t.Fatalf("%s: %q, %v", out.Value(0), got, err)
				}
				continue
			}
			var got struct {
				V    json.RawMessage
				Last int
			}
			if err := json.Unmarshal(out.Value(0), &got); err != nil || len(got.V) == 0 || got.Last != 7 {
				t.Fatalf("%s: %v", out.Value(0), err)
			}
		}
	})
}

// readAvro reads a row with another library.
func readAvro(t *rapid.T, e *Encoder, value []byte) {
	_, text, err := e.Schemas()
	if err != nil {
		t.Fatal(err)
	}
	s, err := avro.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if rest, err := s.Decode(value, &got); err != nil || len(rest) > 0 || got["last"] != int32(7) {
		t.Fatalf("%s: %x: %v, %v, %d bytes are left", text, value, got, err, len(rest))
	}
}

// TestAvroInfinity: what Avro's dates and times don't hold is an error, not another value.
func TestAvroInfinity(t *testing.T) {
	for _, c := range []struct {
		typ  schema.Type
		fill func(b array.Builder)
	}{
		{schema.Date(), func(b array.Builder) { b.(*array.Date32Builder).Append(math.MaxInt32) }},
		{schema.Date(), func(b array.Builder) { b.(*array.Date32Builder).Append(math.MinInt32) }},
		{schema.Time(6), func(b array.Builder) { b.(*array.Time64Builder).Append(86_400_000_000) }},
		{schema.Timestamp(6), func(b array.Builder) { b.(*array.TimestampBuilder).Append(math.MaxInt64) }},
		{schema.TimestampLTZ(9), func(b array.Builder) { b.(*array.TimestampBuilder).Append(math.MinInt64) }},
	} {
		table := &schema.Table{ID: schema.TableID{Table: "t"}, Columns: []schema.Column{{Name: "v", Type: c.typ}}}
		b := array.NewRecordBuilder(memory.DefaultAllocator, table.ArrowSchema())
		c.fill(b.Field(0))
		e, err := New(table, Options{Format: Avro, Name: "t"})
		if err != nil {
			t.Fatal(err)
		}
		var out Output
		if err := e.Append(&out, schema.NewBatch(table, b.NewRecordBatch()), nil, 0); !errors.Is(err, cell.ErrRange) {
			t.Errorf("%s: %v", c.typ, err)
		}
		b.Field(0).AppendNull()
		if err := e.Append(&out, schema.NewBatch(table, b.NewRecordBatch()), nil, 0); !errors.Is(err, ErrNull) {
			t.Errorf("%s: NULL in a column without: %v", c.typ, err)
		}
		b.Release()
	}
}
