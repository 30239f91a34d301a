package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
)

// Run runs the suite; place makes an empty place for each test.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for _, tc := range []struct {
		name string
		run  func(t *testing.T, f *fixture)
	}{
		{"Empty", testEmpty},
		{"Publish", testPublish},
		{"Retention", testRetention},
		{"IDs", testIDs},
		{"Locked", testLocked},
		{"Fenced", testFenced},
		{"Foreign", testForeign},
		{"Files", testFiles},
		{"FilesConcurrently", testFilesConcurrently},
		{"MissingFile", testMissingFile},
		{"InFlight", testInFlight},
		{"Abort", testAbort},
		{"Leftovers", testLeftovers},
		{"CorruptMetadata", testCorruptMetadata},
		{"CorruptFile", testCorruptFile},
		{"AllCorrupt", testAllCorrupt},
		{"Discard", testDiscard},
		{"Closed", testClosed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.run(t, &fixture{Place: place(t), local: t.TempDir(), made: map[string][]byte{}})
		})
	}
}

func testEmpty(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	expectLatest(t, s, 0, 0)
	if s.Next() != 1 {
		t.Errorf("first id is %d", s.Next())
	}
	lineage := s.Lineage()
	if lineage == "" {
		t.Error("no lineage")
	}
	closeSession(t, s)
	closeSession(t, s)
	s = f.acquire(t, 2)
	defer closeSession(t, s)
	if s.Lineage() != lineage {
		t.Errorf("lineage was %s, is %s", lineage, s.Lineage())
	}
}

func testPublish(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	f.put(t, s, 1, "a")
	want := f.metadata(1, "a")
	if oldest, err := s.Publish(ctx(), want); err != nil || oldest != 1 {
		t.Fatalf("oldest %d, %v", oldest, err)
	}
	lineage := s.Lineage()
	want.Version, want.Lineage = checkpoint.MetadataVersion, lineage
	for range 2 {
		m, corrupt, err := s.Latest(ctx())
		if err != nil || len(corrupt) != 0 || m == nil {
			t.Fatalf("latest: %v, %v, %v", m, corrupt, err)
		}
		if !reflect.DeepEqual(m, want) {
			t.Errorf("got %+v\nwant %+v", m, want)
		}
		f.expectFile(t, s, "a")
		if s.Next() != 2 || s.Lineage() != lineage {
			t.Errorf("next %d, lineage %s", s.Next(), s.Lineage())
		}
		closeSession(t, s)
		s = f.acquire(t, 2)
	}
	closeSession(t, s)
}

func testRetention(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	defer func() { closeSession(t, s) }()
	for id, oldest := range []checkpoint.ID{0, 1, 1, 2, 3} {
		if id == 0 {
			continue
		}
		own := fmt.Sprintf("own-%d", id)
		f.put(t, s, checkpoint.ID(id), own)
		f.put(t, s, checkpoint.ID(id), "shared")
		if got := f.publish(t, s, checkpoint.ID(id), own, "shared"); got != oldest {
			t.Errorf("after %d the oldest is %d, want %d", id, got, oldest)
		}
	}
	check := func() {
		f.expectGone(t, s, "own-1")
		f.expectGone(t, s, "own-2")
		f.expectFile(t, s, "own-3")
		f.expectFile(t, s, "own-4")
		f.expectFile(t, s, "shared")
	}
	check()
	closeSession(t, s)
	s = f.acquire(t, 1)
	check() // nothing is removed before another one is there
	if oldest := f.publish(t, s, 5); oldest != 5 {
		t.Errorf("the oldest is %d", oldest)
	}
	f.expectGone(t, s, "shared")
	f.expectGone(t, s, "own-4")
}

func testIDs(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	f.publish(t, s, 5) // those before were given up
	for _, id := range []checkpoint.ID{5, 4} {
		if _, err := s.Publish(ctx(), f.metadata(id)); err == nil {
			t.Errorf("id %d could be used again", id)
		}
	}
	other := f.metadata(6)
	other.Lineage = "another"
	if _, err := s.Publish(ctx(), other); err == nil {
		t.Error("a checkpoint of another lineage was published")
	}
	if s.Next() != 6 {
		t.Errorf("next %d", s.Next())
	}
	closeSession(t, s)
	s = f.acquire(t, 2)
	defer closeSession(t, s)
	if s.Next() != 6 {
		t.Errorf("next after a restart %d", s.Next())
	}
	expectLatest(t, s, 5, 0)
}

func testLocked(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	f.publish(t, s, 1)
	_, err := f.Store(t, "shop", 2, false).Acquire(ctx())
	if !errors.Is(err, checkpoint.ErrLocked) {
		t.Fatalf("second owner: %v", err)
	}
	if !strings.Contains(err.Error(), "pid ") || !strings.Contains(err.Error(), "host ") {
		t.Errorf("the error doesn't say who: %v", err)
	}
	f.publish(t, s, 2) // the first one was not disturbed
	closeSession(t, s)
	s = f.acquire(t, 2)
	defer closeSession(t, s)
	expectLatest(t, s, 2, 0)
}

func testFenced(t *testing.T, f *fixture) {
	open := func() checkpoint.Session {
		s, err := f.Store(t, "shop", 3, true).Acquire(ctx())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old := open()
	f.put(t, old, 1, "a")
	f.publish(t, old, 1, "a")
	f.put(t, old, 2, "b")
	young := open()
	defer closeSession(t, young)
	expectLatest(t, young, 1, 0)
	if _, err := old.Publish(ctx(), f.metadata(2)); !errors.Is(err, checkpoint.ErrFenced) {
		t.Fatalf("the old owner published: %v", err)
	}
	expectLatest(t, young, 1, 0)
	id := young.Next()
	f.put(t, young, id, "c")
	old.Abort(ctx(), 2) // what a stale owner still does
	f.publish(t, young, id, "a", "c")
	if _, err := old.Publish(ctx(), f.metadata(id+5)); !errors.Is(err, checkpoint.ErrFenced) {
		t.Fatalf("the old owner published: %v", err)
	}
	expectLatest(t, young, id, 0)
	f.expectFile(t, young, "a")
	f.expectFile(t, young, "c")
	closeSession(t, old)
}

func testForeign(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	f.publish(t, s, 1)
	for range 2 { // while it is in use, and when it is not
		_, err := f.Store(t, "billing", 2, false).Acquire(ctx())
		if !errors.Is(err, checkpoint.ErrForeign) {
			t.Fatalf("another pipeline: %v", err)
		}
		if !strings.Contains(err.Error(), `"shop"`) || !strings.Contains(err.Error(), `"billing"`) {
			t.Errorf("the error doesn't name both: %v", err)
		}
		closeSession(t, s)
	}
	s = f.acquire(t, 2)
	defer closeSession(t, s)
	expectLatest(t, s, 1, 0)
}

func testFiles(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	defer closeSession(t, s)
	f.put(t, s, 1, "a")
	f.put(t, s, 1, "a") // again is nothing
	f.expectFile(t, s, "a")
	f.expectGone(t, s, "never stored")
	if err := s.Files().Put(ctx(), "b", f.local+"/missing"); err == nil {
		t.Error("a missing local file was stored")
	}
	f.expectGone(t, s, "b")
	for _, name := range []string{"", "../x", "a/b", ".hidden"} {
		if err := s.Files().Put(ctx(), name, f.local); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
		if err := s.Files().Fetch(ctx(), name, f.local+"/x"); err == nil {
			t.Errorf("the name %q was fetched", name)
		}
	}
	// one name is one content
	good := f.made["a"]
	f.made["a"] = good[:100]
	if err := f.tryPut(t, s, 1, "a"); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("other content under the same name: %v", err)
	}
	f.made["a"] = good
	f.expectFile(t, s, "a")
	// without a checkpoint's number
	f.put(t, s, 0, "plain")
	f.publish(t, s, 1, "a", "plain")
	f.expectFile(t, s, "plain")
}

func testFilesConcurrently(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	defer closeSession(t, s)
	f.put(t, s, 1, "x") // makes the content; the file below is read only
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				name := fmt.Sprintf("f-%d", (i+j)%10)
				path := t.TempDir() + "/" + name
				if err := s.Files().Fetch(ctx(), "x", path); err != nil {
					t.Error(err)
				}
				if err := s.Files().Put(ctx(), name, path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	names := []string{"x"}
	for i := range 10 {
		names = append(names, fmt.Sprintf("f-%d", i))
		f.made[names[i+1]] = f.made["x"]
	}
	f.publish(t, s, 1, names...)
	for _, name := range names {
		f.expectFile(t, s, name)
	}
}

func testClosed(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	closeSession(t, s)
	if _, err := s.Publish(ctx(), f.metadata(1)); err == nil {
		t.Error("a closed session published")
	}
	if _, _, err := s.Latest(ctx()); err == nil {
		t.Error("a closed session has a latest checkpoint")
	}
	s.Abort(ctx(), 1)
}
