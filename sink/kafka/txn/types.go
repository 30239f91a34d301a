package txn

import "fmt"

// Version is the finalized transaction.version of the broker that a transaction was
// begun with. It decides which EndTxn request ends it.
type Version uint8

// The versions of the protocol.
const (
	V1 Version = 1 // EndTxn up to version 4; also for brokers that know only 0
	V2 Version = 2 // EndTxn version 5, which raises the epoch
)

// Committable is a prepared transaction, all that is needed to end it from another process.
type Committable struct {
	Checkpoint int64   `json:"checkpoint"`
	Position   uint64  `json:"position"`
	ID         string  `json:"id"`
	ProducerID int64   `json:"producerId"`
	Epoch      int16   `json:"epoch"`
	Version    Version `json:"version"`
}

func (c Committable) String() string {
	return fmt.Sprintf("checkpoint %d, transaction %s of producer %d:%d, version %d", c.Checkpoint, c.ID, c.ProducerID, c.Epoch, c.Version)
}

// Marker is the record inside a transaction that says what it is.
type Marker struct {
	Lineage    string `json:"lineage"`
	Checkpoint int64  `json:"checkpoint"`
	Position   uint64 `json:"position"`
	// The transaction that wrote it. No two transactions have all of this alike.
	ID         string `json:"id"`
	ProducerID int64  `json:"producerId"`
	Epoch      int16  `json:"epoch"`
}

// of reports whether m was written in c's transaction.
func (m Marker) of(c Committable) bool {
	return m.ID == c.ID && m.ProducerID == c.ProducerID && m.Epoch == c.Epoch && m.Checkpoint == c.Checkpoint
}

// Result is how a request ended.
type Result uint8

// The results.
const (
	// Done: the broker did it.
	Done Result = iota
	// Again: the broker can't do it now (CONCURRENT_TRANSACTIONS, COORDINATOR_LOAD_IN_PROGRESS,
	// COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR).
	Again
	// Unknown: there was no answer; it may have been done.
	Unknown
	// Refused: the transaction is not there to be ended, or not by this producer any more
	// (INVALID_TXN_STATE, PRODUCER_FENCED, INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING).
	Refused
)

var resultNames = [...]string{Done: "done", Again: "again", Unknown: "unknown", Refused: "refused"}

func (r Result) String() string { return resultNames[r] }

// Input is something that has happened.
type Input interface{ input() }

type (
	// Restore is the first input of a machine.
	Restore struct {
		// Restored says that there is a checkpoint, whose number is Checkpoint.
		Restored   bool
		Checkpoint int64
		// Pending are the transactions that were prepared and not known to be committed.
		Pending []Committable
		// Listed are the transactional ids with the prefix that the broker knows.
		Listed []string
	}
	// Inited answers Init.
	Inited struct {
		ID     string
		Result Result
	}
	// Write asks for an open transaction.
	Write struct{}
	// Began answers Begin: the producer's number and epoch, and the version it runs under.
	Began struct {
		ID         string
		ProducerID int64
		Epoch      int16
		Version    Version
		Result     Result
	}
	// Prepare is a barrier: what was written belongs to the checkpoint.
	Prepare struct {
		Checkpoint int64
		Position   uint64
	}
	// Flushed answers Flush: all records and the marker are acknowledged, or not.
	Flushed struct {
		ID     string
		Result Result
	}
	// Stored says that the checkpoint can't be lost any more.
	Stored struct{ Checkpoint int64 }
	// Ended answers End.
	Ended struct {
		ID     string
		Result Result
	}
	// MarkerRead answers ReadMarker: the last committed marker, or that there is none.
	MarkerRead struct {
		Found  bool
		Marker Marker
		Result Result
	}
)

func (Restore) input()    {}
func (Inited) input()     {}
func (Write) input()      {}
func (Began) input()      {}
func (Prepare) input()    {}
func (Flushed) input()    {}
func (Stored) input()     {}
func (Ended) input()      {}
func (MarkerRead) input() {}

// Action is something to be done.
type Action interface{ action() }

type (
	// Init is InitProducerID: it aborts what is open under the id, and nobody who had it
	// before can use it any more. Try counts attempts from 1; from the second on, wait first.
	Init struct {
		ID  string
		Try int
	}
	// Begin opens a transaction of the producer that has the id.
	Begin struct{ ID string }
	// WriteMarker produces the marker in the open transaction.
	WriteMarker struct {
		ID     string
		Marker Marker
	}
	// Flush waits until everything of the transaction is acknowledged.
	Flush struct{ ID string }
	// Prepared ends a barrier. Empty: nothing was written.
	Prepared struct {
		Checkpoint  int64
		Empty       bool
		Committable Committable
	}
	// End is EndTxn(commit), by the producer itself if Live is set, else by the stored
	// numbers alone, with the request that the version wants.
	End struct {
		Committable Committable
		Live        bool
		Try         int
	}
	// ReadMarker reads the last committed marker. The reader sees committed records only
	// and goes up to the last stable offset, which it takes from the broker after this action.
	ReadMarker struct{ Try int }
	// Committed says that a transaction is visible.
	Committed struct{ Committable Committable }
	// Ready ends a restore.
	Ready struct{}
)

func (Init) action()        {}
func (Begin) action()       {}
func (WriteMarker) action() {}
func (Flush) action()       {}
func (Prepared) action()    {}
func (End) action()         {}
func (ReadMarker) action()  {}
func (Committed) action()   {}
func (Ready) action()       {}
