package memory

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/internal/sortedfile"
	"github.com/freshet-cdc/freshet/runtime/state/pebble"
)

// Name is the value of state.backend.type that selects this back end, as Flink calls it.
const Name = sortedfile.Backend

// Cache and memtables for reading the handles of the pebble back end.
const importMemory = 8 << 20

// Options say where stores work.
type Options struct {
	// FS holds the local folders, for snapshots on their way; vfs.Default when nil.
	FS vfs.FS
}

// Backend opens stores on the heap.
type Backend struct{ fs vfs.FS }

var _ state.Backend = (*Backend)(nil)

// NewBackend returns a back end; it holds no resources.
func NewBackend(opts Options) *Backend {
	if opts.FS == nil {
		opts.FS = vfs.Default
	}
	return &Backend{fs: opts.FS}
}

// Name returns "hashmap".
func (b *Backend) Name() string { return Name }

// Open opens the store of one subtask.
func (b *Backend) Open(ctx context.Context, opts state.Options) (state.Store, error) {
	s := &store{opts: opts, fs: b.fs, tree: newTree()}
	var uid [8]byte
	if _, err := rand.Read(uid[:]); err != nil {
		return nil, err
	}
	s.prefix = fmt.Sprintf("%s-%d-%s-", state.FileLabel(opts.Operator), opts.Subtask, hex.EncodeToString(uid[:]))
	err := b.fs.RemoveAll(opts.Dir)
	if err == nil {
		err = b.fs.MkdirAll(opts.Dir, 0o755)
	}
	if err == nil {
		err = s.restore(ctx)
	}
	if err != nil {
		return nil, s.wrap("open", errors.Join(err, b.fs.RemoveAll(opts.Dir)))
	}
	return s, nil
}

// restore reads the key groups of ours from the handles.
func (s *store) restore(ctx context.Context) error {
	dir := s.fs.PathJoin(s.opts.Dir, "restore")
	for _, h := range s.opts.Restore {
		own := h.KeyGroups.Intersect(s.opts.KeyGroups)
		if own.Empty() || len(h.Files) == 0 {
			continue
		}
		var err error
		if h.Backend == Name {
			err = sortedfile.ReadHandle(ctx, s.fs, s.opts.Files, h, dir, func(key, value []byte) bool {
				if own.Contains(keygroup.FromPrefix(key)) {
					s.set(key, value)
				}
				return true
			})
		} else {
			err = s.importHandle(ctx, h, dir)
		}
		if err != nil {
			return fmt.Errorf("restore key groups %v: %w", h.KeyGroups, err)
		}
	}
	return s.fs.RemoveAll(dir)
}

// importHandle reads what another back end wrote.
func (s *store) importHandle(ctx context.Context, h state.Handle, dir string) (err error) {
	b := pebble.NewBackend(pebble.Options{FS: s.fs, CacheBytes: importMemory, MemTableBytes: importMemory})
	defer b.Close()
	r := &pebble.HandleReader{Backend: b, Dir: dir, Files: s.opts.Files}
	for key, value := range r.Entries(ctx, h, s.opts.KeyGroups, &err) {
		s.set(key, value)
	}
	return err
}
