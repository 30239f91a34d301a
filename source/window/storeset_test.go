package window

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/memory"
)

func openStore(t *testing.T) state.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := memory.NewBackend(memory.Options{}).Open(t.Context(), state.Options{Dir: dir, Operator: "source", KeyGroups: keygroup.Range{First: 0, Last: 127}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestStoreSet fills sets far beyond their limit, reopens and clears them.
func TestStoreSet(t *testing.T) {
	const n = 20_000
	store := openStore(t)
	for _, limit := range []int64{1 << 10, 1 << 18, 1 << 30} {
		slot := uint32(limit)
		set, err := OpenStoreSet(store, slot, limit)
		if err != nil {
			t.Fatal(err)
		}
		neighbour, err := OpenStoreSet(store, slot+1, limit)
		if err != nil {
			t.Fatal(err)
		}
		if err := neighbour.Add([]byte("k1"), []byte("row")); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := set.Add(fmt.Appendf(nil, "k%d", i), partialOf(i, 3)); err != nil {
				t.Fatal(err)
			}
			// Only what the first event left out counts.
			if err := set.Add(fmt.Appendf(nil, "k%d", i/2), partialOf(i/2, 7)); err != nil {
				t.Fatal(err)
			}
		}
		checkSet(t, set, n)
		for _, s := range []*StoreSet{set, neighbour} {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if set, err = OpenStoreSet(store, slot, limit); err != nil {
			t.Fatal(err)
		}
		checkSet(t, set, n)
		for i := range n {
			if err := set.Filled(fmt.Appendf(nil, "k%d", i)); err != nil {
				t.Fatal(err)
			}
			if err := set.Add(fmt.Appendf(nil, "k%d", i), []byte("late")); err != nil {
				t.Fatal(err)
			}
		}
		if set.Waiting() != 0 {
			t.Errorf("limit %d: %d wait after all were filled", limit, set.Waiting())
		}
		if err := set.Clear(); err != nil {
			t.Fatal(err)
		}
		if ok, _, err := set.Has([]byte("k1")); ok || err != nil || set.Len() != 0 {
			t.Errorf("limit %d: cleared, but has k1 (%v), length %d", limit, err, set.Len())
		}
		if neighbour, err = OpenStoreSet(store, slot+1, limit); err != nil {
			t.Fatal(err)
		}
		if ok, unchanged, err := neighbour.Has([]byte("k1")); !ok || !unchanged || err != nil {
			t.Errorf("limit %d: clearing a set took keys of its neighbour", limit)
		}
	}
}

// partialOf is what Add gets for key i when every nth one is partial.
func partialOf(i, n int) []byte {
	if i%n != 0 {
		return nil
	}
	return fmt.Appendf(nil, "row %d", i)
}

func checkSet(t *testing.T, set *StoreSet, n int) {
	t.Helper()
	for i := range n {
		ok, unchanged, err := set.Has(fmt.Appendf(nil, "k%d", i))
		want := i%3 == 0
		if err != nil || !ok || unchanged != want {
			t.Fatalf("k%d: has %t, unchanged %t, want %t, error %v", i, ok, unchanged, want, err)
		}
	}
	for i := n; i < n+1000; i++ {
		if ok, _, err := set.Has(fmt.Appendf(nil, "k%d", i)); ok || err != nil {
			t.Fatalf("has k%d, which was never added (%v)", i, err)
		}
	}
	// All partials are found, with what was given; those that are filled never again.
	found := 0
	err := set.Partials(func(key, partial []byte) bool {
		found++
		if string(partial) != "row "+string(key[1:]) {
			t.Fatalf("partial of %s is %q", key, partial)
		}
		return true
	})
	if err != nil || found != set.Waiting() || found < n/3 {
		t.Fatalf("%d partials, %d wait, error %v", found, set.Waiting(), err)
	}
}
