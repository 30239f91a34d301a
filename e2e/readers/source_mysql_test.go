package readers

import (
	"testing"

	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

const oddMySQL = `CREATE TABLE t (id bigint unsigned PRIMARY KEY, n decimal(12, 8), at timestamp(6) NULL, dt datetime(3), d date, tm time(2),
	b varbinary(10), fixed binary(4), f float, g double, ok tinyint(1), bits bit(10), one bit(1), y year, e enum('a', 'ü'), s set('x', 'y', 'z'), l varchar(20) CHARACTER SET latin1)`

const oddMySQLRow = `INSERT INTO t VALUES (18446744073709551615, 0, '2020-01-01 01:02:03.45', '1999-12-31 23:59:59.999', '0999-12-31', '23:59:59.5',
	X'00FF', X'0102', 0.1, 1e-7, 5, b'1000000011', b'1', 2155, 'ü', 'x,z', 'é')`

const oddMySQLCopy = `SELECT 18446744073709551615::decimal(20, 0) AS id, 0::decimal(12, 8) AS n, TIMESTAMPTZ '2020-01-01 01:02:03.45Z' AS at,
	TIMESTAMP '1999-12-31 23:59:59.999' AS dt, DATE '0999-12-31' AS d, TIME '23:59:59.5' AS tm, '\x00\xFF'::blob AS b, '\x01\x02\x00\x00'::blob AS fixed,
	0.1::float AS f, 1e-7::double AS g, true AS ok, '\x03\x02'::blob AS bits, true AS one, 2155 AS y, 'ü' AS e, 'x,z' AS s, 'é' AS l`

// TestCompareMySQL compares each type of value on each server, and sees a difference.
func TestCompareMySQL(t *testing.T) {
	servers.Require(t)
	rest := " UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
	reader := copies(t, map[string]string{
		"equal":     oddMySQLCopy + rest,
		"different": oddMySQLCopy + " UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL",
	})
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec(oddMySQL, "SET time_zone = '+00:00'", oddMySQLRow, "INSERT INTO t (id) VALUES (2)", "SET time_zone = '+05:00'")
		for name, want := range map[string]Diff{"equal": {}, "different": {Different: 1}} {
			got, err := reader.Compare(t.Context(), MySQL(db.Conn), db.Database+".t", "public."+name, PyIceberg)
			if err != nil {
				t.Fatal(err)
			}
			if got.Missing != want.Missing || got.Extra != want.Extra || got.Different != want.Different || got.Rows != 2 {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

// TestJSONBlanks: how JSON is spaced says nothing, what it says does.
func TestJSONBlanks(t *testing.T) {
	c := mysqlColumn("j", "json", "json", 0)
	text := func(v string) string { return *c.normal(&v) }
	if text(`{"a": [1, 2.50], "b": "x, y"}`) != text(`{"a":[1,2.50],"b":"x, y"}`) {
		t.Error("blanks count")
	}
	if text(`{"a": 2.50}`) == text(`{"a": 2.5}`) || text(`{"a": "x, y"}`) == text(`{"a": "x,y"}`) {
		t.Error("values do not count")
	}
}
