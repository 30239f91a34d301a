package compose

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/runtime/stream"
	"github.com/freshet-cdc/freshet/sink"
)

// prepared are the committables of one writer at a barrier.
type prepared struct {
	subtask      int
	committables []sink.Committable
}

// sinkContext is what a writer or committer of the sink gets.
func (j *Job) sinkContext(oc stream.Context) sink.Context {
	return sink.Context{
		Pipeline: j.cfg.Name, Lineage: oc.Lineage,
		Subtask: oc.Subtask, Parallelism: oc.Parallelism, MaxParallelism: oc.MaxParallelism, KeyGroups: oc.KeyGroups,
		Restored: oc.Restored, RestoredID: oc.RestoredID, Retained: j.cfg.Retained, State: oc.State,
		Store: oc.Store, Logger: oc.Logger, Reached: oc.Reached,
	}
}

// write runs a sink.Writer as an operator.
type write struct {
	job     *Job
	subtask int
	writer  sink.Writer
}

// Open waits for the committer, then opens the writer.
func (w *write) Open(ctx context.Context, oc stream.Context) (err error) {
	select {
	case <-w.job.attempt(oc.Attempt).recovered:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w.subtask = oc.Subtask
	if w.writer, err = w.job.cfg.Sink.NewWriter(ctx, w.job.sinkContext(oc)); err != nil {
		return fmt.Errorf("open the sink's writer: %w", err)
	}
	return nil
}

// Process writes the rows or the change.
func (w *write) Process(ctx context.Context, e element, _ stream.Collector[prepared]) error {
	return w.writer.Write(ctx, e.Input)
}

// Barrier makes what was written durable, and gives it to the committer.
func (w *write) Barrier(ctx context.Context, id int64, out stream.Collector[prepared]) ([]byte, error) {
	committables, state, err := w.writer.Prepare(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(committables) > 0 {
		err = out.Collect(ctx, prepared{w.subtask, committables})
	}
	return state, err
}

// CheckpointComplete has nothing to do: the committer commits.
func (w *write) CheckpointComplete(context.Context, int64) error { return nil }

// Close gives up what was not prepared.
func (w *write) Close() error {
	if w.writer == nil {
		return nil
	}
	return w.writer.Close()
}

// commit runs the sink.Committer as an operator.
type commit struct {
	job       *Job
	attempt   *attempt
	committer sink.Committer
	gathered  [][]sink.Committable // by writer subtask, since the last barrier
}

// Open brings the target to the restored checkpoint, then lets the writers open.
func (c *commit) Open(ctx context.Context, oc stream.Context) (err error) {
	c.attempt = c.job.attempt(oc.Attempt)
	c.gathered = make([][]sink.Committable, c.job.cfg.Parallelism)
	if c.committer, err = c.job.cfg.Sink.NewCommitter(ctx, c.job.sinkContext(oc)); err != nil {
		return fmt.Errorf("open the sink's committer: %w", err)
	}
	close(c.attempt.recovered)
	return nil
}

// Process gathers the committables of a writer.
func (c *commit) Process(_ context.Context, p prepared, _ stream.Collector[stream.Nothing]) error {
	c.gathered[p.subtask] = append(c.gathered[p.subtask], p.committables...)
	return nil
}

// Barrier collects what all writers gave for the checkpoint.
func (c *commit) Barrier(ctx context.Context, id int64, _ stream.Collector[stream.Nothing]) ([]byte, error) {
	position, err := c.attempt.position(id)
	if err != nil {
		return nil, err
	}
	gathered := c.gathered
	c.gathered = make([][]sink.Committable, len(gathered))
	return c.committer.Collect(ctx, id, position, gathered)
}

// CheckpointComplete commits.
func (c *commit) CheckpointComplete(ctx context.Context, id int64) error {
	if err := c.committer.Commit(ctx, id); err != nil {
		return fmt.Errorf("commit checkpoint %d: %w", id, err)
	}
	c.attempt.forget(id)
	return nil
}

// Close ends the committer.
func (c *commit) Close() error {
	if c.committer == nil {
		return nil
	}
	return c.committer.Close()
}
