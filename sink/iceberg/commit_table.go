package iceberg

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/cenkalti/backoff/v5"

	"github.com/freshet-cdc/freshet/schema"
)

// base is a table as the committer knows it.
type base struct {
	meta     table.Metadata
	location string // of the metadata file
}

// commitTable brings one table to a checkpoint. Lost races, and a catalog that is
// away, are tried again until commit.retry.total-timeout; anything else a few times.
func (c *Committer) commitTable(ctx context.Context, p *pendingCheckpoint, w *tableWork) error {
	t := &tableCommit{Committer: c, checkpoint: p, work: w}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := t.attempt(ctx)
		if err == nil {
			return struct{}{}, nil
		}
		c.forget(w.Table)
		if !t.pace.again(err) || ctx.Err() != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		c.logger.Warn("iceberg: commit is tried again", "table", w.Table.String(), "checkpoint", p.ID, "error", err)
		return struct{}{}, err
	}, backoff.WithBackOff(&t.pace), backoff.WithMaxElapsedTime(c.opts.commitRetryTime))
	return err
}

// isFinal tells errors that another attempt can't heal.
func isFinal(err error) bool {
	var evolve *EvolveError
	var state *StateError
	return errors.As(err, &evolve) || errors.As(err, &state)
}

// tableCommit is the work on one table and checkpoint, over all attempts.
type tableCommit struct {
	*Committer
	checkpoint *pendingCheckpoint
	work       *tableWork
	pace       commitPace
	// refused has the files of the commit that was refused last. They are kept until the
	// reloaded table shows that it does not have them: a catalog may call a commit
	// refused that took place. Then the next attempt uses them again.
	refused *snapshotBuilder
}

// attempt commits once, on the table as known, or as loaded when it is not.
func (t *tableCommit) attempt(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, t.opts.commitTimeout)
	defer cancel()
	defer func() { err = t.opts.late(ctx, err) }()
	b, err := t.load(ctx, t.work, t.checkpoint)
	if err != nil {
		return err
	}
	done, err := t.check(b.meta, t.checkpoint, t.work)
	if err != nil {
		return err
	}
	if done {
		if t.refused != nil && b.meta.SnapshotByID(t.refused.id) == nil {
			t.refused.discard()
		}
		t.finish(t.work)
		return nil
	}
	plan, err := t.plan(b.meta, t.checkpoint, t.work, t.refused)
	t.refused = nil
	if err != nil {
		return err
	}
	t.reached("iceberg.before-commit")
	meta, location, err := t.store.CommitTable(ctx, identifier(t.work.Table), plan.requirements, plan.updates)
	if err != nil {
		if isConflict(err) {
			t.refused = plan.builder
		}
		return err
	}
	t.reached("iceberg.committed")
	t.remember(t.work.Table, &base{meta: meta, location: location})
	t.finish(t.work)
	t.afterCommit(t.work.Table, b.meta, meta, plan.expired)
	return nil
}

// finish removes the staged files that the commit gave up.
func (c *Committer) finish(w *tableWork) {
	for _, path := range w.Obsolete {
		_ = c.fs.Remove(path) // a missing one was removed before a restart
	}
}

// load returns the table, which it creates first where the work says so.
func (c *Committer) load(ctx context.Context, w *tableWork, p *pendingCheckpoint) (*base, error) {
	c.mu.Lock()
	b := c.cache[w.Table]
	c.mu.Unlock()
	if b != nil {
		return b, nil
	}
	t, err := c.store.LoadTable(ctx, identifier(w.Table))
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		if !w.Create {
			return nil, &StateError{Table: w.Table, Msg: "it is gone from the catalog", Hint: "restore it; or start with a new checkpoint directory, so that every table is read again"}
		}
		t, err = c.create(ctx, w, p)
	}
	if err != nil {
		return nil, fmt.Errorf("loading the table: %w", err)
	}
	b = &base{meta: t.Metadata(), location: t.MetadataLocation()}
	c.remember(w.Table, b)
	return b, nil
}

// create makes the table, with a marker that says nothing is in it yet.
func (c *Committer) create(ctx context.Context, w *tableWork, p *pendingCheckpoint) (*table.Table, error) {
	id := identifier(w.Table)
	if err := ensureNamespace(ctx, c.store, id); err != nil {
		return nil, err
	}
	props := marker{Lineage: c.sc.Lineage, Pipeline: c.sc.Pipeline}.properties()
	props[markerCreated] = "true"
	for k, v := range c.opts.properties {
		props[k] = v
	}
	if c := w.Schemas[0].Source.Comment; c != "" {
		props["comment"] = c
	}
	t, err := c.store.CreateTable(ctx, id, w.Schemas[0].numbered(0), catalog.WithLocation(c.opts.location(w.Table)), catalog.WithProperties(props))
	if errors.Is(err, catalog.ErrTableAlreadyExists) {
		return c.store.LoadTable(ctx, id)
	}
	if err == nil && !t.Schema().Equals(w.Schemas[0].Iceberg) {
		return nil, &StateError{Table: w.Table, Msg: fmt.Sprintf("the catalog gave it other field ids than those of its files: %s", describeDifference(t.Schema(), w.Schemas[0].Iceberg))}
	}
	return t, err
}

func (c *Committer) remember(id schema.TableID, b *base) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache[id] = b
}

func (c *Committer) forget(id schema.TableID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cache, id)
}

// reached marks a point; tables are committed side by side.
func (c *Committer) reached(point string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sc.Reached(point)
}
