package canal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/canal"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/plaintest"
)

// TestGolden runs the scripts in testdata/golden. Commands:
//
//	table [pk=NAMES]       defines a table, see plaintest.Table; from=postgres gives its types numbers
//	rows [KEY=VALUE ...]   encodes rows, see plaintest.Batch, and prints operation, key and
//	                       value; full prints what is the same for all rows as well
//	change KIND            prints the message of a change; the columns of create are the
//	                       table's, those of others the lines
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		var table *schema.Table
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "table":
				table = defineTable(t, d)
				return ""
			case "change":
				return change(t, d, table)
			}
			b := plaintest.Batch(t, table, d.Input)
			defer b.Release()
			var out plain.Output
			e, err := canal.New(table, options(t, d))
			if err == nil {
				err = e.Append(&out, b, nil, canal.Origin{GTIDs: []string{"a:1"}}, 1_700_000_001_000_000_001)
			}
			text := print(&out, d.HasArg("full"))
			if err != nil {
				text += "error: " + err.Error() + "\n"
			}
			return text
		})
	})
}

func defineTable(t *testing.T, d *datadriven.TestData) *schema.Table {
	var key []string
	postgres := false
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "pk":
			key = a.Vals
		case "from":
			postgres = true
		}
	}
	table := plaintest.Table(t, d.Input, key)
	for i := range table.Columns {
		if postgres {
			table.Columns[i].Source.OID = 1
		}
	}
	return table
}

func options(t *testing.T, d *datadriven.TestData) canal.Options {
	var o canal.Options
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "zone":
			loc, err := time.LoadLocation(a.Vals[0])
			if err != nil {
				t.Fatal(err)
			}
			o.Zone = loc
		case "labels":
			o.Labels = true
		case "omit":
			o.OmitUnchanged = true
		case "key":
			o.Key.Format = plain.Format(a.Vals[0])
		case "full":
		default:
			t.Fatalf("%s: unknown argument %s", d.Pos, a.Key)
		}
	}
	return o
}

func change(t *testing.T, d *datadriven.TestData, table *schema.Table) string {
	c := schema.Change{Table: table.ID, After: table}
	switch kind := d.CmdArgs[0].Key; kind {
	case "create":
		c.Kind = schema.ChangeCreateTable
	case "truncate":
		c.Kind = schema.ChangeTruncate
	case "rename":
		c.Kind, c.Renames = schema.ChangeRenameColumn, map[string]string{"a": "b", "c`": "d"}
	case "done":
		c.Kind = schema.ChangeSnapshotDone
	default:
		c.Kind = map[string]schema.ChangeKind{"add": schema.ChangeAddColumn, "drop": schema.ChangeDropColumn, "alter": schema.ChangeAlterColumn}[kind]
		c.Columns = plaintest.Table(t, d.Input, nil).Columns
		c.Columns[0].Comment = `it's \ new`
	}
	s, ok := canal.Statement(c)
	if !ok {
		return "none\n"
	}
	s.Micros = 1_700_000_000_123_456
	var out plain.Output
	canal.AppendDDL(&out, s, 1_700_000_001_000_000_001)
	return print(&out, true)
}

// print prints messages, without what is the same in all if full is not set.
func print(out *plain.Output, full bool) string {
	var b strings.Builder
	for i, m := range out.Messages {
		value := string(out.Value(i))
		if !full {
			data, rest, _ := strings.Cut(value, `,"database":`)
			_, old, _ := strings.Cut(rest, `,"old":`)
			old, rest, _ = strings.Cut(old, `,"pkNames":`)
			_, types, _ := strings.Cut(rest, `"sqlType":`)
			types, rest, _ = strings.Cut(types, `,"table":`)
			_, typ, _ := strings.Cut(rest, `"type":`)
			value = fmt.Sprintf("%s old %s %s %s", data, old, types, typ)
		}
		key := "null"
		if k := out.Key(i); k != nil {
			key = string(k)
		}
		fmt.Fprintf(&b, "%d %s %s\n", m.Row, key, value)
	}
	return b.String()
}
