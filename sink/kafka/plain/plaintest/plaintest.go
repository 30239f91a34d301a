// Package plaintest reads tables and rows from the scripts of tests.
package plaintest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// Table reads a table, a line for each column: name | type | the server's type | null or not.
func Table(t testing.TB, lines string, key []string) *schema.Table {
	table := &schema.Table{ID: schema.TableID{Schema: "s", Table: "t"}, PrimaryKey: key}
	for _, line := range strings.Split(lines, "\n") {
		parts := strings.Split(line, "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		c := schema.Column{Name: parts[0], Type: parseType(t, parts[1]), Nullable: true, Source: schema.SourceType{Length: -1, Scale: -1}}
		if len(parts) > 2 {
			c.Source = source(parts[2])
		}
		if len(parts) > 3 {
			c.Nullable = parts[3] == "null"
		}
		table.Columns = append(table.Columns, c)
	}
	return table
}

func source(s string) schema.SourceType {
	out := schema.SourceType{Length: -1, Scale: -1}
	name, args, modified := strings.Cut(s, "(")
	if out.Name = name; !modified {
		return out
	}
	args, behind, _ := strings.Cut(args, ")")
	out.Name += behind
	if strings.HasPrefix(args, "'") {
		out.Enum = strings.Split(strings.Trim(args, "'"), "','")
		return out
	}
	length, scale, two := strings.Cut(args, ",")
	out.Length, _ = strconv.Atoi(length)
	if two {
		out.Scale, _ = strconv.Atoi(scale)
	}
	return out
}

func parseType(t testing.TB, s string) schema.Type {
	if inner, ok := strings.CutPrefix(s, "array of "); ok {
		return schema.Array(parseType(t, inner))
	}
	if inner, ok := strings.CutPrefix(s, "map of "); ok {
		return schema.Map(schema.String(), parseType(t, inner))
	}
	if inner, ok := strings.CutPrefix(s, "row of "); ok { // its fields are a, b, ...
		var fields []schema.Column
		for i, part := range strings.Split(inner, " ") {
			fields = append(fields, schema.Column{Name: string(rune('a' + i)), Type: parseType(t, part), Nullable: true})
		}
		return schema.Row(fields...)
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
		"varbinary": schema.Varbinary(a), "char": schema.Char(a), "date": schema.Date(), "time": schema.Time(a), "timestamp": schema.Timestamp(a),
		"timestamp_ltz": schema.TimestampLTZ(a), "timetz": schema.TimeTZ(a), "interval": schema.Interval(), "uuid": schema.UUID(), "json": schema.JSON()}
	typ, ok := types[name]
	if !ok {
		t.Fatalf("unknown type %q", s)
	}
	return typ
}

// Batch reads rows, one a line: op, position, the row as JSON and, behind <-, the row
// before; ~ before a name marks a cell as not sent. All belong to one transaction.
func Batch(t testing.TB, table *schema.Table, lines string) *schema.Batch {
	var rows, before []string
	var ops []schema.Op
	var positions []uint64
	var unchanged []schema.Cell
	reads := true
	for i, line := range strings.Split(lines, "\n") {
		parts := strings.SplitN(line, " ", 3)
		row, old, _ := strings.Cut(parts[2], " <- ")
		if old == "" {
			old = "{}"
		}
		for n, c := range table.Columns {
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
	b := record(t, table, rows)
	if strings.Contains(lines, " <- ") {
		b.Before = record(t, table, before).Record
	}
	if !reads {
		b.Ops, b.Positions, b.Unchanged = ops, positions, unchanged
	}
	b.Txs = []schema.Tx{{ID: 42, Commit: 99, CommitTime: 1_700_000_000_123_456, Rows: len(rows)}}
	return b
}

func record(t testing.TB, table *schema.Table, rows []string) *schema.Batch {
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, table.ArrowSchema(), strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return schema.NewBatch(table, rec)
}
