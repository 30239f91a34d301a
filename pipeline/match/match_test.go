package match_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/schema"
)

func id(t *testing.T, text string) schema.TableID {
	t.Helper()
	out, err := schema.ParseTableID(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSelectors(t *testing.T) {
	for _, c := range []struct{ selectors, yes, no string }{
		{`app_db.\.*`, "app_db.a APP_DB.b", "app_dbx.a db.app_db.a"},
		{`db.user_\d+`, "db.user_1 db.USER_22", "db.user_ db.xuser_1 db.user_1x"},
		{`a.t1,b.t2`, "a.t1 b.t2", "a.t2"},
		{` a.t1 , b.t2 `, "a.t1 b.t2", "a.t2"},
		{`adb.(o|u)\.*`, "adb.orders adb.users", "adb.items"},
		{`def.app.a`, "def.app.a app.a", "b other.app.a"},
		{`a|b.t`, "a.t b.t", "ab.t c.t"},
		{`db.a{1\,2}`, "db.a db.aa", "db.aaa"},
		{`db\.x.t`, "", "db.x.t db.t"}, // the escaped dot is any character: a database such as dbyx
		{`db.\Qa+b\E`, "db.a+b", "db.aab"},
		{`shop.public.[^_]\.*`, "shop.public.orders public.x", "shop.public._hidden"},
	} {
		s, err := match.ParseSelectors(c.selectors)
		if err != nil {
			t.Errorf("%q: %v", c.selectors, err)
			continue
		}
		for _, text := range strings.Fields(c.yes) {
			if !s.Match(id(t, text)) {
				t.Errorf("%q does not match %s", c.selectors, text)
			}
		}
		for _, text := range strings.Fields(c.no) {
			if s.Match(id(t, text)) {
				t.Errorf("%q matches %s", c.selectors, text)
			}
		}
	}
}

func TestBadPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"app.*":           "repeats nothing; every text is \\.* here",
		"app.(a":          "a ( has no )",
		"app.a)(b":        "a ) has no (",
		"app.[a":          "a [ has no ]",
		"a.b.c.d":         "4 parts between dots",
		"a..b":            "empty part",
		"a.b,,c.d":        "empty alternative",
		`app.(?!tmp)\.*`:  "negative look-ahead",
		`app.(a)\1`:       "back reference",
		`app.\.*+`:        "possessive quantifier",
		`app.[a-z&&[^b]]`: "intersection of classes",
	} {
		if _, err := match.ParseSelectors(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", pattern, err, want)
		}
	}
}

func TestDatabase(t *testing.T) {
	for text, want := range map[string]string{`shop.public.a,shop.s\d.b`: "shop", "public.a": "", `sh\.*.public.a`: "plain name", "a.b.c,d.e.f": `"a" and "d"`} {
		s, err := match.ParseSelectors(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Database()
		if err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestInAnyDatabase(t *testing.T) {
	s, err := match.ParseSelectors(`public.\.*,shop.other.b`)
	if err != nil {
		t.Fatal(err)
	}
	any := s.InAnyDatabase()
	for text, want := range map[string]bool{"shop.public.a": true, "x.public.a": true, "shop.other.b": true, "x.other.b": false, "shop.other.a": false} {
		if got := any.Match(id(t, text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if s.Fewest() != 2 || s.Match(id(t, "shop.public.a")) {
		t.Error("the selectors themselves changed")
	}
}

func TestRouter(t *testing.T) {
	for _, c := range []struct {
		rule     match.Rule
		from, to string
	}{
		{match.Rule{Source: "foo.bar,foo.baz", Sink: "x.y"}, "foo.baz", "x.y"},
		{match.Rule{Source: "foo.bar, foo.baz", Sink: "x.y"}, "foo.baz", "x.y"},
		{match.Rule{Source: "foo.bar,foo.baz", Sink: "x.y"}, "fooxbar", "fooxbar"},
		{match.Rule{Source: `db.\.*`, Sink: "x.y"}, "db.anything", "x.y"},
		{match.Rule{Source: "db.Orders", Sink: "x.y"}, "db.orders", "db.orders"},
		{match.Rule{Source: "public.a", Sink: "x.y"}, "cdc.public.a", "cdc.public.a"},
		{match.Rule{Source: `(\.*).(\.*)`, Sink: "lake.$2_of_$1"}, "db.t", "lake.t_of_db"},
		{match.Rule{Source: `s.(t)(x)?`, Sink: "l.$1$2_"}, "s.t", "l.t_"},
		{match.Rule{Source: `s.(t\d)`, Sink: "l.$10"}, "s.t7", "l.t70"},
		{match.Rule{Source: `db.\.*`, Sink: "ods.<>_<>", Symbol: "<>"}, "db.t", "ods.t_t"},
		{match.Rule{Source: `db.\.*`, Sink: "ods.$$_$$", Symbol: "$$"}, "db.a", "ods.a_a"},
		{match.Rule{Source: `db.a`, Sink: "one"}, "db.a", "one"},
	} {
		r, err := match.NewRouter([]match.Rule{c.rule}, false)
		if err != nil {
			t.Errorf("%+v: %v", c.rule, err)
			continue
		}
		got, err := r.Route(id(t, c.from))
		if err != nil || len(got) != 1 || got[0].ID.String() != c.to {
			t.Errorf("%+v: %s goes to %v, %v; want %s", c.rule, c.from, got, err, c.to)
		}
	}
}

// TestRouteKeepsDotsInNames: a table whose name holds a dot stays one table.
func TestRouteKeepsDotsInNames(t *testing.T) {
	r, err := match.NewRouter([]match.Rule{{Source: `s.\.*`, Sink: "lake.<>", Symbol: "<>"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Route(schema.TableID{Schema: "s", Table: "a.b"})
	if want := (schema.TableID{Schema: "lake", Table: "a.b"}); err != nil || got[0].ID != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadRules(t *testing.T) {
	for _, c := range []struct {
		rule match.Rule
		sink bool
		want string
	}{
		{match.Rule{Source: "a.(b", Sink: "x"}, false, "a ( has no )"},
		{match.Rule{Source: "a.(b)", Sink: "x.$2"}, true, "refers to group $2, but source-table has 1"},
		{match.Rule{Source: "a.b", Sink: "x..y"}, true, "no table name"},
		{match.Rule{Source: "a.b", Sink: "a.b.c.d"}, true, "no table name"},
	} {
		_, err := match.NewRouter([]match.Rule{c.rule}, false)
		var bad *match.RuleError
		if !errors.As(err, &bad) || bad.Sink != c.sink || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.rule, err)
		}
	}
	r, err := match.NewRouter([]match.Rule{{Source: `a.(x?)`, Sink: "l.$1"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Route(schema.TableID{Schema: "a", Table: ""}); err == nil {
		t.Errorf("an empty name was taken: %v", got)
	}
}
