package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/schema"
)

// testTypes are the types that the scripts may use, by oid.
var testTypes = typeCatalog{
	16: {OID: 16, Name: "bool", Kind: 'b'}, 20: {OID: 20, Name: "int8", Kind: 'b'}, 21: {OID: 21, Name: "int2", Kind: 'b'}, 23: {OID: 23, Name: "int4", Kind: 'b'},
	25: {OID: 25, Name: "text", Kind: 'b'}, 700: {OID: 700, Name: "float4", Kind: 'b'}, 701: {OID: 701, Name: "float8", Kind: 'b'},
	1043: {OID: 1043, Name: "varchar", Kind: 'b'}, 1700: {OID: 1700, Name: "numeric", Kind: 'b'}, 114: {OID: 114, Name: "json", Kind: 'b'}, 3802: {OID: 3802, Name: "jsonb", Kind: 'b'},
	1007: {OID: 1007, Name: "_int4", Kind: 'b', Elem: 23}, 1114: {OID: 1114, Name: "timestamp", Kind: 'b'},
	9000: {OID: 9000, Name: "mood", Kind: 'e', Labels: []string{"sad", "ok"}}, 9001: {OID: 9001, Name: "posint", Kind: 'd', Base: 23, BaseMod: -1},
}

// parseTestType parses name or name(n) or name(p,s).
func parseTestType(t *testing.T, text string) (uint32, int32) {
	name, args, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	mod := int32(-1)
	var p, s int32
	switch n, _ := fmt.Sscanf(args, "%d,%d", &p, &s); {
	case name == "numeric" && n > 0:
		mod = p<<16 + s + 4
	case name == "varchar" && n > 0:
		mod = p + 4
	case n > 0:
		mod = p
	}
	for oid, typ := range testTypes {
		if typ.Name == name {
			return oid, mod
		}
	}
	t.Fatalf("unknown type %q", text)
	return 0, 0
}

// ddlCase is built up by the lines of a script: old, now (the message) and
// catalog, each a list of columns: [number:]name:type[!flags].
type ddlCase struct {
	old        *schema.Table
	m          relationMessage
	attributes []attribute
}

func (c *ddlCase) line(t *testing.T, text string) {
	fields := strings.Fields(text)
	kind, columns := fields[0], fields[1:]
	switch kind {
	case "old":
		c.old = &schema.Table{ID: schema.TableID{Schema: "public", Table: "t"}, Version: 1, SourceID: 42}
	case "now":
		c.m = relationMessage{oid: 42, schema: "public", name: "t", identity: 'd'}
	}
	for i, text := range columns {
		c.column(t, kind, i+1, text)
	}
}

func (c *ddlCase) column(t *testing.T, kind string, num int, text string) {
	text, flags, _ := strings.Cut(text, "!")
	if n, rest, ok := strings.Cut(text, ":"); ok {
		if _, err := fmt.Sscan(n, &num); err == nil {
			text = rest
		}
	}
	name, typ, _ := strings.Cut(text, ":")
	dropped := strings.Contains(flags, "dropped")
	var oid uint32
	mod := int32(-1)
	if !dropped {
		oid, mod = parseTestType(t, typ)
	}
	key := strings.Contains(flags, "key")
	switch kind {
	case "old":
		ct, src := testTypes.column(oid, mod, 0, textOptions{})
		c.old.Columns = append(c.old.Columns, schema.Column{Name: name, Type: ct, Source: src, Ordinal: num})
		if key {
			c.old.PrimaryKey = append(c.old.PrimaryKey, name)
		}
	case "now":
		if testTypes[oid].Kind == 'd' {
			mod = -1
		}
		c.m.columns = append(c.m.columns, relationColumn{name: name, key: key, oid: oid, mod: mod})
	case "catalog":
		a := attribute{Num: num, Name: name, Type: oid, Mod: mod, Dropped: dropped, Missing: strings.Contains(flags, "filled"), Identity: strings.Contains(flags, "identity")}
		if strings.Contains(flags, "default") {
			d := "1"
			a.Default = &d
		}
		c.attributes = append(c.attributes, a)
	}
}

func (c *ddlCase) run() string {
	if sameDefinition(c.old, c.m) {
		return "same\n"
	}
	changes, err := diffTable(c.old, c.m, c.attributes, testTypes, textOptions{}, false, 0x16B374D848)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for i, ch := range changes {
		if i > 0 && ch.Before != changes[i-1].After || ch.After.Version != ch.Before.Version+1 {
			return "broken chain\n"
		}
		fmt.Fprintf(&b, "%s", ch.Kind)
		for _, col := range ch.Columns {
			fmt.Fprintf(&b, " %s:%s", col.Name, col.Type)
		}
		from := make([]string, 0, len(ch.Renames))
		for f := range ch.Renames {
			from = append(from, f)
		}
		slices.Sort(from)
		for _, f := range from {
			fmt.Fprintf(&b, " %s->%s", f, ch.Renames[f])
		}
		b.WriteString("\n")
	}
	after := changes[len(changes)-1].After
	b.WriteString("after")
	for _, col := range after.Columns {
		fmt.Fprintf(&b, " %d:%s:%s", col.Ordinal, col.Name, col.Type)
	}
	fmt.Fprintf(&b, " key %s\n", strings.Join(after.PrimaryKey, ","))
	return b.String()
}

// TestDiffTable runs testdata/ddl: the definition in force, the one announced and
// the catalogue give changes or an error.
func TestDiffTable(t *testing.T) {
	datadriven.Walk(t, "testdata/ddl", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c := &ddlCase{}
			for line := range strings.Lines(d.Input) {
				c.line(t, line)
			}
			return c.run()
		})
	})
}
