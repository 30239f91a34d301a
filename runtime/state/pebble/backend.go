package pebble

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/state"
)

// Name is the value of state.backend.type that selects this back end.
const Name = "pebble"

const (
	defaultCache    = 64 << 20
	defaultMemTable = 32 << 20
	defaultStores   = 2
	minMemTable     = 1 << 20
	// bloomBits gives about 1 % false positives.
	bloomBits = 10
	// maxOpenFiles is per store; more would be a burden on the process's limit.
	maxOpenFiles = 256
	// maxManifest makes Pebble start a new manifest early: each checkpoint carries a copy.
	maxManifest = 256 << 10
)

// Options are the limits of all stores of a process together.
type Options struct {
	// CacheBytes is the size of the block cache; 64 MiB when 0.
	CacheBytes int64
	// MemTableBytes is the memory for entries that are not in tables yet; 32 MiB when 0.
	MemTableBytes int64
	// Stores is the number of stores that are expected to be open at once; 2 when
	// 0. Each gets its part of MemTableBytes. More of them take memory from
	// the block cache, so that the sum of both holds all the same.
	Stores int
	// FS holds the local folders; vfs.Default when nil.
	FS vfs.FS
	// Logger gets what Pebble has to say at level debug, and errors; slog.Default() when nil.
	Logger *slog.Logger
}

// Backend opens stores that share a block cache.
type Backend struct {
	opts  Options
	cache *pebbledb.Cache
}

var _ state.Backend = (*Backend)(nil)

// NewBackend returns a back end. Close releases its memory.
func NewBackend(opts Options) *Backend {
	if opts.CacheBytes <= 0 {
		opts.CacheBytes = defaultCache
	}
	if opts.MemTableBytes <= 0 {
		opts.MemTableBytes = defaultMemTable
	}
	if opts.Stores <= 0 {
		opts.Stores = defaultStores
	}
	if opts.FS == nil {
		opts.FS = vfs.Default
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	// Pebble reserves its memtables out of the block cache, so a cache of
	// CacheBytes alone would be smaller by them, or nothing.
	return &Backend{opts: opts, cache: pebbledb.NewCache(opts.CacheBytes + opts.MemTableBytes)}
}

// Name returns "pebble".
func (b *Backend) Name() string { return Name }

// Close releases the block cache. All stores must have been closed.
func (b *Backend) Close() { b.cache.Unref() }

// Open opens the store of one subtask in opts.Dir.
func (b *Backend) Open(ctx context.Context, opts state.Options) (state.Store, error) {
	s := &store{
		backend: b,
		opts:    opts,
		fs:      b.opts.FS,
		failure: newFailure(),
		names:   map[string]state.File{},
	}
	s.scratch = &scratchFS{FS: b.opts.FS, failure: s.failure}
	var uid [8]byte
	if _, err := rand.Read(uid[:]); err != nil {
		return nil, err
	}
	s.prefix = fmt.Sprintf("%s-%d-%s-", state.FileLabel(opts.Operator), opts.Subtask, hex.EncodeToString(uid[:]))
	if err := s.open(ctx); err != nil {
		s.removeAll()
		return nil, s.wrap("open", err)
	}
	return s, nil
}

// memTableBytes is the size of one memtable: a store has two, one being
// filled and one being written to a table.
func (b *Backend) memTableBytes() int64 {
	return max(minMemTable, b.opts.MemTableBytes/2/int64(b.opts.Stores))
}

// dbOptions are the options of a Pebble database; existing says that it must be there.
func (b *Backend) dbOptions(fs vfs.FS, f *failure, existing bool) *pebbledb.Options {
	o := &pebbledb.Options{
		FS:               fs,
		Cache:            b.cache,
		DisableWAL:       true,
		ErrorIfNotExists: existing,
		// Fixed, so that a checkpoint can still be read after a downgrade within Pebble v2.
		FormatMajorVersion:  pebbledb.FormatTableFormatV6,
		MemTableSize:        uint64(b.memTableBytes()),
		MaxOpenFiles:        maxOpenFiles,
		MaxManifestFileSize: maxManifest,
		// Pebble's own stalls wait for ever when the disk is full. The store waits
		// itself (see store.makeRoom); these are far beyond its limits.
		MemTableStopWritesThreshold: 16,
		// Keys are spread over key groups by their hash, so every young table overlaps all
		// others, and a compaction of them rewrites the level below. Half as many of
		// these save more than the longer reads cost (measured on a key index).
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 1000,
		Logger:                logger{b.opts.Logger, f},
		EventListener:         &pebbledb.EventListener{BackgroundError: f.set},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	o.EnsureDefaults() // MakeWriterOptions panics without it
	return o
}
