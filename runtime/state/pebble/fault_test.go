package pebble_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/pebble"
	"github.com/freshet-cdc/freshet/runtime/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var all = keygroup.Range{First: 0, Last: 127}

// fill writes n entries of about 1 KB, applied in batches, and a load.
func fill(s state.Store, round, n int) error {
	var b state.Batch
	value := []byte(strings.Repeat("v", 1000))
	for i := range n {
		binary.BigEndian.PutUint32(value, uint32(round*n+i)*2654435761) // not all alike
		b.Set(fmt.Appendf([]byte{0, byte(i % 128)}, "key-%d", i%700), value)
		if b.Len() == 100 {
			if err := s.Apply(&b); err != nil {
				return err
			}
		}
	}
	return s.BulkLoad(context.Background(), func(yield func(k, v []byte) bool) {
		for i := range 128 {
			if !yield(fmt.Appendf([]byte{0, byte(i)}, "loaded-%d", round), value) {
				return
			}
		}
	})
}

// TestDiskFull lets each kind of write fail from some operation on. The store must say so in
// finite time, close, and the checkpoint before must restore when there is room.
func TestDiskFull(t *testing.T) {
	for i := 0; i < 4000; i += 1 + i/5 {
		if !diskFullAt(t, i) {
			if i < 20 {
				t.Errorf("only %d operations", i)
			}
			return
		}
	}
}

// work fills a store and fixes snapshots of it until something fails.
func work(s state.Store) error {
	for round := 1; round <= 3; round++ {
		if err := fill(s, round, 1500); err != nil {
			return err
		}
		sn, err := s.Snapshot(context.Background(), int64(round+1))
		if err != nil {
			return err
		}
		sn.Discard()
	}
	return nil
}

// diskFullAt fails every write after the at-th and says whether one failed.
func diskFullAt(t *testing.T, at int) (hit bool) {
	var on, full atomic.Bool
	var n atomic.Int64
	fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpMkdirAll, errorfs.OpRename:
			if on.Load() && n.Add(1) > int64(at) {
				full.Store(true)
				return syscall.ENOSPC
			}
		}
		return nil
	}))
	b := pebble.NewBackend(pebble.Options{FS: fs, MemTableBytes: 2 << 20, Stores: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	defer b.Close()
	dir := t.TempDir()
	opts := state.Options{Dir: filepath.Join(dir, "local"), Operator: "op", KeyGroups: all, Files: &statetest.DirFiles{Dir: dir}}
	s, err := b.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(s, 0, 500); err != nil {
		t.Fatal(err)
	}
	h := upload(t, s, opts.Files, 1)

	on.Store(true)
	failed := make(chan error, 1)
	go func() { failed <- work(s) }()
	select {
	case err = <-failed:
	case <-time.After(2 * time.Minute):
		t.Fatalf("operation %d failed, and the store hangs", at)
	}
	if full.Load() && !errors.Is(err, syscall.ENOSPC) && err != nil {
		t.Errorf("operation %d failed, and the store says %v", at, err)
	}
	if err != nil { // it stays so
		var batch state.Batch
		batch.Set([]byte{0, 1}, nil)
		if again := s.Apply(&batch); !errors.Is(again, syscall.ENOSPC) {
			t.Errorf("operation %d failed; a later call says %v", at, again)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("operation %d failed: close: %v", at, err)
	}
	on.Store(false)
	opts.Restore = []state.Handle{h}
	if s, err = b.Open(context.Background(), opts); err != nil {
		t.Fatalf("operation %d failed: restore: %v", at, err)
	}
	for i := range 128 {
		if _, ok, err := s.Get(nil, fmt.Appendf([]byte{0, byte(i)}, "loaded-0")); !ok || err != nil {
			t.Fatalf("operation %d failed: entry %d is gone: %v", at, i, err)
		}
	}
	if _, ok, _ := s.Get(nil, []byte("\x00\x01loaded-1")); ok {
		t.Errorf("operation %d failed: an entry of after the checkpoint is there", at)
	}
	if err := fill(s, 9, 500); err != nil {
		t.Fatalf("operation %d failed: after the restore: %v", at, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return full.Load()
}

func upload(t testing.TB, s state.Store, files state.Files, id int64) state.Handle {
	t.Helper()
	sn, err := s.Snapshot(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	h, err := sn.Upload(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
