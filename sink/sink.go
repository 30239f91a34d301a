// Package sink is the contract of every sink: prepare at the barrier, commit
// once the checkpoint is published, again after a crash.
package sink

import (
	"context"
	"log/slog"
	"time"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/schema"
)

// Input is one element for a writer: rows of a batch, or a change.
type Input struct {
	// Table is the sink table, after routing.
	Table schema.TableID
	// Batch holds the rows, Select the indexes of those that are meant, in
	// order; nil means all. The receiver owns one reference of the batch.
	Batch  *schema.Batch
	Select []int32
	// Change is set instead of Batch; every writer gets every change, in the
	// order of the log. Its Before and After name the source table.
	Change *schema.Change
}

// Release gives back the batch, if there is one.
func (in Input) Release() {
	if in.Batch != nil {
		in.Batch.Release()
	}
}

// Sink is one configured target.
type Sink interface {
	// Kind is the sink's type in the pipeline document, for instance iceberg.
	Kind() string
	// Check connects and verifies without changing anything.
	Check(ctx context.Context) []error
	// Describe says, before anything runs, which table and types a source table
	// would get, and what would be lost.
	Describe(table *schema.Table, target schema.TableID) (Description, error)
	// NewWriter returns the writer of one subtask.
	NewWriter(ctx context.Context, sc Context) (Writer, error)
	// NewCommitter returns the one committer. Before it returns it has brought
	// the target to the restored checkpoint: what Pending holds is committed;
	// a target that is ahead of it is rolled back where that is safe, else an
	// error says what to do; a target of another lineage is an error.
	NewCommitter(ctx context.Context, sc Context) (Committer, error)
	// Rows streams the present content of a table as the source would show it
	// (a changelog is folded), for a comparison, and the log position committed
	// with it. The callback's batch is released after it returns.
	Rows(ctx context.Context, table *schema.Table, target schema.TableID, fn func(*schema.Batch) error) (position uint64, err error)
	Close() error
}

// Lossy is a [Sink] that some values reach in another form, by an option or its
// default, because its tables can't hold them (infinite dates, say).
type Lossy interface {
	// AsHeld returns the rows of b, a table read at its source, with such values as
	// the sink's tables have them: what must be compared with [Sink.Rows]. b stays
	// the caller's; the result has a reference of its own.
	AsHeld(b *schema.Batch) (*schema.Batch, error)
}

// Retaining is a [Sink] that must keep a history of its own to go back to an older
// checkpoint.
type Retaining interface {
	// CheckRetained says whether the sink, as it is configured, can go back to each
	// of that many retained checkpoints. The error is an [*OptionError].
	CheckRetained(checkpoints int) error
}

// Timed is a [Sink] whose prepared work the target keeps for a limited time.
type Timed interface {
	// CheckTimes says whether prepared work lives long enough for checkpoints that
	// begin at an interval and may take up to timeout each. It comes before any
	// writer. The error is an [*OptionError].
	CheckTimes(interval, timeout time.Duration) error
}

// Sourced is a [Sink] whose output depends on what kind of source feeds it.
type Sourced interface {
	// SetSource says so, as the pipeline's document names it, with the one database
	// that the source reads, empty where it reads several. It comes before all
	// other calls.
	SetSource(kind, database string)
	// SourceDefaults are defaults of the source's options that keep what the sink
	// can show, where the source's own would not.
	SourceDefaults() map[string]string
}

// Asking is a [Sink] whose options decide what else it needs of its source.
type Asking interface {
	// Asks says what; it comes before any writer.
	Asks() Asked
}

// Asked is what a sink asks for beside what all sinks of its kind need, by the names of
// source.Needs.
type Asked struct{ Origin, Transactions, Events, Unchanged bool }

// Spreading is a [Sink] whose writers keep no state by key for some tables.
type Spreading interface {
	// AnyWriter says that the rows of a table may go to any writer, whole batches in
	// turn: they need not be split by key then.
	AnyWriter(t *schema.Table) bool
}

// Description is what a table becomes in the sink.
type Description struct {
	Target  string
	Columns []DescribedColumn
	Mode    string
	Notes   []string
}

// DescribedColumn is one column of a Description.
type DescribedColumn struct{ Name, SourceType, Type, SinkType, Note string }

// Context is what a writer or committer gets when it opens.
type Context struct {
	Pipeline, Lineage    string
	Subtask, Parallelism int
	MaxParallelism       int
	KeyGroups            keygroup.Range
	Restored             bool
	RestoredID           int64
	// Retained is the number of checkpoints that are kept, any of which may be
	// restored later; 0 where it is not known.
	Retained int
	// State is what Prepare (of every writer subtask, in order) or Collect (one
	// entry) returned at the restored checkpoint.
	State  [][]byte
	Store  func() (state.Store, error)
	Logger *slog.Logger
	// Reached marks a named point for crash tests.
	Reached func(point string)
}

// Writer writes the rows of its keys. It is used by one goroutine.
type Writer interface {
	// Write takes over the input. Rows become durable at Prepare, visible never
	// before the commit.
	Write(ctx context.Context, in Input) error
	// Prepare makes everything written since the last call durable but
	// invisible, and returns what the committer needs for it and the state that
	// the writer wants back after a restore.
	Prepare(ctx context.Context, checkpoint int64) (committables []Committable, state []byte, err error)
	// Close gives up what was not prepared.
	Close() error
}

// Committable is one thing to commit; its type is the sink's own. It never
// leaves the process: the committer turns it into the bytes that Collect returns.
type Committable any

// Committer commits prepared work, in the order of checkpoints. It is used by
// one goroutine.
type Committer interface {
	// Collect takes the committables of all writers for a checkpoint, by subtask
	// and in order, and returns the bytes from which all that is prepared and not
	// yet committed (this and earlier checkpoints) can be committed after a crash.
	// position is the log position of the checkpoint, for the lineage marker.
	Collect(ctx context.Context, checkpoint int64, position uint64, committables [][]Committable) (state []byte, err error)
	// Commit commits everything collected up to checkpoint. It is idempotent: a
	// commit that had happened already is found by its marker and skipped.
	Commit(ctx context.Context, checkpoint int64) error
	Close() error
}
