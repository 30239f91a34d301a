package debezium_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
)

// golden is a table of a script under testdata.
type golden struct {
	table   *schema.Table
	options debezium.Options
}

// TestGolden runs the scripts in testdata. Commands:
//
//	table NAME KEY=VALUE ...   defines a table; a line for each column: name | type | the
//	                           server's type | null or not | default
//	schema                     prints the schema of values
//	rows [KEY=VALUE ...]       encodes rows, one a line: op, position, the row as JSON,
//	                           the row before; ~ before a name marks a cell as not sent
//	truncate
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		g := &golden{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := g.run(t, d)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return out
		})
	})
}

func (g *golden) run(t *testing.T, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "table":
		g.define(t, d)
		return "", nil
	case "schema":
		o := g.options
		o.Schemas = true
		out, err := g.encode(t, o, "r 1 {}")
		if err != nil {
			return "", err
		}
		value := string(out.Value(0))
		_, fields, _ := strings.Cut(value, `"fields":[{"type":"struct","fields":[`)
		if g.options.Flatten != nil {
			_, fields, _ = strings.Cut(value, `"fields":[`)
		}
		fields, _, _ = strings.Cut(fields, `],"optional":`+strconv.FormatBool(g.options.Flatten == nil)+`,"name":"p.s.t.Value"`)
		return strings.ReplaceAll(fields, `},{"type"`, "},\n{\"type\"") + "\n", nil
	case "truncate":
		e, err := debezium.New(g.table, "p.t", g.options)
		if err != nil {
			return "", err
		}
		var out debezium.Output
		e.AppendTruncate(&out, 77, schema.Tx{ID: 5, CommitTime: 1_700_000_000_123_456}, debezium.Origin{}, 1_700_000_001_000_000_001)
		return g.print(&out, true), nil
	}
	out, err := g.encode(t, g.options, d.Input)
	if err != nil {
		return "", err
	}
	return g.print(out, d.HasArg("full")), nil
}

func (g *golden) define(t *testing.T, d *datadriven.TestData) {
	g.options = debezium.Options{Prefix: "p", Database: "db"}
	g.table = &schema.Table{ID: schema.TableID{Schema: "s", Table: "t"}}
	for _, a := range d.CmdArgs {
		v := strings.Join(a.Vals, ",")
		switch a.Key {
		case "connector":
			g.options.Connector = debezium.Connector(v)
		case "decimal":
			g.options.Decimal = debezium.DecimalMode(v)
		case "format":
			g.options.DecimalFormat = debezium.DecimalFormat(v)
		case "time":
			g.options.Time = debezium.TimeMode(v)
		case "binary":
			g.options.Binary = debezium.BinaryMode(v)
		case "interval":
			g.options.Interval = debezium.IntervalMode(v)
		case "unsigned":
			g.options.Unsigned = debezium.UnsignedMode(v)
		case "hstore":
			g.options.Hstore = debezium.HstoreMode(v)
		case "keepnulls":
			g.options.KeepNulls = true
		case "comments":
			g.options.Comments = true
		case "unknown":
			g.options.UnknownTypes = true
		case "tombstones":
			g.options.NoTombstones = v == "off"
		case "skip":
			g.options.Skipped = []debezium.Operation{}
			for _, c := range []byte(v) {
				if c != '-' {
					g.options.Skipped = append(g.options.Skipped, debezium.Operation(c))
				}
			}
		case "flatten":
			if g.options.Flatten == nil {
				g.options.Flatten = &debezium.Flatten{}
			}
			g.options.Flatten.Deletes = debezium.DeleteMode(v)
		case "fields":
			g.options.Flatten.Fields = a.Vals
		case "headers":
			g.options.Flatten.Headers = a.Vals
		case "context":
			g.options.Context = &debezium.Context{Task: "0", Run: "r"}
		case "adjust":
			g.options.SchemaNames, g.options.FieldNames = debezium.Adjustment(v), debezium.Adjustment(v)
		case "sourcetypes":
			g.options.SourceType = func(schema.Column) bool { return true }
		case "keys":
			g.options.KeyColumns = a.Vals
		case "pk":
			g.table.PrimaryKey = a.Vals
		default:
			t.Fatalf("%s: unknown argument %s", d.Pos, a.Key)
		}
	}
	for _, line := range strings.Split(d.Input, "\n") {
		g.table.Columns = append(g.table.Columns, parseColumn(t, line))
	}
}

func parseColumn(t *testing.T, line string) schema.Column {
	parts := strings.Split(line, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	c := schema.Column{Name: parts[0], Type: parseType(t, parts[1]), Nullable: true, Source: schema.SourceType{Length: -1, Scale: -1}}
	if len(parts) > 2 {
		name, args, modified := strings.Cut(parts[2], "(")
		c.Source.Name = name
		if modified {
			args = strings.TrimSuffix(args, ")")
			if strings.HasPrefix(args, "'") {
				c.Source.Enum = strings.Split(strings.Trim(args, "'"), "','")
			} else {
				length, scale, two := strings.Cut(args, ",")
				c.Source.Length, _ = strconv.Atoi(length)
				if two {
					c.Source.Scale, _ = strconv.Atoi(scale)
				}
			}
		}
	}
	if len(parts) > 3 {
		c.Nullable = parts[3] == "null"
	}
	if len(parts) > 4 {
		c.Default = &parts[4]
	}
	if len(parts) > 5 {
		c.Comment = parts[5]
	}
	return c
}

func parseType(t *testing.T, s string) schema.Type {
	if inner, ok := strings.CutPrefix(s, "array of "); ok {
		return schema.Array(parseType(t, inner))
	}
	name, args, _ := strings.Cut(s, "(")
	var a, b int
	if n, scale, two := strings.Cut(strings.TrimSuffix(args, ")"), ","); n != "" {
		a, _ = strconv.Atoi(n)
		if two {
			b, _ = strconv.Atoi(scale)
		}
	}
	types := map[string]schema.Type{"boolean": schema.Boolean(), "tinyint": schema.TinyInt(), "smallint": schema.SmallInt(), "int": schema.Int(),
		"bigint": schema.BigInt(), "ubigint": schema.UBigInt(), "float": schema.Float(), "double": schema.Double(), "decimal": schema.Decimal(a, b),
		"numeric": schema.Numeric(), "string": schema.String(), "varchar": schema.Varchar(a), "bytes": schema.Bytes(), "binary": schema.Binary(a),
		"date": schema.Date(), "time": schema.Time(a), "timestamp": schema.Timestamp(a), "timestamp_ltz": schema.TimestampLTZ(a),
		"timetz": schema.TimeTZ(a), "interval": schema.Interval(), "uuid": schema.UUID(), "json": schema.JSON(),
		"map": schema.Map(schema.String(), schema.String())}
	typ, ok := types[name]
	if !ok {
		t.Fatalf("unknown type %q", s)
	}
	return typ
}

// encode builds a batch of lines: op, position, row, row before.
func (g *golden) encode(t *testing.T, o debezium.Options, input string) (*debezium.Output, error) {
	e, err := debezium.New(g.table, "p.s.t", o)
	if err != nil {
		return nil, err
	}
	var rows, before []string
	var ops []schema.Op
	var positions []uint64
	var unchanged []schema.Cell
	reads := true
	for i, line := range strings.Split(input, "\n") {
		parts := strings.SplitN(line, " ", 3)
		row, old, _ := strings.Cut(parts[2], " <- ")
		if old == "" {
			old = "{}"
		}
		for n, c := range g.table.Columns {
			if strings.Contains(row, `"~`+c.Name+`"`) {
				unchanged = append(unchanged, schema.Cell{Row: int32(i), Column: int32(n)})
			}
		}
		pos, err := strconv.ParseUint(parts[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		rows, before = append(rows, row), append(before, old)
		ops, positions, reads = append(ops, schema.Op(parts[0][0])), append(positions, pos), reads && parts[0] == "r"
	}
	build := func(lines []string) *schema.Batch {
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, g.table.ArrowSchema(), strings.NewReader("["+strings.Join(lines, ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		return schema.NewBatch(g.table, rec)
	}
	b := build(rows)
	if strings.Contains(input, " <- ") {
		b.Before = build(before).Record
	}
	if !reads {
		b.Ops, b.Positions, b.Unchanged = ops, positions, unchanged
	}
	b.Txs = []schema.Tx{{ID: 42, Commit: 99, CommitTime: 1_700_000_000_123_456, Rows: len(rows)}}
	origin := debezium.Origin{Txs: []schema.TxOrigin{{ServerID: 7, GTID: "a:1", Thread: 3, HasThread: true, LastCommit: 88}},
		Files: []schema.LogFile{{Name: "binlog.000001"}}}
	var out debezium.Output
	err = e.Append(&out, b, nil, origin, 1_700_000_001_000_000_001)
	b.Release()
	return &out, err
}

// print prints messages; the source block and what is behind it only if full is set.
func (g *golden) print(out *debezium.Output, full bool) string {
	var b strings.Builder
	text := func(v []byte) string {
		if v == nil {
			return "null"
		}
		s := string(v)
		if i := strings.LastIndex(s, `,"source":{`); i >= 0 && !full {
			s = s[:i] + "..."
		}
		return s
	}
	for i, m := range out.Messages {
		fmt.Fprintf(&b, "%c %s %s", m.Operation, text(out.Key(i)), text(out.Value(i)))
		for _, h := range out.Headers(nil, i) {
			fmt.Fprintf(&b, " %s=%s", h.Key, h.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
