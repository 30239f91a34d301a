package pebble

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-cdc/freshet/runtime/state"
)

const (
	// metaName is the local name of the archive with everything of a snapshot that is no table.
	metaName = "meta"
	// uploads is the number of files of a snapshot that are stored at the same time.
	uploads = 4
)

// Snapshot flushes the memtable and hard-links the tables into a folder of their own.
func (s *store) Snapshot(ctx context.Context, id int64) (state.Snapshot, error) {
	if err := s.check(); err != nil {
		return nil, s.wrap("snapshot", err)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, s.wrap("snapshot", err)
	}
	sn := &snapshot{s: s, id: id, dir: s.fs.PathJoin(s.opts.Dir, fmt.Sprintf("snapshot-%d", id))}
	if err := s.fix(sn); err != nil {
		sn.Discard()
		return nil, s.wrap(fmt.Sprintf("snapshot of checkpoint %d", id), err)
	}
	return sn, nil
}

func (s *store) fix(sn *snapshot) error {
	if s.filled > 0 {
		if err := s.rotate(); err != nil {
			return err
		}
	}
	if err := s.wait(s.flushed); err != nil {
		return err
	}
	if err := s.db.Checkpoint(sn.dir); err != nil {
		return err
	}
	locals, err := s.fs.List(sn.dir)
	if err != nil {
		return err
	}
	for _, local := range locals {
		if !strings.HasSuffix(local, ".sst") {
			sn.meta = append(sn.meta, local)
			continue
		}
		file, ok := s.names[local]
		if !ok {
			info, err := s.fs.Stat(s.fs.PathJoin(sn.dir, local))
			if err != nil {
				return err
			}
			file = state.File{Name: s.prefix + local, Local: local, Bytes: info.Size()}
		}
		sn.tables = append(sn.tables, file)
	}
	return s.failure.get()
}

// snapshot is a folder with the links of one checkpoint.
type snapshot struct {
	s      *store
	id     int64
	dir    string
	tables []state.File
	meta   []string // local names of the manifest and what belongs to it
}

// Upload stores the tables that Files does not have, and the manifest.
func (sn *snapshot) Upload(ctx context.Context, files state.Files) (state.Handle, error) {
	defer sn.Discard()
	h, err := sn.upload(ctx, state.FilesFor(files, sn.id))
	if err != nil {
		return state.Handle{}, sn.s.wrap(fmt.Sprintf("upload of checkpoint %d", sn.id), err)
	}
	return h, nil
}

func (sn *snapshot) upload(ctx context.Context, files state.Files) (state.Handle, error) {
	s := sn.s
	size, err := writeArchive(s.fs, sn.dir, metaName, sn.meta)
	if err != nil {
		return state.Handle{}, err
	}
	meta := state.File{Name: fmt.Sprintf("%schk-%d.%s", s.prefix, sn.id, metaName), Local: metaName, Bytes: size}
	h := state.Handle{Backend: Name, KeyGroups: s.opts.KeyGroups, Files: append(sn.tables, meta)}
	// Each file is offered each time: only Files knows whether it still has it.
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for _, f := range h.Files {
		g.Go(func() error { return files.Put(ctx, f.Name, s.fs.PathJoin(sn.dir, f.Local)) })
	}
	if err := g.Wait(); err != nil {
		return state.Handle{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	uploaded := make(map[string]bool, len(h.Files))
	for _, f := range h.Files {
		h.Bytes += f.Bytes
		if !s.uploaded[f.Name] {
			h.NewBytes += f.Bytes
		}
		uploaded[f.Name] = true
	}
	s.uploaded = uploaded
	return h, nil
}

// Discard removes the links.
func (sn *snapshot) Discard() { _ = sn.s.fs.RemoveAll(sn.dir) }

// open brings the database into the state of opts.Restore.
func (s *store) open(ctx context.Context) error {
	if err := s.fs.RemoveAll(s.opts.Dir); err != nil {
		return err
	}
	if err := s.fs.MkdirAll(s.dbDir(), 0o755); err != nil {
		return err
	}
	base, rest := s.plan()
	if base != nil {
		if err := s.openBase(ctx, *base); err != nil {
			return fmt.Errorf("restore key groups %v: %w", base.KeyGroups, err)
		}
	} else if err := s.openDB(false); err != nil {
		return err
	}
	for _, h := range rest {
		if err := s.importHandle(ctx, h); err != nil {
			closed := s.Close()
			return errors.Join(fmt.Errorf("restore key groups %v: %w", h.KeyGroups, err), closed)
		}
	}
	return nil
}

// plan picks the handles that hold key groups of ours. The largest of Pebble's is
// opened as it is; the others are read.
func (s *store) plan() (base *state.Handle, rest []state.Handle) {
	for _, h := range s.opts.Restore {
		if h.KeyGroups.Intersect(s.opts.KeyGroups).Empty() || len(h.Files) == 0 {
			continue
		}
		rest = append(rest, h)
	}
	at := -1
	for i, h := range rest {
		if h.Backend == Name && (at < 0 || h.Bytes > rest[at].Bytes) {
			at = i
		}
	}
	if at < 0 {
		return nil, rest
	}
	h := rest[at]
	return &h, append(rest[:at:at], rest[at+1:]...)
}

// openBase opens the database of h and removes the key groups that are not ours.
func (s *store) openBase(ctx context.Context, h state.Handle) error {
	if err := fetchDB(ctx, s.fs, s.opts.Files, h, s.dbDir()); err != nil {
		return err
	}
	s.uploaded = make(map[string]bool, len(h.Files))
	for _, f := range h.Files {
		s.uploaded[f.Name] = true
		if f.Local != metaName {
			s.names[f.Local] = f
		}
	}
	if err := s.openDB(true); err != nil {
		return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	own := h.KeyGroups.Intersect(s.opts.KeyGroups)
	if own == h.KeyGroups {
		return nil
	}
	lower, upper := own.Bounds()
	b := &state.Batch{}
	b.DeleteRange(nil, lower)
	b.DeleteRange(upper, endOfKeys)
	return s.Apply(b)
}

// endOfKeys is above every key: key groups are below 1<<15.
var endOfKeys = []byte{0xff, 0xff, 0xff}

// importHandle reads the key groups of ours in h.
func (s *store) importHandle(ctx context.Context, h state.Handle) error {
	var failed error
	r := &HandleReader{Backend: s.backend, Dir: s.fs.PathJoin(s.opts.Dir, "restore"), Files: s.opts.Files}
	err := s.BulkLoad(ctx, r.Entries(ctx, h, s.opts.KeyGroups, &failed))
	return errors.Join(failed, err)
}

// fetchDB makes the files of a handle appear in dir as a database.
func fetchDB(ctx context.Context, fs vfs.FS, files state.Files, h state.Handle, dir string) error {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range h.Files {
		if f.Local == "" || path.Base(f.Local) != f.Local {
			return fmt.Errorf("%w: %q is no file name", state.ErrCorrupt, f.Local)
		}
		local := fs.PathJoin(dir, f.Local)
		if err := files.Fetch(ctx, f.Name, local); err != nil {
			return fmt.Errorf("fetch %s: %w", f.Name, err)
		}
		info, err := fs.Stat(local)
		if err != nil {
			return err
		}
		if info.Size() != f.Bytes {
			return fmt.Errorf("%w: %s has %d bytes, not %d", state.ErrCorrupt, f.Name, info.Size(), f.Bytes)
		}
		if f.Local == metaName {
			if err := readArchive(fs, dir, metaName); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return nil
}
