package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// Committer makes the prepared checkpoints visible. For every table and checkpoint
// there is one commit: one snapshot with all rows, deletes and schema changes, and
// the marker with the checkpoint's id, in its summary and as a table property. A
// checkpoint whose marker is there already is skipped, so a crash at any point is
// followed by the same commits again without doubling anything. It implements [sink.Committer].
type Committer struct {
	opts   options
	store  store
	fs     durableFS
	sc     sink.Context
	logger *slog.Logger
	state  *committerState

	// attemptID is in the name of every file of this committer, so that none of
	// them is taken for what an attempt before it left behind.
	attemptID uuid.UUID
	mu        sync.Mutex // guards what the commits of several tables share
	cache     map[schema.TableID]*base
	writers   map[uuid.UUID]bool           // of the running attempt
	sweeps    map[schema.TableID]time.Time // when each table is to be swept next
	strays    time.Time                    // and the folders of no table
	now       func() time.Time
	// expireBatch is how many snapshots must be due before any is expired.
	expireBatch int
	chores      *chores
}

// Collect merges what the writers prepared, writes the position-delete files, and
// returns the committer's state. After an error nothing of the checkpoint is kept.
func (c *Committer) Collect(ctx context.Context, checkpoint int64, position uint64, committables [][]sink.Committable) ([]byte, error) {
	if n := len(c.state.Pending); n > 0 && c.state.Pending[n-1].ID >= checkpoint {
		return nil, fmt.Errorf("iceberg: checkpoint %d was collected after checkpoint %d", checkpoint, c.state.Pending[n-1].ID)
	}
	byTable := map[schema.TableID][]*tableCommittable{}
	for _, writer := range committables {
		for _, item := range writer {
			switch item := item.(type) {
			case writerInfo:
				c.mu.Lock()
				c.writers[item.UUID] = true
				c.mu.Unlock()
			case *tableCommittable:
				byTable[item.Table] = append(byTable[item.Table], item)
			default:
				return nil, fmt.Errorf("iceberg: a writer handed over a %T", item)
			}
		}
	}
	next, err := c.fold(ctx, checkpoint, position, byTable)
	if err != nil {
		return nil, fmt.Errorf("iceberg: checkpoint %d: %w", checkpoint, err)
	}
	blob, err := next.encode()
	if err != nil {
		return nil, err
	}
	c.state = next
	c.sweepOrphans(sortedTables(byTable))
	return blob, nil
}

// fold returns the state after a checkpoint; the present one stays as it is.
func (c *Committer) fold(ctx context.Context, checkpoint int64, position uint64, byTable map[schema.TableID][]*tableCommittable) (*committerState, error) {
	next := &committerState{Pending: slices.Clone(c.state.Pending), Staged: maps.Clone(c.state.Staged), Written: maps.Clone(c.state.Written)}
	p := &pendingCheckpoint{ID: checkpoint, Position: position}
	var mu sync.Mutex
	g, _ := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.commitParallelism)
	for _, id := range sortedTables(byTable) {
		w, deletes, err := foldTable(id, byTable[id], next.Staged)
		if err != nil {
			return nil, errors.Join(err, g.Wait())
		}
		g.Go(func() error {
			if err := c.writeDeletes(w, deletes, checkpoint); err != nil {
				return fmt.Errorf("table %s: position deletes: %w", id, err)
			}
			if !w.empty() {
				mu.Lock()
				p.Tables = append(p.Tables, w)
				mu.Unlock()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(p.Tables, func(a, b *tableWork) int { return compareTables(a.Table, b.Table) })
	for _, w := range p.Tables {
		next.Written[w.Table] = checkpoint
	}
	next.Pending = append(next.Pending, p)
	return next, nil
}

// writeDeletes writes the one position-delete file of a table and checkpoint.
func (c *Committer) writeDeletes(w *tableWork, deletes []fileDeletes, checkpoint int64) error {
	if len(deletes) == 0 {
		return nil
	}
	path := fmt.Sprintf("%s/data/%s", c.opts.location(w.Table), deleteFileName(c.sc.Lineage, checkpoint, c.attemptID))
	df, err := writePositionDeletes(c.fs, path, unpartitioned, deletes)
	if err != nil {
		return err
	}
	w.Deletes = append(w.Deletes, df)
	c.reached("iceberg.deletes-written")
	return nil
}

// Commit makes every collected checkpoint up to id visible, one after the other,
// the tables of each in parallel. On an error some tables may be ahead of others;
// the next Commit, or the one after a restart, brings the others up.
func (c *Committer) Commit(ctx context.Context, id int64) error {
	for len(c.state.Pending) > 0 && c.state.Pending[0].ID <= id {
		if err := c.commitCheckpoint(ctx, c.state.Pending[0]); err != nil {
			return err
		}
		c.state.Pending = c.state.Pending[1:]
	}
	return nil
}

func (c *Committer) commitCheckpoint(ctx context.Context, p *pendingCheckpoint) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.commitParallelism)
	for _, w := range p.Tables {
		g.Go(func() error {
			if err := c.commitTable(ctx, p, w); err != nil {
				return fmt.Errorf("iceberg: committing checkpoint %d to table %s: %w", p.ID, w.Table, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// Close waits for the work in the background.
func (c *Committer) Close() error {
	c.chores.close()
	return nil
}

// sortedTables returns the keys in a fixed order.
func sortedTables[V any](m map[schema.TableID]V) []schema.TableID {
	return slices.SortedFunc(maps.Keys(m), compareTables)
}

func compareTables(a, b schema.TableID) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Table, b.Table))
}
