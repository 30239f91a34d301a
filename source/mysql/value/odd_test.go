package value

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestOddColumns: generated, invisible and default-expression columns, and odd names.
func TestOddColumns(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		session(db)
		invisible := ""
		if s.Name != "MySQL80" { // 8.0.23 is the first
			invisible = " INVISIBLE"
		}
		uuid := "c CHAR(36) DEFAULT (UUID())"
		start := logPosition(db)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY, a INT"+invisible+", v INT AS (a * 2) VIRTUAL, s INT AS (a + 1) STORED, `odd ``name``\u00e9` VARCHAR(9) DEFAULT 'd', "+uuid+")",
			"INSERT INTO t (id, a) VALUES (1, 5), (2, NULL)")
		ds := definitions(t, db, "t")
		cs := columns(t, ds, Options{})
		for i, c := range cs {
			var logged []string
			readLog(t, db, start, func(m *event.TableMap, rows *event.Rows) {
				if len(m.Types) != len(cs) {
					t.Fatalf("%d columns in the log, %d in the definition", len(m.Types), len(cs))
				}
				logged = append(logged, logValues(t, m, rows, i, c, Options{})...)
			})
			if read := snapshotValues(t, db, "t", c, Options{}); strings.Join(read, "|") != strings.Join(logged, "|") {
				t.Errorf("%s: snapshot %q, binlog %q", c.Name, read, logged)
			} else if want := map[string]string{"a": "5|NULL", "v": "10|NULL", "s": "6|NULL", "odd `name`é": "d|d"}[c.Name]; want != "" && want != strings.Join(read, "|") {
				t.Errorf("%s: %q, wanted %s", c.Name, read, want)
			}
		}
	})
}

// TestOldTemporal: the formats of old tables, which MariaDB still writes.
func TestOldTemporal(t *testing.T) {
	for _, name := range []string{"MariaDB1011", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			p := mysqltest.Private(t, name, "mysql56-temporal-format=OFF")
			db := mysqltest.Open(t, p.Server)
			db.Exec("SET NAMES utf8mb4", "SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'")
			start := logPosition(db)
			for digits := range 7 {
				fraction := ""
				if digits > 0 {
					fraction = "." + "123456"[:digits]
				}
				table := fmt.Sprintf("t%d", digits)
				db.Exec(fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, t TIME(%d), d DATETIME(%d), s TIMESTAMP(%d) NULL)", table, digits, digits, digits))
				for i, v := range []string{"'12:34:56', '2024-02-29 12:34:56', '2024-02-29 12:34:56'", "'-838:59:58', '1000-01-01 00:00:00', '1970-01-01 00:00:01'",
					"'838:59:58', '9999-12-31 23:59:59', '2038-01-19 03:14:07'", "'-00:00:00', '2024-02-31 01:02:03', NULL"} {
					db.Exec(fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", table, i, strings.NewReplacer("8'", "8"+fraction+"'", "6'", "6"+fraction+"'", "0'", "0"+fraction+"'",
						"1'", "1"+fraction+"'", "9'", "9"+fraction+"'", "7'", "7"+fraction+"'", "3'", "3"+fraction+"'").Replace(v)))
				}
				db.Exec(fmt.Sprintf("INSERT INTO %s VALUES (9, '00:00:00', 0, 0)", table))
			}
			o := Options{Time: TimeText}
			logged := map[string][]string{}
			readLog(t, db, start, func(m *event.TableMap, rows *event.Rows) {
				for i, c := range columns(t, definitions(t, db, string(m.Table)), o)[1:] {
					key := string(m.Table) + "." + c.Name
					ct := CellType{Type: m.Types[i+1]}
					if ct.Type != cellTime && ct.Type != cellDatetime && ct.Type != cellTimestamp {
						t.Fatalf("%s has type %v", key, ct)
					}
					logged[key] = append(logged[key], oldValue(t, m, rows, i+1, o, db)...)
				}
			})
			for digits := range 7 {
				table := fmt.Sprintf("t%d", digits)
				for _, c := range columns(t, definitions(t, db, table), o)[1:] {
					read := snapshotValues(t, db, table, c, o)
					if got := logged[table+"."+c.Name]; strings.Join(got, "|") != strings.Join(read, "|") || len(read) != 5 {
						t.Errorf("%s.%s: snapshot %q, binlog %q", table, c.Name, read, got)
					}
				}
			}
		})
	}
}

// oldValue is logValues where only the definitions know the widths.
func oldValue(t *testing.T, m *event.TableMap, rows *event.Rows, column int, o Options, db *mysqltest.DB) (out []string) {
	cs := columns(t, definitions(t, db, string(m.Table)), o)
	for p := rows.Area; len(p) > 0; {
		nulls := event.Bitmap(p[:1])
		p = p[1:]
		for i, c := range cs {
			if nulls.Has(i) {
				if i == column {
					out = append(out, "NULL")
				}
				continue
			}
			ct := CellType{Type: m.Types[i], Meta: m.Metas[i]}
			shape, err := ColumnShape(c, ct)
			if err != nil {
				t.Fatal(err)
			}
			_, size, err := shape.cut(p)
			if err != nil {
				t.Fatal(err)
			}
			v := cellValue(t, c, ct, o, p[:size:size])
			truncated(t, c, ct, o, p[:size:size])
			if i == column {
				out = append(out, v)
			}
			p = p[size:]
		}
	}
	return out
}

// TestPartialJSON applies what MySQL logs of JSON updates.
func TestPartialJSON(t *testing.T) {
	updates := []string{
		`JSON_SET(j, '$.a', 'one')`, `JSON_SET(j, '$.b.c[1]', JSON_OBJECT('k', 1.5))`, `JSON_REPLACE(j, '$.b.c[0]', 18446744073709551615, '$.d', NULL)`,
		`JSON_SET(j, '$."odd \\"key\\" \u00e9.[x]"', TRUE)`, `JSON_REMOVE(j, '$.b.c[0]')`, `JSON_REMOVE(j, '$.e')`, `JSON_REPLACE(j, '$.a', 'two', '$.b.c[0]', 'x')`,
		`JSON_SET(j, '$.zzz', 1, '$.aaa', 2, '$.b.new', JSON_ARRAY(1, 2))`, `JSON_SET(j, '$.b.c[100]', 'appended')`, `JSON_REPLACE(j, '$.b.c[last]', 'last', '$.b.c[last-1]', 'but one')`,
		`JSON_SET(j, '$.m', JSON_OBJECT())`, `JSON_SET(j, '$.m.x', DATE'2024-02-29')`, `JSON_SET(j, '$.m.y', CAST(1.10 AS DECIMAL(5,2)))`, `JSON_REMOVE(j, '$.m.x')`,
		`JSON_SET(j, '$.a', REPEAT('long', 2000))`, `JSON_SET(j, '$.a', 's')`, `JSON_REMOVE(JSON_SET(j, '$.b.q', 5), '$.b.c[0]')`,
	}
	for _, name := range []string{"MySQL97", "MySQL80"} {
		t.Run(name, func(t *testing.T) {
			db := mysqltest.Open(t, mysqltest.Named(t, name))
			session(db)
			db.Exec("SET binlog_row_value_options = PARTIAL_JSON", "CREATE TABLE t (id INT PRIMARY KEY, j JSON, k JSON)",
				"INSERT INTO t VALUES (1, '"+`{"a": "a long enough value", "b": {"c": [1, 2, 3, {"deep": [4]}]}, "d": "`+strings.Repeat("pad", 500)+`", "e": [], "odd \\"key\\" é.[x]": false}`+"', '[]')")
			start := logPosition(db)
			var want []string
			for _, u := range updates {
				db.Exec("UPDATE t SET j = " + u)
				want = append(want, db.Value("SELECT j FROM t"))
			}
			c := columns(t, definitions(t, db, "t"), Options{})[1]
			var partial int
			var got []string
			readLog(t, db, start, func(m *event.TableMap, rows *event.Rows) {
				if !rows.Partial {
					t.Fatal("an event that is not partial")
				}
				for p := rows.Area; len(p) > 0; {
					var before []byte
					p = image(t, m, p, func(i int, _ CellType, cell []byte) {
						if i == 1 {
							before = cell
						}
					})
					options, bits := p[0], event.Bitmap(nil)
					if p = p[1:]; options&1 != 0 {
						bits, p = event.Bitmap(p[:1]), p[1:]
					}
					p = image(t, m, p, func(i int, ct CellType, cell []byte) {
						switch {
						case i != 1:
						case bits.Has(0):
							partial++
							got = append(got, partialValue(t, ct, before, cell))
						default:
							got = append(got, cellValue(t, c, ct, Options{}, cell))
						}
					})
				}
			})
			if partial < len(updates)-2 || len(got) != len(want) {
				t.Errorf("%d updates, %d values, %d of them partial", len(updates), len(got), partial)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%s:\n%s, wanted\n%s", updates[i], got[i], want[i])
				}
			}
		})
	}
}

// partialValue prints what a partial update leaves.
func partialValue(t *testing.T, ct CellType, before, after []byte) string {
	c, err := Column(Definition{Name: "j", ColumnType: "json"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return appended(t, c, func(b array.Builder) error {
		read, err := NewPartialReader(c, ct, b, Options{})
		if err != nil {
			return err
		}
		n, err := read(before, after)
		if err == nil && n != len(after) {
			t.Fatalf("%d bytes read of %d", n, len(after))
		}
		return err
	})
}
