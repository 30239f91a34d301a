package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/checkpoint/filestore"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/runtime/state/pebble"
)

var groups = keygroup.Range{First: 0, Last: 127}

// job is one process with keyed state: it restores, writes, and checkpoints.
type job struct {
	fs      vfs.FS
	backend state.Backend
	session checkpoint.Session
	store   state.Store
	content map[string]string
}

func startJob(t *testing.T, fs vfs.FS, b state.Backend, contents map[checkpoint.ID]map[string]string) *job {
	t.Helper()
	j := &job{fs: fs, backend: b, content: map[string]string{}}
	j.session = acquire(t, newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: fs, Logger: quiet}))
	m, corrupt, err := j.session.Latest(context.Background())
	if err != nil || len(corrupt) != 0 {
		t.Fatalf("latest: %v, %v", corrupt, err)
	}
	opts := state.Options{Dir: "local", Operator: "op", KeyGroups: groups, Files: j.session.Files()}
	if m != nil {
		opts.Restore = m.Operators["op"].Keyed
		j.content = maps.Clone(contents[m.ID])
	}
	if j.store, err = b.Open(context.Background(), opts); err != nil {
		t.Fatal(err)
	}
	it, err := j.store.Iterate(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for it.Next() {
		got[string(it.Key())] = string(it.Value())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, j.content) {
		t.Fatalf("restored %d entries that are not the %d of the checkpoint", len(got), len(j.content))
	}
	return j
}

// change writes random entries.
func (j *job) change(t *testing.T, rng *rand.Rand, n int) {
	t.Helper()
	var b state.Batch
	for range n {
		k := string(keygroup.AppendPrefix(nil, rng.IntN(128))) + fmt.Sprint(rng.IntN(50))
		if rng.IntN(4) == 0 {
			b.Delete([]byte(k))
			delete(j.content, k)
		} else {
			v := fmt.Sprint(rng.Uint64())
			b.Set([]byte(k), []byte(v))
			j.content[k] = v
		}
	}
	if err := j.store.Apply(&b); err != nil {
		t.Fatal(err)
	}
}

func (j *job) checkpoint(id checkpoint.ID) error {
	sn, err := j.store.Snapshot(context.Background(), id)
	if err != nil {
		return err
	}
	h, err := sn.Upload(context.Background(), j.session.Files())
	if err != nil {
		j.session.Abort(context.Background(), id)
		return err
	}
	m := &checkpoint.Metadata{ID: id, Operators: map[string]checkpoint.OperatorState{"op": {Parallelism: 1, Keyed: []state.Handle{h}}}}
	if _, err = j.session.Publish(context.Background(), m); err != nil {
		j.session.Abort(context.Background(), id)
	}
	return err
}

func (j *job) stop() error { return errors.Join(j.store.Close(), j.session.Close()) }

// TestStateAcrossCrashes restores keyed state from what a crash of the machine left.
func TestStateAcrossCrashes(t *testing.T) {
	for _, name := range []string{"pebble", "memory"} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			fs := vfs.NewCrashableMem()
			contents := map[checkpoint.ID]map[string]string{}
			for range 40 {
				var b state.Backend = memory.NewBackend(memory.Options{FS: fs})
				if name == "pebble" {
					p := pebble.NewBackend(pebble.Options{FS: fs, CacheBytes: 1 << 20, MemTableBytes: 2 << 20, Logger: quiet})
					defer p.Close()
					b = p
				}
				j := startJob(t, fs, b, contents)
				for range rng.IntN(5) {
					j.change(t, rng, 1+rng.IntN(300))
					id := j.session.Next()
					if err := j.checkpoint(id); err != nil {
						t.Fatal(err)
					}
					contents[id] = maps.Clone(j.content)
				}
				j.change(t, rng, 100)
				crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(3) * 50, RNG: rng})
				if err := j.stop(); err != nil {
					t.Fatal(err)
				}
				fs = crashed
			}
		})
	}
}

// TestFullDisk uses a small file system of its own: everything lies on it.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("a small file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	t.Chdir(dir)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	b := pebble.NewBackend(pebble.Options{MemTableBytes: 2 << 20, Stores: 1, Logger: log})
	defer b.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	contents := map[checkpoint.ID]map[string]string{}
	j := startJob(t, vfs.Default, b, contents)
	j.change(t, rng, 1000)
	if err := j.checkpoint(1); err != nil {
		t.Fatal(err)
	}
	contents[1] = maps.Clone(j.content)

	fillDisk(t, filepath.Join(dir, "ballast"))
	var failed error
	for i := 0; failed == nil && i < 100; i++ {
		j.change(t, rng, 1000)
		failed = j.checkpoint(j.session.Next() + 1)
	}
	if !errors.Is(failed, syscall.ENOSPC) {
		t.Fatalf("a full disk gives %v", failed)
	}
	if err := j.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	j = startJob(t, vfs.Default, b, contents) // compares the content
	j.change(t, rng, 1000)
	if err := j.checkpoint(j.session.Next()); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if err := j.stop(); err != nil {
		t.Fatal(err)
	}
}

func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(buf)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
