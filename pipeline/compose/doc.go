// Package compose makes a program for runtime/stream of a source, routes and a
// sink, and runs it:
//
//	source (1) -> route and hash, chained -> keyed exchange -> writer (n) -> committer (1)
//
// A batch crosses the exchange once for each subtask that owns keys of it, as one
// batch with selection vectors; rows are not copied. Changes go to every writer.
// Rows of a table without a key, or of one whose keys mean nothing to the sink's
// writers ([sink.Spreading]), go to the writers batch by batch, in turn.
//
// The committer opens before the writers, so that these find the target as the
// restored checkpoint says. The source's position at a barrier reaches the
// committer beside the graph, by the checkpoint's id.
//
//	job, err := compose.New(compose.Config{
//		Name: "shop", Source: src, Sink: snk, Router: router, Parallelism: 2,
//		Engine: stream.Config{Checkpoint: stream.Checkpoint{Store: store, Interval: 10 * time.Second}, Backend: backend},
//	})
//	if err == nil {
//		err = job.Run(ctx)
//	}
package compose
