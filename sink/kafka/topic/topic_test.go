package topic

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
)

func id(parts ...string) schema.TableID {
	if len(parts) == 3 {
		return schema.TableID{Namespace: parts[0], Schema: parts[1], Table: parts[2]}
	}
	return schema.TableID{Schema: parts[0], Table: parts[1]}
}

// exactly compiles selectors that are names.
func exactly(selector string) (func(schema.TableID) bool, error) {
	if selector == "bad(" {
		return nil, errors.New("no expression")
	}
	return func(id schema.TableID) bool { return selector == "*" || id.String() == selector }, nil
}

func TestNames(t *testing.T) {
	mapping, err := ParseMapping(" a.b : all ; c.d:special;;", exactly)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		id   schema.TableID
		want string
	}{
		{Options{Prefix: "dbz"}, id("vec", "customers"), "dbz.vec.customers"},
		{Options{Prefix: "dbz"}, id("db", "public", "customers"), "dbz.public.customers"},
		{Options{Prefix: "dbz"}, id("vec", "naïve漢字"), "dbz.vec.na_ve__"},
		{Options{Prefix: "dbz"}, id("vec", `quo"te'back`), "dbz.vec.quo_te_back"},
		{Options{Prefix: "dbz"}, id("Odd Schema", "dot.ted"), "dbz.Odd_Schema.dot.ted"},
		{Options{Prefix: "dbz"}, id("vec", "😀"), "dbz.vec.__"},
		{Options{Prefix: "dbz", Delimiter: "_"}, id("vec", "t"), "dbz_vec_t"},
		{Options{}, id("vec", "t"), "vec.t"},
		{Options{Topic: "one"}, id("vec", "t"), "one"},
		{Options{Topic: "one", Mapping: mapping}, id("a", "b"), "all"},
		{Options{Topic: "one", Mapping: mapping}, id("c", "d"), "special"},
		{Options{Prefix: "p", Mapping: mapping}, id("e", "f"), "p.e.f"},
	} {
		n, err := New(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Of(c.id); got != c.want {
			t.Errorf("%+v of %s: %s, want %s", c.o, c.id, got, c.want)
		}
	}
}

func TestBadNames(t *testing.T) {
	for _, o := range []Options{{Topic: "a b"}, {Topic: "."}, {Topic: strings.Repeat("x", 250)}, {Prefix: "ü"}, {Delimiter: "/"}, {Mapping: []Rule{{Topic: "ä"}}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	for _, text := range []string{"a.b", "a.b:", ":t", "a.b:x y", "bad(:t"} {
		if _, err := ParseMapping(text, exactly); err == nil {
			t.Errorf("the mapping %q was taken", text)
		}
	}
	if rules, err := ParseMapping("(?:a|b).c:t", exactly); err != nil || rules[0].Selector != "(?:a|b).c" {
		t.Errorf("%+v, %v", rules, err)
	}
}

// TestClash: two tables that only differ in characters that topics don't have.
func TestClash(t *testing.T) {
	tables := []schema.TableID{id("s", "a b"), id("s", "a_b"), id("s", "c"), id("s", "c")}
	n, err := New(Options{Prefix: "p"})
	if err != nil {
		t.Fatal(err)
	}
	errs := n.Check(tables)
	var clash *ClashError
	if len(errs) != 1 || !errors.As(errs[0], &clash) || clash.Topic != "p.s.a_b" || len(clash.Tables) != 2 {
		t.Errorf("%v", errs)
	}
	if n, err = New(Options{Topic: "one"}); err != nil {
		t.Fatal(err)
	}
	if errs := n.Check(tables); len(errs) != 0 { // told to
		t.Errorf("%v", errs)
	}
	if n, err = New(Options{Prefix: "p"}); err != nil {
		t.Fatal(err)
	}
	if errs := n.Check([]schema.TableID{id("s", strings.Repeat("t", 250))}); len(errs) != 1 {
		t.Errorf("%v", errs)
	}
}

// TestMurmur2 holds the values that Kafka's own clients are tested with.
func TestMurmur2(t *testing.T) {
	for text, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107, "1": -1993445489, "12": 126087238,
		"123": -267702483, "1234": -1614185708, "12345": -1188365604, "kafka": -798503068,
	} {
		if got := int32(murmur2([]byte(text))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestPartitions(t *testing.T) {
	for _, c := range []struct {
		strategy Strategy
		table    string
		key      []byte
		n, want  int32
	}{
		{AllToZero, "t", []byte("foobar"), 7, 0},
		{ByKey, "t", []byte("foobar"), 1, 0},
		{ByKey, "t", []byte("foobar"), 7, 1357151166 % 7}, // -790332482 without its sign bit
		{ByKey, "abc", nil, 7, 479470107 % 7},
		{ByKey, "t", []byte{}, 7, int32(murmur2(nil)&0x7fffffff) % 7},
		{ByTable, "abc", []byte("foobar"), 7, 479470107 % 7},
	} {
		p, err := NewPartitioner(c.strategy)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Partition(c.table, c.key, c.n); got != c.want {
			t.Errorf("%s of %s, %q in %d: %d, want %d", c.strategy, c.table, c.key, c.n, got, c.want)
		}
	}
	if _, err := NewPartitioner("random"); err == nil {
		t.Error("random was taken")
	}
}
