package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// typeCase is a column with values.
type typeCase struct {
	sql    string // the column's type
	want   string // the type it becomes
	values []string
}

// typeCases are every kind of type with its odd values.
var typeCases = []typeCase{
	{"boolean", "BOOLEAN", []string{"true", "false"}},
	{"bit(1)", "BOOLEAN", []string{"B'1'", "B'0'"}},
	{"smallint", "SMALLINT", []string{"-32768", "32767"}},
	{"integer", "INT", []string{"-2147483648", "2147483647"}},
	{"bigint", "BIGINT", []string{"-9223372036854775808", "9223372036854775807"}},
	{"oid", "BIGINT", []string{"0", "4294967295"}},
	{"xid", "BIGINT", []string{"'4294967295'"}},
	{"real", "FLOAT", []string{"'NaN'", "'Infinity'", "'-0'", "1.1", "1e-45", "3.4028235e38"}},
	{"double precision", "DOUBLE", []string{"'NaN'", "'-Infinity'", "0.1", "5e-324", "1.7976931348623157e308"}},
	{"numeric(12,2)", "DECIMAL(12, 2)", []string{"0", "-0.01", "9999999999.99", "10000"}},
	{"numeric(38,10)", "DECIMAL(38, 10)", []string{"9999999999999999999999999999.9999999999", "-0.0000000001"}},
	{"numeric(50,3)", "DECIMAL(50, 3)", []string{"99999999999999999999999999999999999999999999999.999", "-1"}},
	{"numeric", "NUMERIC", []string{"'NaN'", "'Infinity'", "'-Infinity'", "1.500", "1e-30", "12345678901234567890123456789012345678901234567890123456789012345678901234567890.5"}},
	{"numeric(90,2)", "NUMERIC", []string{"1.5"}},
	{"numeric(3,-2)", "NUMERIC", []string{"12345"}},
	{"money", "DECIMAL(19, 2)", []string{"'-92233720368547758.08'", "'1234.5'"}},
	{"char(5)", "CHAR(5)", []string{"'ab'", "''"}},
	{"varchar(10)", "VARCHAR(10)", []string{"'ä€𝄞'", "''"}},
	{"varchar", "STRING", []string{"'x'"}},
	{"text", "STRING", []string{`E'line\nbreak\ttab'`, "'NULL'", `'\N'`}},
	{"name", "STRING", []string{"'some_name'"}},
	{`"char"`, "STRING", []string{"'x'"}},
	{"citext", "STRING", []string{"'MiXed'"}},
	{"bytea", "BYTES", []string{`'\x00ff27'`, "''"}},
	{"date", "DATE", []string{"'infinity'", "'-infinity'", "'0044-03-15 BC'", "'4714-11-24 BC'", "'5874897-12-31'", "'2024-02-29'"}},
	{"time", "TIME(6)", []string{"'24:00:00'", "'12:34:56.789012'"}},
	{"time(3)", "TIME(3)", []string{"'12:34:56.789'"}},
	{"timetz", "TIME(6) WITH TIME ZONE", []string{"'12:34:56.7+05:30'", "'00:00:00-15:59:59'"}},
	{"timestamp", "TIMESTAMP(6)", []string{"'infinity'", "'0044-03-15 12:00:00 BC'", "'4714-11-24 00:00:00 BC'", "'2024-02-29 12:34:56.789012'", "'294246-12-31 23:59:59.999999'", "'0001-01-01'"}},
	{"timestamp(3)", "TIMESTAMP(3)", []string{"'1969-12-31 23:59:59.999'"}},
	{"timestamptz", "TIMESTAMP_LTZ(6)", []string{"'-infinity'", "'0044-03-15 12:00:00+00 BC'", "'2024-02-29 12:34:56.789012+03'", "'1900-01-01 00:00:00 Europe/Amsterdam'"}},
	{"interval", "INTERVAL", []string{"'1 year 2 mons -3 days 04:05:06.789'", "'0'", "'-1 day'"}},
	{"uuid", "UUID", []string{"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"}},
	{"json", "JSON", []string{`'{"a" : 1, "a":2}'`, "'null'"}},
	{"jsonb", "JSON", []string{`'{"a" : 1, "b":[1,2.50]}'`, "'\"x\"'"}},
	{"hstore", "MAP<STRING, STRING>", []string{`'a=>1, "b \"q"=>NULL'`, "''"}},
	{"xml", "STRING", []string{"'<a>x</a>'"}},
	{"inet", "STRING", []string{"'192.168.1.5/24'", "'::1'"}},
	{"cidr", "STRING", []string{"'10.0.0.0/8'"}},
	{"macaddr", "STRING", []string{"'08:00:2b:01:02:03'"}},
	{"macaddr8", "STRING", []string{"'08:00:2b:01:02:03:04:05'"}},
	{"bit(5)", "STRING", []string{"B'10101'"}},
	{"varbit", "STRING", []string{"B'101'", "B''"}},
	{"point", "STRING", []string{"'(1.5,-2)'"}},
	{"box", "STRING", []string{"'((0,0),(1,1))'"}},
	{"path", "STRING", []string{"'[(0,0),(1,1)]'"}},
	{"circle", "STRING", []string{"'<(1,2),3>'"}},
	{"int4range", "STRING", []string{"'[1,5]'", "'empty'"}},
	{"tstzrange", "STRING", []string{"'[2024-01-01 00:00:00+02,)'"}},
	{"int4multirange", "STRING", []string{"'{[1,3),[5,9)}'"}},
	{"tsvector", "STRING", []string{"'a fat cat'"}},
	{"tsquery", "STRING", []string{"'fat & rat'"}},
	{"pg_lsn", "STRING", []string{"'16/B374D848'"}},
	{"regclass", "STRING", []string{"'pg_class'", "'types'"}},
	{"mood", "STRING", []string{"'so so'", "'ok'"}},
	{"pair", "STRING", []string{`'(1,"a ""b"", c")'`}},
	{"posint", "INT", []string{"7"}},
	{"short", "VARCHAR(3)", []string{"'abc'"}},
	{"cents", "DECIMAL(8, 2)", []string{"12.5"}},
	{"integer[]", "ARRAY<INT>", []string{"'{}'", "'{1,NULL,-3}'", "'[0:1]={1,2}'"}},
	{"integer[][]", "ARRAY<ARRAY<INT>>", []string{"'{{1,2},{3,NULL}}'", "'{}'"}},
	{"text[]", "ARRAY<STRING>", []string{`'{"a,b",NULL,"NULL","q\"u\\o",""}'`}},
	{"numeric(8,2)[]", "ARRAY<DECIMAL(8, 2)>", []string{"'{1.5,NULL,-2}'"}},
	{"money[]", "ARRAY<DECIMAL(19, 2)>", []string{"'{1234.5,-1}'"}},
	{"date[]", "ARRAY<DATE>", []string{"'{2024-02-29,infinity,\"0044-03-15 BC\"}'"}},
	{"timestamptz[]", "ARRAY<TIMESTAMP_LTZ(6)>", []string{`'{"2024-02-29 12:00:00+03",NULL}'`}},
	{"jsonb[]", "ARRAY<JSON>", []string{`array['{"a": [1, "x,y"]}'::jsonb, NULL]`}},
	{"uuid[]", "ARRAY<UUID>", []string{"'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'"}},
	{"bytea[]", "ARRAY<BYTES>", []string{`array['\x00ff'::bytea, NULL]`}},
	{"box[]", "ARRAY<STRING>", []string{`'{(1,1),(0,0);(2,2),(0,0)}'`}},
	{"mood[]", "ARRAY<STRING>", []string{`'{ok,"so so"}'`}},
	{"pair[]", "ARRAY<STRING>", []string{`array['(1,x)'::pair, NULL]`}},
	{"hstore[]", "ARRAY<MAP<STRING, STRING>>", []string{`array['a=>1'::hstore, NULL]`}},
	{"bit(1)[]", "ARRAY<BOOLEAN>", []string{`'{1,0}'`}},
	{"int4range[]", "ARRAY<STRING>", []string{`'{"[1,3)","[5,9)"}'`}},
	{"ints", "ARRAY<INT>", []string{"'{1,2}'"}},
	{"ints[]", "ARRAY<ARRAY<INT>>", []string{`'{"{1,2}","{}",NULL}'`}},
}

// TestTypes compares, type by type, what a snapshot and what the log make of the
// same values.
func TestTypes(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE EXTENSION hstore; CREATE EXTENSION citext`,
		`CREATE TYPE mood AS ENUM ('so so', 'ok'); CREATE TYPE pair AS (a int, b text); CREATE DOMAIN posint AS int CHECK (VALUE > 0);
		CREATE DOMAIN short AS varchar(3); CREATE DOMAIN cents AS numeric(8,2); CREATE DOMAIN ints AS int[]`)
	typeCases := typeCases
	if serverVersion(f.sql.PgConn()) < 150000 { // which has no negative scales
		typeCases = slices.DeleteFunc(slices.Clone(typeCases), func(c typeCase) bool { return strings.Contains(c.sql, "-") })
	}
	var columns []string
	for i, c := range typeCases {
		columns = append(columns, fmt.Sprintf("c%d %s", i, c.sql))
	}
	run(t, f.sql, "CREATE TABLE types (id int PRIMARY KEY, "+strings.Join(columns, ", ")+")", "ALTER TABLE types REPLICA IDENTITY FULL")
	f.needs.Before = true
	f.open(0)
	defer f.close()
	table := f.discover()[0].Schema
	rows := 0
	for i, c := range typeCases {
		if got := table.Columns[i+1].Type.String(); got != c.want {
			t.Errorf("%s becomes %s, want %s", c.sql, got, c.want)
		}
		rows = max(rows, len(c.values))
	}
	for r := range rows {
		values := []string{fmt.Sprint(r)}
		for _, c := range typeCases {
			if r < len(c.values) {
				values = append(values, c.values[r])
			} else {
				values = append(values, "NULL")
			}
		}
		run(t, f.sql, "INSERT INTO types VALUES ("+strings.Join(values, ", ")+")")
	}
	run(t, f.sql, "UPDATE types SET id = id") // the old image goes another way
	snapshot := snapshotOf(t, f, table)
	defer snapshot.Release()
	inserted, before := 0, 0
	for inserted < rows || before < rows {
		g := <-f.log.Groups()
		if g == nil {
			t.Fatal(f.log.Err())
		}
		for _, lr := range g.Rows {
			for i := range lr.Batch.Rows() {
				compareRow(t, table, lr.Batch.Record, i, snapshot, "log")
				if lr.Batch.Op(i) == schema.OpInsert {
					inserted++
				} else {
					compareRow(t, table, lr.Batch.Before, i, snapshot, "before image")
					before++
				}
			}
		}
		g.release()
	}
}

// compareRow compares row i of record with the row of the same id in the snapshot.
func compareRow(t *testing.T, table *schema.Table, record arrow.RecordBatch, i int, snapshot arrow.RecordBatch, what string) {
	t.Helper()
	id := int64(record.Column(0).(*array.Int32).Value(i))
	for c, col := range record.Columns() {
		if !array.SliceEqual(col, int64(i), int64(i+1), snapshot.Column(c), id, id+1) && col.ValueStr(i) != "NaN" {
			t.Errorf("%s, row %d: %s has %s, the snapshot %s", table.Columns[c].Source.Name, id, what, col.ValueStr(i), snapshot.Column(c).ValueStr(int(id)))
		}
	}
}

// snapshotOf copies a whole table, ordered by id, as chunks are copied.
func snapshotOf(t *testing.T, f *logFixture, table *schema.Table) arrow.RecordBatch {
	t.Helper()
	conn, err := f.src.cfg.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var columns strings.Builder
	writeColumns(&columns, table)
	var out arrow.RecordBatch
	d := newCopyDecoder(f.mem, table, copyOptions{Text: func(i int, b array.Builder) func([]byte) error {
		return textAppender(table.Columns[i], b, f.src.cfg.text)
	}},
		func(r arrow.RecordBatch) error { out = r; return nil })
	defer d.Release()
	if _, err := conn.PgConn().CopyTo(t.Context(), d, "COPY (SELECT "+columns.String()+" FROM "+quoteTable(table.ID)+" ORDER BY id) TO STDOUT (FORMAT binary)"); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTypeErrors: what no type can hold names the table, column, row and position.
func TestTypeErrors(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY, n numeric(8,2), l int[])`)
	f.open(0)
	run(t, f.sql, `INSERT INTO a VALUES (1, 1, '{1}')`)
	f.follow()
	run(t, f.sql, `INSERT INTO a VALUES (7, 'NaN', NULL)`)
	for range f.log.Groups() {
	}
	err := f.log.Err()
	if err == nil || !strings.Contains(err.Error(), "table public.a, column n, row id=7, at ") || !strings.Contains(err.Error(), "decimal.special-values") {
		t.Errorf("NaN: %v", err)
	}
	f.close()
}

// TestSnapshotValueErrors: what no type can hold is found in a snapshot as in the log,
// and another attempt would find the same.
func TestSnapshotValueErrors(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	for _, c := range []struct{ name, column, value, want string }{
		{"timestamp", "timestamptz", "'294270-01-01Z'", "294246"},
		{"NaN", "numeric(8,2)", "'NaN'", "decimal.special-values"},
		{"array of NaN", "numeric(8,2)[]", "'{1,NaN}'", "decimal.special-values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, conn, `DROP TABLE IF EXISTS a`, `CREATE TABLE a (v `+c.column+`, id int, k text, u uuid, PRIMARY KEY (u, id, k))`,
				`INSERT INTO a VALUES (NULL, 6, 'a', gen_random_uuid()), (`+c.value+`, 7, 'b', '4b09b3e0-43a6-4b1e-8d1b-000000000007')`)
			src := newTestSource(t, s, nil)
			tables, err := src.Discover(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			table := tables[0].Schema
			_, err = src.Rows(t.Context(), table, func(*schema.Batch) error { return nil })
			var e *ValueError
			if !errors.As(err, &e) || !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v", err)
			}
			if e.Table != table.ID || e.Column != "v" || e.Position != 0 || e.Key != "id=7, k=b, u=4b09b3e0-43a6-4b1e-8d1b-000000000007" {
				t.Errorf("%v", err)
			}
		})
	}
}
