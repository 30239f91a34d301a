package binlog

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// GTIDSet is a set of transactions, of MySQL or MariaDB. MariaDB's has the last
// GTID of each domain and server, and stands for all up to it; its text names only
// the newest of each domain. The zero value is an empty set, ready to use.
type GTIDSet struct {
	sources map[Source][]interval
	domains map[uint32]*domain
	// last is where the next number is most likely to go.
	last     Source
	lastRuns []interval
}

// interval are the numbers from first to last.
type interval struct{ first, last uint64 }

// domain is one of MariaDB's.
type domain struct {
	server uint32 // of the newest GTID
	last   map[uint32]uint64
}

// IsEmpty reports whether the set holds nothing.
func (s *GTIDSet) IsEmpty() bool { return len(s.sources) == 0 && len(s.domains) == 0 }

// Add adds one GTID; the next number of a source costs next to nothing. The zero
// GTID is no member of any set.
func (s *GTIDSet) Add(g GTID) {
	switch {
	case g.IsZero():
	case g.Source == (Source{}):
		s.addMaria(g)
	default:
		if g.Source == s.last && len(s.lastRuns) > 0 && s.lastRuns[len(s.lastRuns)-1].last+1 == g.Number {
			s.lastRuns[len(s.lastRuns)-1].last++ // shares the array with sources
			return
		}
		s.addInterval(g.Source, interval{g.Number, g.Number})
	}
}

func (s *GTIDSet) addMaria(g GTID) {
	if s.domains == nil {
		s.domains = map[uint32]*domain{}
	}
	d := s.domains[g.Domain]
	if d == nil {
		d = &domain{last: map[uint32]uint64{}}
		s.domains[g.Domain] = d
	}
	d.server = g.Server
	d.last[g.Server] = max(g.Number, d.last[g.Server])
}

// addInterval merges iv into the sorted runs of a source.
func (s *GTIDSet) addInterval(src Source, iv interval) {
	if s.sources == nil {
		s.sources = map[Source][]interval{}
	}
	runs := s.sources[src]
	// The runs that iv touches or meets become one.
	from := sortSearch(runs, func(r interval) bool { return r.last+1 >= iv.first })
	to := from
	for to < len(runs) && runs[to].first <= iv.last+1 {
		iv.first, iv.last = min(iv.first, runs[to].first), max(iv.last, runs[to].last)
		to++
	}
	runs = slices.Replace(runs, from, to, iv)
	s.sources[src] = runs
	s.last, s.lastRuns = src, runs
}

// sortSearch returns the index of the first run for which ok holds.
func sortSearch(runs []interval, ok func(interval) bool) int {
	i, _ := slices.BinarySearchFunc(runs, true, func(r interval, _ bool) int {
		if ok(r) {
			return 1
		}
		return -1
	})
	return i
}

// AddPrevious adds what a PREVIOUS_GTIDS event lists.
func (s *GTIDSet) AddPrevious(iv event.GTIDInterval) {
	s.addInterval(Source{UUID: iv.UUID, Tag: string(iv.Tag)}, interval{uint64(iv.First), uint64(iv.Last)})
}

// Union adds all of t.
func (s *GTIDSet) Union(t *GTIDSet) {
	for src, runs := range t.sources {
		for _, r := range runs {
			s.addInterval(src, r)
		}
	}
	for id, d := range t.domains {
		newest := GTID{}
		for server, n := range d.last {
			g := GTID{Domain: id, Server: server, Number: n}
			if server == d.server {
				newest = g
				continue
			}
			s.addMaria(g)
		}
		if old := s.domains[id]; old == nil || old.last[old.server] <= newest.Number {
			s.addMaria(newest)
		}
	}
}

// Has reports whether g is in the set.
func (s *GTIDSet) Has(g GTID) bool {
	if g.Source == (Source{}) {
		d := s.domains[g.Domain]
		return d != nil && d.newest() >= g.Number
	}
	return covers(s.sources[g.Source], interval{g.Number, g.Number})
}

func (d *domain) newest() uint64 {
	n := uint64(0)
	for _, v := range d.last {
		n = max(n, v)
	}
	return n
}

func covers(runs []interval, iv interval) bool {
	i := sortSearch(runs, func(r interval) bool { return r.last >= iv.first })
	return i < len(runs) && runs[i].first <= iv.first && iv.last <= runs[i].last
}

// Contains reports whether all of t is in the set.
func (s *GTIDSet) Contains(t *GTIDSet) bool {
	for src, runs := range t.sources {
		for _, r := range runs {
			if !covers(s.sources[src], r) {
				return false
			}
		}
	}
	for id, d := range t.domains {
		if own := s.domains[id]; own == nil || own.newest() < d.newest() {
			return false
		}
	}
	return true
}

// Equal reports whether both sets hold the same.
func (s *GTIDSet) Equal(t *GTIDSet) bool { return s.Contains(t) && t.Contains(s) }

// Clone returns a copy.
func (s *GTIDSet) Clone() *GTIDSet {
	c := &GTIDSet{}
	if s.sources != nil {
		c.sources = make(map[Source][]interval, len(s.sources))
		for src, runs := range s.sources {
			c.sources[src] = slices.Clone(runs)
		}
	}
	if s.domains != nil {
		c.domains = make(map[uint32]*domain, len(s.domains))
		for id, d := range s.domains {
			c.domains[id] = &domain{server: d.server, last: maps.Clone(d.last)}
		}
	}
	return c
}

// String prints the set as its server does, in a fixed order: MySQL's
// uuid:1-5:7:tag:1,uuid:... or MariaDB's 0-1-3,1-2-8.
func (s *GTIDSet) String() string {
	var b strings.Builder
	sources := slices.SortedFunc(maps.Keys(s.sources), func(a, b Source) int {
		return cmp.Or(slices.Compare(a.UUID[:], b.UUID[:]), strings.Compare(a.Tag, b.Tag))
	})
	for i, src := range sources {
		switch {
		case i > 0 && sources[i-1].UUID == src.UUID:
			b.WriteString(":" + src.Tag)
		case i > 0:
			b.WriteByte(',')
			fallthrough
		default:
			b.WriteString(src.String())
		}
		for _, r := range s.sources[src] {
			b.WriteByte(':')
			b.WriteString(strconv.FormatUint(r.first, 10))
			if r.last > r.first {
				b.WriteByte('-')
				b.WriteString(strconv.FormatUint(r.last, 10))
			}
		}
	}
	for i, id := range slices.Sorted(maps.Keys(s.domains)) {
		if i > 0 || len(sources) > 0 {
			b.WriteByte(',')
		}
		d := s.domains[id]
		b.WriteString(GTID{Domain: id, Server: d.server, Number: d.last[d.server]}.String())
	}
	return b.String()
}

// MarshalText implements encoding.TextMarshaler with String.
func (s *GTIDSet) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseGTIDSet.
func (s *GTIDSet) UnmarshalText(text []byte) error {
	t, err := ParseGTIDSet(string(text))
	if err == nil {
		*s = *t
	}
	return err
}
