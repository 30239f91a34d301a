package storetest

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// Place is where the stores of a test lie.
type Place interface {
	// Store returns a store in the place for the named pipeline. With unlocked, whatever keeps out
	// a second process on the same machine does not work.
	Store(t *testing.T, pipeline string, retained int, unlocked bool) checkpoint.Store
	// Damage damages the metadata of a checkpoint.
	Damage(t *testing.T, id checkpoint.ID)
	// DamageFile makes a stored file shorter, or removes it.
	DamageFile(t *testing.T, name string, remove bool)
}

// fixture is a place with local files to store.
type fixture struct {
	Place
	local string
	made  map[string][]byte
}

func ctx() context.Context { return context.Background() }

func (f *fixture) acquire(t *testing.T, retained int) checkpoint.Session {
	t.Helper()
	s, err := f.Store(t, "shop", retained, false).Acquire(ctx())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put stores a new file of random content for checkpoint id.
func (f *fixture) put(t *testing.T, s checkpoint.Session, id checkpoint.ID, name string) {
	t.Helper()
	if err := f.tryPut(t, s, id, name); err != nil {
		t.Fatalf("put %s for checkpoint %d: %v", name, id, err)
	}
}

func (f *fixture) tryPut(t *testing.T, s checkpoint.Session, id checkpoint.ID, name string) error {
	t.Helper()
	data := f.made[name]
	if data == nil {
		data = make([]byte, 5000)
		_, _ = rand.Read(data)
		f.made[name] = data
	}
	path := filepath.Join(f.local, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	return state.FilesFor(s.Files(), id).Put(ctx(), name, path)
}

// expectFile fetches a file and compares it with what was stored.
func (f *fixture) expectFile(t *testing.T, s checkpoint.Session, name string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fetched")
	if err := s.Files().Fetch(ctx(), name, path); err != nil {
		t.Errorf("fetch %s: %v", name, err)
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(f.made[name]) {
		t.Errorf("%s came back with %d other bytes (%v)", name, len(got), err)
	}
}

func (f *fixture) expectGone(t *testing.T, s checkpoint.Session, name string) {
	t.Helper()
	if err := s.Files().Fetch(ctx(), name, filepath.Join(t.TempDir(), "fetched")); err == nil {
		t.Errorf("%s is still there", name)
	}
}

// metadata makes the metadata of a checkpoint that names the files.
func (f *fixture) metadata(id checkpoint.ID, names ...string) *checkpoint.Metadata {
	h := state.Handle{Backend: "pebble", KeyGroups: keygroup.Range{First: 0, Last: 127}}
	for _, name := range names {
		h.Files = append(h.Files, state.File{Name: name, Local: name, Bytes: 5000})
		h.Bytes += 5000
	}
	return &checkpoint.Metadata{
		ID: id, Time: time.UnixMilli(1700000000000 + id).UTC(), MaxParallelism: 128,
		Operators: map[string]checkpoint.OperatorState{
			"source": {Parallelism: 1, States: [][]byte{[]byte("position \x00\xff")}},
			"sink":   {Parallelism: 2, States: [][]byte{{}, nil}, Keyed: []state.Handle{h}},
		},
	}
}

// publish publishes checkpoint id; the files must be stored already.
func (f *fixture) publish(t *testing.T, s checkpoint.Session, id checkpoint.ID, names ...string) (oldest checkpoint.ID) {
	t.Helper()
	oldest, err := s.Publish(ctx(), f.metadata(id, names...))
	if err != nil {
		t.Fatalf("publish %d: %v", id, err)
	}
	return oldest
}

// expectLatest checks the newest checkpoint, 0 for none, and how many were passed over.
func expectLatest(t *testing.T, s checkpoint.Session, id checkpoint.ID, corrupt int) []error {
	t.Helper()
	m, passed, err := s.Latest(ctx())
	if err != nil {
		t.Fatalf("latest: %v", err)
	}
	var got checkpoint.ID
	if m != nil {
		got = m.ID
	}
	if got != id || len(passed) != corrupt {
		t.Fatalf("latest is %d, passed over %v; want %d and %d", got, passed, id, corrupt)
	}
	return passed
}

func closeSession(t *testing.T, s checkpoint.Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
