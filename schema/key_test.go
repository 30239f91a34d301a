package schema_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// keysOf encodes one row a line of JSON.
func keysOf(t interface {
	Helper()
	Fatal(...any)
}, tbl *schema.Table, rows ...string) schema.Keys {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, tbl.ArrowSchema(), strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	keys, err := schema.NewKeyEncoder(tbl).Encode(rec, schema.Keys{})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func keyed(types ...schema.Type) *schema.Table {
	t := &schema.Table{ID: schema.TableID{Table: "t"}}
	for i, typ := range types {
		name := fmt.Sprintf("k%d", i)
		t.Columns = append(t.Columns, schema.Column{Name: name, Type: typ})
		t.PrimaryKey = append(t.PrimaryKey, name)
	}
	return t
}

// TestKeysSurviveWidening: the key index of a sink must still find a row after
// its key column was widened.
func TestKeysSurviveWidening(t *testing.T) {
	for _, c := range []struct {
		from, to schema.Type
		a, b     string
	}{
		{schema.SmallInt(), schema.Int(), `{"k0": -7}`, `{"k0": -7}`},
		{schema.Int(), schema.BigInt(), `{"k0": 7}`, `{"k0": 7}`},
		{schema.Float(), schema.Double(), `{"k0": 0.5}`, `{"k0": 0.5}`},
		{schema.Varchar(3), schema.String(), `{"k0": "abc"}`, `{"k0": "abc"}`},
		{schema.Char(5), schema.String(), `{"k0": "abc  "}`, `{"k0": "abc"}`},
		{schema.Decimal(10, 2), schema.Decimal(20, 2), `{"k0": "-1.25"}`, `{"k0": "-1.25"}`},
		{schema.Decimal(10, 2), schema.Decimal(60, 2), `{"k0": "-1.25"}`, `{"k0": "-1.25"}`},
		{schema.Numeric(), schema.Numeric(), `{"k0": "10.500"}`, `{"k0": "10.5"}`},
		{schema.Numeric(), schema.Numeric(), `{"k0": "100"}`, `{"k0": "100.0"}`},
	} {
		a, b := keysOf(t, keyed(c.from), c.a), keysOf(t, keyed(c.to), c.b)
		if !bytes.Equal(a.Bytes(0), b.Bytes(0)) {
			t.Errorf("%s -> %s: %x and %x", c.from, c.to, a.Bytes(0), b.Bytes(0))
		}
	}
}

// TestKeysAreInjective: different keys must have different bytes, whatever the
// lengths of their parts.
func TestKeysAreInjective(t *testing.T) {
	tbl := keyed(schema.String(), schema.Int(), schema.Bytes(), schema.String())
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[abz]{0,3}`)
		draw := func() (string, string) {
			s, n, x, y := part.Draw(t, "s"), rapid.IntRange(-2, 2).Draw(t, "n"), rapid.SampledFrom([]string{"", "YQ==", "YWI="}).Draw(t, "x"), part.Draw(t, "y")
			return fmt.Sprintf("%q/%d/%q/%q", s, n, x, y), fmt.Sprintf(`{"k0": %q, "k1": %d, "k2": %q, "k3": %q}`, s, n, x, y)
		}
		id1, row1 := draw()
		id2, row2 := draw()
		keys := keysOf(t, tbl, row1, row2)
		if same := bytes.Equal(keys.Bytes(0), keys.Bytes(1)); same != (id1 == id2) {
			t.Fatalf("%s and %s: equal bytes %v", id1, id2, same)
		}
	})
}

func TestNullKeyIsAnError(t *testing.T) {
	tbl := keyed(schema.Int())
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, tbl.ArrowSchema(), strings.NewReader(`[{"k0": 1}, {"k0": null}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if _, err := schema.NewKeyEncoder(tbl).Encode(rec, schema.Keys{}); !errors.Is(err, schema.ErrNullKey) {
		t.Fatalf("got %v, want ErrNullKey", err)
	}
}

// TestBatchReleases: the last reference frees the records, one more panics.
func TestBatchReleases(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	tbl := keyed(schema.BigInt())
	record := func() arrow.RecordBatch {
		b := array.NewRecordBuilder(mem, tbl.ArrowSchema())
		defer b.Release()
		b.Field(0).(*array.Int64Builder).Append(1)
		return b.NewRecordBatch()
	}
	b := schema.NewBatch(tbl, record())
	b.Before = record()
	b.Retain(2)
	for range 3 {
		b.Release()
	}
	defer func() {
		if recover() == nil {
			t.Fatal("a fourth release went through")
		}
	}()
	b.Release()
}
