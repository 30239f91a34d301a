package mysql

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestGeneratedColumns: tables with generated columns are captured, with those whose
// values the log always has, and the others are told of.
func TestGeneratedColumns(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		unlogged := s.Name == "MariaDB118"
		sql := []string{"CREATE TABLE t (id int PRIMARY KEY, v varchar(20), s varchar(30) GENERATED ALWAYS AS (CONCAT(v, '!')) STORED, ver bigint, g bigint GENERATED ALWAYS AS (ver * 2) VIRTUAL, KEY (g))",
			"CREATE TABLE keyless (v varchar(20), s varchar(30) GENERATED ALWAYS AS (CONCAT(v, '!')) STORED, ver bigint)",
			"INSERT INTO t (id, v, ver) VALUES (1, 'a', 0), (2, 'b', 0), (3, NULL, 0)", "INSERT INTO keyless (v, ver) VALUES ('a', 0), ('a', 0), (NULL, 0)"}
		if s.MariaDB {
			sql = append(sql, "CREATE TABLE past (id int PRIMARY KEY, v varchar(20), s varchar(30) AS (CONCAT(v, '!')) STORED, ver bigint) WITH SYSTEM VERSIONING",
				"INSERT INTO past (id, v, ver) VALUES (1, 'a', 0), (2, 'b', 0)")
		}
		sc := start(t, s, nil, sql...)
		sql = []string{"UPDATE t SET v = 'c', ver = 1 WHERE id = 1", "UPDATE t SET id = 22, ver = 1 WHERE id = 2", "INSERT INTO t (id, v, ver) VALUES (4, 'd', 0)", "DELETE FROM t WHERE id = 3",
			"REPLACE INTO t (id, v, ver) VALUES (4, 'e', 1)", "UPDATE keyless SET v = 'b', ver = 1 WHERE v IS NULL", "DELETE FROM keyless WHERE v = 'a' LIMIT 1"}
		if s.MariaDB {
			sql = append(sql, "UPDATE past SET v = 'c', ver = 1 WHERE id = 1", "DELETE FROM past WHERE id = 2")
		}
		if unlogged { // else it has values in rows that were there
			sql = append(sql, "ALTER TABLE t ADD COLUMN late int AS (id + 1) STORED FIRST", "UPDATE t SET v = 'f', ver = 2 WHERE id = 4",
				"ALTER TABLE t CHANGE late later int AS (id + 2) STORED", "UPDATE t SET v = 'g', ver = 3 WHERE id = 4", "ALTER TABLE t DROP COLUMN later")
		}
		sc.exec(t, sql...)
		sc.h.Settle(t, sc, sc.src, sc.log)
		want := []string{"id", "v", "s", "ver", "g"}
		if unlogged {
			want = []string{"id", "v", "ver"}
		}
		m := sc.table("t")
		if got := columnNames(m.Def); !slices.Equal(got, want) || m.Resets != 0 {
			t.Errorf("columns %v, the table was read again %d times", got, m.Resets)
		}
		sc.log.Stop()
		sc.log.Start(1)
		sc.exec(t, "UPDATE t SET v = 'h', ver = 4 WHERE id = 4")
		sc.h.Settle(t, sc, sc.src, sc.log)
	})
}

func columnNames(t *schema.Table) []string {
	var out []string
	for _, c := range t.Columns {
		out = append(out, c.Name)
	}
	return out
}

// safeBuffer takes what a logger writes in any goroutine.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestGeneratedColumnsTold: plan and log say which columns are not captured.
func TestGeneratedColumnsTold(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		db.DB.Exec("CREATE TABLE t (id int PRIMARY KEY, s int GENERATED ALWAYS AS (id + 1) STORED)", "INSERT INTO t (id) VALUES (1)")
		said := ""
		if s.Name == "MariaDB118" {
			said = "column s is generated"
		}
		src := db.newSource(t, nil, db.all)
		tables, err := src.Discover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(tables[0].Notes, "\n"); !strings.Contains(notes, said) || said == "" && notes != "" {
			t.Errorf("notes %q", notes)
		}
		var out safeBuffer
		src.logger = slog.New(slog.NewTextHandler(&out, nil))
		b := breakAt(t, db, src, nil)
		b.settle(t, "t")
		if said == "" {
			return
		}
		if n := strings.Count(out.String(), said); n != 1 {
			t.Errorf("it was said %d times:\n%s", n, out.String())
		}
		db.DB.Exec("ALTER TABLE t ADD COLUMN g int AS (id + 2) VIRTUAL, ADD COLUMN p int", "INSERT INTO t (id) VALUES (2)")
		b.settle(t, "t")
		if n := strings.Count(out.String(), "columns s, g are generated"); n != 1 {
			t.Errorf("of the new one it was said %d times:\n%s", n, out.String())
		}
	})
}
