package e2e

import (
	"testing"

	"github.com/freshet-cdc/freshet/e2e/readers"
)

// oddTable has a column of every kind of type, oddInsert a row of values that are easy to
// get wrong; $1 is the key.
const oddTable = `
CREATE EXTENSION IF NOT EXISTS hstore;
CREATE TYPE mood AS ENUM ('sad', 'fine');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TYPE pair AS (a int, b text);
CREATE TABLE "Odd Types" (
	"Id" bigint PRIMARY KEY, b boolean, i2 smallint, i4 int, o oid, f4 real, f8 double precision, n numeric, n12 numeric(12, 2), n60 numeric(60, 10),
	m money, c char(5), vc varchar(10), t text, "Ünï.cödé" name, ba bytea, d date, d_inf date, tm time(3), tmz timetz, ts timestamp, ts3 timestamp(3),
	ts_inf timestamp, tz timestamptz, iv interval, u uuid, j json, jb jsonb, x xml, ip inet, net cidr, mac macaddr, bit1 bit(1), bit5 bit(5), vb varbit,
	ia int[], ia2 int[][], ta text[], da date[], na numeric(8, 2)[], mo mood, p positive, pr pair, h hstore, pt point, r int4range, rm int8multirange,
	tv tsvector, nul text)`

const oddInsert = `INSERT INTO "Odd Types" VALUES ($1, true, -32768, 2147483647, 4294967295, 0.1, 'NaN', 'Infinity', -9999999999.99,
	12345678901234567890123456789012345678901234567890.0123456789, '-$1,234.56', 'ab', 'é', E'line\nbreak \\ "quote"', 'ünï', '\x00ff',
	'0044-03-15 BC', 'infinity', '23:59:59.999', '12:00:00+05:30', '1999-12-31 23:59:59.123456', '2000-01-01 00:00:00.5', '-infinity',
	'2024-02-29 12:00:00+02', '-1 year 2 mons -3 days 04:05:06.789', '00000000-0000-0000-0000-00000000000a', '{"a" : 1,  "a": 2}', '{"b": [1, 2.50]}',
	'<a>ü</a>', '::1', '10.0.0.0/8', '08:00:2b:01:02:03', B'1', B'10101', B'1', '{1,NULL,-3}', '{{1,2},{3,NULL}}', '{"a,b",NULL,"NULL",""}',
	'{2020-01-01,NULL}', '{1.50,NULL}', 'fine', 7, '(1,"x y")', 'a=>1, b=>NULL', '(1.5,-2)', '[1,10)', '{[1,3),[5,8)}', 'fat:2 cat:1A', NULL)`

// TestTypes writes the same row before the snapshot, and twice into the log; a
// reader that isn't ours must see the same three times.
func TestTypes(t *testing.T) {
	url := newDatabase(t)
	conn := connect(t, url)
	execute(t, conn, oddTable)
	execute(t, conn, oddInsert, 1)
	execute(t, conn, `INSERT INTO "Odd Types" ("Id") VALUES (10)`)
	p := newPipeline(t, "types", url, nil)
	catchUp(t, p)
	execute(t, conn, oddInsert, 2)
	execute(t, conn, oddInsert, 3)
	execute(t, conn, `UPDATE "Odd Types" SET nul = NULL WHERE "Id" IN (1, 3)`)
	execute(t, conn, `INSERT INTO "Odd Types" ("Id") VALUES (11)`)
	catchUp(t, p)
	for _, engine := range []readers.Engine{readers.PyIceberg, readers.DuckDB} {
		rows := map[string][]readers.Text{}
		var columns []string
		err := openReader(t, p).Rows(readers.Ref{Table: "public.Odd Types"}, engine, func(names []string, row []readers.Text) error {
			columns = names
			rows[*row[0]] = row
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 5 {
			t.Fatalf("%s finds %d rows, want 5", engine, len(rows))
		}
		same(t, columns, rows["1"], rows["2"])
		same(t, columns, rows["1"], rows["3"])
		same(t, columns, rows["10"], rows["11"])
		for i, v := range rows["1"] {
			if v == nil && columns[i] != "nul" {
				t.Errorf("%s: column %s became NULL", engine, columns[i])
			}
		}
	}
}

func same(t *testing.T, columns []string, a, b []readers.Text) {
	t.Helper()
	for i := 1; i < len(columns); i++ {
		switch {
		case a[i] == nil && b[i] == nil:
		case a[i] == nil || b[i] == nil || *a[i] != *b[i]:
			t.Errorf("column %s: %s from the snapshot, %s from the log", columns[i], value(a[i]), value(b[i]))
		}
	}
}

func value(v readers.Text) string {
	if v == nil {
		return "NULL"
	}
	return *v
}
