// Package source is the contract of every source: an ordered log of batches and
// changes with exact snapshots inside it.
package source

import (
	"context"
	"log/slog"
	"time"

	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/schema"
)

// Element is one element of the ordered log: exactly one field is set.
type Element struct {
	Batch  *schema.Batch
	Change *schema.Change
}

// Needs says what the sinks of the pipeline can use; the source skips the rest.
type Needs struct {
	// Before: before images, where the database sends them.
	Before bool
	// KeylessUpdates: the sink can take updates and deletes of a table without a
	// key, given as before images.
	KeylessUpdates bool
	// ResolvesUnchanged: the sink finds the values of schema.Batch.Unchanged
	// itself and understands schema.OpFill.
	ResolvesUnchanged bool
	// Reset: the sink can take a schema.ChangeReset.
	Reset bool
	// Origin: the sink prints where rows come from, see schema.Origin.
	Origin bool
	// Transactions: the sink wants a schema.ChangeTransactions behind transactions that
	// have ended.
	Transactions bool
	// Events: the sink writes down what happens and keeps no rows, so rows that change
	// without an event (a column that is added with a default) mean nothing to it.
	Events bool
}

// Context is what a reader gets when it runs.
type Context struct {
	// Pipeline is the name of the pipeline, Lineage the UUID of its checkpoints.
	Pipeline, Lineage string
	// Restored is set when the reader goes on from checkpoint RestoredID; State
	// is what it gave to Output.Barrier then.
	Restored   bool
	RestoredID int64
	State      []byte
	// Store is the reader's keyed state, checkpointed with it.
	Store  func() (state.Store, error)
	Needs  Needs
	Logger *slog.Logger
	// Reached marks a named point for crash tests.
	Reached func(point string)
}

// Output takes the log. All methods are called from one goroutine.
type Output interface {
	// Emit hands the element on, with its ownership.
	Emit(ctx context.Context, e Element) error
	// Triggers delivers checkpoints that want a barrier; the reader answers with
	// Barrier when it stands between two transactions.
	Triggers() <-chan int64
	// Barrier ends checkpoint id: everything emitted so far belongs to it.
	// position is the log position of the checkpoint, which sinks write into
	// their lineage markers; state is what the reader wants back after a restore.
	Barrier(ctx context.Context, id int64, position uint64, state []byte) error
}

// Source is one configured database.
type Source interface {
	// Kind is the source's type in the pipeline document, for instance postgres.
	Kind() string
	// Check connects and verifies privileges and server settings without
	// changing anything; it returns every problem found, each with its way out.
	Check(ctx context.Context) []error
	// Discover returns the captured tables in a stable order. No table at all is an error.
	Discover(ctx context.Context) ([]Table, error)
	// NewReader returns a reader; it is run once.
	NewReader() Reader
	// Rows streams the present content of a table for a comparison, in any order.
	// position is a log position that covers everything the read could see. The
	// callback's batch is released after it returns.
	Rows(ctx context.Context, table *schema.Table, fn func(*schema.Batch) error) (position uint64, err error)
	// FormatPosition prints a position as the database's users know it.
	FormatPosition(pos uint64) string
	// Close ends all connections.
	Close() error
}

// Table is a captured table as found at the source.
type Table struct {
	Schema *schema.Table
	// Rows and Bytes are the server's estimates, -1 where unknown.
	Rows, Bytes int64
	// Chunks is the number of snapshot chunks that it would be read in.
	Chunks int
	// Notes are limits that apply to the table, for people: no key, identity, types.
	Notes []string
}

// Reader makes the log of one execution.
type Reader interface {
	// Run emits until ctx is done, or until the source ends (startup mode
	// snapshot), then returns the final state.
	Run(ctx context.Context, rc Context, out Output) (final []byte, err error)
	// CheckpointComplete says that checkpoint id is published and committed by
	// every sink, and that oldest is the oldest one retained: the log may be
	// released up to the position of oldest, never further. Safe to call at any time.
	CheckpointComplete(id, oldest int64)
	// Progress reports where the reader stands. Safe to call at any time.
	Progress() Progress
}

// Progress is where a reader stands.
type Progress struct {
	// Position has been emitted, Server is the server's newest position as last
	// seen, Committed the newest position committed by the sinks, Start the
	// server's position when the reader started.
	Position, Server, Committed, Start uint64
	// LagBytes is Server - Position; LagTime the age of the last emitted commit
	// while the reader is behind, else 0.
	LagBytes int64
	LagTime  time.Duration
	// RetainedBytes is the log that the server keeps for us, -1 where unknown.
	RetainedBytes int64
	// Rows counts rows emitted, reads and changes; Bytes their size on the wire.
	ReadRows, ChangeRows, Bytes int64
	// SnapshotDone says that no snapshot is running or waiting.
	SnapshotDone bool
	Tables       []TableProgress
}

// TableProgress is the snapshot of one table.
type TableProgress struct {
	Table        schema.TableID
	Chunks, Done int
	Rows         int64
	Snapshotting bool
}
