// Package stream is a streaming engine: typed streams of elements through
// parallel operators, with exactly-once state by barrier-aligned checkpoints, as in
// Apache Flink. It knows nothing of databases or tables.
//
// A program makes an Env, connects sources and operators, and runs it:
//
//	env := stream.New(stream.Config{
//		Name:        "count",
//		Parallelism: 2,
//		Checkpoint:  stream.Checkpoint{Store: store, Interval: 10 * time.Second},
//		Backend:     backend,
//	})
//	words := stream.From(env, "words", 1, func() stream.Source[Word] { return newReader(path) })
//	counts := stream.Process(words, "count", 0, stream.KeyBy(Word.Hash),
//		func() stream.Operator[Word, Count] { return &counter{} })
//	stream.Process(counts, "print", 1, stream.Rebalance[Count](),
//		func() stream.Operator[Count, stream.Nothing] { return &printer{} })
//	err := env.Run(ctx)
//
// # Checkpoints
//
// The coordinator asks the sources for a barrier. Each places it where its input
// may be cut, and gives its state. An operator whose inputs have all brought the
// barrier gives its state, its keyed store is snapshotted, and the barrier goes
// on; uploads run beside. When all have arrived the store publishes the checkpoint; then
// every operator commits (CheckpointComplete), and when all commits have returned
// the sources hear of it. One checkpoint runs at a time, commits included. A crash
// after the publication and before a commit is the operator's to repair: in Open it
// has its state back.
//
// # Ends and failures
//
// A source whose Run returned nil is represented by its final state. When all
// have, or after Stop, one last checkpoint is taken and committed, and Run
// returns nil. Any error or panic of an operator, of a source, or of a commit ends the attempt; all
// goroutines end, queued elements are released, and the job starts again from the newest
// readable checkpoint. A source that is restored with its final state has to
// return it again from Run.
//
// # Threads
//
// The methods of an operator never run at the same time, and each sees what the
// others did. They run in one goroutine, except in a chain behind a source: there
// Process and Barrier run in the goroutine that emits, and CheckpointComplete and Close
// in another, under a lock.
package stream
