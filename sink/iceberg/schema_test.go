package iceberg

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	iceberggo "github.com/apache/iceberg-go"

	"github.com/freshet-cdc/freshet/schema"
)

// TestTypeMap: each type and its counterpart; the table is documentation too.
func TestTypeMap(t *testing.T) {
	for _, c := range []struct {
		typ  schema.Type
		want string
	}{
		{schema.Boolean(), "boolean"}, {schema.TinyInt(), "int"}, {schema.SmallInt(), "int"}, {schema.Int(), "int"}, {schema.BigInt(), "long"},
		{schema.UBigInt(), "decimal(20, 0)"}, {schema.Float(), "float"}, {schema.Double(), "double"},
		{schema.Decimal(38, 4), "decimal(38, 4)"}, {schema.Decimal(39, 4), "string"}, {schema.Numeric(), "string"},
		{schema.Char(3), "string"}, {schema.Varchar(3), "string"}, {schema.String(), "string"}, {schema.JSON(), "string"}, {schema.Interval(), "string"},
		{schema.TimeTZ(6), "string"}, {schema.TimestampTZ(6), "string"}, {schema.Binary(2), "binary"}, {schema.Varbinary(2), "binary"}, {schema.Bytes(), "binary"},
		{schema.Date(), "date"}, {schema.Time(6), "time"}, {schema.Timestamp(6), "timestamp"}, {schema.TimestampLTZ(3), "timestamptz"}, {schema.UUID(), "uuid"},
		{schema.Array(schema.Array(schema.Int())), "list<list<int>>"}, {schema.Map(schema.String(), schema.Int()), "map<string, int>"},
		{schema.Row(schema.Column{Name: "a", Type: schema.Date()}), "struct<0: a: optional date>"},
	} {
		got, err := icebergType(c.typ, func() int { return 0 })
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.typ, got, err, c.want)
		}
	}
	for _, typ := range []schema.Type{schema.Timestamp(9), schema.TimestampLTZ(7), schema.Time(9), schema.Array(schema.Timestamp(9)), {}} {
		if got, err := icebergType(typ, func() int { return 0 }); err == nil {
			t.Errorf("%s became %s", typ, got)
		}
	}
}

func nested() *schema.Table {
	return &schema.Table{ID: schema.TableID{Schema: "s", Table: "n"}, PrimaryKey: []string{"b"}, Comment: "about", Columns: []schema.Column{
		{Name: "a", Type: schema.Array(schema.Map(schema.String(), schema.Int())), Nullable: true, Comment: "first"},
		{Name: "b", Type: schema.Int()},
		{Name: "c", Type: schema.Row(schema.Column{Name: "x", Type: schema.Int()}, schema.Column{Name: "y", Type: schema.Array(schema.Int())}), Nullable: true},
		{Name: "d", Type: schema.String()},
	}}
}

// TestStagedIDsAreTheCatalogs: a new table gets the ids that its files were written
// with, nested ones too, and comments and the key.
func TestStagedIDsAreTheCatalogs(t *testing.T) {
	for _, mode := range []string{"upsert", "append"} {
		l := newLab(t, map[string]string{"write.mode": mode})
		l.def, l.id = nested(), schema.TableID{Schema: "s", Table: "n"}
		l.start()
		l.checkpoint()
		tbl := l.load(l.id)
		staged, err := newStagedSchema(l.def, l.id, modeOf(l.sink.opts.mode, l.def))
		l.must(err)
		if !tbl.Schema().Equals(staged.Iceberg) || tbl.Metadata().LastColumnID() != staged.LastColumnID {
			t.Errorf("%s: the catalog has %s, last id %d; staged %s, %d", mode, tbl.Schema(), tbl.Metadata().LastColumnID(), staged.Iceberg, staged.LastColumnID)
		}
		if f, _ := tbl.Schema().FindFieldByName("a"); f.Doc != "first" || f.Required || tbl.Properties()["comment"] != "about" {
			t.Errorf("%s: column a is %+v, table comment %q", mode, f, tbl.Properties()["comment"])
		}
		if f, _ := tbl.Schema().FindFieldByName("b"); !f.Required || (mode == "upsert") != slices.Equal(tbl.Schema().IdentifierFieldIDs, []int{f.ID}) {
			t.Errorf("%s: key %+v, identifiers %v", mode, f, tbl.Schema().IdentifierFieldIDs)
		}
		if f, _ := tbl.Schema().FindFieldByName("d"); f.Required {
			t.Errorf("%s: a column beside the key is required", mode)
		}
	}
}

// change makes a change of a definition.
func change(kind schema.ChangeKind, before *schema.Table, edit func(c *schema.Change, after *schema.Table)) *schema.Change {
	c := &schema.Change{Kind: kind, Table: before.ID, Before: before, After: before.Clone(), Position: 77}
	edit(c, c.After)
	return c
}

// TestEvolutionKeepsIDs: what survives a change keeps its id, what is new gets one that was never used, and
// the state in between survives JSON.
func TestEvolutionKeepsIDs(t *testing.T) {
	def := nested()
	s, err := newStagedSchema(def, def.ID, modeAppend)
	if err != nil {
		t.Fatal(err)
	}
	id := func(name string) int {
		f, ok := s.Iceberg.FindFieldByName(name)
		if !ok {
			t.Fatalf("no column %s", name)
		}
		return f.ID
	}
	step := func(c *schema.Change) {
		t.Helper()
		blob, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back stagedSchema
		if err := json.Unmarshal(blob, &back); err != nil {
			t.Fatal(err)
		}
		if !back.Iceberg.Equals(s.Iceberg) || back.LastColumnID != s.LastColumnID || back.Mode != s.Mode {
			t.Fatalf("JSON made %s of %s", back.Iceberg, s.Iceberg)
		}
		if s, err = back.apply(c); err != nil {
			t.Fatal(err)
		}
	}
	a, b, d, op, last := id("a"), id("b"), id("d"), id(columnOp), s.LastColumnID
	step(change(schema.ChangeDropColumn, s.Source, func(c *schema.Change, after *schema.Table) {
		c.Columns = after.Columns[3:]
		after.Columns = after.Columns[:3]
	}))
	step(change(schema.ChangeRenameColumn, s.Source, func(c *schema.Change, after *schema.Table) {
		c.Renames = map[string]string{"b": "key", "a": "d"}
		after.Columns[0].Name, after.Columns[1].Name, after.PrimaryKey = "d", "key", []string{"key"}
	}))
	if id("d") != a || id("key") != b {
		t.Errorf("renamed columns have ids %d and %d, want %d and %d", id("d"), id("key"), a, b)
	}
	step(change(schema.ChangeAlterColumn, s.Source, func(c *schema.Change, after *schema.Table) {
		after.Columns[1].Type = schema.BigInt()
		after.Columns[0].Type = schema.Array(schema.Map(schema.String(), schema.BigInt()))
		c.Columns = after.Columns[:2]
	}))
	if id("key") != b || id("d.element.value") == 0 {
		t.Errorf("a widened column has id %d, want %d", id("key"), b)
	}
	step(change(schema.ChangeAddColumn, s.Source, func(c *schema.Change, after *schema.Table) {
		c.Columns = []schema.Column{{Name: "a", Type: schema.Array(schema.Int()), Nullable: true}}
		after.Columns = append(after.Columns, c.Columns...)
	}))
	if id("a") != last+1 || id("a.element") != last+2 || s.LastColumnID != last+2 || id("a") == d {
		t.Errorf("the new column has ids %d and %d after %d", id("a"), id("a.element"), last)
	}
	if id(columnOp) != op {
		t.Errorf("%s went from id %d to %d", columnOp, op, id(columnOp))
	}
	step(change(schema.ChangeReset, s.Source, func(_ *schema.Change, after *schema.Table) { after.Columns[2].Type = schema.String() }))
	if id("c") != last+3 || id("key") != b {
		t.Errorf("after a reset with another type the column has id %d, the key %d", id("c"), id("key"))
	}
}

// TestEvolutionErrors: what can't be followed says table, position, column and the way out.
func TestEvolutionErrors(t *testing.T) {
	def := nested()
	s, err := newStagedSchema(def, schema.TableID{Schema: "lake", Table: "n"}, modeUpsert)
	if err != nil {
		t.Fatal(err)
	}
	retype := func(i int, typ schema.Type) func(*schema.Change, *schema.Table) {
		return func(c *schema.Change, after *schema.Table) {
			after.Columns[i].Type = typ
			c.Columns = after.Columns[i : i+1]
		}
	}
	for name, c := range map[string]struct {
		change *schema.Change
		column string
	}{
		"narrower":       {change(schema.ChangeAlterColumn, def, retype(1, schema.String())), "b"},
		"nested":         {change(schema.ChangeAlterColumn, def, retype(0, schema.Array(schema.String()))), "a"},
		"new key":        {change(schema.ChangeAlterColumn, def, func(_ *schema.Change, after *schema.Table) { after.PrimaryKey = []string{"d"} }), ""},
		"no key":         {change(schema.ChangeAlterColumn, def, func(_ *schema.Change, after *schema.Table) { after.PrimaryKey = nil }), ""},
		"reset, no key":  {change(schema.ChangeReset, def, func(_ *schema.Change, after *schema.Table) { after.PrimaryKey = nil }), ""},
		"came otherwise": {change(schema.ChangeCreateTable, def, func(_ *schema.Change, after *schema.Table) { after.Columns = after.Columns[:3] }), ""},
		"unknown to us": {change(schema.ChangeAddColumn, def, func(_ *schema.Change, after *schema.Table) {
			after.Columns = append(after.Columns, schema.Column{Name: "ns", Type: schema.Timestamp(9)})
		}), "ns"},
	} {
		_, err := s.apply(c.change)
		var e *EvolveError
		if !errors.As(err, &e) || e.Position != 77 && c.change.Kind != schema.ChangeCreateTable || e.Column != c.column || e.Hint == "" || !strings.Contains(err.Error(), "lake.n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	taken := orders()
	taken.Columns[1].Name = columnPos
	if _, err := newStagedSchema(taken, taken.ID, modeAppend); err == nil {
		t.Error("a table with a column of the changelog's name went through")
	}
}

// TestKeysThatCannotIdentify: Iceberg has no identifier fields of these types; the table still works.
func TestKeysThatCannotIdentify(t *testing.T) {
	def := orders("id", "note")
	def.Columns[1] = schema.Column{Name: "note", Type: schema.Double()}
	s, err := newStagedSchema(def, def.ID, modeUpsert)
	if err != nil || len(s.Iceberg.IdentifierFieldIDs) != 0 {
		t.Fatalf("%v, %v", s, err)
	}
	if f, _ := s.Iceberg.FindFieldByName("note"); !f.Required || !f.Type.Equals(iceberggo.PrimitiveTypes.Float64) {
		t.Errorf("the key column is %v", f)
	}
}
