package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/state"
)

const (
	// entryOverhead is about what an entry takes in a memtable beside its bytes.
	entryOverhead = 64
	// maxL0 is the number of overlapping levels of young tables at which
	// writes wait for compactions; Pebble's default starts to compact at 4.
	maxL0 = 20
)

// store is one Pebble database. Its fields belong to the goroutine that uses it,
// but for uploaded, which snapshots share.
type store struct {
	backend *Backend
	opts    state.Options
	fs      vfs.FS     // the local disk as it is
	scratch *scratchFS // the same, for the database
	failure *failure
	db      *pebbledb.DB
	dbOpts  *pebbledb.Options
	batch   *pebbledb.Batch
	closed  bool
	loads   int // numbers the tables of bulk loads

	filled  int64           // bytes applied since the memtable was last rotated
	flushed <-chan struct{} // the flush that was started at that rotation

	// prefix begins the names of the files that this store makes: the operator,
	// the subtask and a random id of this opening. A number that Pebble uses
	// again after a restore thus gives another name.
	prefix string
	// names holds the restored files by their local names. They keep their names in Files.
	names map[string]state.File

	mu       sync.Mutex
	uploaded map[string]bool // files of the last snapshot that was uploaded, by name
}

func (s *store) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("keyed state of %s/%d (pebble, %s): %s: %w", s.opts.Operator, s.opts.Subtask, s.opts.Dir, op, err)
}

// check returns the error that ended the store, if there is one.
func (s *store) check() error {
	if s.closed {
		return state.ErrClosed
	}
	return s.failure.get()
}

func (s *store) dbDir() string { return s.fs.PathJoin(s.opts.Dir, "db") }

// openDB opens the database, which must be there when existing is set.
func (s *store) openDB(existing bool) error {
	s.dbOpts = s.backend.dbOptions(s.scratch, s.failure, existing)
	db, err := pebbledb.Open(s.dbDir(), s.dbOpts)
	if err == nil {
		err = s.failure.get()
	}
	if err != nil {
		if db != nil {
			err = errors.Join(err, closeDB(db))
		}
		return err
	}
	s.db = db
	s.batch = db.NewBatch()
	return nil
}

// Get appends the value of key to dst.
func (s *store) Get(dst, key []byte) ([]byte, bool, error) {
	if err := s.check(); err != nil {
		return dst, false, s.wrap("get", err)
	}
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebbledb.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, s.wrap("get", err)
	}
	dst = append(dst, v...)
	return dst, true, s.wrap("get", closer.Close())
}

// Apply writes b: a large one as a table if its keys are in order, else in pieces
// that are small beside a memtable. No one but the store's own goroutine reads
// it, and a crash loses all of it anyway.
func (s *store) Apply(b *state.Batch) error {
	if err := s.check(); err != nil {
		return s.wrap("apply", err)
	}
	if s.loadable(b) {
		if err := s.load(context.Background(), b.Ops()); err != nil {
			return s.wrap("apply", err)
		}
		b.Reset()
		return nil
	}
	limit := int(s.backend.memTableBytes() / 8)
	for op := range b.Ops() {
		var err error
		switch op.Kind {
		case state.OpSet:
			err = s.batch.Set(op.Key, op.Value, nil)
		case state.OpDelete:
			err = s.batch.Delete(op.Key, nil)
		case state.OpDeleteRange:
			lower := op.Key
			if len(lower) == 0 {
				lower = firstKey
			}
			if bytes.Compare(lower, op.Value) < 0 {
				err = s.batch.DeleteRange(lower, op.Value, nil)
			}
		default:
			err = fmt.Errorf("unknown operation %d", op.Kind)
		}
		if err == nil && s.batch.Len() >= limit {
			err = s.commit()
		}
		if err != nil {
			return s.wrap("apply", err)
		}
	}
	if err := s.commit(); err != nil {
		return s.wrap("apply", err)
	}
	b.Reset()
	return nil
}

// firstKey stands for an open lower bound; no key, which begins with its key
// group, lies below it. A range deletion from the empty key is lost when Pebble
// v2.1.7 compacts it into the lowest level, seen where its invariants are on (as
// under the race detector): TestDeletedRangesStayDeleted.
var firstKey = []byte{0}

func (s *store) commit() error {
	if s.batch.Empty() {
		return nil
	}
	if err := s.makeRoom(); err != nil {
		return err
	}
	size := int64(s.batch.Len()) + int64(s.batch.Count())*entryOverhead
	if err := s.db.Apply(s.batch, pebbledb.NoSync); err != nil {
		return err
	}
	s.batch.Reset()
	s.filled += size
	return s.failure.get()
}

// makeRoom rotates the memtable when it is about full, and then waits until the
// one before is written and the compactions have caught up, or something failed.
func (s *store) makeRoom() error {
	if s.filled < s.backend.memTableBytes()*7/8 {
		return s.failure.get()
	}
	if err := s.wait(s.flushed); err != nil {
		return err
	}
	for s.db.Metrics().Levels[0].Sublevels >= maxL0 {
		if err := s.failure.get(); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return s.rotate()
}

// rotate starts to write the memtable to a table.
func (s *store) rotate() error {
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return err
	}
	s.flushed, s.filled = flushed, 0
	return s.failure.get()
}

// wait waits for a flush, which for ever tries again when the disk is full.
func (s *store) wait(flushed <-chan struct{}) error {
	if flushed == nil {
		return s.failure.get()
	}
	select {
	case <-flushed:
		return s.failure.get()
	case <-s.failure.done:
		return s.failure.err
	}
}

// Iterate returns an iterator over lower <= key < upper.
func (s *store) Iterate(lower, upper []byte) (state.Iterator, error) {
	if err := s.check(); err != nil {
		return nil, s.wrap("iterate", err)
	}
	it, err := s.db.NewIter(&pebbledb.IterOptions{LowerBound: bytes.Clone(lower), UpperBound: bytes.Clone(upper)})
	if err != nil {
		return nil, s.wrap("iterate", err)
	}
	return &iterator{it: it, s: s}, nil
}

// Bytes returns the size of the tables and of the memtables.
func (s *store) Bytes() int64 {
	if s.closed {
		return 0
	}
	m := s.db.Metrics()
	return int64(m.DiskSpaceUsage()) + int64(m.MemTable.Size)
}

// Close closes the database and removes the local folder.
func (s *store) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	failed := s.failure.get()
	err := errors.Join(s.batch.Close(), closeDB(s.db))
	if failed != nil || errors.Is(err, syscall.ENOSPC) {
		err = nil // consequences of what the caller knows, or of a full disk that no one needs any more
	}
	return s.wrap("close", errors.Join(err, s.removeAll()))
}

func (s *store) removeAll() error { return s.fs.RemoveAll(s.opts.Dir) }

// closeDB closes a database. One that could not write its manifest may not be in
// order any more, and Pebble says so with a panic.
func closeDB(db *pebbledb.DB) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("closing the database: %v", r)
		}
	}()
	return db.Close()
}

type iterator struct {
	it      *pebbledb.Iterator
	s       *store
	started bool
}

func (i *iterator) SeekGE(key []byte) bool {
	i.started = true
	return i.it.SeekGE(key)
}

func (i *iterator) Next() bool {
	if !i.started {
		i.started = true
		return i.it.First()
	}
	return i.it.Valid() && i.it.Next()
}

func (i *iterator) Key() []byte { return i.it.Key() }

func (i *iterator) Value() []byte { return i.it.Value() }

func (i *iterator) Close() error { return i.s.wrap("iterate", i.it.Close()) }
