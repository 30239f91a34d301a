package stream

import (
	"context"
	"log/slog"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// Context is what the runtime gives a source or an operator when it opens it.
type Context struct {
	// UID names the operator in checkpoints; Subtask counts from 0.
	UID         string
	Subtask     int
	Parallelism int
	// MaxParallelism is the number of key groups, KeyGroups the subtask's own.
	MaxParallelism int
	KeyGroups      keygroup.Range
	// Attempt counts the executions of the job in this process, from 0.
	Attempt int
	// Restored says that the job goes on from a checkpoint, RestoredID from which.
	Restored   bool
	RestoredID int64
	// State holds the operator state of every subtask of this operator in the
	// restored checkpoint (union redistribution: each new subtask sees all of it),
	// in subtask order; empty without one, or when the operator is new.
	State [][]byte
	// Store opens the subtask's keyed state on first use and returns the same
	// store afterwards. The runtime snapshots and closes it.
	Store func() (state.Store, error)
	// Lineage is the job's UUID; it is made with the first checkpoint directory
	// and kept by every checkpoint after it.
	Lineage string
	Logger  *slog.Logger
	// Reached marks a named point for crash tests; it returns at once in production.
	Reached func(point string)
}

// Source makes the elements of a graph.
type Source[T any] interface {
	// Run opens the source and emits until ctx is done (an error), or until its
	// input ends: then it returns its final state, which stands for it in all
	// later checkpoints. It alone decides where a barrier may lie: it takes a
	// checkpoint id from out.Triggers and answers with out.Barrier, from the
	// goroutine that emits.
	Run(ctx context.Context, sc Context, out SourceOutput[T]) (final []byte, err error)
	// CheckpointComplete is called, from another goroutine, after checkpoint id
	// was published and every operator downstream has returned from its own
	// CheckpointComplete (so a sink has committed). oldest is the oldest
	// checkpoint that the store still retains. It holds up the next checkpoint, so
	// it only takes a note. Like the others it may be skipped.
	CheckpointComplete(id, oldest int64)
}

// SourceOutput takes what a source emits.
type SourceOutput[T any] interface {
	// Emit hands elem on, with its ownership; it blocks while the consumers are behind.
	Emit(ctx context.Context, elem T) error
	// Triggers delivers the checkpoints that want a barrier.
	Triggers() <-chan int64
	// Barrier emits the barrier of checkpoint id after everything emitted so
	// far; state is the source's operator state at this point, and the keyed
	// state is snapshotted with it. An id that was aborted meanwhile is ignored.
	Barrier(ctx context.Context, id int64, state []byte) error
}

// Operator turns elements into elements. Its methods never run at the same time:
// they run in one goroutine, or, chained to a source, under one lock (see Threads
// in the package's documentation). An error ends the attempt; the job restarts
// from its last checkpoint.
type Operator[In, Out any] interface {
	Open(ctx context.Context, oc Context) error
	// Process takes over elem.
	Process(ctx context.Context, elem In, out Collector[Out]) error
	// Barrier is called when the barrier of checkpoint id has come on all inputs.
	// What it emits still belongs to the checkpoint; it returns the operator
	// state. The keyed store is snapshotted right after it.
	Barrier(ctx context.Context, id int64, out Collector[Out]) (state []byte, err error)
	// CheckpointComplete is called once the checkpoint is published. Calls may be
	// skipped: a later id stands for the earlier ones too.
	CheckpointComplete(ctx context.Context, id int64) error
	// Close is called once, also after an error.
	Close() error
}

// Collector takes what an operator emits.
type Collector[T any] interface {
	Collect(ctx context.Context, elem T) error
}

// Partitioner decides which subtasks get an element.
type Partitioner[T any] interface {
	// Route calls emit for each part of elem that goes to a subtask, in order.
	// One element may be split, or given to several. It takes over elem; each
	// emitted part is owned by its receiver.
	Route(elem T, parallelism int, emit func(subtask int, part T))
}

// Releaser is implemented by elements that hold resources: the runtime releases
// what is left in its queues when an attempt ends.
type Releaser interface{ Release() }
