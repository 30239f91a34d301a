package main

import (
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

// TestInvariants runs the query on rows made up here: it must accept what a
// database could have held and see each way in which it could not.
func TestInvariants(t *testing.T) {
	servers.Require(t)
	dir := t.TempDir()
	reader, err := readers.Open(t.Context(), "sqlite:///"+dir+"/catalog.db", "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	good := map[string]string{
		"accounts": "(1, 995), (2, 1005), (3, 1000)",
		"progress": "(0, 1, 2), (1, 0, 0)",
		"ledger":   "(0, 1, 1, 2, 5)",
		"events":   "(-1, 1), (-1, 2), (0, 1), (0, 2)",
	}
	columns := map[string]string{
		"accounts": "id, balance", "progress": "worker, transfers, events",
		"ledger": "worker, seq, debit, credit, amount", "events": "worker, seq",
	}
	broken := func(table, rows string) string {
		query := invariants(&victim{mode: "upsert"}, true)
		for name, values := range good {
			if name == table {
				values = rows
			}
			query = strings.ReplaceAll(query, "{"+name+"}", "(SELECT * FROM (VALUES "+values+") AS t("+columns[name]+"))")
		}
		got, err := reader.SQL(query, map[string]readers.Ref{})
		if err != nil {
			t.Fatal(err)
		}
		return *got[0][3]
	}
	for name, c := range map[string]struct{ table, rows, want string }{
		"good":                {"", "", "0"},
		"money made":          {"accounts", "(1, 995), (2, 1005), (3, 1001)", "2"},
		"transfer torn":       {"accounts", "(1, 995), (2, 1000), (3, 1000)", "2"},
		"ledger behind":       {"ledger", "(0, 2, 1, 2, 5)", "1"},
		"progress behind":     {"progress", "(0, 0, 2), (1, 0, 0)", "1"},
		"event lost":          {"events", "(-1, 1), (0, 1)", "1"},
		"event doubled":       {"events", "(-1, 1), (0, 1), (0, 1), (0, 2)", "1"},
		"two for a lost one":  {"events", "(-1, 1), (0, 2), (0, 2)", "1"},
		"transfers exchanged": {"accounts", "(1, 1005), (2, 995), (3, 1000)", "2"},
	} {
		if got := broken(c.table, c.rows); got != c.want {
			t.Errorf("%s: %s broken, want %s", name, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	c, names, err := parse([]string{"postgres", "--kills", "3", "iceberg", "--seed=9"})
	if err != nil || c.kills != 3 || c.seed != 9 || len(names) != 2 {
		t.Errorf("parse = %+v, %q, %v", c, names, err)
	}
	if c, _, err := parse([]string{"mariadb", "iceberg"}); err != nil || c.source != "mariadb" || c.server != "11.8" {
		t.Errorf("parse = %+v, %v", c, err)
	}
	for _, names := range [][]string{{"postgres"}, {"oracle", "iceberg"}, {"postgres", "print"}} {
		if _, _, err := parse(names); err == nil {
			t.Errorf("parse took %q", names)
		}
	}
}
