package snapshot

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// countView reads a view and returns the number of rows.
func countView(t *testing.T, v *View) (rows int) {
	t.Helper()
	err := v.Read(within(t), func(rec arrow.RecordBatch) error {
		rows += int(rec.NumRows())
		rec.Release()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestViewPlace: a view sees nothing beyond High; on MariaDB it sees everything before.
func TestViewPlace(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (n INT)", "INSERT INTO t VALUES (0)")
		r, def := reader(t, s), definition(t, s, db.Database, "t")
		w := startWriter(t, db)
		for range 30 {
			v, err := r.OpenView(within(t), def)
			if err != nil {
				t.Fatal(err)
			}
			newest := countView(t, v) - 1
			v.Close()
			if newest > 0 {
				if n, err := v.High.compare(w.begin(newest)); err != nil || n <= 0 {
					t.Errorf("row %d begins at %v, High is %v, %v", newest, w.begin(newest), v.High, err)
				}
			}
			// The next row is in the log before the row after that one begins.
			if n, err := v.High.compare(w.begin(newest + 2)); v.Exact && (err != nil || n >= 0) {
				t.Errorf("row %d is not seen, though before %v, High is %v, %v", newest+1, w.begin(newest+2), v.High, err)
			}
			if v.Exact != s.MariaDB || s.MariaDB == (v.GTIDs != "") {
				t.Errorf("%+v", v)
			}
			if n, err := v.Defined.compare(v.High); err != nil || n < 0 {
				t.Errorf("defined at %v, before %v", v.Defined, v.High)
			}
		}
	})
}

// TestViewStreams: rows come while the server still reads; memory is that of a record.
func TestViewStreams(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		numbersTable(db, 20_000, func(int) int { return 500 })
		mem := &peak{Allocator: memory.DefaultAllocator}
		r := NewReader(connector(s), Settings{Values: values(s), Memory: mem})
		defer r.Close()
		v, err := r.OpenView(within(t), definition(t, s, db.Database, "t"))
		if err != nil {
			t.Fatal(err)
		}
		db.Exec("DELETE FROM t WHERE n > 10")
		if n := countView(t, v); n != 20_000 {
			t.Errorf("%d rows", n)
		}
		v.Close()
		if most, now := mem.most.Load(), mem.now.Load(); most > 4<<20 || now != 0 {
			t.Errorf("%d bytes at most, %d are left", most, now)
		}
		if v, err = r.OpenView(within(t), definition(t, s, db.Database, "t")); err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		stop := errors.New("stop")
		if err := v.Read(within(t), func(rec arrow.RecordBatch) error { rec.Release(); return stop }); err != stop {
			t.Errorf("an error of the caller: %v", err)
		}
	})
}

// TestViewLocks: the definition stays as long as the view; another one is noticed.
func TestViewLocks(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (n INT, b INT)", "INSERT INTO t VALUES (1, 2)")
		r, def := reader(t, s), definition(t, s, db.Database, "t")
		v, err := r.OpenView(within(t), def)
		if err != nil {
			t.Fatal(err)
		}
		db.Exec("SET SESSION lock_wait_timeout = 1")
		if _, err := db.Conn.Execute("ALTER TABLE t DROP COLUMN b"); err == nil {
			t.Error("the table was altered under a view")
		}
		if n := countView(t, v); n != 1 {
			t.Errorf("%d rows", n)
		}
		v.Close()
		db.Exec("SET SESSION lock_wait_timeout = 50", "ALTER TABLE t DROP COLUMN b")
		if _, err := r.OpenView(within(t), def); !errors.Is(err, ErrStale) {
			t.Errorf("a column less: %v", err)
		}
		db.Exec("DROP TABLE t")
		if _, err := r.OpenView(within(t), def); !errors.Is(err, ErrStale) {
			t.Errorf("no table: %v", err)
		}
	})
}

// TestTypes: no type is mistaken for another, in chunks and in views.
func TestTypes(t *testing.T) {
	types := []string{"TINYINT", "TINYINT(1)", "TINYINT UNSIGNED", "SMALLINT", "SMALLINT UNSIGNED", "MEDIUMINT", "MEDIUMINT UNSIGNED", "INT", "INT(5) ZEROFILL", "BIGINT", "BIGINT UNSIGNED",
		"DECIMAL(9,2)", "DECIMAL(65,30)", "DECIMAL(5,0) UNSIGNED", "FLOAT", "FLOAT(7,3)", "DOUBLE", "DOUBLE(9,2)", "BIT", "BIT(33)", "YEAR", "DATE", "TIME", "TIME(6)", "DATETIME", "DATETIME(3)", "TIMESTAMP NULL", "TIMESTAMP(6) NULL",
		"CHAR(5) CHARACTER SET utf8mb4", "VARCHAR(5) CHARACTER SET latin1", "VARCHAR(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "CHAR(5) CHARACTER SET sjis", "TINYTEXT", "TEXT CHARACTER SET utf8mb3", "MEDIUMTEXT CHARACTER SET ucs2", "LONGTEXT", "TEXT CHARACTER SET ascii",
		"BINARY(5)", "VARBINARY(5)", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "CHAR(5) CHARACTER SET binary", "ENUM('a','b')", "SET('a','b')", "JSON", "GEOMETRY", "POINT", "GEOMETRYCOLLECTION"}
	own := map[string][]string{"MySQL97": {"VECTOR(3)"}, "MariaDB1011": {"UUID", "INET4", "INET6", "VARCHAR(99) COMPRESSED", "TEXT COMPRESSED"}, "MariaDB118": {"UUID", "INET4", "INET6", "VARCHAR(99) COMPRESSED", "BLOB COMPRESSED", "VECTOR(3)"}}
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		sql := "CREATE TABLE t (n INT PRIMARY KEY"
		for i, typ := range append(types, own[s.Name]...) {
			sql += fmt.Sprintf(", c%d %s", i, typ)
		}
		db.Exec(sql+", g INT AS (n + 1) VIRTUAL, h INT AS (n + 1) STORED)", "INSERT INTO t (n) VALUES (1)")
		db.Exec("INSERT INTO t (n, c0, c11, c21, c25, c28, c29, c44, c46, c47) VALUES (2, 7, 1.5, '2024-02-29', '2024-02-29 01:02:03.004', 'x', 'ä', 'b', '{\"a\": 1}', ST_GeomFromText('POINT(1 2)'))")
		r, def := reader(t, s), definition(t, s, db.Database, "t", "n")
		p := mustPlan(t, r, def)
		rg, _ := p.Next()
		c := r.Read(within(t), p.Job(def, rg))
		if c.Err != nil || c.Rows != 2 {
			t.Fatalf("%d rows, %v", c.Rows, c.Err)
		}
		defer c.Release()
		for i := range def.Columns {
			if a := c.Records[0].Column(i); a.IsNull(0) != (i > 0 && i < len(def.Columns)-2) {
				t.Errorf("%s: %s", def.Columns[i].Source.Name, a)
			}
		}
		v, err := r.OpenView(within(t), def)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if n := countView(t, v); n != 2 {
			t.Errorf("%d rows", n)
		}
	})
}
