package ddl

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
)

// TestScripts runs testdata/. Commands:
//
//	catalog [mariadb] [version=90704] [lower=1] [incomplete] [partial] [omits]   a new catalogue with the databases d (utf8mb4) and e (latin1)
//	apply [db=d] [mode=ansi] [thread=1] [implicit] [quiet]    statements, one a line or up to a line with a semicolon
//	show [table]                                  a definition
//	learn                                         a CREATE TABLE, as read from the server
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(d) })
	})
}

type script struct {
	t   *testing.T
	c   *Catalog
	pos uint64
}

func (s *script) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "catalog":
		s.c = testCatalog(s.t, d)
		return ""
	case "apply":
		return s.apply(d)
	case "show":
		return describe(s.c, s.id(d.CmdArgs[0].Key))
	case "learn":
		return s.learn(d)
	}
	d.Fatalf(s.t, "unknown command %s", d.Cmd)
	return ""
}

func (s *script) id(name string) schema.TableID {
	if db, table, ok := strings.Cut(name, "."); ok {
		return schema.TableID{Schema: db, Table: table}
	}
	return schema.TableID{Schema: "d", Table: name}
}

func testCatalog(t *testing.T, d *datadriven.TestData) *Catalog {
	o := Options{Version: 90704}
	if d.HasArg("mariadb") {
		o.MariaDB, o.Version = true, 110809
	}
	d.MaybeScanArgs(t, "version", &o.Version)
	d.MaybeScanArgs(t, "lower", &o.LowerCaseTableNames)
	o.Value.MariaDB, o.OmitsUnchanged = o.MariaDB, d.HasArg("omits")
	partial := d.HasArg("partial")
	complete := !d.HasArg("incomplete") && !partial
	return NewCatalog(o, []Database{
		{Name: "d", Charset: "utf8mb4", Collation: collation.Default("utf8mb4", o.MariaDB), Complete: complete, Partial: partial},
		{Name: "e", Charset: "latin1", Collation: "latin1_swedish_ci", Complete: complete, Partial: partial},
	}, nil)
}

var testModes = map[string]uint64{"ansi": modeANSIQuotes, "nobackslash": modeNoBackslash, "oracle": modeOracle, "realasfloat": modeRealAsFloat,
	"nozero": modeNoAutoValueOnZero, "lax": 0}

func (s *script) statement(d *datadriven.TestData) Statement {
	st := Statement{Database: "d", SQLMode: modeStrictTrans, ClientCharset: 255, ServerCollation: 255, ImplicitTimestamps: d.HasArg("implicit")}
	if s.c.o.MariaDB {
		st.ClientCharset, st.ServerCollation = 45, 45
	}
	d.MaybeScanArgs(s.t, "db", &st.Database)
	var mode string
	d.MaybeScanArgs(s.t, "thread", &st.ThreadID)
	if d.MaybeScanArgs(s.t, "mode", &mode) {
		for _, m := range strings.Split(mode, "+") {
			if m == "lax" {
				st.SQLMode = 0
			}
			st.SQLMode |= testModes[m]
		}
	}
	return st
}

// statements cuts the input: by lines, or by lines that end with a semicolon.
func statements(input string) []string {
	lines := strings.Split(strings.TrimSpace(input), "\n")
	if !strings.Contains(input, ";\n") && !strings.HasSuffix(strings.TrimSpace(input), ";") {
		return lines
	}
	var out []string
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + "\n")
		if strings.HasSuffix(l, ";") {
			out = append(out, b.String())
			b.Reset()
		}
	}
	return append(out, b.String())
}

func (s *script) apply(d *datadriven.TestData) string {
	var b strings.Builder
	for _, sql := range statements(d.Input) {
		if strings.TrimSpace(sql) == "" {
			continue
		}
		st := s.statement(d)
		s.pos += 100
		st.SQL, st.Position = sql, s.pos
		was := s.c
		next, effects, err := s.c.Apply(st)
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
			continue
		}
		s.check(was, next, effects)
		s.c = next
		if d.HasArg("quiet") {
			continue
		}
		if len(effects) == 0 {
			fmt.Fprintf(&b, "-\n")
		}
		for _, e := range effects {
			printEffect(&b, e)
		}
	}
	return b.String()
}

// check asserts what holds for every statement: chains of changes, and that the
// catalogue survives a checkpoint.
func (s *script) check(was, next *Catalog, effects []Effect) {
	for _, e := range effects {
		at := e.Before
		for _, c := range e.Changes {
			if c.Kind == schema.ChangeTruncate {
				continue
			}
			if c.Before != at || c.After.Version != at.Version+1 || c.Position != s.pos {
				s.t.Errorf("broken chain at %s of %s", c.Kind, e.Table)
			}
			at = c.After
		}
		if len(e.Changes) > 0 && at != e.After {
			s.t.Errorf("the changes of %s don't lead to its definition", e.Table)
		}
		if e.Kind == Alter && e.After != nil {
			if got, _ := next.Table(e.Table); got != e.After && !slices.ContainsFunc(effects, func(o Effect) bool { return o.Table == e.Table && o.Kind != Alter }) {
				s.t.Errorf("the catalogue has another definition of %s than the effect", e.Table)
			}
		}
	}
	data, err := json.Marshal(next)
	if err != nil {
		s.t.Fatal(err)
	}
	restored, err := Restore(data, next.o)
	if err != nil {
		s.t.Fatal(err)
	}
	if !reflect.DeepEqual(restored, next) {
		again, _ := json.Marshal(restored)
		s.t.Errorf("the catalogue is another one after a checkpoint:\n%s\n%s", data, again)
	}
}

func (s *script) learn(d *datadriven.TestData) string {
	s.pos += 100
	st := s.statement(d)
	st.SQL = d.Input
	def, err := Define(st, s.c)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	next, e := s.c.Learn(def, s.pos)
	if e != nil {
		s.check(s.c, next, []Effect{*e})
	}
	s.c = next
	if e == nil {
		return "-\n"
	}
	var b strings.Builder
	printEffect(&b, *e)
	return b.String()
}
