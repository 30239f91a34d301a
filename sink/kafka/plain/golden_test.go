package plain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/avro"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/plaintest"
)

// TestGolden runs the scripts in testdata/golden. Commands:
//
//	table [pk=NAMES]       defines a table, see plaintest.Table
//	rows [KEY=VALUE ...]   encodes rows, see plaintest.Batch, and prints operation, key and value
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		var table *schema.Table
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "table" {
				var key []string
				if d.HasArg("pk") {
					key = d.CmdArgs[0].Vals
				}
				table = plaintest.Table(t, d.Input, key)
				return ""
			}
			b := plaintest.Batch(t, table, d.Input)
			defer b.Release()
			var out plain.Output
			e, err := plain.New(table, options(t, d))
			if err == nil {
				err = e.Append(&out, b, nil, 1_700_000_001_000_000_001)
			}
			text := print(&out)
			if o := options(t, d); err == nil && (o.Format == plain.Avro || o.Key.Format == plain.Avro) {
				text, err = printAvro(t, e, &out, d.HasArg("schema"))
			}
			if err != nil {
				text += "error: " + err.Error() + "\n"
			}
			return text
		})
	})
}

func print(out *plain.Output) string {
	var b strings.Builder
	text := func(v []byte) string {
		if v == nil {
			return "null"
		}
		return strings.ReplaceAll(string(v), "\n", "<LF>")
	}
	for i, m := range out.Messages {
		fmt.Fprintf(&b, "%c %s %s\n", m.Op, text(out.Key(i)), text(out.Value(i)))
	}
	return b.String()
}

// printAvro prints what another library reads, and with it the schemas.
func printAvro(t *testing.T, e *plain.Encoder, out *plain.Output, schemas bool) (string, error) {
	key, value, err := e.Schemas()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	text := func(schema string, v []byte) string {
		if schema == "" || v == nil {
			return fmt.Sprintf("%q", v)
		}
		s, err := avro.Parse(schema)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		var got any
		if rest, err := s.Decode(v, &got); err != nil || len(rest) > 0 {
			t.Fatalf("%s: %x: %v, %d bytes are left", schema, v, err, len(rest))
		}
		again, err := s.Encode(got)
		if err != nil || len(again) != len(v) {
			t.Fatalf("%s: %x became %x, %v", schema, v, again, err)
		}
		return strings.ReplaceAll(fmt.Sprint(got), "map[", "[")
	}
	if schemas {
		fmt.Fprintf(&b, "%s\n%s\n", key, value)
	}
	for i, m := range out.Messages {
		fmt.Fprintf(&b, "%c %s %s\n", m.Op, text(key, out.Key(i)), text(value, out.Value(i)))
	}
	return b.String(), nil
}

func options(t *testing.T, d *datadriven.TestData) plain.Options {
	var o plain.Options
	char := func(s string) byte {
		s = strings.NewReplacer("tab", "\t", "comma", ",", "backslash", `\`).Replace(s)
		return s[0]
	}
	for _, a := range d.CmdArgs {
		v := strings.Join(a.Vals, ",")
		switch a.Key {
		case "format":
			o.Format, o.Name, o.Key.Name = plain.Format(v), "shop.t.Value", "shop.t.Key"
		case "schema":
		case "standard":
			o.JSON.Timestamps = plain.Standard(v)
		case "plain":
			o.JSON.PlainDecimals, o.CSV.PlainDecimals = true, true
		case "ignore-nulls":
			o.JSON.IgnoreNulls = true
		case "delimiter":
			o.CSV.Delimiter = char(v)
		case "quote":
			o.CSV.Quote = char(v)
		case "no-quote":
			o.CSV.NoQuote = true
		case "escape":
			o.CSV.Escape = char(v)
		case "null":
			o.CSV.Null = strings.ReplaceAll(v, "backslash", `\`)
		case "elements":
			o.CSV.Elements = v
		case "key":
			o.Key.Format = plain.Format(v)
		case "keys":
			o.Key.Columns = a.Vals
		case "table-id":
			o.Key.TableID = true
		case "deletes":
			o.Deletes = plain.Deletes(v)
		case "omit":
			o.OmitUnchanged = true
		case "prefix":
			o.Prefix = v
		case "meta":
			for _, m := range a.Vals {
				o.Metadata = append(o.Metadata, plain.Metadata(m))
			}
		default:
			t.Fatalf("%s: unknown argument %s", d.Pos, a.Key)
		}
	}
	return o
}
