package checkpoint

import (
	"time"

	"github.com/freshet-cdc/freshet/runtime/state"
)

// ID numbers the checkpoints of a lineage. IDs grow; an id that was given up is
// not used again.
type ID = int64

// MetadataVersion is the version of Metadata that this program writes. It reads
// this one and every older one.
const MetadataVersion = 1

// Metadata is a completed checkpoint: everything that a job needs to go on from it.
type Metadata struct {
	// Version is the version of the format; Session.Publish sets it.
	Version int `json:"version"`
	// Lineage is the UUID of the checkpoint directory (see Session.Lineage);
	// Session.Publish sets it when it is empty.
	Lineage string `json:"lineage"`
	ID      ID     `json:"id"`
	// Time is the moment of the trigger.
	Time time.Time `json:"time"`
	// MaxParallelism is the number of key groups; it never changes in a lineage
	// that has keyed state.
	MaxParallelism int `json:"maxParallelism"`
	// Operators holds the state of sources and operators by their uid.
	Operators map[string]OperatorState `json:"operators"`
}

// OperatorState is the state of all subtasks of an operator.
type OperatorState struct {
	Parallelism int `json:"parallelism"`
	// States is the operator state of each subtask, by its number; nil where
	// a subtask returned none.
	States [][]byte `json:"states,omitempty"`
	// Keyed is the keyed state: one handle for each subtask that opened its store.
	Keyed []state.Handle `json:"keyed,omitempty"`
}

// Bytes returns the size of the checkpoint's state, and how much of it this
// checkpoint added to the store. Both leave out the metadata file's own framing.
func (m *Metadata) Bytes() (total, added int64) {
	for _, op := range m.Operators {
		for _, s := range op.States {
			total += int64(len(s))
			added += int64(len(s))
		}
		for _, h := range op.Keyed {
			total += h.Bytes
			added += h.NewBytes
		}
	}
	return total, added
}
