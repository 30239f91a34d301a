package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// files is shared/, on behalf of a checkpoint.
type files struct {
	s  *session
	id checkpoint.ID
}

var _ state.CheckpointFiles = files{}

// ForCheckpoint returns the same files on behalf of checkpoint id.
func (f files) ForCheckpoint(id int64) state.Files { return files{s: f.s, id: id} }

// Put links the local file, or copies it where that isn't possible. Before it
// returns, the file and its name are durable.
func (f files) Put(ctx context.Context, name, path string) error {
	if err := checkName(name); err != nil {
		return err
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		wait, ok := f.s.files.begin(name, f.id)
		if !ok {
			return f.s.wrap(fmt.Errorf("store %s: checkpoint %d is over", name, f.id))
		}
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	created, err := f.s.store(name, path)
	f.s.files.end(name, f.id, err == nil, created)
	if err != nil {
		return f.s.wrap(fmt.Errorf("store %s: %w", name, err))
	}
	return nil
}

// store does the work of Put; created is false when the file was there.
func (s *session) store(name, path string) (created bool, err error) {
	to := s.fs.PathJoin(s.shared, name)
	local, err := s.fs.Stat(path)
	if err != nil {
		return false, err
	}
	if have, err := s.fs.Stat(to); err == nil {
		if have.Size() != local.Size() {
			return false, fmt.Errorf("%w: %s has %d bytes, a file of that name %d", checkpoint.ErrCorrupt, to, have.Size(), local.Size())
		}
		return false, nil
	} else if !isNotExist(err) {
		return false, err
	}
	switch err := s.fs.Link(path, to); {
	case err == nil:
		// the content may not have been synced by whoever wrote it
		if err := syncFile(s.fs, to); err != nil {
			_ = s.fs.Remove(to)
			return false, err
		}
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist):
		return false, err
	default: // another file system, or one without links
		if err := copySynced(s.fs, path, to); err != nil {
			return false, err
		}
	}
	if err := syncDir(s.fs, s.shared); err != nil {
		_ = s.fs.Remove(to)
		return false, err
	}
	return true, nil
}

// Fetch links the stored file to a local path, or copies it.
func (f files) Fetch(ctx context.Context, name, path string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	from := f.s.fs.PathJoin(f.s.shared, name)
	err := f.s.fs.Link(from, path)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrExist) {
		err = copySynced(f.s.fs, from, path)
	}
	if err != nil {
		return f.s.wrap(fmt.Errorf("fetch %s: %w", name, err))
	}
	return nil
}

func checkName(name string) error {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, "/\\\x00") || strings.HasSuffix(name, tmpSuffix) {
		return fmt.Errorf("%q is no name of a state file", name)
	}
	return nil
}

// removeLeftovers removes from shared/ what no published checkpoint names: a crashed process left it.
func (s *session) removeLeftovers() error {
	names, err := s.fs.List(s.shared)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, tmpSuffix) {
			if err := remove(s.fs, s.fs.PathJoin(s.shared, name)); err != nil {
				return err
			}
			continue
		}
		s.files.found(name)
	}
	return s.collect()
}

// collect removes the files of shared/ that nobody needs any more.
func (s *session) collect() error {
	return s.files.collect(func(name string) error { return remove(s.fs, s.fs.PathJoin(s.shared, name)) })
}
