package pebble

import (
	"context"
	"errors"
	"fmt"
	"iter"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/internal/sortedfile"
)

// HandleReader reads handles of any back end, entry by entry: for a change of
// parallelism or of the back end.
type HandleReader struct {
	// Backend lends its cache and its file system.
	Backend *Backend
	// Dir is a local folder for what is fetched; it is removed after each reading.
	Dir string
	// Files holds the files of the handles.
	Files state.Files
}

// Entries returns the entries of h in the key groups of own, in key order. A
// failure ends them early and is put into err.
func (r *HandleReader) Entries(ctx context.Context, h state.Handle, own keygroup.Range, err *error) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		own := own.Intersect(h.KeyGroups)
		if own.Empty() {
			return
		}
		switch h.Backend {
		case Name:
			*err = r.readDB(ctx, h, own, yield)
		case sortedfile.Backend:
			*err = r.readSorted(ctx, h, own, yield)
		default:
			*err = fmt.Errorf("%w: %q", state.ErrUnknownBackend, h.Backend)
		}
		*err = errors.Join(*err, r.fs().RemoveAll(r.Dir))
	}
}

func (r *HandleReader) fs() vfs.FS { return r.Backend.opts.FS }

// readDB opens the database of another subtask.
func (r *HandleReader) readDB(ctx context.Context, h state.Handle, own keygroup.Range, yield func(k, v []byte) bool) (err error) {
	if err := r.fs().RemoveAll(r.Dir); err != nil {
		return err
	}
	if err := fetchDB(ctx, r.fs(), r.Files, h, r.Dir); err != nil {
		return err
	}
	opts := r.Backend.dbOptions(r.fs(), newFailure(), true)
	opts.ReadOnly = true
	db, err := pebbledb.Open(r.Dir, opts)
	if err != nil {
		return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	defer func() { err = errors.Join(err, closeDB(db)) }()
	lower, upper := own.Bounds()
	it, err := db.NewIter(&pebbledb.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok && yield(it.Key(), it.Value()); ok = it.Next() {
	}
	return it.Error()
}

// readSorted reads the one file of a hashmap handle.
func (r *HandleReader) readSorted(ctx context.Context, h state.Handle, own keygroup.Range, yield func(k, v []byte) bool) error {
	return sortedfile.ReadHandle(ctx, r.fs(), r.Files, h, r.Dir, func(key, value []byte) bool {
		return !own.Contains(keygroup.FromPrefix(key)) || yield(key, value)
	})
}
