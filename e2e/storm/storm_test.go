package storm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestSeed: the same seed makes the same statements, another one others, and each
// kind of statement comes up.
func TestSeed(t *testing.T) {
	statements := func(seed uint64) []string {
		tab := newTable(seed, 0, "other")
		all := tab.create(20)
		for i := range 400 {
			if i%4 == 0 {
				all = append(all, tab.ddl())
			} else {
				all = append(all, tab.change())
			}
		}
		return all
	}
	if !slices.Equal(statements(1), statements(1)) {
		t.Error("two runs of one seed differ")
	}
	if slices.Equal(statements(1), statements(2)) {
		t.Error("two seeds make the same")
	}
	all := strings.Join(statements(1), "\n")
	for _, want := range []string{"ADD COLUMN", "DROP COLUMN", "RENAME COLUMN", "CHANGE COLUMN", "MODIFY COLUMN", " FIRST", " AFTER ", "/*!50001", ", DROP"} {
		if !strings.Contains(all, want) {
			t.Errorf("no statement holds %q", want)
		}
	}
}

// TestRun: the servers take every statement, and the tables are as the model has them.
func TestRun(t *testing.T) {
	servers.Require(t)
	mysqltest.Each(t, func(t *testing.T, server *mysqltest.Server) {
		db := mysqltest.Open(t, server)
		s := New(db.URL(), Config{Seed: 5, DDL: 200, Changes: 2000, Rows: 20})
		t.Cleanup(func() { server.Connect(t).Exec("DROP DATABASE IF EXISTS " + s.Other()) })
		if err := s.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.DDL() != 200 {
			t.Errorf("%d statements of DDL", s.DDL())
		}
		for _, tab := range s.tables {
			if got := db.Value("SELECT COUNT(*) FROM " + tab.name); got != fmt.Sprint(len(tab.ids)) {
				t.Errorf("%s has %s rows, the model %d", tab.name, got, len(tab.ids))
			}
			var names, want []string
			for _, row := range db.Query("SHOW COLUMNS FROM " + tab.name) {
				names = append(names, row[0])
			}
			for _, c := range tab.columns {
				want = append(want, c.name)
			}
			want = append(want, "id", "version")
			slices.Sort(names)
			slices.Sort(want)
			if !slices.Equal(names, want) {
				t.Errorf("%s has columns %q, the model %q", tab.name, names, want)
			}
		}
	})
}
