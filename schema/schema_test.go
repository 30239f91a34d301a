package schema_test

import (
	"testing"

	"github.com/freshet-cdc/freshet/schema"
)

func TestParseTableID(t *testing.T) {
	for text, want := range map[string]schema.TableID{
		"t":          {Table: "t"},
		"s.t":        {Schema: "s", Table: "t"},
		"db.s.t":     {Namespace: "db", Schema: "s", Table: "t"},
		"db.S.Ünï t": {Namespace: "db", Schema: "S", Table: "Ünï t"},
	} {
		got, err := schema.ParseTableID(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v %q, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a..b", "a.b.c.d"} {
		if id, err := schema.ParseTableID(text); err == nil {
			t.Errorf("%q was taken as %v", text, id)
		}
	}
}

// TestTypesPrintAndMap: each type prints as Flink SQL does and has an Arrow type.
func TestTypesPrintAndMap(t *testing.T) {
	for _, c := range []struct {
		typ         schema.Type
		text, arrow string
	}{
		{schema.Boolean(), "BOOLEAN", "bool"},
		{schema.UBigInt(), "BIGINT UNSIGNED", "uint64"},
		{schema.Decimal(12, 2), "DECIMAL(12, 2)", "decimal(12, 2)"},
		{schema.Decimal(76, 10), "DECIMAL(76, 10)", "decimal256(76, 10)"},
		{schema.Numeric(), "NUMERIC", "utf8"},
		{schema.Varchar(16), "VARCHAR(16)", "utf8"},
		{schema.Timestamp(3), "TIMESTAMP(3)", "timestamp[us]"},
		{schema.Timestamp(9), "TIMESTAMP(9)", "timestamp[ns]"},
		{schema.TimestampLTZ(6), "TIMESTAMP_LTZ(6)", "timestamp[us, tz=UTC]"},
		{schema.TimeTZ(6), "TIME(6) WITH TIME ZONE", "utf8"},
		{schema.Array(schema.Int()), "ARRAY<INT>", "list<item: int32, nullable>"},
		{schema.Map(schema.String(), schema.String()), "MAP<STRING, STRING>", "map<utf8, utf8, items_nullable>"},
		{schema.Row(schema.Column{Name: "a", Type: schema.Int()}), "ROW<a INT>", "struct<a: int32 nullable>"},
	} {
		if got := c.typ.String(); got != c.text {
			t.Errorf("printed %q, want %q", got, c.text)
		}
		if got := c.typ.Arrow().String(); got != c.arrow {
			t.Errorf("%s: Arrow %q, want %q", c.text, got, c.arrow)
		}
		if !c.typ.Equal(c.typ) {
			t.Errorf("%s does not equal itself", c.text)
		}
	}
	if schema.Array(schema.Int()).Equal(schema.Array(schema.BigInt())) || schema.Varchar(3).Equal(schema.Varchar(4)) {
		t.Error("different types are equal")
	}
}
