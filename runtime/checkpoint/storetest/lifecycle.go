package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
)

func testMissingFile(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	defer closeSession(t, s)
	f.publish(t, s, 1)
	if _, err := s.Publish(ctx(), f.metadata(2, "nowhere")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a checkpoint without its file was published: %v", err)
	}
	expectLatest(t, s, 1, 0)
	f.publish(t, s, 3)
}

// testInFlight publishes checkpoints while a later one is being uploaded.
func testInFlight(t *testing.T, f *fixture) {
	s := f.acquire(t, 1)
	defer closeSession(t, s)
	f.put(t, s, 1, "old")
	f.publish(t, s, 1, "old")
	f.put(t, s, 4, "old") // relies on it being there
	f.put(t, s, 4, "new")
	f.put(t, s, 2, "x")
	f.publish(t, s, 2, "x")
	f.put(t, s, 3, "y")
	f.publish(t, s, 3, "y")
	f.expectFile(t, s, "old")
	f.expectFile(t, s, "new")
	f.expectGone(t, s, "x")
	f.publish(t, s, 4, "old", "new")
	f.expectFile(t, s, "old")
	f.expectFile(t, s, "new")
	f.expectGone(t, s, "y")
	f.publish(t, s, 5)
	f.expectGone(t, s, "old")
	f.expectGone(t, s, "new")
}

func testAbort(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	defer closeSession(t, s)
	f.put(t, s, 1, "base")
	f.publish(t, s, 1, "base")
	f.put(t, s, 2, "base")
	f.put(t, s, 2, "two")
	f.put(t, s, 2, "both")
	f.put(t, s, 3, "both") // of the next one, already under way
	s.Abort(ctx(), 2)
	f.expectGone(t, s, "two")
	f.expectFile(t, s, "base")
	f.expectFile(t, s, "both")
	if err := f.tryPut(t, s, 2, "late"); err == nil {
		t.Error("a file was stored for an aborted checkpoint")
	}
	if _, err := s.Publish(ctx(), f.metadata(2)); err == nil {
		t.Error("an aborted checkpoint was published")
	}
	f.publish(t, s, 3, "base", "both")
	s.Abort(ctx(), 3) // too late: it is published
	f.expectFile(t, s, "both")
	s.Abort(ctx(), 99) // never begun
	if err := f.tryPut(t, s, 3, "late"); err == nil {
		t.Error("a file was stored for a checkpoint that is published")
	}
	expectLatest(t, s, 3, 0)
}

// testLeftovers ends a session in the middle of an upload.
func testLeftovers(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	f.put(t, s, 1, "a")
	f.publish(t, s, 1, "a")
	f.put(t, s, 2, "left")
	closeSession(t, s)
	s = f.acquire(t, 2)
	defer closeSession(t, s)
	f.expectGone(t, s, "left")
	f.expectFile(t, s, "a")
	expectLatest(t, s, 1, 0)
}

func testCorruptMetadata(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	for id := checkpoint.ID(1); id <= 2; id++ {
		name := string(rune('a' + id))
		f.put(t, s, id, name)
		f.publish(t, s, id, name)
	}
	closeSession(t, s)
	f.Damage(t, 2)
	s = f.acquire(t, 2)
	defer func() { closeSession(t, s) }()
	corrupt := expectLatest(t, s, 1, 1)
	if !errors.Is(corrupt[0], checkpoint.ErrCorrupt) || !strings.Contains(corrupt[0].Error(), "checkpoint 2") {
		t.Errorf("the error doesn't name it: %v", corrupt[0])
	}
	if s.Next() != 3 {
		t.Errorf("next is %d", s.Next())
	}
	// the damaged one may still be repaired by hand: its files stay
	f.expectFile(t, s, "b")
	f.expectFile(t, s, "c")
	f.put(t, s, 3, "d")
	if oldest := f.publish(t, s, 3, "d"); oldest != 1 {
		t.Errorf("the oldest is %d", oldest)
	}
	expectLatest(t, s, 3, 0)
	f.put(t, s, 4, "e")
	if oldest := f.publish(t, s, 4, "e"); oldest != 3 {
		t.Errorf("the oldest is %d", oldest)
	}
	f.expectGone(t, s, "b")
	f.expectGone(t, s, "c") // nothing damaged is left
	f.expectFile(t, s, "d")
}

func testCorruptFile(t *testing.T, f *fixture) {
	for _, remove := range []bool{true, false} {
		s := f.acquire(t, 3)
		id := s.Next()
		f.put(t, s, id, "a")
		f.publish(t, s, id, "a")
		name := []string{"short", "missing"}[btoi(remove)]
		f.put(t, s, id+1, name)
		f.publish(t, s, id+1, "a", name)
		f.DamageFile(t, name, remove)
		for range 2 { // seen by the running process, and by the next
			corrupt := expectLatest(t, s, id, 1)
			if !errors.Is(corrupt[0], checkpoint.ErrCorrupt) || !strings.Contains(corrupt[0].Error(), name) {
				t.Errorf("the error doesn't name the file: %v", corrupt[0])
			}
			closeSession(t, s)
			s = f.acquire(t, 3)
		}
		f.publish(t, s, id+2, "a")
		expectLatest(t, s, id+2, 0)
		f.publish(t, s, id+3, "a")
		f.publish(t, s, id+4, "a")
		f.expectGone(t, s, name)
		closeSession(t, s)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func testAllCorrupt(t *testing.T, f *fixture) {
	s := f.acquire(t, 2)
	f.publish(t, s, 1)
	f.publish(t, s, 2)
	lineage := s.Lineage()
	closeSession(t, s)
	f.Damage(t, 1)
	f.Damage(t, 2)
	s = f.acquire(t, 2)
	defer closeSession(t, s)
	expectLatest(t, s, 0, 2)
	if s.Lineage() != lineage || s.Next() != 3 {
		t.Errorf("lineage %s, next %d", s.Lineage(), s.Next())
	}
}

// testDiscard takes back checkpoints that were complete.
func testDiscard(t *testing.T, f *fixture) {
	s := f.acquire(t, 4)
	f.put(t, s, 1, "base")
	f.publish(t, s, 1, "base")
	for id := checkpoint.ID(2); id <= 4; id++ {
		name := string(rune('a' + id))
		f.put(t, s, id, name)
		f.publish(t, s, id, "base", name)
	}
	if err := s.Discard(ctx(), 3); err != nil {
		t.Fatal(err)
	}
	expectLatest(t, s, 2, 0)
	f.expectFile(t, s, "base")
	f.expectFile(t, s, "c")
	f.expectGone(t, s, "d")
	f.expectGone(t, s, "e")
	if s.Next() != 5 {
		t.Errorf("next is %d", s.Next())
	}
	if err := s.Discard(ctx(), 9); err != nil { // nothing is that new
		t.Error(err)
	}
	closeSession(t, s)
	s = f.acquire(t, 4)
	defer func() { closeSession(t, s) }()
	expectLatest(t, s, 2, 0)
	if s.Next() != 5 {
		t.Errorf("next is %d, so an id would be used again", s.Next())
	}
	f.publish(t, s, 5, "base")
	f.Damage(t, 1)
	// What is damaged can't be gone back to.
	if err := s.Discard(ctx(), 2); !errors.Is(err, checkpoint.ErrLast) {
		t.Errorf("the last readable checkpoint: %v", err)
	}
	expectLatest(t, s, 5, 0)
	closeSession(t, s)
	s = f.acquire(t, 4)
	if s.Next() != 6 {
		t.Errorf("next is %d", s.Next())
	}
}
