package canal

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// flat is a message as a consumer reads it.
type flat struct {
	Data, Old []map[string]*string
	Database  string
	ES, TS    int64
	ID        int64
	IsDDL     bool `json:"isDdl"`
	MySQLType map[string]string
	SQLType   map[string]int
	PKNames   []string
	Table     string
	Type      string
}

// randomTable has columns of texts, unsigned numbers, sets and bytes.
func randomTable() *schema.Table {
	column := func(name string, t schema.Type, source string, labels ...string) schema.Column {
		return schema.Column{Name: name, Type: t, Nullable: true, Source: schema.SourceType{Name: source, Length: -1, Scale: -1, Enum: labels}}
	}
	return &schema.Table{ID: schema.TableID{Schema: `d"b`, Table: "t"}, Columns: []schema.Column{
		column("text", schema.String(), "text"), column(`un"signed`, schema.UBigInt(), "bigint unsigned"),
		column("set", schema.String(), "set", "a", "b", "c"), column("bytes", schema.Bytes(), "blob")}}
}

// cells are the values of a row; nil is a NULL.
type cells struct {
	text   *string
	number *uint64
	set    *int // bits
	bytes  *[]byte
}

func drawCells(t *rapid.T) cells {
	return cells{rapid.Ptr(rapid.String(), true).Draw(t, "text"), rapid.Ptr(rapid.Uint64(), true).Draw(t, "number"),
		rapid.Ptr(rapid.IntRange(0, 7), true).Draw(t, "set"), rapid.Ptr(rapid.SliceOf(rapid.Byte()), true).Draw(t, "bytes")}
}

func record(t *schema.Table, c cells) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
	defer b.Release()
	for i, null := range []bool{c.text == nil, c.number == nil, c.set == nil, c.bytes == nil} {
		switch {
		case null:
			b.Field(i).AppendNull()
		case i == 0:
			b.Field(i).(*array.StringBuilder).Append(*c.text)
		case i == 1:
			b.Field(i).(*array.Uint64Builder).Append(*c.number)
		case i == 2:
			var labels []string
			for n, label := range t.Columns[i].Source.Enum {
				if *c.set>>n&1 == 1 {
					labels = append(labels, label)
				}
			}
			b.Field(i).(*array.StringBuilder).Append(strings.Join(labels, ","))
		default:
			b.Field(i).(*array.BinaryBuilder).Append(*c.bytes)
		}
	}
	return b.NewRecordBatch()
}

// texts are what a consumer must read.
func (c cells) texts(t *schema.Table) map[string]*string {
	out := map[string]*string{}
	set := func(i int, v string) { out[t.Columns[i].Name] = &v }
	for _, col := range t.Columns {
		out[col.Name] = nil
	}
	if c.text != nil {
		set(0, *c.text)
	}
	if c.number != nil {
		set(1, strconv.FormatUint(*c.number, 10))
	}
	if c.set != nil {
		set(2, strconv.Itoa(*c.set))
	}
	if c.bytes != nil {
		var runes []rune
		for _, b := range *c.bytes {
			runes = append(runes, rune(b))
		}
		set(3, string(runes))
	}
	return out
}

func same(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// TestUpdateReadsBack: a consumer reads the row, and in old the columns that have
// changed, and no other, as they were.
func TestUpdateReadsBack(t *testing.T) {
	table := randomTable()
	e, err := New(table, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		before := drawCells(t)
		after := before
		if rapid.Bool().Draw(t, "changed") {
			after = drawCells(t)
		}
		if rapid.Bool().Draw(t, "text stays") {
			after.text = before.text
		}
		b := schema.NewBatch(table, record(table, after))
		b.Before, b.Ops = record(table, before), []schema.Op{schema.OpUpdate}
		defer b.Release()
		var out plain.Output
		if err := e.Append(&out, b, nil, Origin{}, 5_000_000); err != nil {
			t.Fatal(err)
		}
		var m flat
		if err := json.Unmarshal(out.Value(0), &m); err != nil || len(m.Data) != 1 || len(m.Old) != 1 {
			t.Fatalf("%s: %v", out.Value(0), err)
		}
		if m.Database != `d"b` || m.TS != 5 || m.Type != "UPDATE" || m.IsDDL || len(m.MySQLType) != 4 || len(m.SQLType) != 4 {
			t.Fatalf("%+v", m)
		}
		old, now := before.texts(table), after.texts(table)
		for name, want := range now {
			if got, ok := m.Data[0][name]; !ok || !same(got, want) {
				t.Fatalf("%s of %s", name, out.Value(0))
			}
			got, changed := m.Old[0][name]
			if changed == same(old[name], want) || changed && !same(got, old[name]) {
				t.Fatalf("old %s of %s", name, out.Value(0))
			}
		}
		if wantType := map[bool]int{true: jdbcDecimal, false: jdbcBigInt}[after.number != nil && *after.number > 1<<63-1]; m.SQLType[`un"signed`] != wantType {
			t.Fatalf("sqlType of %s", out.Value(0))
		}
	})
}

// TestDDLReadsBack: whatever the statement, a consumer reads it.
func TestDDLReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sql := rapid.String().Draw(t, "sql")
		var out plain.Output
		AppendDDL(&out, DDL{Table: schema.TableID{Schema: "d", Table: "t"}, Type: "ALTER", SQL: sql}, 0)
		var m struct {
			SQL   string
			IsDDL bool `json:"isDdl"`
		}
		if err := json.Unmarshal(out.Value(0), &m); err != nil || m.SQL != sql || !m.IsDDL || out.Key(0) != nil {
			t.Fatalf("%s: %v", out.Value(0), err)
		}
	})
}
