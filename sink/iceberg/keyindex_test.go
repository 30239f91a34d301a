package iceberg

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
)

// TestLocations: what is stored comes back; damage is an error.
func TestLocations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := location{fileRef{rapid.Uint32().Draw(t, "epoch"), rapid.Uint32().Draw(t, "seq")}, rapid.Uint32().Draw(t, "pos")}
		b := appendLocation(nil, l)
		got, err := parseLocation(b)
		if err != nil || got != l {
			t.Fatalf("%v came back as %v, %v", l, got, err)
		}
		if _, err := parseLocation(b[:len(b)-1]); err == nil {
			t.Fatal("a cut entry was taken")
		}
		if _, err := parseLocation(append(b, 0)); err == nil {
			t.Fatal("an entry with more behind it was taken")
		}
	})
}

// TestPendingSort: by state key, equal keys in the order of the log.
func TestPendingSort(t *testing.T) {
	groups := keygroup.Range{First: 3, Last: 9}
	var scratch []pendingKey
	rapid.Check(t, func(t *rapid.T) {
		var p pendingKeys
		type entry struct {
			key   string
			order int
		}
		var want []entry
		for i := range rapid.IntRange(0, 60).Draw(t, "n") {
			g := uint16(rapid.IntRange(3, 9).Draw(t, "group"))
			key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 255}), 0, 11).Draw(t, "key")
			p.add(g, key, 1, uint32(i), 0)
			want = append(want, entry{string(stateKey(nil, g, 7, key)), i})
		}
		p.sort(groups, &scratch)
		slices.SortStableFunc(want, func(a, b entry) int { return slices.Compare([]byte(a.key), []byte(b.key)) })
		for i := range p.entries {
			e := &p.entries[i]
			if got := string(p.appendStateKey(nil, 7, e)); got != want[i].key || int(e.pos) != want[i].order {
				t.Fatalf("entry %d is %x (%d), want %x (%d)", i, got, e.pos, want[i].key, want[i].order)
			}
		}
		n := 0
		if err := p.runs(func(writes []pendingKey) error { n += len(writes); return nil }); err != nil || n != len(want) {
			t.Fatalf("the runs hold %d of %d writes, %v", n, len(want), err)
		}
	})
}

// TestFileNames: names are parsed back, foreign ones are not.
func TestFileNames(t *testing.T) {
	id := uuid.New()
	name := fileName("0badcafe-0000-4000-8000-000000000000", 3, 70000, 123456, id)
	got, ok := parseFileName(name)
	if want := (dataFileName{"0badcafe", 3, 70000, 123456, id}); !ok || got != want {
		t.Fatalf("%s: %+v %v", name, got, ok)
	}
	for _, foreign := range []string{"", "x.parquet", "0badcafe-12-deletes-" + id.String() + ".parquet", name + ".crc", fmt.Sprintf("00000-0-%s.parquet", id)} {
		if got, ok := parseFileName(foreign); ok {
			t.Errorf("%q was taken as %+v", foreign, got)
		}
	}
}

// TestMergeDeletes joins the deletes of two writers that hit the same file.
func TestMergeDeletes(t *testing.T) {
	got := mergeDeletes([]fileDeletes{{"b", []int64{1, 5}}, {"c", []int64{0}}}, []fileDeletes{{"a", []int64{7}}, {"b", []int64{2, 5}}})
	if want := `[{a [7]} {b [1 2 5]} {c [0]}]`; fmt.Sprint(got) != want {
		t.Fatalf("got %v, want %s", got, want)
	}
}
