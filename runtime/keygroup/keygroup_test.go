package keygroup

import (
	"testing"

	"pgregory.net/rapid"
)

func TestVectors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		hash   int32
		kg     int
		p2, p3 int // subtask of 2 and 3, -1 where the vector has none
	}{
		{"C-9", HashString("C-9"), 126, 1, 2},
		{"C-1", HashString("C-1"), 101, 1, 2},
		{"a", HashString("a"), 81, 1, 1},
		{"empty", HashString(""), 94, 1, 2},
		{"accents", HashString("Ünïcødé"), 57, 0, 1},
		{"emoji", HashString("\U0001F600"), 54, 0, 1},
		{"A", HashString("A"), 104, 1, -1},
		{"B", HashString("B"), 17, 0, -1},
		{"long 0", HashLong(0), 94, -1, -1},
		{"long 1", HashLong(1), 86, -1, -1},
		{"long 42", HashLong(42), 29, -1, -1},
		{"long -1", HashLong(-1), 94, -1, -1},
		{"long 1<<40", HashLong(1 << 40), 54, -1, -1},
		{"int -1", HashInt(-1), 80, -1, -1},
	} {
		kg := Of(tc.hash, 128)
		if kg != tc.kg {
			t.Errorf("%s: key group %d, want %d", tc.name, kg, tc.kg)
		}
		if got := Of(uint32(tc.hash), 128); got != kg {
			t.Errorf("%s: unsigned hash gives %d, signed %d", tc.name, got, kg)
		}
		if got := OperatorIndex(kg, 128, 2); tc.p2 >= 0 && got != tc.p2 {
			t.Errorf("%s: subtask %d of 2, want %d", tc.name, got, tc.p2)
		}
		if got := OperatorIndex(kg, 128, 3); tc.p3 >= 0 && got != tc.p3 {
			t.Errorf("%s: subtask %d of 3, want %d", tc.name, got, tc.p3)
		}
	}
	for s, want := range map[string]int32{"C-9": 65839, "C-1": 65831, "Ünïcødé": 1055433303, "\U0001F600": 1772899} {
		if got := HashString(s); got != want {
			t.Errorf("HashString(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestRanges(t *testing.T) {
	for p, want := range map[int][]Range{
		2: {{0, 63}, {64, 127}},
		3: {{0, 42}, {43, 85}, {86, 127}},
		4: {{0, 31}, {32, 63}, {64, 95}, {96, 127}},
		5: {{0, 25}, {26, 51}, {52, 76}, {77, 102}, {103, 127}},
	} {
		for i, r := range Ranges(128, p) {
			if r != want[i] {
				t.Errorf("range %d of %d is %v, want %v", i, p, r, want[i])
			}
		}
	}
	for p, want := range map[int]int{1: 128, 85: 128, 86: 256, 170: 256, 171: 256, 172: 512, 1000: 2048, 20000: 32768} {
		if got := DefaultMaxParallelism(p); got != want {
			t.Errorf("DefaultMaxParallelism(%d) = %d, want %d", p, got, want)
		}
	}
}

// TestRangesPartition checks that the ranges are a partition of the key groups
// and agree with OperatorIndex.
func TestRangesPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxP := rapid.IntRange(1, 5000).Draw(t, "maxP")
		p := rapid.IntRange(1, maxP).Draw(t, "p")
		next := 0
		for i, r := range Ranges(maxP, p) {
			if r.First != next || r.Empty() {
				t.Fatalf("range %d of %d/%d is %v, want it to start at %d", i, p, maxP, r, next)
			}
			for kg := r.First; kg <= r.Last; kg++ {
				if got := OperatorIndex(kg, maxP, p); got != i {
					t.Fatalf("key group %d is subtask %d's, but in the range of %d", kg, got, i)
				}
			}
			next = r.Last + 1
		}
		if next != maxP {
			t.Fatalf("ranges end at %d of %d", next, maxP)
		}
	})
}

func TestRangeMethods(t *testing.T) {
	a, b := Range{10, 20}, Range{15, 30}
	if got := a.Intersect(b); got != (Range{15, 20}) {
		t.Errorf("intersection %v", got)
	}
	if got := a.Intersect(Range{21, 30}); !got.Empty() || got.Len() != 0 {
		t.Errorf("intersection %v of disjoint ranges is not empty", got)
	}
	if !a.Contains(10) || !a.Contains(20) || a.Contains(9) || a.Contains(21) {
		t.Error("Contains is off at the ends")
	}
	if !a.Covers(Range{10, 20}) || a.Covers(b) || !a.Covers(Range{5, 4}) {
		t.Error("Covers is wrong")
	}
	lower, upper := Range{0, 255}.Bounds()
	if string(lower) != "\x00\x00" || string(upper) != "\x01\x00" {
		t.Errorf("bounds % x, % x", lower, upper)
	}
	if key := AppendPrefix([]byte("x"), 0x1234); string(key) != "x\x12\x34" || FromPrefix(key[1:]) != 0x1234 {
		t.Errorf("prefix % x", key)
	}
	// the highest key group's upper bound still fits the prefix
	if _, upper := RangeOf(0, MaxMaxParallelism, 1).Bounds(); string(upper) != "\x80\x00" {
		t.Errorf("upper bound % x", upper)
	}
}

func BenchmarkOf(b *testing.B) {
	for _, maxP := range []int{128, 1000} {
		b.Run("", func(b *testing.B) {
			sum := 0
			for i := range b.N {
				sum += Of(int32(i), maxP)
			}
			sink = sum
		})
	}
}

var sink int
