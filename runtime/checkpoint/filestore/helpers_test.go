package filestore_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/state"
)

func itoa(id int64) string { return strconv.FormatInt(id, 10) }

func acquire(t *testing.T, store checkpoint.Store) checkpoint.Session {
	t.Helper()
	s, err := store.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// metadata names files of 3 bytes.
func metadata(id checkpoint.ID, names ...string) *checkpoint.Metadata {
	var h state.Handle
	for _, name := range names {
		h.Files = append(h.Files, state.File{Name: name, Local: name, Bytes: 3})
	}
	return &checkpoint.Metadata{ID: id, Time: time.Unix(1700000000, 0).UTC(), MaxParallelism: 128,
		Operators: map[string]checkpoint.OperatorState{"sink": {Parallelism: 1, Keyed: []state.Handle{h}}}}
}

func publish(t *testing.T, s checkpoint.Session, id checkpoint.ID, names ...string) {
	t.Helper()
	if _, err := s.Publish(context.Background(), metadata(id, names...)); err != nil {
		t.Fatal(err)
	}
}

// writeLocal writes a file of 3 bytes, unsynced as a back end may leave it.
func writeLocal(fs vfs.FS, path string) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte("abc")); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// put stores a file of 3 bytes for checkpoint id.
func put(fs vfs.FS, s checkpoint.Session, id checkpoint.ID, name string) error {
	if err := writeLocal(fs, "local-"+name); err != nil {
		return err
	}
	return state.FilesFor(s.Files(), id).Put(context.Background(), name, "local-"+name)
}
