package iceberg

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/freshet-cdc/freshet/schema"
)

const (
	// defaultExpireBatch: removing files costs the more the more often it is done,
	// since the manifests that stay have to be looked at each time.
	defaultExpireBatch = 16
	// maxExpire bounds what one commit removes, when a table comes with a long past.
	maxExpire = 512
	// queuedChores bounds the work that waits in the background; beyond it
	// commits wait too.
	queuedChores = 64
	// closePatience is how long a committer that closes waits for that work: a
	// pipeline that only runs until it has caught up must get to it as well.
	closePatience = 5 * time.Second
)

// expirable returns the snapshots that the next commit should remove: too old, not among
// the newest, no branch or tag, and enough of them. What the table's own
// properties say goes before the sink's options.
func (c *Committer) expirable(meta table.Metadata) []table.Snapshot {
	props := meta.Properties()
	if !c.opts.expire || !props.GetBool(propGC, true) {
		return nil
	}
	maxAge := int64(props.GetInt(propMaxSnapshotAge, int(time.Hour.Milliseconds())))
	// Whatever the table says, none that a retained checkpoint may need.
	minKeep := max(1, props.GetInt(propMinSnapshots, defaultKeep), c.sc.Retained)
	keep := map[int64]bool{}
	for i, s := range ancestors(meta) {
		if i >= minKeep {
			break
		}
		keep[s.SnapshotID] = true
	}
	for name, ref := range meta.Refs() {
		keep[ref.SnapshotID] = true
		if name != table.MainBranch && ref.SnapshotRefType == table.BranchRef { // others look after their branches
			for _, s := range table.AncestorsOf(ref.SnapshotID, meta.SnapshotByID) {
				keep[s.SnapshotID] = true
			}
		}
	}
	var due []table.Snapshot
	cutoff := c.now().UnixMilli() - maxAge
	for _, s := range meta.Snapshots() {
		if !keep[s.SnapshotID] && s.TimestampMs < cutoff && len(due) < maxExpire {
			due = append(due, s)
		}
	}
	if len(due) < c.expireBatch {
		return nil
	}
	return due
}

// afterCommit removes what the commit made superfluous; failures are only told,
// for the table is right without it.
func (c *Committer) afterCommit(id schema.TableID, before, after table.Metadata, expired []table.Snapshot) {
	if after.Properties().GetBool(propDeleteMetadata, false) {
		stays := map[string]bool{}
		for f := range after.PreviousFiles() {
			stays[f.MetadataFile] = true
		}
		for f := range before.PreviousFiles() {
			if !stays[f.MetadataFile] {
				c.remove(f.MetadataFile)
			}
		}
	}
	if len(expired) > 0 {
		c.chores.do(func(ctx context.Context) {
			if err := c.removeExpired(ctx, after, expired); err != nil {
				c.logger.Warn("iceberg: files of expired snapshots are left behind", "table", id.String(), "error", err)
			}
		})
	}
}

// remove removes a file; one that is gone already is fine.
func (c *Committer) remove(path string) {
	if err := c.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.logger.Warn("iceberg: a file could not be removed", "file", path, "error", err)
	}
}

// removeExpired removes the files that only expired snapshots needed. Manifests and
// files that a branch has dropped never come back to it, so of the snapshots that stay
// only those next to an expired one have to be read.
func (c *Committer) removeExpired(ctx context.Context, after table.Metadata, expired []table.Snapshot) error {
	gone := map[int64]bool{}
	parents := map[int64]bool{}
	for _, s := range expired {
		gone[s.SnapshotID] = true
		if s.ParentSnapshotID != nil {
			parents[*s.ParentSnapshotID] = true
		}
	}
	stays := map[string]iceberggo.ManifestFile{}
	for _, s := range after.Snapshots() {
		if s.ParentSnapshotID != nil && after.SnapshotByID(*s.ParentSnapshotID) != nil && !parents[s.SnapshotID] {
			continue
		}
		if err := c.manifests(&s, stays); err != nil {
			return err
		}
	}
	was := map[string]iceberggo.ManifestFile{}
	for _, s := range expired {
		if err := c.manifests(&s, was); err != nil {
			return err
		}
	}
	files := map[string]bool{}
	for path, m := range was {
		if stays[path] != nil {
			delete(was, path)
			continue
		}
		if err := c.entries(ctx, m, false, func(p string) { files[p] = true }); err != nil {
			return err
		}
	}
	if len(files) > 0 {
		for _, m := range stays {
			if err := c.entries(ctx, m, true, func(p string) { delete(files, p) }); err != nil {
				return err
			}
		}
	}
	// What is left of this after a crash, the sweep of the next start finds.
	for _, s := range expired {
		files[s.ManifestList] = true
	}
	for path := range was {
		files[path] = true
	}
	for path := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.remove(path)
		c.reached("iceberg.expiring")
	}
	return nil
}

func (c *Committer) manifests(s *table.Snapshot, into map[string]iceberggo.ManifestFile) error {
	list, err := s.Manifests(c.fs)
	if errors.Is(err, os.ErrNotExist) { // removed before a crash
		return nil
	}
	for _, m := range list {
		into[m.FilePath()] = m
	}
	return err
}

// entries calls fn with the path of each file of a manifest.
func (c *Committer) entries(ctx context.Context, m iceberggo.ManifestFile, live bool, fn func(string)) error {
	for e, err := range m.Entries(c.fs, live) {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) && !live {
				return nil
			}
			return err
		}
		fn(e.DataFile().FilePath())
	}
	return ctx.Err()
}

// chores runs work one after the other beside the commits.
type chores struct {
	queue  chan func(context.Context)
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
}

// newChores starts the goroutine; close ends it.
func newChores(logger *slog.Logger) *chores {
	c := &chores{queue: make(chan func(context.Context), queuedChores)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Go(func() {
		for {
			select {
			case <-c.ctx.Done():
				if n := len(c.queue); n > 0 {
					logger.Debug("iceberg: maintenance is left to the next start", "tasks", n)
				}
				return
			case work := <-c.queue:
				work(c.ctx)
			}
		}
	})
	return c
}

// do queues work; it waits while the queue is full.
func (c *chores) do(work func(context.Context)) {
	select {
	case c.queue <- work:
	case <-c.ctx.Done():
	}
}

// wait returns when all that was queued is done.
func (c *chores) wait() {
	done := make(chan struct{})
	c.do(func(context.Context) { close(done) })
	select {
	case <-done:
	case <-c.ctx.Done():
	}
}

// close does what is queued, for closePatience at most, and waits for its end.
func (c *chores) close() {
	c.once.Do(func() {
		done := make(chan struct{})
		patience := time.NewTimer(closePatience)
		defer patience.Stop()
		select { // the last of the queue
		case c.queue <- func(context.Context) { close(done) }:
			select {
			case <-done:
			case <-patience.C:
			case <-c.ctx.Done():
			}
		case <-patience.C:
		case <-c.ctx.Done():
		}
		c.cancel()
	})
	c.wg.Wait()
}

// baseName returns the part of a location after the last slash.
func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
