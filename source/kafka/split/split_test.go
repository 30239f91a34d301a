package split

import (
	"errors"
	"math/rand/v2"
	"testing"
)

var a, b = Key{"t", 0}, Key{"t", 1}

func TestSet(t *testing.T) {
	s := New()
	for _, sp := range []Split{{Key: a, Next: 5, Stop: 8}, {Key: b, Next: 0, Stop: 2}} {
		if err := s.Add(sp); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		k        Key
		offset   int64
		position uint64
		use      bool
	}{{a, 5, 6, true}, {b, 1, 8, true}, {a, 7, 10, true}, {a, 9, 10, false}, {b, 2, 10, false}} {
		position, use, err := s.Record(c.k, c.offset)
		if position != c.position || use != c.use || err != nil {
			t.Errorf("%s, offset %d: %d, %t, %v", c.k, c.offset, position, use, err)
		}
	}
	if !s.Done() {
		t.Error("it is not done")
	}
	if _, _, err := s.Record(a, 6); !errors.Is(err, ErrOrder) {
		t.Errorf("going back: %v", err)
	}
	if _, _, err := s.Record(Key{"x", 0}, 1); err == nil {
		t.Error("a record of a partition that is not read")
	}
	if s.Add(Split{Key: a}) == nil || s.Add(Split{Key: Key{"x", 0}, Next: -1}) == nil {
		t.Error("a partition twice, or at no offset")
	}
}

// TestEmptied: a partition that the broker has emptied up to its end is done.
func TestEmptied(t *testing.T) {
	s := New()
	if err := s.Add(Split{Key: a, Next: 2, Stop: 5}); err != nil {
		t.Fatal(err)
	}
	if s.Emptied(a, 4); s.Done() || s.Position() != 2 {
		t.Error("done too early")
	}
	if s.Emptied(a, 7); !s.Done() || s.Position() != 5 {
		t.Errorf("position %d, done %t", s.Position(), s.Done())
	}
}

// TestPosition: the position depends on the offsets alone, not on the order of reading.
func TestPosition(t *testing.T) {
	keys := []Key{a, b, {"u", 0}}
	var positions []uint64
	for seed := range 5 {
		s := New()
		for i, k := range keys {
			if err := s.Add(Split{Key: k, Next: int64(i), Stop: Never}); err != nil {
				t.Fatal(err)
			}
		}
		r := rand.New(rand.NewPCG(1, uint64(seed)))
		next := []int64{0, 1, 2}
		last := s.Position()
		for next[0] < 20 || next[1] < 20 || next[2] < 20 {
			i := r.IntN(3)
			if next[i] >= 20 {
				continue
			}
			position, _, err := s.Record(keys[i], next[i])
			if err != nil || position <= last {
				t.Fatalf("position %d after %d, %v", position, last, err)
			}
			last = position
			next[i] += 1 + int64(r.IntN(2))
			if next[i] == 19 {
				next[i] = 20
			}
		}
		if s.Done() {
			t.Error("a set without ends is done")
		}
		sum := uint64(0)
		for _, sp := range s.All() {
			sum += uint64(sp.Next)
		}
		if sum != s.Position() {
			t.Errorf("position %d, the offsets are %d", s.Position(), sum)
		}
		positions = append(positions, sum)
	}
	t.Log(positions)
}

func TestTransactions(t *testing.T) {
	s := New()
	s.Begin(a, 1)
	s.Begin(a, 1)
	s.Begin(b, 1)
	s.End(a, 1)
	s.End(a, 2)
	if s.Between() {
		t.Error("one is open")
	}
	s.End(b, 1)
	if !s.Between() {
		t.Error("none is open")
	}
}

func TestModes(t *testing.T) {
	broker := Broker{Start: 5, End: 20, Committed: 12, At: 15}
	nothing := Broker{Start: 5, End: 20, Committed: -1, At: -1}
	old := Broker{Start: 5, End: 20, Committed: 3}
	given := Offsets{a: 7}
	for _, c := range []struct {
		mode  Mode
		b     Broker
		k     Key
		reset string
		want  int64 // -1 for an error
	}{
		{Earliest, broker, a, ResetNone, 5}, {Latest, broker, a, ResetNone, 20}, {Timestamp, broker, a, ResetNone, 15}, {Timestamp, nothing, a, ResetNone, 20},
		{Group, broker, a, ResetNone, 12}, {Group, nothing, a, ResetNone, -1}, {Group, nothing, a, ResetEarliest, 5}, {Group, nothing, a, ResetLatest, 20},
		{Group, old, a, ResetNone, -1}, {Group, old, a, ResetEarliest, 5}, {Group, old, a, ResetLatest, 20},
		{Specific, broker, a, ResetNone, 7}, {Specific, broker, b, ResetNone, -1}, {"odd", broker, a, ResetNone, -1},
	} {
		got, err := Start(c.mode, c.k, c.b, given, c.reset)
		if (err != nil) != (c.want < 0) || err == nil && got != c.want {
			t.Errorf("start %s, %+v, %s: %d, %v", c.mode, c.b, c.reset, got, err)
		}
	}
	for _, c := range []struct {
		mode Mode
		b    Broker
		k    Key
		want int64 // -2 for an error
	}{{Unbounded, broker, a, Never}, {Latest, broker, a, 20}, {Timestamp, broker, a, 15}, {Timestamp, nothing, a, 20}, {Group, broker, a, 12}, {Group, nothing, a, -2}, {Specific, broker, a, 7}, {Specific, broker, b, -2}, {"odd", broker, a, -2}} {
		got, err := Stop(c.mode, c.k, c.b, given)
		if (err != nil) != (c.want == -2) || err == nil && got != c.want {
			t.Errorf("stop %s, %+v: %d, %v", c.mode, c.b, got, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		sp   Split
		lost bool
	}{{Split{Next: 5, Stop: Never}, false}, {Split{Next: 20, Stop: Never}, false}, {Split{Next: 4, Stop: Never}, true}, {Split{Next: 21, Stop: Never}, true}, {Split{Next: 4, Stop: 4}, false}} {
		if err := Check(c.sp, 5, 20); errors.Is(err, ErrLost) != c.lost {
			t.Errorf("%+v: %v", c.sp, err)
		}
	}
}

func TestParseOffsets(t *testing.T) {
	got, err := ParseOffsets("partition:0,offset:42; topic:x,partition:1,offset:300;")
	if err != nil || len(got) != 2 || got[Key{"", 0}] != 42 || got[Key{"x", 1}] != 300 {
		t.Errorf("%v, %v", got, err)
	}
	if v, ok := got.For(Key{"any", 0}); !ok || v != 42 {
		t.Errorf("%d, %t", v, ok)
	}
	for _, bad := range []string{"", ";", "partition:0", "offset:1", "partition:0,offset:-1", "partition:x,offset:1", "partition:0,offset:1,odd:1", "partition:0,offset:1,offset:2", "partition:0,offset:1;partition:0,offset:2"} {
		if _, err := ParseOffsets(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
