package statetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
)

func testSnapshotOfOneMoment(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	want := numbered(2000, "one")
	load(t, s, want)
	set(t, s, string(key(3, "x")), "y")
	want[string(key(3, "x"))] = "y"
	sn, err := s.Snapshot(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var h state.Handle
	go func() { // beside the store, as the runtime does it
		var err error
		h, err = sn.Upload(context.Background(), f.files)
		done <- err
	}()
	var b state.Batch
	b.DeleteRange(key(0, ""), key(8, ""))
	for k := range want {
		b.Set([]byte(k), []byte("two"))
	}
	apply(t, s, &b)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if h.Backend != f.backend.Name() || h.KeyGroups != all || h.Bytes <= 0 || h.NewBytes != h.Bytes {
		t.Errorf("handle %+v", h)
	}
	var sum int64
	for _, file := range h.Files {
		info, err := os.Stat(f.files.Path(file.Name))
		if err != nil || info.Size() != file.Bytes {
			t.Errorf("file %+v: %v, %v", file, info, err)
		}
		sum += file.Bytes
	}
	if sum != h.Bytes {
		t.Errorf("%d bytes in files, %d in the handle", sum, h.Bytes)
	}
	again := f.open(t, all, h)
	defer closeStore(t, again)
	expect(t, again, want)
}

func testSnapshotEmpty(t *testing.T, f *fixture) {
	s := f.open(t, all)
	h := f.snapshot(t, s, 1)
	closeStore(t, s)
	again := f.open(t, all, h)
	expect(t, again, nil)
	set(t, again, string(key(1, "a")), "b")
	h = f.snapshot(t, again, 2)
	closeStore(t, again)
	again = f.open(t, all, h)
	defer closeStore(t, again)
	expect(t, again, map[string]string{string(key(1, "a")): "b"})
}

func testSnapshotDiscarded(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer closeStore(t, s)
	set(t, s, string(key(1, "a")), "1")
	sn, err := s.Snapshot(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	sn.Discard()
	if names := f.files.TakeNew(); len(names) != 0 {
		t.Errorf("files of a discarded snapshot: %v", names)
	}
	h := f.snapshot(t, s, 2)
	again := f.open(t, all, h)
	defer closeStore(t, again)
	expect(t, again, map[string]string{string(key(1, "a")): "1"})
}

func testOpenEmptiesFolder(t *testing.T, f *fixture) {
	opts := f.options(all)
	for i := range 2 {
		s, err := f.backend.Open(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, s, nil)
		set(t, s, string(key(1, "a")), "1")
		f.snapshot(t, s, int64(i))
		closeStore(t, s)
		if _, err := os.Stat(opts.Dir); !os.IsNotExist(err) {
			t.Errorf("the local folder is left after Close: %v", err)
		}
		if err := os.MkdirAll(filepath.Join(opts.Dir, "db"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(opts.Dir, "db", "000001.sst"), []byte("rubbish of a crashed process"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func testRestoreAfterFolderIsGone(t *testing.T, f *fixture) {
	opts := f.options(all)
	s, err := f.backend.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	want := numbered(5000, "v")
	load(t, s, want)
	h := f.snapshot(t, s, 1)
	if err := os.RemoveAll(opts.Dir); err != nil { // another machine
		t.Fatal(err)
	}
	opts.Restore = []state.Handle{h}
	again, err := f.backend.Open(context.Background(), opts)
	if err != nil {
		// the store before holds its folder in the same process
		opts.Dir += "-new"
		if again, err = f.backend.Open(context.Background(), opts); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, again, want)
	closeStore(t, again)
	_ = s.Close()
}

func testRescale(t *testing.T, f *fixture) {
	want := numbered(3000, "v")
	id := int64(0)
	var handles []state.Handle
	for round, p := range []int{1, 3, 2, 2, 5, 1, 4} {
		var next []state.Handle
		for i, r := range keygroup.Ranges(maxParallelism, p) {
			s := f.open(t, r, handles...)
			if round == 0 {
				load(t, s, want)
			}
			expect(t, s, within(want, r))
			// change something, so that each round has files of its own
			k := string(key(r.First, fmt.Sprintf("round-%d-%d", round, i)))
			set(t, s, k, "new")
			want[k] = "new"
			var b state.Batch
			for k := range within(want, r) {
				if strings.HasSuffix(k, fmt.Sprintf("%d7", round)) {
					b.Delete([]byte(k))
					delete(want, k)
				}
			}
			apply(t, s, &b)
			id++
			next = append(next, f.snapshot(t, s, id))
			closeStore(t, s)
		}
		handles = next
	}
	s := f.open(t, all, handles...)
	defer closeStore(t, s)
	expect(t, s, want)
}

// testReusedNumbers is the trap that Flink's SharedStateRegistryImpl tells of: two
// attempts go on from one checkpoint and give different content the same number.
func testReusedNumbers(t *testing.T, f *fixture) {
	s := f.open(t, all)
	base := numbered(500, "base")
	load(t, s, base)
	h1 := f.snapshot(t, s, 1)
	closeStore(t, s)
	f.files.TakeNew()

	attempt := func(tag string) (state.Handle, map[string]string, []string) {
		s := f.open(t, all, h1)
		defer closeStore(t, s)
		want := numbered(500, tag)
		load(t, s, want)
		return f.snapshot(t, s, 2), want, f.files.TakeNew()
	}
	first, wantFirst, namesFirst := attempt("first")
	second, wantSecond, namesSecond := attempt("second")
	if len(namesSecond) == 0 {
		t.Error("the second attempt uploaded nothing")
	}
	for _, name := range namesSecond {
		if slices.Contains(namesFirst, name) {
			t.Errorf("both attempts stored %s", name)
		}
	}
	for _, c := range []struct {
		h    state.Handle
		want map[string]string
	}{{h1, base}, {first, wantFirst}, {second, wantSecond}} {
		s := f.open(t, all, c.h)
		expect(t, s, c.want)
		closeStore(t, s)
	}
}

func testIncremental(t *testing.T, f *fixture) {
	s := f.open(t, all)
	defer func() { closeStore(t, s) }()
	want := numbered(50_000, "v")
	load(t, s, want)
	h1 := f.snapshot(t, s, 1)
	f.files.TakeNew()
	for id, restored := range map[int64]bool{2: false, 3: true} {
		if restored {
			closeStore(t, s)
			s = f.open(t, all, h1)
		}
		k := string(key(1, fmt.Sprintf("one-more-%d", id)))
		set(t, s, k, "w")
		h := f.snapshot(t, s, id)
		if h.NewBytes >= h1.Bytes/4 || h.Bytes <= h1.Bytes/2 {
			t.Errorf("checkpoint %d (restored %v): %d bytes of %d are new", id, restored, h.NewBytes, h.Bytes)
		}
		var stored int64
		for _, name := range f.files.TakeNew() {
			info, err := os.Stat(f.files.Path(name))
			if err != nil {
				t.Fatal(err)
			}
			stored += info.Size()
		}
		if stored != h.NewBytes {
			t.Errorf("checkpoint %d: stored %d bytes, handle says %d", id, stored, h.NewBytes)
		}
	}
}

var errFull = errors.New("no space left on device (injected)")

func testUploadFails(t *testing.T, f *fixture) {
	s := f.open(t, all)
	want := numbered(2000, "v")
	load(t, s, want)
	h1 := f.snapshot(t, s, 1)
	set(t, s, string(key(1, "later")), "w")
	sn, err := s.Snapshot(context.Background(), 2)
	if err != nil {
		t.Fatal(err)
	}
	f.files.FailAfter(0, errFull)
	if _, err := sn.Upload(context.Background(), f.files); !errors.Is(err, errFull) {
		t.Errorf("upload to a full disk: %v", err)
	}
	f.files.FailAfter(0, nil)
	// the one before is as it was, and the store goes on
	again := f.open(t, all, h1)
	expect(t, again, want)
	closeStore(t, again)
	want[string(key(1, "later"))] = "w"
	expect(t, s, want)
	h3 := f.snapshot(t, s, 3)
	closeStore(t, s)
	again = f.open(t, all, h3)
	expect(t, again, want)
	closeStore(t, again)
}

func testRestoreDamaged(t *testing.T, f *fixture) {
	s := f.open(t, all)
	load(t, s, numbered(20_000, "v"))
	h := f.snapshot(t, s, 1)
	closeStore(t, s)
	for _, file := range h.Files {
		path := f.files.Path(file.Name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []keygroup.Range{all, {First: 2, Last: 5}} {
			if err := os.WriteFile(path, good[:len(good)-9], 0o644); err != nil {
				t.Fatal(err)
			}
			expectOpenError(t, f, r, h, state.ErrCorrupt, file.Name+" truncated")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			expectOpenError(t, f, r, h, os.ErrNotExist, file.Name+" missing")
			if err := os.WriteFile(path, good, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	s = f.open(t, all, h)
	defer closeStore(t, s)
	expect(t, s, numbered(20_000, "v"))
}

func testRestoreUnknown(t *testing.T, f *fixture) {
	h := state.Handle{Backend: "rocksdb", KeyGroups: all, Files: []state.File{{Name: "x", Local: "x"}}}
	expectOpenError(t, f, all, h, state.ErrUnknownBackend, "handle of an unknown back end")
}

func expectOpenError(t *testing.T, f *fixture, r keygroup.Range, h state.Handle, want error, what string) {
	t.Helper()
	opts := f.options(r, h)
	s, err := f.backend.Open(context.Background(), opts)
	if err == nil {
		closeStore(t, s)
	}
	if !errors.Is(err, want) {
		t.Errorf("%s: open %v gives %v, want %v", what, r, err, want)
	}
	if _, err := os.Stat(opts.Dir); !os.IsNotExist(err) {
		t.Errorf("%s: the local folder of the failed open is left: %v", what, err)
	}
}

// RunAcross restores what one back end wrote with another, at the same and at another parallelism.
func RunAcross(t *testing.T, from, to state.Backend) {
	f := newFixture(t, from)
	want := numbered(3000, "v")
	var handles []state.Handle
	for i, r := range keygroup.Ranges(maxParallelism, 2) {
		s := f.open(t, r)
		load(t, s, within(want, r))
		handles = append(handles, f.snapshot(t, s, int64(i)))
		closeStore(t, s)
	}
	f.backend = to
	for _, p := range []int{1, 2, 3} {
		for _, r := range keygroup.Ranges(maxParallelism, p) {
			s := f.open(t, r, handles...)
			expect(t, s, within(want, r))
			h := f.snapshot(t, s, 10)
			if h.Backend != to.Name() {
				t.Errorf("handle of %s, want %s", h.Backend, to.Name())
			}
			closeStore(t, s)
		}
	}
}
