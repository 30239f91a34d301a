package checkpoint

import (
	"context"
	"errors"

	"github.com/freshet-cdc/freshet/runtime/state"
)

var (
	// ErrLocked says that another live process owns the checkpoint directory.
	ErrLocked = errors.New("checkpoint directory is in use by another process")
	// ErrFenced says that a newer owner took over the checkpoint directory: this
	// process may not publish any more and has to stop.
	ErrFenced = errors.New("checkpoint directory was taken over by a newer owner")
	// ErrForeign says that the checkpoint directory belongs to another pipeline.
	ErrForeign = errors.New("checkpoint directory belongs to another pipeline")
	// ErrCorrupt says that a checkpoint, or a file that it needs, is missing,
	// truncated or changed.
	ErrCorrupt = errors.New("checkpoint is corrupt")
	// ErrVersion says that a checkpoint was written by a newer freshet.
	ErrVersion = errors.New("checkpoint was written by a newer version")
	// ErrLast says that no readable checkpoint would be left.
	ErrLast = errors.New("no older checkpoint is kept")
)

// Store is a place where the checkpoints of one pipeline lie.
type Store interface {
	// Acquire makes this process the owner, fences earlier ones and removes what
	// a crashed one left behind. It fails with ErrLocked when another live
	// process owns the store, and with ErrForeign when it is another pipeline's.
	Acquire(ctx context.Context) (Session, error)
}

// Session is an acquired, fenced store. Its methods may be called from several
// goroutines.
type Session interface {
	// Lineage is the UUID of the store: made when the store was first acquired,
	// the same for every checkpoint in it. A wiped store has another one.
	Lineage() string
	// Latest returns the newest readable checkpoint, or nil when there is none.
	// Newer ones that can't be read are passed over: corrupt names each of them,
	// its file and the cause. err is for failures of the store as a whole.
	// A store that holds checkpoints of which none is readable gives a nil
	// Metadata and a corrupt error for each; the caller must not take it for a fresh start.
	Latest(ctx context.Context) (m *Metadata, corrupt []error, err error)
	// Next is the first id to use: greater than any id that was ever published or
	// seen in the store, also of checkpoints that were passed over.
	Next() ID
	// Files is where keyed state is uploaded before Publish.
	Files() state.Files
	// Publish makes m durable and visible as one unit: after a crash at any point the
	// checkpoint is there completely or not at all. Then it applies the
	// retention and returns the oldest checkpoint that is still retained. It
	// fails with ErrFenced when a newer owner exists. After an error the
	// checkpoint is not visible to Latest (except after one of the last sync, where it
	// may appear after a restart, as after a crash); older ones are untouched.
	Publish(ctx context.Context, m *Metadata) (oldest ID, err error)
	// Discard removes checkpoint id and all later ones, the newest first: they can't be
	// gone on from. Their ids are not used again. It fails with ErrLast, and removes nothing, when no
	// readable checkpoint before id is there.
	Discard(ctx context.Context, id ID) error
	// Abort forgets, as far as it can, what was uploaded for a checkpoint that will not be published.
	Abort(ctx context.Context, id ID)
	// Close gives the store up. Checkpoints stay.
	Close() error
}
