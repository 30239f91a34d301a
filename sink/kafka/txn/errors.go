package txn

import (
	"errors"
	"fmt"
)

// ErrOrder is an input that can't come in the present state: a mistake of the driver.
var ErrOrder = errors.New("txn: unexpected input")

// What no other attempt can cure; the types below say more.
var (
	ErrAhead   = errors.New("kafka: a later checkpoint is committed than was restored")
	ErrForeign = errors.New("kafka: other checkpoints are committed")
)

// LostError is a prepared transaction that the broker has given up: by its time-out, or
// because its id was initialised by somebody else. None of its records is visible.
type LostError struct {
	Committable Committable
	// Last is the last committed marker; zero if there is none.
	Last Marker
}

func (e *LostError) Error() string {
	return fmt.Sprintf("kafka: the broker aborted the prepared transaction %s of checkpoint %d (the records are not lost: go back to the checkpoint before it; a longer transaction.timeout.ms keeps it over a longer outage)",
		e.Committable.ID, e.Committable.Checkpoint)
}

// LostCheckpoint is the checkpoint that can't be gone on from; see stream.Lost.
func (e *LostError) LostCheckpoint() int64 { return e.Committable.Checkpoint }

// FencedError is an id that somebody else uses, or whose transaction was open for
// longer than the broker allows, which looks the same.
type FencedError struct{ ID string }

func (e *FencedError) Error() string {
	return fmt.Sprintf("kafka: another process uses the transactional id %s, or its transaction was open for longer than transaction.timeout.ms (each pipeline needs a transactional-id-prefix of its own)", e.ID)
}

// AheadError is a target that holds a later checkpoint than the one that was restored.
type AheadError struct {
	Restored int64
	Marker   Marker
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("kafka: checkpoint %d is committed, but checkpoint %d was restored (restore checkpoint %d; Kafka can't be rolled back, going on from here would write records twice)",
		e.Marker.Checkpoint, e.Restored, e.Marker.Checkpoint)
}

// Is says that it is an ErrAhead.
func (e *AheadError) Is(target error) bool { return target == ErrAhead }

// ForeignError is a target that was written by a pipeline with other checkpoints, or
// by another one of the number that was restored.
type ForeignError struct {
	Lineage string
	Marker  Marker
}

func (e *ForeignError) Error() string {
	if e.Lineage == e.Marker.Lineage {
		return fmt.Sprintf("kafka: checkpoint %d is committed, but not the one that was restored, which has the same number (restore the checkpoints that were written last, or choose another transactional-id-prefix, which writes everything again)",
			e.Marker.Checkpoint)
	}
	return fmt.Sprintf("kafka: the last commit under this transactional-id-prefix is checkpoint %d of the checkpoints %s, these are %s (go on from those checkpoints, or choose another prefix, which writes everything again)",
		e.Marker.Checkpoint, e.Marker.Lineage, e.Lineage)
}

// Is says that it is an ErrForeign.
func (e *ForeignError) Is(target error) bool { return target == ErrForeign }

// UnavailableError is a request that never got a final answer. What is prepared stays
// prepared; a restart tries again.
type UnavailableError struct {
	Request string
	Tries   int
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("kafka: no answer to %s in %d attempts (nothing is lost; the pipeline may be started again when the broker is back)", e.Request, e.Tries)
}

// FlushError is a transaction whose records could not all be written.
type FlushError struct{ ID string }

func (e *FlushError) Error() string {
	return fmt.Sprintf("kafka: not all records of the transaction %s were acknowledged (go back to the last checkpoint)", e.ID)
}

// ManyError is too many checkpoints that were prepared and not stored.
type ManyError struct{ Prepared int }

func (e *ManyError) Error() string {
	return fmt.Sprintf("kafka: %d checkpoints are prepared and none of them is stored (look at why checkpoints don't complete)", e.Prepared)
}
