package iceberg

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/schema"
)

const (
	// orphanAge is how old a metadata file must be to be an orphan: its name does
	// not say whose it is, and whoever writes one has it committed within that time.
	orphanAge = 10 * time.Minute
	// sweepRetry is the time after which a sweep that failed is tried again.
	sweepRetry = 10 * time.Minute
)

// never is later than every sweep.
var never = time.Unix(1<<40, 0)

// sweep is one look for orphans: what an attempt that failed, or a crash in the
// background work, left. Names say whose a file is: files of another lineage,
// of the running writers, and all that a snapshot or prepared work needs stay.
type sweep struct {
	c *Committer
	// ours are the writers and the committer of the running attempt.
	ours map[uuid.UUID]bool
	// keep are the files of prepared work.
	keep map[string]bool
}

// sweepOrphans queues the sweeps that are due: of each table once an attempt, of
// the warehouse's other folders as well, and again when something was too young. It
// runs after a Collect, when the running writers are known.
func (c *Committer) sweepOrphans(tables []schema.TableID) {
	s := sweep{c: c, ours: map[uuid.UUID]bool{c.attemptID: true}, keep: c.state.files()}
	known := c.knownFolders()
	now := c.now()
	c.mu.Lock()
	for id := range c.writers {
		s.ours[id] = true
	}
	for _, id := range tables {
		if _, ok := c.sweeps[id]; !ok {
			c.sweeps[id] = time.Time{}
		}
	}
	var due []schema.TableID
	for _, id := range sortedTables(c.sweeps) {
		if !c.sweeps[id].After(now) {
			due = append(due, id)
			c.sweeps[id] = never
		}
	}
	strays := !c.strays.After(now)
	if strays {
		c.strays = never
	}
	c.mu.Unlock()
	for _, id := range due {
		c.chores.do(func(ctx context.Context) {
			again := s.run(ctx, id.String(), func() (int, time.Time, error) { return s.table(ctx, id) })
			c.mu.Lock()
			c.sweeps[id] = again
			c.mu.Unlock()
		})
	}
	if strays {
		c.chores.do(func(ctx context.Context) {
			again := s.run(ctx, "(folders without a table)", func() (int, time.Time, error) { return s.strays(ctx, known) })
			c.mu.Lock()
			c.strays = again
			c.mu.Unlock()
		})
	}
}

// run reports on one sweep and returns when the next is due.
func (s *sweep) run(ctx context.Context, what string, fn func() (removed int, again time.Time, err error)) time.Time {
	n, again, err := fn()
	if n > 0 {
		s.c.logger.Info("iceberg: removed files that a failed attempt left", "table", what, "files", n)
	}
	if err != nil && ctx.Err() == nil {
		s.c.logger.Warn("iceberg: files that a failed attempt left are still there", "table", what, "error", err)
	}
	if err != nil {
		return s.c.now().Add(sweepRetry)
	}
	return again
}

// knownFolders are the folders of all tables that the lineage has written, or is going to.
func (c *Committer) knownFolders() map[string]bool {
	folders := map[string]bool{}
	for id := range c.state.Written {
		folders[c.opts.location(id)] = true
	}
	for id := range c.state.Staged {
		folders[c.opts.location(id)] = true
	}
	return folders
}

// files are the paths of everything that is prepared.
func (s *committerState) files() map[string]bool {
	keep := map[string]bool{}
	for _, p := range s.Pending {
		for _, w := range p.Tables {
			for _, f := range w.Data {
				keep[f.FilePath()] = true
			}
			for _, f := range w.Deletes {
				keep[f.FilePath()] = true
			}
		}
	}
	for _, st := range s.Staged {
		for _, f := range st.Files {
			keep[f.FilePath()] = true
		}
	}
	return keep
}
