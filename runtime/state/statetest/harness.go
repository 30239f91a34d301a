package statetest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// maxParallelism is small, so that ranges of key groups have something in them.
const maxParallelism = 16

// all is the range of a single subtask.
var all = keygroup.Range{First: 0, Last: maxParallelism - 1}

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// fixture has a back end, a place for snapshots and local folders.
type fixture struct {
	backend state.Backend
	files   *DirFiles
	local   string
	opened  int
}

func newFixture(t *testing.T, b state.Backend) *fixture {
	t.Helper()
	f := &fixture{backend: b, local: t.TempDir()}
	f.files = &DirFiles{Dir: filepath.Join(f.local, "files")}
	if err := os.Mkdir(f.files.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return f
}

// options returns those of a store in a folder that was never used.
func (f *fixture) options(r keygroup.Range, handles ...state.Handle) state.Options {
	f.opened++
	return state.Options{
		Dir:       filepath.Join(f.local, fmt.Sprintf("store-%d", f.opened)),
		Operator:  "sink: orders/ü", // no file name as it is
		Subtask:   r.First,
		KeyGroups: r,
		Restore:   handles,
		Files:     f.files,
	}
}

// open opens a store; the caller closes it.
func (f *fixture) open(t tb, r keygroup.Range, handles ...state.Handle) state.Store {
	t.Helper()
	s, err := f.backend.Open(context.Background(), f.options(r, handles...))
	if err != nil {
		t.Fatalf("open key groups %v: %v", r, err)
	}
	return s
}

// snapshot takes a snapshot and uploads it.
func (f *fixture) snapshot(t tb, s state.Store, id int64) state.Handle {
	t.Helper()
	sn, err := s.Snapshot(context.Background(), id)
	if err != nil {
		t.Fatalf("snapshot %d: %v", id, err)
	}
	h, err := sn.Upload(context.Background(), f.files)
	if err != nil {
		t.Fatalf("upload %d: %v", id, err)
	}
	return h
}

func closeStore(t tb, s state.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// key makes a key of a key group.
func key(kg int, rest string) []byte { return append(keygroup.AppendPrefix(nil, kg), rest...) }

// set writes single entries given as key, value, key, value...
func set(t tb, s state.Store, kvs ...string) {
	t.Helper()
	var b state.Batch
	for i := 0; i < len(kvs); i += 2 {
		b.Set([]byte(kvs[i]), []byte(kvs[i+1]))
	}
	apply(t, s, &b)
}

func apply(t tb, s state.Store, b *state.Batch) {
	t.Helper()
	if err := s.Apply(b); err != nil {
		t.Fatalf("apply: %v", err)
	}
	if b.Len() != 0 || b.Bytes() != 0 {
		t.Fatalf("the batch was not emptied")
	}
}

// scan reads all entries through an iterator.
func scan(t tb, s state.Store, lower, upper []byte) map[string]string {
	t.Helper()
	it, err := s.Iterate(lower, upper)
	if err != nil {
		t.Fatalf("iterate: %v", err)
	}
	got := map[string]string{}
	var last []byte
	for it.Next() {
		if len(got) > 0 && bytes.Compare(it.Key(), last) <= 0 {
			t.Fatalf("iterator gives %x after %x", it.Key(), last)
		}
		last = append(last[:0], it.Key()...)
		got[string(it.Key())] = string(it.Value())
	}
	if it.Next() {
		t.Fatalf("the iterator goes on after its end")
	}
	if err := it.Close(); err != nil {
		t.Fatalf("iterator: %v", err)
	}
	return got
}

// expect compares the whole content, by iterator and by Get.
func expect(t tb, s state.Store, want map[string]string) {
	t.Helper()
	equal(t, scan(t, s, nil, nil), want)
	for k, v := range want {
		expectGet(t, s, k, v)
	}
}

func expectGet(t tb, s state.Store, k, want string) {
	t.Helper()
	got, ok, err := s.Get([]byte("x"), []byte(k))
	if err != nil || !ok || string(got) != "x"+want {
		t.Fatalf("get %x = %q, %v, %v; want %q after the prefix", k, got, ok, err, want)
	}
}

func expectNone(t tb, s state.Store, k string) {
	t.Helper()
	if got, ok, err := s.Get([]byte("x"), []byte(k)); err != nil || ok || string(got) != "x" {
		t.Fatalf("get %x = %q, %v, %v; want none", k, got, ok, err)
	}
}

func equal(t tb, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if v, ok := got[k]; !ok || v != want[k] {
			t.Errorf("key %x: have %q (%v), want %q", k, v, ok, want[k])
			break
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			t.Errorf("key %x is there, want none", k)
			break
		}
	}
	t.Fatalf("%d entries, want %d", len(got), len(want))
}

// within returns the entries of key groups r.
func within(entries map[string]string, r keygroup.Range) map[string]string {
	got := map[string]string{}
	for k, v := range entries {
		if r.Contains(keygroup.FromPrefix([]byte(k))) {
			got[k] = v
		}
	}
	return got
}

// sorted yields entries in key order.
func sorted(entries map[string]string) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		var k, v []byte // reused: the store must copy
		for _, s := range slices.Sorted(maps.Keys(entries)) {
			k, v = append(k[:0], s...), append(v[:0], entries[s]...)
			if !yield(k, v) {
				return
			}
		}
	}
}

// load bulk-loads entries.
func load(t tb, s state.Store, entries map[string]string) {
	t.Helper()
	if err := s.BulkLoad(context.Background(), sorted(entries)); err != nil {
		t.Fatalf("bulk load: %v", err)
	}
}

// numbered makes n entries over all key groups, different for each tag.
func numbered(n int, tag string) map[string]string {
	entries := make(map[string]string, n)
	for i := range n {
		entries[string(key(i%maxParallelism, fmt.Sprintf("key-%06d", i)))] = fmt.Sprintf("%s-%d", tag, i)
	}
	return entries
}
