package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// columnsOf makes a table of definitions such as "a int".
func columnsOf(t testing.TB, definitions ...value.Definition) *schema.Table {
	t.Helper()
	table := &schema.Table{ID: schema.TableID{Schema: "d", Table: "t"}}
	for _, d := range definitions {
		c, err := value.Column(d, value.Options{})
		if err != nil {
			t.Fatal(err)
		}
		table.Columns = append(table.Columns, c)
	}
	return table
}

var (
	rowTable = []value.Definition{{Name: "a", ColumnType: "int"}, {Name: "b", ColumnType: "varchar(9)", Charset: "utf8mb4"}, {Name: "c", ColumnType: "datetime(3)"}, {Name: "d", ColumnType: "decimal(9,2)"}}
	rowTypes = []wire.ColumnDefinition{{Name: "a", Type: 3}, {Name: "b", Type: 253, Charset: 255}, {Name: "c", Type: 12, Decimals: 3}, {Name: "d", Type: typeDecimal, Decimals: 2}}
)

func TestDecodeRow(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	d := newDecoder(mem, columnsOf(t, rowTable...), value.Options{})
	defer d.release()
	var got []arrow.RecordBatch
	d.flush = func(r arrow.RecordBatch) error { got = append(got, r); return nil }
	if err := d.columns(rowTypes); err != nil {
		t.Fatal(err)
	}
	long := string(make([]byte, 300))
	for _, row := range []string{
		"\x00\x00\x07\x00\x00\x00\x02xy\x04\xe8\x07\x02\x1d\x0512.50",
		"\x00\x3c",
		"\x00\x30\xff\xff\xff\xff\xfc\x2c\x01" + long,
	} {
		if err := d.row([]byte(row)); err != nil {
			t.Fatalf("%q: %v", row, err)
		}
	}
	if err := d.cut(); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	defer got[0].Release()
	if a := got[0].Column(0).(*array.Int32); a.Value(0) != 7 || !a.IsNull(1) || a.Value(2) != -1 {
		t.Errorf("a %v", a)
	}
	if b := got[0].Column(1).(*array.String); b.Value(0) != "xy" || !b.IsNull(1) || b.Value(2) != long {
		t.Errorf("b %v", b)
	}
	if got[0].Column(3).ValueStr(0) != "12.5" {
		t.Errorf("d %v", got[0].Column(3))
	}
	for _, bad := range []string{"", "\x00", "\x01\x00", "\x00\x00\x07\x00", "\x00\x3c\x00", "\x00\x38\x07\x00\x00\x00\x01", "\x00\x34\xfc\x01", "\x00\x34\xfb", "\x00\x34\xff", "\x00\x34\x05a"} {
		if err := d.row([]byte(bad)); !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := d.row([]byte("\x00\x1c\x0412.5")); !errors.Is(err, value.ErrMalformed) {
		t.Errorf("a value of another scale: %v", err)
	}
}

// TestWideNulls: rows of NULLs, which are small on the wire, fill records all the same.
func TestWideNulls(t *testing.T) {
	var definitions []value.Definition
	var types []wire.ColumnDefinition
	for i := range 1000 {
		name := fmt.Sprintf("c%d", i)
		definitions = append(definitions, value.Definition{Name: name, ColumnType: "bigint", Nullable: true})
		types = append(types, wire.ColumnDefinition{Name: name, Type: 8})
	}
	d := newDecoder(memory.DefaultAllocator, columnsOf(t, definitions...), value.Options{})
	defer d.release()
	records := 0
	d.flush = func(r arrow.RecordBatch) error {
		records++
		if n := schema.RecordBytes(r); n > 2*recordBytes {
			t.Errorf("a record of %d bytes", n)
		}
		r.Release()
		return nil
	}
	if err := d.columns(types); err != nil {
		t.Fatal(err)
	}
	row := append([]byte{0}, bytes.Repeat([]byte{0xFF}, 126)...)
	for range 1000 {
		if err := d.row(row); err != nil {
			t.Fatal(err)
		}
	}
	if records < 7 {
		t.Errorf("%d records", records)
	}
}

// TestAgree: what would be misread is noticed.
func TestAgree(t *testing.T) {
	table := columnsOf(t, rowTable...)
	if err := agree(table, rowTypes); err != nil {
		t.Fatal(err)
	}
	for i, other := range map[int]wire.ColumnDefinition{
		0: {Name: "a", Type: 3, Flags: wire.UnsignedFlag}, 1: {Name: "b", Type: 253, Charset: binaryCollation},
		2: {Name: "c", Type: 12, Decimals: 6}, 3: {Name: "d", Type: typeDecimal, Decimals: 3},
	} {
		changed := append([]wire.ColumnDefinition(nil), rowTypes...)
		for _, d := range []wire.ColumnDefinition{other, {Name: "other", Type: rowTypes[i].Type, Charset: rowTypes[i].Charset, Decimals: rowTypes[i].Decimals}} {
			changed[i] = d
			if err := agree(table, changed); !errors.Is(err, ErrStale) {
				t.Errorf("%+v: %v", d, err)
			}
		}
	}
	if err := agree(table, rowTypes[:3]); !errors.Is(err, ErrStale) {
		t.Errorf("a column less: %v", err)
	}
}

func FuzzDecodeRow(f *testing.F) {
	f.Add([]byte("\x00\x00\x07\x00\x00\x00\x02xy\x04\xe8\x07\x02\x1d\x0512.50"))
	f.Add([]byte("\x00\x30\xff\xff\xff\xff\xfc\x2c\x01abc"))
	table := columnsOf(f, rowTable...)
	f.Fuzz(func(t *testing.T, row []byte) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		d := newDecoder(mem, table, value.Options{})
		defer d.release()
		d.flush = func(r arrow.RecordBatch) error { r.Release(); return nil }
		if err := d.columns(rowTypes); err != nil {
			t.Fatal(err)
		}
		if d.row(row) == nil {
			if err := d.cut(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
