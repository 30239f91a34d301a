package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/RaduBerinde/btreemap"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/internal/sortedfile"
)

const (
	treeDegree = 32
	// entryOverhead is about what an entry takes beside its bytes: two slice
	// headers in a node that is three quarters full, and the allocator's rounding.
	entryOverhead = 80
	// fetchEntries is the number of entries that an iterator takes from the tree at once.
	fetchEntries = 128
	// checkEvery is the number of entries between two looks at the context.
	checkEvery = 4096
)

type tree = btreemap.BTreeMap[[]byte, []byte]

func newTree() *tree { return btreemap.New[[]byte, []byte](treeDegree, bytes.Compare) }

type store struct {
	opts   state.Options
	fs     vfs.FS
	prefix string // of file names: operator, subtask, a random id of this opening
	tree   *tree
	bytes  int64
	closed bool
}

func (s *store) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("keyed state of %s/%d (%s): %s: %w", s.opts.Operator, s.opts.Subtask, Name, op, err)
}

func (s *store) check(op string) error {
	if s.closed {
		return s.wrap(op, state.ErrClosed)
	}
	return nil
}

// Get appends the value of key to dst.
func (s *store) Get(dst, key []byte) ([]byte, bool, error) {
	if err := s.check("get"); err != nil {
		return dst, false, err
	}
	_, v, ok := s.tree.Get(key)
	return append(dst, v...), ok, nil
}

// Apply writes b.
func (s *store) Apply(b *state.Batch) error {
	if err := s.check("apply"); err != nil {
		return err
	}
	for op := range b.Ops() {
		switch op.Kind {
		case state.OpSet:
			s.set(op.Key, op.Value)
		case state.OpDelete:
			s.delete(op.Key)
		case state.OpDeleteRange:
			s.deleteRange(op.Key, op.Value)
		default:
			return s.wrap("apply", fmt.Errorf("unknown operation %d", op.Kind))
		}
	}
	b.Reset()
	return nil
}

// set copies the entry. Nothing in the tree is ever written to again: snapshots share it.
func (s *store) set(key, value []byte) {
	buf := make([]byte, 0, len(key)+len(value))
	buf = append(append(buf, key...), value...)
	k, v := buf[:len(key):len(key)], buf[len(key):]
	_, old, replaced := s.tree.ReplaceOrInsert(k, v)
	s.bytes += int64(len(value))
	if replaced {
		s.bytes -= int64(len(old))
		return
	}
	s.bytes += int64(len(key)) + entryOverhead
}

func (s *store) delete(key []byte) {
	if k, v, ok := s.tree.Delete(key); ok {
		s.bytes -= int64(len(k)+len(v)) + entryOverhead
	}
}

func (s *store) deleteRange(lower, upper []byte) {
	if bytes.Compare(lower, upper) >= 0 {
		return
	}
	var keys [][]byte
	for key := range s.tree.Ascend(btreemap.GE(lower), btreemap.LT(upper)) {
		keys = append(keys, key)
	}
	for _, key := range keys {
		s.delete(key)
	}
}

// BulkLoad writes the entries one by one. After an error some of them may be there.
func (s *store) BulkLoad(ctx context.Context, entries iter.Seq2[[]byte, []byte]) error {
	if err := s.check("bulk load"); err != nil {
		return err
	}
	var last []byte
	n := 0
	for key, value := range entries {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return s.wrap("bulk load", context.Cause(ctx))
		}
		if n > 0 && bytes.Compare(key, last) <= 0 {
			return s.wrap("bulk load", fmt.Errorf("%w: %x after %x", state.ErrUnordered, key, last))
		}
		last = append(last[:0], key...)
		s.set(key, value)
		n++
	}
	return nil
}

// Iterate returns an iterator over a copy that shares the tree's nodes.
func (s *store) Iterate(lower, upper []byte) (state.Iterator, error) {
	if err := s.check("iterate"); err != nil {
		return nil, err
	}
	it := &iterator{tree: s.tree.Clone(), lower: bytes.Clone(lower), upper: btreemap.Max[[]byte]()}
	if upper != nil {
		it.upper = btreemap.LT(bytes.Clone(upper))
	}
	return it, nil
}

// Bytes estimates the memory of the entries.
func (s *store) Bytes() int64 { return s.bytes }

// Close drops the content and removes the local folder.
func (s *store) Close() error {
	if s.closed {
		return nil
	}
	s.closed, s.tree, s.bytes = true, nil, 0
	return s.wrap("close", s.fs.RemoveAll(s.opts.Dir))
}

// iterator takes entries from the tree in small runs, since the tree can only push.
type iterator struct {
	tree    *tree
	lower   []byte
	upper   btreemap.UpperBound[[]byte]
	run     []entry
	at      int
	started bool
	end     bool // the run is the last one
}

type entry struct{ key, value []byte }

func (i *iterator) SeekGE(key []byte) bool {
	if bytes.Compare(key, i.lower) < 0 {
		key = i.lower
	}
	i.started = true
	// Seeks in ascending order often land in the run at hand.
	for i.at < len(i.run) && bytes.Compare(i.run[i.at].key, key) < 0 {
		i.at++
	}
	if i.at > 0 && i.at < len(i.run) && bytes.Compare(i.run[i.at-1].key, key) < 0 {
		return true
	}
	i.fetch(btreemap.GE(key))
	return len(i.run) > 0
}

func (i *iterator) Next() bool {
	switch {
	case !i.started:
		return i.SeekGE(i.lower)
	case i.at >= len(i.run):
		return false
	case i.at+1 < len(i.run):
		i.at++
		return true
	case i.end:
		i.at = len(i.run)
		return false
	}
	i.fetch(btreemap.GT(i.run[i.at].key))
	return len(i.run) > 0
}

func (i *iterator) fetch(from btreemap.LowerBound[[]byte]) {
	i.run, i.at, i.end = i.run[:0], 0, true
	for key, value := range i.tree.Ascend(from, i.upper) {
		i.run = append(i.run, entry{key, value})
		if len(i.run) == fetchEntries {
			i.end = false
			return
		}
	}
}

func (i *iterator) Key() []byte { return i.run[i.at].key }

func (i *iterator) Value() []byte { return i.run[i.at].value }

func (i *iterator) Close() error {
	i.tree, i.run, i.at, i.end = nil, nil, 0, true
	return nil
}

// Snapshot shares the tree's nodes.
func (s *store) Snapshot(ctx context.Context, id int64) (state.Snapshot, error) {
	if err := s.check("snapshot"); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, s.wrap("snapshot", err)
	}
	return &snapshot{s: s, id: id, tree: s.tree.Clone()}, nil
}

type snapshot struct {
	s    *store
	id   int64
	tree *tree
}

// Upload writes the tree to a sorted file and stores it.
func (sn *snapshot) Upload(ctx context.Context, files state.Files) (state.Handle, error) {
	defer sn.Discard()
	s := sn.s
	h := state.Handle{Backend: Name, KeyGroups: s.opts.KeyGroups}
	if sn.tree.Len() == 0 {
		return h, nil
	}
	f := state.File{Name: fmt.Sprintf("%schk-%d.kv", s.prefix, sn.id)}
	f.Local = f.Name
	path := s.fs.PathJoin(s.opts.Dir, f.Local)
	size, err := sn.write(ctx, path)
	if err == nil {
		err = state.FilesFor(files, sn.id).Put(ctx, f.Name, path)
	}
	_ = s.fs.Remove(path) // else Close does it
	if err != nil {
		return state.Handle{}, s.wrap(fmt.Sprintf("upload of checkpoint %d", sn.id), err)
	}
	f.Bytes = size
	h.Files, h.Bytes, h.NewBytes = []state.File{f}, size, size
	return h, nil
}

func (sn *snapshot) write(ctx context.Context, path string) (size int64, err error) {
	f, err := sn.s.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := sortedfile.NewWriter(f)
	n := 0
	for key, value := range sn.tree.Ascend(btreemap.Min[[]byte](), btreemap.Max[[]byte]()) {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err := w.Add(key, value); err != nil {
			return 0, err
		}
		n++
	}
	return w.Finish()
}

// Discard drops the reference.
func (sn *snapshot) Discard() { sn.tree = nil }
