package readers

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

// fixture starts a server with a source table and makes Iceberg tables of queries.
func fixture(t *testing.T, ddl string, tables map[string]string) (context.Context, *pgx.Conn, *Reader) {
	servers.Require(t)
	t.Helper()
	ctx := t.Context()
	pg, err := servers.StartPostgres(ctx, "15", "readers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pg.Wipe() })
	conn, err := pgx.Connect(ctx, pg.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(ctx, ddl); err != nil {
		t.Fatal(err)
	}
	return ctx, conn, copies(t, tables)
}

// copies makes Iceberg tables of queries and opens a reader on them.
func copies(t *testing.T, tables map[string]string) *Reader {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	python, err := servers.ReadersPython(ctx)
	if err != nil {
		t.Fatal(err)
	}
	queries, err := json.Marshal(tables)
	if err != nil {
		t.Fatal(err)
	}
	write := exec.Command(python, "testdata/write.py", dir)
	write.Stdin = bytes.NewReader(queries)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	reader, err := Open(ctx, "sqlite:///"+dir+"/catalog.db", "file://"+dir+"/warehouse")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	return reader
}

const oddValues = `
CREATE TABLE t (id bigint PRIMARY KEY, n numeric(12, 8), at timestamptz, d date, b bytea, f real, g double precision,
	tags text[], ok boolean, u uuid, tm time);
INSERT INTO t VALUES (1, 0, '2020-01-01 01:02:03.45Z', '0999-12-31', '\x00ff', 0.1, 'NaN', '{a,NULL,"ü\""}', true,
	'00000000-0000-0000-0000-0000000000ff', '23:59:59.5');
INSERT INTO t (id, n) VALUES (2, NULL), (3, 1.5);`

const oddValuesCopy = `SELECT 1::bigint AS id, 0::decimal(12, 8) AS n, TIMESTAMPTZ '2020-01-01 01:02:03.45Z' AS at,
	DATE '0999-12-31' AS d, '\x00\xFF'::blob AS b, 0.1::float AS f, 'NaN'::double AS g, ['a', NULL, 'ü"'] AS tags,
	true AS ok, '00000000-0000-0000-0000-0000000000ff' AS u, TIME '23:59:59.5' AS tm
	UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`

// TestCompare lets both engines find each kind of difference, and none where
// there is none.
func TestCompare(t *testing.T) {
	row3 := " UNION ALL SELECT 3, 1.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
	ctx, conn, reader := fixture(t, oddValues, map[string]string{
		"equal":     oddValuesCopy + row3,
		"missing":   oddValuesCopy,
		"different": oddValuesCopy + " UNION ALL SELECT 3, 1.50000001, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
		"doubled":   oddValuesCopy + row3 + row3,
		"extra":     oddValuesCopy + row3 + " UNION ALL SELECT 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
	})
	for name, want := range map[string]Diff{
		"equal": {}, "missing": {Missing: 1}, "different": {Different: 1}, "doubled": {Extra: 1}, "extra": {Extra: 1},
	} {
		for _, engine := range []Engine{PyIceberg, DuckDB} {
			got, err := reader.Compare(ctx, Postgres(conn), "t", "public."+name, engine)
			if err != nil {
				t.Fatal(err)
			}
			if got.Missing != want.Missing || got.Extra != want.Extra || got.Different != want.Different || got.Rows != 3 {
				t.Errorf("%s by %s: %s", name, engine, got)
			}
		}
	}
}

// TestCompareKeyless compares as multisets.
func TestCompareKeyless(t *testing.T) {
	ctx, conn, reader := fixture(t, "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (1), (2), (NULL)", map[string]string{
		"equal":   "SELECT unnest([2, 1, NULL, 1])::int AS a",
		"doubled": "SELECT unnest([2, 1, NULL, 1, 1])::int AS a",
		"lost":    "SELECT unnest([2, 1, NULL])::int AS a",
	})
	for name, want := range map[string]Diff{"equal": {}, "doubled": {Extra: 1}, "lost": {Missing: 1}} {
		got, err := reader.Compare(ctx, Postgres(conn), "t", "public."+name, PyIceberg)
		if err != nil {
			t.Fatal(err)
		}
		if got.Missing != want.Missing || got.Extra != want.Extra {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestCompareChangelog lets each thing that can be wrong with a changelog show.
func TestCompareChangelog(t *testing.T) {
	log := func(rows string) string {
		return `SELECT * FROM (VALUES ` + rows + `) AS t(__op, __pos, __ordinal, id, version)`
	}
	const good = `('u', 20::bigint, 0::bigint, 1::int, 2::bigint), ('u', 20, 1, 1, 3), ('r', 10, 0, 1, 1), ('r', 10, 0, 2, 1),
		('c', 11, 0, 3, 1), ('d', 12, 0, 3, NULL)`
	cases := map[string]struct {
		rows                             string
		doubled, broken, missing, differ int
	}{
		"good":      {rows: good},
		"doubled":   {rows: good + ", ('u', 20, 1, 1, 3)", doubled: 1, broken: 1},
		"again":     {rows: good + ", ('u', 30, 0, 1, 3)", broken: 1},
		"readtwo":   {rows: good + ", ('r', 15, 0, 2, 1)", doubled: 1},
		"gap":       {rows: good + ", ('u', 30, 0, 1, 5)", broken: 1, differ: 1},
		"begins":    {rows: good + ", ('u', 30, 0, 9, 1), ('d', 31, 0, 9, NULL)", broken: 1},
		"meanwhile": {rows: good + ", ('u', 9, 0, 9, 7), ('d', 31, 0, 9, NULL)"},
		"gone":      {rows: good + ", ('d', 30, 0, 2, NULL)", missing: 1},
		"afterend":  {rows: good + ", ('u', 30, 0, 3, 2), ('d', 31, 0, 3, NULL)", broken: 1},
	}
	tables := map[string]string{}
	for name, c := range cases {
		tables[name] = log(c.rows)
	}
	ctx, conn, reader := fixture(t, "CREATE TABLE t (id int PRIMARY KEY, version bigint); INSERT INTO t VALUES (1, 3), (2, 1)", tables)
	for name, c := range cases {
		got, err := reader.CompareChangelog(ctx, Postgres(conn), "t", "public."+name, PyIceberg, 15)
		if err != nil {
			t.Fatal(err)
		}
		if got.Doubled != c.doubled || got.Broken != c.broken || got.Missing != c.missing || got.Different != c.differ {
			t.Errorf("%s: %s", name, got)
		}
	}
}
