// Package state is the keyed state of the runtime: one ordered map of bytes to
// bytes for each subtask of an operator, behind one interface for all back ends.
package state

import (
	"context"
	"iter"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
)

// Backend opens the keyed state of subtasks. memory and pebble are the ones we have.
type Backend interface {
	// Name is the value of state.backend.type that selects the back end.
	Name() string
	// Open opens the store of one subtask. With handles it first restores the
	// entries of opts.KeyGroups from them, whatever the parallelism was that
	// wrote them; it copies or links what it needs, the handles' files stay as they are.
	Open(ctx context.Context, opts Options) (Store, error)
}

// Options say what to open.
type Options struct {
	// Dir is a local folder for the store alone; it is emptied when opened.
	Dir string
	// Operator is the uid of the operator, Subtask the number of the subtask.
	Operator string
	Subtask  int
	// KeyGroups is the range of key groups that the subtask owns.
	KeyGroups keygroup.Range
	// Restore holds the handles of all subtasks of the operator in the restored
	// checkpoint; empty for a fresh start.
	Restore []Handle
	// Files reads and writes the files that handles name.
	Files Files
}

// Files is where the files of snapshots lie: the shared folder of a checkpoint store.
type Files interface {
	// Put stores the content of the local file at path under name, durably (synced,
	// its folder too). Storing a name that exists already is a no-op.
	Put(ctx context.Context, name, path string) error
	// Fetch makes the stored file appear at the local path, by link or copy; it
	// must not be written to afterwards.
	Fetch(ctx context.Context, name, path string) error
}

// Store is an ordered map from keys to values. A key begins with its key group,
// two bytes big endian, so that state can be handed out again by ranges of key
// groups; what follows is the owner's. A Store is used by one goroutine, except
// for Snapshot.Upload. Slices given to it are copied or written before it
// returns; slices that it returns live until the next call on the same value.
type Store interface {
	// Get appends the value of key to dst and returns it, with ok false when there is none.
	Get(dst, key []byte) (value []byte, ok bool, err error)
	// Apply writes the batch as one unit and empties it for reuse.
	Apply(b *Batch) error
	// Iterate returns an iterator over lower <= key < upper; a nil bound is open.
	// It sees the store as it is now. The caller closes it.
	Iterate(lower, upper []byte) (Iterator, error)
	// BulkLoad writes entries, which must come in ascending order of unique keys,
	// the fast way (pebble: as one sstable that is ingested). Existing entries of
	// the same keys are replaced.
	BulkLoad(ctx context.Context, entries iter.Seq2[[]byte, []byte]) error
	// Snapshot fixes the present content for checkpoint id. It is the short,
	// synchronous part; Upload may run while the store goes on.
	Snapshot(ctx context.Context, id int64) (Snapshot, error)
	// Bytes estimates the size of the store, memory and disk.
	Bytes() int64
	// Close releases everything, local files included.
	Close() error
}

// Iterator walks over a Store in key order. It starts before the first entry.
type Iterator interface {
	// SeekGE moves to the first entry with a key at or after key.
	SeekGE(key []byte) bool
	// Next moves to the next entry.
	Next() bool
	// Key and Value are valid until the next move.
	Key() []byte
	Value() []byte
	// Close ends the iteration and returns the first error that it met.
	Close() error
}

// Snapshot is the content of a Store at one checkpoint.
type Snapshot interface {
	// Upload stores what files does not have yet and returns the handle for the
	// checkpoint's metadata. It is called once.
	Upload(ctx context.Context, files Files) (Handle, error)
	// Discard gives up a snapshot whose checkpoint was aborted.
	Discard()
}

// Handle names a subtask's state inside a checkpoint.
type Handle struct {
	// Backend is the name of the back end that wrote it.
	Backend string `json:"backend"`
	// KeyGroups is the range that it covers.
	KeyGroups keygroup.Range `json:"keyGroups"`
	// Files are the files that it consists of, by their names in Files and their
	// names for the back end. They may be shared with other checkpoints.
	Files []File `json:"files,omitempty"`
	// Bytes is the size of all of them, NewBytes of those that this checkpoint added.
	Bytes    int64 `json:"bytes"`
	NewBytes int64 `json:"newBytes"`
}

// File is one file of a Handle.
type File struct {
	// Name identifies the file in Files; it is unique for its content: a number
	// that is used again after a restore gives another name.
	Name string `json:"name"`
	// Local is the file's name in the back end's folder.
	Local string `json:"local"`
	Bytes int64  `json:"bytes"`
}

// Batch gathers writes for Store.Apply. The zero value is ready. Entries keep
// their order; a later one for the same key wins.
type Batch struct {
	data []byte
	ops  []batchOp
}

type batchOp struct {
	kind     OpKind
	key, val int // lengths, laid out one after the other in data
}

// Set writes value under key.
func (b *Batch) Set(key, value []byte) { b.add(OpSet, key, value) }

// Delete removes key, if it is there.
func (b *Batch) Delete(key []byte) { b.add(OpDelete, key, nil) }

// DeleteRange removes every key with lower <= key < upper.
func (b *Batch) DeleteRange(lower, upper []byte) { b.add(OpDeleteRange, lower, upper) }

// Len returns the number of operations.
func (b *Batch) Len() int { return len(b.ops) }

// Bytes returns the size of the keys and values.
func (b *Batch) Bytes() int { return len(b.data) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.data, b.ops = b.data[:0], b.ops[:0] }

func (b *Batch) add(kind OpKind, key, val []byte) {
	b.data = append(append(b.data, key...), val...)
	b.ops = append(b.ops, batchOp{kind: kind, key: len(key), val: len(val)})
}
