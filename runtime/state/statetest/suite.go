package statetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/state"
)

// Traits say what a back end can do beyond the contract.
type Traits struct {
	// Incremental says that a snapshot uploads only what is new since the last one.
	Incremental bool
}

// Run runs all tests of the suite over a back end.
func Run(t *testing.T, b state.Backend, traits Traits) {
	for _, tc := range []struct {
		name string
		run  func(t *testing.T, f *fixture)
	}{
		{"Entries", testEntries},
		{"Iterate", testIterate},
		{"IterateSeesOneMoment", testIterateSeesOneMoment},
		{"DeleteRange", testDeleteRange},
		{"LargeBatch", testLargeBatch},
		{"SortedBatches", testSortedBatches},
		{"BulkLoad", testBulkLoad},
		{"BulkLoadUnordered", testBulkLoadUnordered},
		{"BulkLoadCanceled", testBulkLoadCanceled},
		{"SnapshotOfOneMoment", testSnapshotOfOneMoment},
		{"SnapshotEmpty", testSnapshotEmpty},
		{"SnapshotDiscarded", testSnapshotDiscarded},
		{"OpenEmptiesFolder", testOpenEmptiesFolder},
		{"RestoreAfterFolderIsGone", testRestoreAfterFolderIsGone},
		{"Rescale", testRescale},
		{"ReusedNumbers", testReusedNumbers},
		{"UploadFails", testUploadFails},
		{"RestoreDamaged", testRestoreDamaged},
		{"RestoreUnknown", testRestoreUnknown},
		{"Closed", testClosed},
		{"Model", testModel},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, newFixture(t, b)) })
	}
	if traits.Incremental {
		t.Run("Incremental", func(t *testing.T) { testIncremental(t, newFixture(t, b)) })
	}
}

func testEntries(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	a, b, c := string(key(1, "a")), string(key(1, "b")), string(key(15, ""))
	expectNone(t, s, a)
	set(t, s, a, "1", b, "", c, "3", a, "2")
	expect(t, s, map[string]string{a: "2", b: "", c: "3"})
	var batch state.Batch
	k, v := []byte(a), []byte("4")
	batch.Set(k, v)
	batch.Delete([]byte(b))
	batch.Delete(key(2, "not there"))
	apply(t, s, &batch)
	copy(v, "9") // the store keeps no slice of the caller's
	copy(k, "\xff\xff")
	expect(t, s, map[string]string{a: "4", c: "3"})
	expectNone(t, s, b)
	batch.Delete([]byte(a))
	batch.Set([]byte(a), []byte("5"))
	batch.Set([]byte(c), []byte("6"))
	batch.Delete([]byte(c))
	apply(t, s, &batch)
	expect(t, s, map[string]string{a: "5"})
	apply(t, s, &batch) // an empty one
	if s.Bytes() < 0 {
		t.Errorf("size %d", s.Bytes())
	}
}

func testIterate(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	for _, k := range []string{"b", "d", "f", "h"} {
		set(t, s, string(key(3, k)), k)
	}
	equal(t, scan(t, s, key(3, "c"), key(3, "f")), map[string]string{string(key(3, "d")): "d"})
	equal(t, scan(t, s, key(3, "i"), nil), nil)
	equal(t, scan(t, s, key(3, "f"), key(3, "d")), nil)
	it, err := s.Iterate(key(3, "c"), key(3, "h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ seek, want string }{
		{"e", "f"}, {"", "f+"}, {"d", "d"}, {"", "f"}, {"f", "f"}, {"a", "d"}, {"d", "d"},
		{"g", ""}, {"", ""}, {"d", "d"}, {"z", ""}, {"c", "d"},
	} {
		var ok bool
		want := strings.TrimSuffix(step.want, "+")
		if step.seek != "" {
			ok = it.SeekGE(key(3, step.seek))
		} else if ok = it.Next(); step.want == "f+" { // after f comes h, which is the bound
			want = ""
		}
		if ok != (want != "") || ok && (string(it.Key()) != string(key(3, want)) || string(it.Value()) != want) {
			t.Fatalf("step %+v: ok %v", step, ok)
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	many := numbered(2000, "v")
	load(t, s, many)
	testSeeks(t, s, slices.Sorted(maps.Keys(many)))
}

// testSeeks seeks through sorted keys with strides, up and down, and reads on after each.
func testSeeks(t *testing.T, s state.Store, keys []string) {
	it, err := s.Iterate(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	at := 0
	for i := range 4000 {
		at = (at + 1 + i%97*13) % len(keys)
		if !it.SeekGE([]byte(keys[at])) || string(it.Key()) != keys[at] {
			t.Fatalf("seek %x is at %x", keys[at], it.Key())
		}
		if i%3 == 0 && it.Next() && string(it.Key()) <= keys[at] {
			t.Fatalf("next of %x is %x", keys[at], it.Key())
		}
	}
}

func testIterateSeesOneMoment(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	before := numbered(1000, "before")
	load(t, s, before)
	it, err := s.Iterate(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b state.Batch
	for k := range numbered(1500, "x") {
		b.Set([]byte(k), []byte("after"))
	}
	b.DeleteRange(key(0, ""), key(4, ""))
	apply(t, s, &b)
	got := map[string]string{}
	for it.Next() {
		got[string(it.Key())] = string(it.Value())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	equal(t, got, before)
}

func testDeleteRange(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	a, b, c, d := string(key(1, "a")), string(key(1, "b")), string(key(1, "c")), string(key(2, ""))
	set(t, s, a, "1", b, "2", c, "3", d, "4")
	var batch state.Batch
	batch.DeleteRange([]byte(b), []byte(b)) // empty
	batch.DeleteRange([]byte(d), []byte(a)) // the wrong way round
	apply(t, s, &batch)
	expect(t, s, map[string]string{a: "1", b: "2", c: "3", d: "4"})
	batch.Set(key(1, "bb"), []byte("5"))
	batch.DeleteRange([]byte(b), []byte(d))
	batch.Set([]byte(c), []byte("6"))
	apply(t, s, &batch)
	expect(t, s, map[string]string{a: "1", c: "6", d: "4"})
	// over loaded entries, and loads over a deleted range
	load(t, s, numbered(3000, "v"))
	batch.DeleteRange(key(0, ""), key(maxParallelism, ""))
	apply(t, s, &batch)
	expect(t, s, nil)
	load(t, s, numbered(10, "w"))
	h := f.snapshot(t, s, 1)
	again := f.open(t, all, h)
	defer closeStore(t, again)
	expect(t, again, numbered(10, "w"))
}

// testLargeBatch applies more than a memtable.
func testLargeBatch(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	want := numbered(60_000, strings.Repeat("v", 100))
	var b state.Batch
	for k, v := range want {
		b.Set([]byte(k), []byte(v))
	}
	big := string(key(7, "big"))
	want[big] = strings.Repeat("b", 5<<20)
	b.Set([]byte(big), []byte(want[big]))
	for i := range 1000 {
		k := string(key(i%maxParallelism, "gone"))
		b.Set([]byte(k), nil)
		b.Delete([]byte(k))
	}
	apply(t, s, &b)
	expect(t, s, want)
}

func testBulkLoad(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	load(t, s, nil)
	expect(t, s, nil)
	want := numbered(1000, "applied")
	var b state.Batch
	for k, v := range want {
		b.Set([]byte(k), []byte(v))
	}
	apply(t, s, &b)
	// over existing entries, in memory and on disk
	for k, v := range numbered(500, "loaded") {
		want[k] = v
	}
	load(t, s, numbered(500, "loaded"))
	expect(t, s, want)
	load(t, s, numbered(250, "again"))
	for k, v := range numbered(250, "again") {
		want[k] = v
	}
	expect(t, s, want)
	for k := range numbered(100, "") {
		b.Set([]byte(k), []byte("later"))
		want[k] = "later"
	}
	apply(t, s, &b)
	expect(t, s, want)
}

func testBulkLoadUnordered(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	for _, second := range []string{"a", "b"} {
		err := s.BulkLoad(context.Background(), func(yield func(k, v []byte) bool) {
			_ = yield(key(1, "b"), nil) && yield(key(1, second), nil)
		})
		if !errors.Is(err, state.ErrUnordered) {
			t.Errorf("b then %s: %v", second, err)
		}
	}
	set(t, s, string(key(2, "k")), "v") // it still works
	expectGet(t, s, string(key(2, "k")), "v")
}

func testBulkLoadCanceled(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.BulkLoad(ctx, sorted(numbered(10, "v"))); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled load: %v", err)
	}
	if _, err := s.Snapshot(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled snapshot: %v", err)
	}
	load(t, s, numbered(10, "v"))
	expect(t, s, numbered(10, "v"))
}

func testClosed(t *testing.T, f *fixture) {
	s := f.open(t, all)
	closeStore(t, s)
	closeStore(t, s) // again is no error
	var b state.Batch
	b.Set(key(1, "a"), nil)
	_, _, get := s.Get(nil, key(1, "a"))
	_, it := s.Iterate(nil, nil)
	_, sn := s.Snapshot(context.Background(), 1)
	for i, err := range []error{s.Apply(&b), get, it, sn, s.BulkLoad(context.Background(), sorted(nil))} {
		if !errors.Is(err, state.ErrClosed) {
			t.Errorf("call %d after Close: %v", i, err)
		}
	}
}

// testSortedBatches applies large batches in key order, which a back end may write in another way.
func testSortedBatches(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	want := numbered(40_000, strings.Repeat("v", 200))
	var b state.Batch
	for _, k := range slices.Sorted(maps.Keys(want)) {
		b.Set([]byte(k), []byte(want[k]))
	}
	apply(t, s, &b)
	small := string(key(3, "small"))
	set(t, s, small, "1")
	for i, k := range slices.Sorted(maps.Keys(want)) {
		if i%3 == 0 {
			b.Delete([]byte(k))
			delete(want, k)
		} else {
			want[k] = strings.Repeat("w", 250)
			b.Set([]byte(k), []byte(want[k]))
		}
	}
	apply(t, s, &b)
	want[small] = "1"
	equal(t, scan(t, s, nil, nil), want)
	h := f.snapshot(t, s, 1)
	again := f.open(t, all, h)
	defer closeStore(t, again)
	expect(t, again, want)
}
