package binlog

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

const (
	uuidA = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	uuidB = "ffffffff-71ca-11e1-9e33-c80aa9429562"
)

func mustSet(t testing.TB, text string) *GTIDSet {
	s, err := ParseGTIDSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGTIDSetText(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		" , ":              "",
		uuidA + ":1":       uuidA + ":1",
		uuidA + ":1-5":     uuidA + ":1-5",
		uuidA + ":1-5:7":   uuidA + ":1-5:7",
		uuidA + ":7:1-3:4": uuidA + ":1-4:7",
		uuidA + ":1-5:3-9": uuidA + ":1-9",
		uuidA + ":5-3":     "", // empty, as for the servers
		strings.ToUpper(uuidA) + ":1 - 5 ,\n" + uuidB + ":2": uuidA + ":1-5," + uuidB + ":2",
		uuidB + ":1," + uuidA + ":1":                         uuidA + ":1," + uuidB + ":1",
		uuidA + ":1-5:tag:1-3:7:other:2":                     uuidA + ":1-5:other:2:tag:1-3:7",
		uuidA + ":Tag_1:4":                                   uuidA + ":tag_1:4",
		"{" + uuidA + "}:1":                                  uuidA + ":1",
		strings.ReplaceAll(uuidA, "-", "") + ":1":            uuidA + ":1",
		uuidA + ":tag:1," + uuidA + ":2":                     uuidA + ":2:tag:1",
		"0-1-3":                                              "0-1-3",
		"1-2-9, 0-1-3":                                       "0-1-3,1-2-9",
		"0-1-3,0-2-5":                                        "0-2-5",
	} {
		s, err := ParseGTIDSet(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := s.String(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if s.IsEmpty() != (want == "") {
			t.Errorf("%q: IsEmpty", in)
		}
	}
}

func TestGTIDSetErrors(t *testing.T) {
	for _, in := range []string{"x", uuidA, uuidA + ":", uuidA + ":0", uuidA + ":1-", uuidA + ":-1", uuidA + ":tag", uuidA + ":1:tag", uuidA[1:] + ":1",
		uuidA + ":1ag:1", uuidA + ":" + strings.Repeat("t", 33) + ":1", uuidA + ":9223372036854775807", "0-1", "0-1-x", "0-1-2-3", "4294967296-1-1", uuidA + ":1,0-1-3"} {
		if s, err := ParseGTIDSet(in); err == nil {
			t.Errorf("%q: %s", in, s)
		}
	}
}

func TestGTID(t *testing.T) {
	for _, text := range []string{uuidA + ":5", uuidA + ":tag:5", "0-1-5", "7-0-1"} {
		g, err := ParseGTID(text)
		if err != nil || g.String() != text || g.IsZero() {
			t.Errorf("%q: %q, %v", text, g, err)
		}
		var s GTIDSet
		s.Add(g)
		if s.String() != text || !s.Has(g) {
			t.Errorf("%q: %s", text, &s)
		}
	}
	for _, text := range []string{"", uuidA + ":1-2", "0-1-1,1-1-1"} {
		if g, err := ParseGTID(text); err == nil {
			t.Errorf("%q: %s", text, g)
		}
	}
}

// TestGTIDSetModel compares the set with a map of its members.
func TestGTIDSetModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sources := []Source{{UUID: event.UUID{1}}, {UUID: event.UUID{1}, Tag: "t"}, {UUID: event.UUID{2}}}
	for range 200 {
		var s GTIDSet
		model := map[GTID]bool{}
		for range r.IntN(60) {
			g := GTID{Source: sources[r.IntN(3)], Number: 1 + r.Uint64N(30)}
			s.Add(g)
			model[g] = true
		}
		clone := s.Clone()
		for _, src := range sources {
			for n := uint64(1); n <= 31; n++ {
				g := GTID{Source: src, Number: n}
				if s.Has(g) != model[g] {
					t.Fatalf("%s: %s", &s, g)
				}
			}
			for i := 1; i < len(s.sources[src]); i++ {
				if s.sources[src][i-1].last+1 >= s.sources[src][i].first {
					t.Fatalf("%s: runs that touch", &s)
				}
			}
		}
		again := mustSet(t, s.String())
		if !again.Equal(&s) || !s.Equal(again) {
			t.Fatalf("%s, read again %s", &s, again)
		}
		s.Add(GTID{Source: sources[0], Number: 100})
		if clone.Has(GTID{Source: sources[0], Number: 100}) || clone.Contains(&s) || !s.Contains(clone) {
			t.Fatal("a clone that shares")
		}
		var u GTIDSet
		u.Union(clone)
		u.Union(&s)
		if !u.Equal(&s) {
			t.Fatalf("union %s, want %s", &u, &s)
		}
	}
}

func TestMariaSets(t *testing.T) {
	s := mustSet(t, "0-1-10,1-5-3")
	for text, want := range map[string]bool{"0-1-10": true, "0-1-9": true, "0-2-9": true, "0-2-11": false, "2-1-1": false, "": true, "0-1-10,1-5-3": true} {
		if got := s.Contains(mustSet(t, text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	s.Add(GTID{Domain: 0, Server: 2, Number: 11})
	if s.String() != "0-2-11,1-5-3" {
		t.Error(s)
	}
	var u GTIDSet
	u.Union(s)
	if u.String() != s.String() {
		t.Errorf("%s, want %s", &u, s)
	}
}

func TestGTIDSetNextIsCheap(t *testing.T) {
	s := mustSet(t, uuidA+":1-5:100")
	src := Source{UUID: event.UUID{9}}
	s.Add(GTID{Source: src, Number: 1})
	n := uint64(1)
	if a := testing.AllocsPerRun(100, func() { n++; s.Add(GTID{Source: src, Number: n}) }); a > 0 {
		t.Errorf("%v allocations", a)
	}
	if !slices.Equal(s.sources[src], []interval{{1, n}}) {
		t.Error(s)
	}
}

func FuzzGTIDSet(f *testing.F) {
	for _, text := range []string{"", uuidA + ":1-5:7:tag:1-3", "0-1-3,1-2-9", uuidA + ":5-3", strings.Repeat("0", 34) + ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseGTIDSet(text)
		if err != nil {
			return
		}
		again, err := ParseGTIDSet(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q: %s, then %s (%v)", text, s, again, err)
		}
	})
}
