package iceberg

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// oddDef has a column of every type, and infinite dates and times in it.
func oddDef() *schema.Table {
	types := []schema.Type{
		schema.BigInt(), schema.Boolean(), schema.TinyInt(), schema.SmallInt(), schema.Int(), schema.UBigInt(), schema.Float(), schema.Double(),
		schema.Decimal(5, 2), schema.Decimal(12, 2), schema.Decimal(38, 10), schema.Decimal(60, 3), schema.Numeric(), schema.Char(4), schema.Varchar(9), schema.String(),
		schema.Bytes(), schema.Date(), schema.Time(6), schema.Timestamp(6), schema.TimestampLTZ(6), schema.Timestamp(3), schema.TimestampTZ(3), schema.TimeTZ(3),
		schema.Interval(), schema.UUID(), schema.JSON(), schema.Array(schema.SmallInt()), schema.Map(schema.String(), schema.String()),
		schema.Row(schema.Column{Name: "a", Type: schema.Int()}, schema.Column{Name: "b", Type: schema.Array(schema.Date())}),
	}
	def := &schema.Table{ID: schema.TableID{Schema: "public", Table: "odd"}, PrimaryKey: []string{"c0"}, Version: 1}
	for i, t := range types {
		def.Columns = append(def.Columns, schema.Column{Name: fmt.Sprintf("c%d", i), Type: t, Nullable: i > 0})
	}
	return def
}

const oddRows = `[
 {"c0": 1, "c1": true, "c2": -8, "c3": -300, "c4": 70000, "c5": 18446744073709551615, "c6": 1.5, "c7": -2.25, "c8": "-1.25", "c9": "9999999999.99",
  "c10": "-1234567890123456789012345678.0123456789", "c11": "123456789012345678901234567890123456789012345678901234567.125", "c12": "NaN", "c13": "ab  ", "c14": "x", "c15": "",
  "c16": "AAE=", "c17": "2024-02-29", "c18": "23:59:59.999999", "c19": "2024-02-29 12:00:00.000001", "c20": "1969-12-31 23:59:59.999999Z", "c21": "1969-12-31 23:59:59.999",
  "c22": "2024-01-01T00:00:00+05", "c23": "01:02:03-11", "c24": "P1D", "c25": "AAECAwQFBgcICQoLDA0ODw==", "c26": "{}", "c27": [1, null, -3], "c28": [{"key": "k", "value": null}], "c29": {"a": 5, "b": ["2024-02-29", null]}},
 {"c0": 2}]`

// TestEveryTypeReachesParquet writes all types and reads them back.
func TestEveryTypeReachesParquet(t *testing.T) {
	mem := leakChecked(t)
	def := oddDef()
	target := schema.TableID{Schema: "lake", Table: "odd"}
	r := newRig(t, t.TempDir(), mem, modeUpsert, "hashmap")
	r.start(1)
	must(t, r.change(target, created(def)))
	must(t, r.batch(target, oddBatch(t, mem, def)))
	r.prepare()
	var names []string
	for _, c := range def.Columns {
		names = append(names, c.Name)
	}
	got := r.rows(target, names...)
	if len(got) != 2 {
		t.Fatalf("%d rows: %v", len(got), got)
	}
	for _, want := range []string{
		"c1=true", "c2=-8", "c3=-300", "c4=70000", "c5=18446744073709551615", "c6=1.5", "c7=-2.25", "c8=-1.25", "c9=9999999999.99", "c10=-1234567890123456789012345678.0123456789",
		"c11=123456789012345678901234567890123456789012345678901234567.125", "c12=NaN", "c13=ab   c14", "c16=AAE=", "c17=2024-02-29", "c18=23:59:59.999999",
		"c19=2024-02-29T12:00:00.000001", "c20=1969-12-31T23:59:59.999999Z", "c21=1969-12-31T23:59:59.999 ", "c22=2024-01-01T00:00:00+05", "c25=00010203-0405-0607-0809-0a0b0c0d0e0f",
		"c27=[1,null,-3]", `c28=[{"key":"k","value":null}]`, `c29={"a":5,"b":["2024-02-29",null]}`,
	} {
		if !strings.Contains(got[0], want) {
			t.Errorf("no %s in\n%s", want, got[0])
		}
	}
	if n := strings.Count(got[1], "(null)"); n != len(names)-1 {
		t.Errorf("%d NULLs in %s", n, got[1])
	}
	r.crash()
}

func oddBatch(t *testing.T, mem memory.Allocator, def *schema.Table) *schema.Batch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(mem, def.ArrowSchema(), strings.NewReader(oddRows))
	must(t, err)
	return schema.NewBatch(def, rec)
}

// TestInfinity checks the three ways to treat what Iceberg can't hold, at the top
// and inside of a list.
func TestInfinity(t *testing.T) {
	mem := leakChecked(t)
	build := func() arrow.ArrayData {
		b := array.NewTimestampBuilder(mem, &arrow.TimestampType{Unit: arrow.Microsecond})
		defer b.Release()
		b.AppendNull()
		for _, v := range []int64{math.MinInt64, 0, math.MaxInt64} {
			b.Append(arrow.Timestamp(v))
		}
		a := b.NewArray()
		defer a.Release()
		a.Data().Retain()
		return a.Data()
	}
	for mode, want := range map[infinityMode]string{
		infinityClamp: "[(null) 0001-01-01T00:00:00 1970-01-01T00:00:00 9999-12-31T23:59:59.999999]",
		infinityNull:  "[(null) (null) 1970-01-01T00:00:00 (null)]",
	} {
		c := converter{mem: mem, infinity: mode}
		in := build()
		out, err := c.convert(in, in.DataType())
		must(t, err)
		a := array.MakeFromData(out)
		texts := make([]string, a.Len())
		for i := range texts {
			texts[i] = strings.TrimSuffix(a.ValueStr(i), "Z")
		}
		if got := fmt.Sprint(texts); got != want {
			t.Errorf("mode %d: %s, want %s", mode, got, want)
		}
		a.Release()
		out.Release()
		in.Release()
	}
	in := build()
	defer in.Release()
	c := converter{mem: mem, infinity: infinityError}
	_, err := c.convert(in, in.DataType())
	var cell *cellError
	if !errors.As(err, &cell) || cell.row != 1 || !errors.Is(err, errInfinity) {
		t.Fatalf("got %v", err)
	}
}

// TestInfinityNamesTheRow goes through a writer: the error has table, key and column.
func TestInfinityNamesTheRow(t *testing.T) {
	mem := leakChecked(t)
	def := &schema.Table{ID: schema.TableID{Table: "d"}, PrimaryKey: []string{"id"}, Version: 1,
		Columns: []schema.Column{{Name: "id", Type: schema.Int()}, {Name: "days", Type: schema.Array(schema.Date()), Nullable: true}}}
	r := newRig(t, t.TempDir(), mem, modeAppend, "hashmap")
	r.cfg.TemporalInfinity = infinityError
	r.start(1)
	must(t, r.change(testTable, created(def)))
	b := array.NewRecordBuilder(mem, def.ArrowSchema())
	defer b.Release()
	days := b.Field(1).(*array.ListBuilder)
	for i := range 3 {
		b.Field(0).(*array.Int32Builder).Append(int32(i + 5))
		days.Append(true)
		days.ValueBuilder().(*array.Date32Builder).Append(1)
		if i == 1 {
			days.ValueBuilder().(*array.Date32Builder).Append(math.MaxInt32)
		}
	}
	err := errors.Join(r.batch(testTable, schema.NewBatch(def, b.NewRecordBatch())), flushErr(r))
	var re *RowError
	if !errors.As(err, &re) || re.Table != testTable || re.Key != "id=6" || re.Column != "days" {
		t.Fatalf("got %v", err)
	}
	r.crash()
}

// TestInfinityInAKey: a key can't become NULL; the error says what helps.
func TestInfinityInAKey(t *testing.T) {
	for _, mode := range []writeMode{modeUpsert, modeAppend} {
		mem := leakChecked(t)
		def := &schema.Table{ID: schema.TableID{Table: "d"}, PrimaryKey: []string{"day"}, Version: 1,
			Columns: []schema.Column{{Name: "note", Type: schema.Date(), Nullable: true}, {Name: "day", Type: schema.Date()}}}
		r := newRig(t, t.TempDir(), mem, mode, "hashmap")
		r.cfg.TemporalInfinity = infinityNull
		r.start(1)
		must(t, r.change(testTable, created(def)))
		b := array.NewRecordBuilder(mem, def.ArrowSchema())
		defer b.Release()
		b.Field(0).(*array.Date32Builder).AppendValues([]arrow.Date32{math.MinInt32, 5}, nil)
		b.Field(1).(*array.Date32Builder).AppendValues([]arrow.Date32{1, math.MaxInt32}, nil)
		err := errors.Join(r.batch(testTable, schema.NewBatch(def, b.NewRecordBatch())), flushErr(r))
		var re *RowError
		if !errors.As(err, &re) || re.Column != "day" || !errors.Is(err, errInfinityKey) || !strings.Contains(err.Error(), "to clamp") {
			t.Fatalf("got %v", err)
		}
		r.crash()
	}
}

// TestAsHeldChangesNothingElse: values that Iceberg holds are the same, in every type
// and mode.
func TestAsHeldChangesNothingElse(t *testing.T) {
	mem := leakChecked(t)
	def := oddDef()
	b := oddBatch(t, mem, def)
	defer b.Release()
	for _, mode := range []infinityMode{infinityClamp, infinityNull, infinityError} {
		s := &Sink{opts: options{infinity: mode}}
		held, err := s.AsHeld(b)
		must(t, err)
		if !array.RecordEqual(b.Record, held.Record) || held.Table != def {
			t.Errorf("mode %d: got %v, want %v", mode, held.Record, b.Record)
		}
		held.Release()
	}
}

// TestNullKeyNamesTheRow: a key that holds NULL is an error with its place.
func TestNullKeyNamesTheRow(t *testing.T) {
	mem := leakChecked(t)
	r := newRig(t, t.TempDir(), mem, modeUpsert, "hashmap")
	def := testDef()
	r.start(1)
	must(t, r.change(testTable, created(def)))
	b := rowsBatch(mem, def, []event{row('c', 1, 1, 1, "a"), {op: 'c', values: map[string]string{"n": "5"}}})
	in := r.writers[0]
	must(t, in.tables[testTable].add(t.Context(), part{batch: b}))
	err := flushErr(r)
	var re *RowError
	if !errors.As(err, &re) || re.Column != "id" || !errors.Is(err, schema.ErrNullKey) {
		t.Fatalf("got %v", err)
	}
	r.crash()
}

// TestGatherAgainstConcatenation compares gather with Arrow's own slicing and
// concatenation, over all types, with slices of records as sources.
func TestGatherAgainstConcatenation(t *testing.T) {
	def := oddDef()
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		rec, _, err := array.RecordFromJSON(mem, def.ArrowSchema(), strings.NewReader("["+strings.Trim(strings.TrimSpace(oddRows), "[]")+","+strings.Trim(strings.TrimSpace(oddRows), "[]")+"]"))
		if err != nil {
			rt.Fatal(err)
		}
		from := rapid.IntRange(0, 2).Draw(rt, "from")
		sliced := rec.NewSlice(int64(from), rec.NumRows())
		for c := range def.Columns {
			parts := []arrow.Array{rec.Column(c), sliced.Column(c)}
			var picks []pick
			var want []arrow.Array
			for range rapid.IntRange(1, 6).Draw(rt, "n") {
				p := rapid.IntRange(0, 1).Draw(rt, "part")
				row := rapid.IntRange(0, parts[p].Len()-1).Draw(rt, "row")
				picks = append(picks, pick{int32(p), int32(row)})
				want = append(want, array.NewSlice(parts[p], int64(row), int64(row)+1))
			}
			data, err := gather(mem, rec.Column(c).DataType(), []arrow.ArrayData{parts[0].Data(), parts[1].Data()}, picks)
			if err != nil {
				rt.Fatal(err)
			}
			got := array.MakeFromData(data)
			data.Release()
			all, err := array.Concatenate(want, mem)
			if err != nil {
				rt.Fatal(err)
			}
			if !array.Equal(got, all) {
				rt.Fatalf("%s: got %v, want %v", def.Columns[c].Type, got, all)
			}
			got.Release()
			all.Release()
			for _, a := range want {
				a.Release()
			}
		}
		sliced.Release()
		rec.Release()
		if n := mem.CurrentAlloc(); n != 0 {
			rt.Fatalf("%d bytes leaked", n)
		}
	})
}
