package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/checkpoint/filestore"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// run publishes checkpoints from..to, each with a file of its own and one of the
// checkpoint before. It calls done after each.
func run(store checkpoint.Store, fs vfs.FS, n int, done func(id checkpoint.ID)) (err error) {
	s, err := store.Acquire(context.Background())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	last, _, err := s.Latest(context.Background())
	if err != nil {
		return err
	}
	var before []string
	if last != nil {
		for _, f := range last.Operators["sink"].Keyed[0].Files {
			before = append(before[:0], f.Name)
		}
	}
	for id := s.Next(); n > 0; n-- {
		name := fmt.Sprintf("file-%d-%d", id, rand.Uint32()) // unique for the attempt
		names := append([]string{name}, before...)
		for _, name := range names {
			if err := put(fs, s, id, name); err != nil {
				return err
			}
		}
		if _, err := s.Publish(context.Background(), metadata(id, names...)); err != nil {
			return err
		}
		before = names[:1]
		if done != nil {
			done(id)
		}
		id = s.Next()
	}
	return nil
}

// expectReadable says which checkpoint is the newest, and fails when anything is damaged.
func expectReadable(t *testing.T, fs vfs.FS, what string) checkpoint.ID {
	t.Helper()
	store := newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: fs, Logger: quiet})
	s, err := store.Acquire(context.Background())
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer s.Close()
	m, corrupt, err := s.Latest(context.Background())
	if err != nil || len(corrupt) != 0 {
		t.Fatalf("%s: latest %v, corrupt %v", what, err, corrupt)
	}
	if m == nil {
		return 0
	}
	for _, f := range m.Operators["sink"].Keyed[0].Files {
		_ = fs.Remove("fetched-" + f.Name)
		if err := s.Files().Fetch(context.Background(), f.Name, "fetched-"+f.Name); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := readAll(fs, "fetched-"+f.Name)
		if err != nil || got != "abc" {
			t.Fatalf("%s: %s holds %q (%v)", what, f.Name, got, err)
		}
	}
	return m.ID
}

// expectAllReadable takes the checkpoints away, the newest first: none may be damaged.
func expectAllReadable(t *testing.T, fs vfs.FS) {
	t.Helper()
	for id := expectReadable(t, fs, "newest"); id > 0; {
		if err := fs.RemoveAll("dir/chk-" + itoa(id)); err != nil {
			t.Fatal(err)
		}
		id = expectReadable(t, fs, fmt.Sprintf("without checkpoint %d", id))
	}
}

func readAll(fs vfs.FS, name string) (string, error) {
	f, err := fs.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

// TestCrash stops the machine before every single operation: with what was
// synced, and with any part of what was not.
func TestCrash(t *testing.T) {
	for _, percent := range []int{0, 50, 100} {
		t.Run(fmt.Sprintf("unsynced-%d", percent), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(percent)))
			mem := vfs.NewCrashableMem()
			if err := mem.MkdirAll(".", 0o755); err != nil {
				t.Fatal(err)
			}
			var (
				mu        sync.Mutex
				published checkpoint.ID
				crashes   int
			)
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				crashes++
				clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
				got := expectReadable(t, clone, fmt.Sprintf("crash before %v %s", op.Kind, op.Path))
				if got < published || got > published+1 {
					t.Fatalf("crash before %v %s: latest is %d, published were %d", op.Kind, op.Path, got, published)
				}
				expectAllReadable(t, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}))
				// the next process goes on
				next := newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: clone, Logger: quiet})
				if err := run(next, clone, 1, nil); err != nil {
					t.Fatalf("after a crash before %v %s: %v", op.Kind, op.Path, err)
				}
				return nil
			}))
			store := newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: fs, Logger: quiet})
			err := run(store, mem, 5, func(id checkpoint.ID) {
				mu.Lock()
				defer mu.Unlock()
				published = id
			})
			if err != nil || published != 5 {
				t.Fatalf("published %d: %v", published, err)
			}
			if crashes < 50 {
				t.Errorf("only %d crashes", crashes)
			}
		})
	}
}

// TestFailedOperation makes every single write operation fail, as on a full or
// broken disk, once and for good. What was published stays, and a
// restart goes on when there is room.
func TestFailedOperation(t *testing.T) {
	for _, forGood := range []bool{false, true} {
		t.Run(fmt.Sprintf("forgood-%v", forGood), func(t *testing.T) {
			for i := range 1000 {
				mem := vfs.NewMem()
				n, hit := 0, false
				fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
					if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
						return nil
					}
					n++
					if n-1 == i || forGood && hit {
						hit = true
						return syscall.ENOSPC
					}
					return nil
				}))
				var published checkpoint.ID
				store := newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: fs, Logger: quiet})
				err := run(store, mem, 4, func(id checkpoint.ID) { published = id })
				if err == nil && published != 4 || err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("operation %d failed: published %d, %v", i, published, err)
				}
				what := fmt.Sprintf("after operation %d failed (%v)", i, err)
				if got := expectReadable(t, mem, what); got < published || got > published+1 {
					t.Fatalf("%s: latest is %d, published were %d", what, got, published)
				}
				again := newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: mem, Logger: quiet})
				if err := run(again, mem, 2, nil); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if !hit {
					return // all operations were tried
				}
			}
			t.Error("the operations don't end")
		})
	}
}

// TestTakeOver lets a new owner come before every single operation of a
// publish, where locks don't work: the new owner has the checkpoint, or the old one is told that it is fenced.
func TestTakeOver(t *testing.T) {
	for i := range 1000 {
		mem := vfs.NewMem()
		on, n := false, 0
		var young checkpoint.Session
		open := func(fs vfs.FS) checkpoint.Session {
			return acquire(t, newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: noLockFS{fs}, Logger: quiet}))
		}
		old := open(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if on {
				if n++; n-1 == i {
					on = false
					young = open(mem)
				}
			}
			return nil
		})))
		publish(t, old, 1)
		if err := put(mem, old, 2, "two"); err != nil {
			t.Fatal(err)
		}
		on = true
		_, err := old.Publish(context.Background(), metadata(2, "two"))
		on = false
		if young == nil {
			if err != nil || i < 10 {
				t.Fatalf("%d operations, %v", i, err)
			}
			return // the publish was over before operation i
		}
		m, corrupt, lerr := young.Latest(context.Background())
		if lerr != nil || len(corrupt) != 0 {
			t.Fatalf("operation %d: latest %v, %v", i, corrupt, lerr)
		}
		if err == nil != (m.ID == 2) || err != nil && !errors.Is(err, checkpoint.ErrFenced) {
			t.Fatalf("operation %d: publish %v, the new owner has %d", i, err, m.ID)
		}
		if m.ID >= young.Next() {
			t.Fatalf("operation %d: latest %d, next %d", i, m.ID, young.Next())
		}
		id := young.Next()
		if err := put(mem, young, id, "three"); err != nil {
			t.Fatal(err)
		}
		publish(t, young, id, "three")
		if _, err := old.Publish(context.Background(), metadata(id+1)); !errors.Is(err, checkpoint.ErrFenced) {
			t.Fatalf("operation %d: the old owner goes on: %v", i, err)
		}
		if err := errors.Join(old.Close(), young.Close()); err != nil {
			t.Fatal(err)
		}
		if got := expectReadable(t, mem, "after all"); got != id {
			t.Fatalf("operation %d: latest %d, want %d", i, got, id)
		}
	}
	t.Error("the operations don't end")
}

// TestRenameDuringTakeOver lets the rename of an old owner, which had looked at OWNER in
// time, come before every single operation of the take-over.
func TestRenameDuringTakeOver(t *testing.T) {
	for i := range 1000 {
		mem := vfs.NewMem()
		on, reached, release, done := false, make(chan struct{}), make(chan struct{}), make(chan error, 1)
		oldFS := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if on && op.Kind == errorfs.OpRename {
				close(reached)
				<-release
			}
			return nil
		}))
		open := func(fs vfs.FS) checkpoint.Session {
			return acquire(t, newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: noLockFS{fs}, Logger: quiet}))
		}
		old := open(oldFS)
		publish(t, old, 1)
		if err := put(mem, old, 2, "two"); err != nil {
			t.Fatal(err)
		}
		on = true
		go func() {
			_, err := old.Publish(context.Background(), metadata(2, "two"))
			done <- err
		}()
		<-reached
		var result error
		n, hit, acquiring := 0, false, true
		young := open(errorfs.Wrap(mem, errorfs.InjectorFunc(func(errorfs.Op) error {
			if n++; acquiring && n-1 == i {
				hit = true
				close(release)
				result = <-done
			}
			return nil
		})))
		acquiring = false
		if !hit {
			close(release)
			result = <-done
		}
		m, corrupt, err := young.Latest(context.Background())
		if err != nil || len(corrupt) != 0 || young.Next() != 3 {
			t.Fatalf("operation %d: latest %v, %v, next %d", i, corrupt, err, young.Next())
		}
		if result == nil != (m.ID == 2) || result != nil && !errors.Is(result, checkpoint.ErrFenced) {
			t.Fatalf("operation %d: publish %v, the new owner has %d", i, result, m.ID)
		}
		if err := errors.Join(old.Close(), young.Close()); err != nil {
			t.Fatal(err)
		}
		if !hit {
			return
		}
	}
	t.Error("the operations don't end")
}

// TestSameSessionGoesOn fails in one session, which then publishes the next checkpoint.
func TestSameSessionGoesOn(t *testing.T) {
	for i := range 1000 {
		mem := vfs.NewMem()
		on, hit, n := false, false, 0
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if !on || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			n++
			if n-1 == i {
				hit = true
				return syscall.ENOSPC
			}
			return nil
		}))
		s := acquire(t, newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 1, FS: fs, Logger: quiet}))
		err := put(mem, s, 1, "one")
		if err != nil {
			t.Fatal(err)
		}
		publish(t, s, 1, "one")
		on = true
		if err = put(mem, s, 2, "two"); err == nil {
			_, err = s.Publish(context.Background(), metadata(2, "one", "two"))
		}
		on = false
		want := checkpoint.ID(2)
		if err != nil {
			s.Abort(context.Background(), 2)
			want = 1
		}
		if m, corrupt, lerr := s.Latest(context.Background()); lerr != nil || len(corrupt) != 0 || m.ID != want {
			t.Fatalf("operation %d failed (%v): latest %v, %v, %v; want %d", i, err, m, corrupt, lerr, want)
		}
		if err := put(mem, s, 3, "three"); err != nil {
			t.Fatal(err)
		}
		publish(t, s, 3, "one", "three")
		if names, _ := mem.List("dir/shared"); len(names) != 2 {
			t.Fatalf("operation %d failed (%v): shared holds %v", i, err, names)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !hit {
			return
		}
	}
	t.Error("the operations don't end")
}
