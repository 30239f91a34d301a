package match_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/schema"
)

// vectors is where the outside vectors lie, FRESHET_CONFORMANCE if it is set.
func vectors(t *testing.T) string {
	dir := os.Getenv("FRESHET_CONFORMANCE")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "conformance")
	}
	dir = filepath.Join(dir, "flink-cdc")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no conformance vectors: %v (set FRESHET_CONFORMANCE)", err)
	}
	return dir
}

// document is what the cases use of a pipeline document.
type document struct {
	Source map[string]string
	Route  []struct {
		SourceTable   string `yaml:"source-table"`
		SinkTable     string `yaml:"sink-table"`
		ReplaceSymbol string `yaml:"replace-symbol"`
	}
	Pipeline map[string]string
}

var (
	createTable = regexp.MustCompile("(?im)^\\s*CREATE TABLE\\s+(?:IF NOT EXISTS\\s+)?([^(\\s]+|[`\"].*?[`\"])\\s*\\(")
	useDatabase = regexp.MustCompile("(?im)^\\s*USE\\s+`?(\\w+)`?")
	createEvent = regexp.MustCompile(`(?m)^CreateTableEvent\{tableId=([^,]*), schema`)
)

// different are the cases whose tables the product shows in another way than by
// matching and routing: the reason.
var different = map[string]string{
	"match-odd-names":               "the product's job fails on one of the tables",
	"match-odd-names-apart":         "the product leaves out a$1 without a word: it reads the name as a pattern once more",
	"match-new-table-later":         "tables that come later are another matter than matching",
	"match-new-table-binlog-option": "tables that come later are another matter than matching",
}

// TestConformance: the tables that Flink CDC captures and where it sends them,
// from the cases match-* and route-*.
func TestConformance(t *testing.T) {
	dir := vectors(t)
	cases := 0
	for _, server := range []string{"mysql", "postgres"} {
		for _, pattern := range []string{"match-*", "route-*"} {
			found, err := filepath.Glob(filepath.Join(dir, server, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range found {
				if reason, ok := different[filepath.Base(path)]; ok {
					t.Logf("%s: %s", filepath.Base(path), reason)
					continue
				}
				cases++
				t.Run(server+"/"+filepath.Base(path), func(t *testing.T) { conform(t, server, path) })
			}
		}
	}
	if cases < 20 {
		t.Errorf("only %d cases were found", cases)
	}
}

func conform(t *testing.T, server, path string) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(path, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(data)
	}
	var doc document
	if err := yaml.Unmarshal([]byte(read("pipeline.yaml")), &doc); err != nil {
		t.Fatal(err)
	}
	got, err := capture(server, doc, read("setup.sql"))
	if failure := read("expected.error.txt"); strings.Contains(failure, "stage: compose") {
		if err == nil {
			t.Fatalf("the product refuses it, here it gives %v:\n%s", got, failure)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range createEvent.FindAllStringSubmatch(read("expected.txt"), -1) {
		if !slices.Contains(want, m[1]) {
			want = append(want, m[1])
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("tables %q, want %q", got, want)
	}
}

// capture returns the names of the sink tables, sorted.
func capture(server string, doc document, setup string) ([]string, error) {
	tables, err := match.ParseSelectors(doc.Source["tables"])
	if err != nil {
		return nil, err
	}
	exclude, err := match.ParseSelectors("nothing.at.all")
	if text := doc.Source["tables.exclude"]; text != "" {
		exclude, err = match.ParseSelectors(text)
	}
	if err != nil {
		return nil, err
	}
	var rules []match.Rule
	for _, r := range doc.Route {
		rules = append(rules, match.Rule{Source: r.SourceTable, Sink: r.SinkTable, Symbol: r.ReplaceSymbol})
	}
	router, err := match.NewRouter(rules, strings.EqualFold(doc.Pipeline["route-mode"], "FIRST_MATCH"))
	if err != nil {
		return nil, err
	}
	if server == "postgres" {
		if name, err := tables.Database(); err != nil || name == "" {
			return nil, fmt.Errorf("no database: %w", err)
		}
	}
	var out []string
	for _, full := range setupTables(server, setup) {
		if !tables.Match(full) || exclude.Match(full) {
			continue
		}
		id := full
		if server == "postgres" && doc.Source["table-id.include-database"] != "true" {
			id.Namespace = ""
		}
		targets, err := router.Route(id)
		if err != nil {
			return nil, err
		}
		for _, target := range targets {
			if text := target.ID.String(); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no table matches %q", doc.Source["tables"])
	}
	slices.Sort(out)
	return out, nil
}

// setupTables returns the tables that the script makes.
func setupTables(server, setup string) []schema.TableID {
	var out []schema.TableID
	database := ""
	for _, line := range strings.Split(setup, "\n") {
		if m := useDatabase.FindStringSubmatch(line); m != nil {
			database = m[1]
		}
		m := createTable.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := strings.NewReplacer("`", "", `"`, "").Replace(m[1])
		outer, table, qualified := strings.Cut(name, ".")
		switch {
		case server == "mysql" && qualified:
			out = append(out, schema.TableID{Schema: outer, Table: table})
		case server == "mysql":
			out = append(out, schema.TableID{Schema: database, Table: name})
		case qualified:
			out = append(out, schema.TableID{Namespace: "cdc", Schema: outer, Table: table})
		default:
			out = append(out, schema.TableID{Namespace: "cdc", Schema: "public", Table: name})
		}
	}
	return out
}
