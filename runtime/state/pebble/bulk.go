package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/state"
)

const (
	// loadTableBytes is the size at which a bulk load starts another table, as
	// large as Pebble's own at the lowest levels.
	loadTableBytes = 64 << 20
	// loadLevel is where a table of new keys lands.
	loadLevel = 6
	// checkEvery is the number of entries between two looks at the context.
	checkEvery = 4096
)

// BulkLoad writes the entries to tables, which are then added to the database as one unit.
func (s *store) BulkLoad(ctx context.Context, entries iter.Seq2[[]byte, []byte]) error {
	if err := s.check(); err != nil {
		return s.wrap("bulk load", err)
	}
	return s.wrap("bulk load", s.load(ctx, func(yield func(state.Op) bool) {
		for key, value := range entries {
			if !yield(state.Op{Kind: state.OpSet, Key: key, Value: value}) {
				return
			}
		}
	}))
}

// load writes sets and deletes, which must be in order, to tables of their own.
func (s *store) load(ctx context.Context, ops iter.Seq[state.Op]) error {
	l := loader{s: s}
	err := l.write(ctx, ops)
	if err == nil && len(l.paths) > 0 {
		err = s.ingest(ctx, l.paths)
	}
	if err == nil {
		err = s.failure.get()
	}
	if err != nil {
		l.remove()
	}
	return err
}

// loadable says whether a batch is better made a table at once: it is large, has no ranges,
// and its keys ascend. That saves the way through memtables, and the
// compactions of the several small tables that they would become.
func (s *store) loadable(b *state.Batch) bool {
	if int64(b.Bytes()) < s.backend.memTableBytes()/2 {
		return false
	}
	var last []byte
	for op := range b.Ops() {
		if op.Kind == state.OpDeleteRange || last != nil && bytes.Compare(op.Key, last) <= 0 {
			return false
		}
		last = op.Key
	}
	return true
}

// ingest adds tables to the database. Pebble would wait for the memtable's flush
// by itself where keys overlap, but for ever when the disk is full.
func (s *store) ingest(ctx context.Context, paths []string) error {
	if s.filled > 0 {
		if err := s.rotate(); err != nil {
			return err
		}
		if err := s.wait(s.flushed); err != nil {
			return err
		}
	}
	return s.db.Ingest(ctx, paths)
}

// loader writes sorted entries to tables.
type loader struct {
	s     *store
	w     *sstable.Writer
	paths []string
	last  []byte
	size  int
}

func (l *loader) write(ctx context.Context, ops iter.Seq[state.Op]) (err error) {
	defer func() {
		if l.w != nil {
			err = errors.Join(err, l.w.Close())
		}
	}()
	n := 0
	for op := range ops {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n > 0 && bytes.Compare(op.Key, l.last) <= 0 {
			return fmt.Errorf("%w: %x after %x", state.ErrUnordered, op.Key, l.last)
		}
		if err := l.add(op); err != nil {
			return err
		}
		n++
	}
	return nil
}

func (l *loader) add(op state.Op) error {
	if l.w != nil && l.size >= loadTableBytes {
		w := l.w
		l.w = nil
		if err := w.Close(); err != nil {
			return err
		}
	}
	if l.w == nil {
		if err := l.create(); err != nil {
			return err
		}
	}
	l.last = append(l.last[:0], op.Key...)
	l.size += len(op.Key) + len(op.Value)
	if op.Kind == state.OpDelete {
		return l.w.Delete(op.Key)
	}
	return l.w.Set(op.Key, op.Value)
}

func (l *loader) create() error {
	s := l.s
	s.loads++
	path := s.fs.PathJoin(s.opts.Dir, fmt.Sprintf("load-%d.sst", s.loads))
	f, err := s.scratch.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	l.paths = append(l.paths, path)
	l.size = 0
	opts := s.dbOpts.MakeWriterOptions(loadLevel, s.db.TableFormat())
	// Deletes in a table of the lowest level count as obsolete and are never seen;
	// here they hide what lies below.
	opts.WritingToLowestLevel = false
	l.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), opts)
	return nil
}

// remove removes what was written, as far as it is still there.
func (l *loader) remove() {
	for _, p := range l.paths {
		_ = l.s.fs.Remove(p)
	}
}
