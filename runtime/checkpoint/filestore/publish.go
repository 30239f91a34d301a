package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
)

// Publish writes chk-N/_metadata and removes checkpoints beyond the retention.
func (s *session) Publish(ctx context.Context, m *checkpoint.Metadata) (oldest checkpoint.ID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	meta := *m
	meta.Version = checkpoint.MetadataVersion
	if meta.Lineage == "" {
		meta.Lineage = s.lineage
	}
	if err := s.publish(&meta); err != nil {
		return 0, s.wrap(fmt.Errorf("publish checkpoint %d: %w", meta.ID, err))
	}
	s.next = max(s.next, meta.ID+1)
	s.published = append(s.published, published{id: meta.ID, meta: &meta, refs: filesOf(&meta), refsKnown: true})
	s.files.settle(meta.ID)
	s.updateRefs()
	if err := s.retain(); err != nil {
		// The checkpoint stands; what could not be removed is tried again with the next.
		s.opts.Logger.Warn("checkpoints beyond the retention are left for now", "dir", s.dir, "error", err)
	}
	for _, p := range s.published {
		if p.err == nil {
			return p.id, nil
		}
	}
	return meta.ID, nil
}

func (s *session) publish(m *checkpoint.Metadata) error {
	if m.Lineage != s.lineage {
		return fmt.Errorf("it is of lineage %s, the directory of %s", m.Lineage, s.lineage)
	}
	if n := len(s.published); m.ID < s.owner.Next || n > 0 && m.ID <= s.published[n-1].id {
		return fmt.Errorf("the id was used before; the next one is %d", s.next)
	}
	if s.files.aborted(m.ID) {
		return errors.New("it was aborted")
	}
	data, err := encode(envelope{Pipeline: s.opts.Pipeline, Token: s.owner.Token, Checkpoint: m})
	if err != nil {
		return err
	}
	if err := s.checkOwner(); err != nil { // before anything is made in another's folder
		return err
	}
	dir := s.path(dirName(m.ID))
	if err := checkFiles(s.fs, s.shared, filesOf(m)); err != nil {
		return s.orFenced(err)
	}
	if err := s.prepareAndRename(dir, data); err != nil {
		if err := s.orFenced(err); errors.Is(err, checkpoint.ErrFenced) {
			return err // what lies there is the new owner's business
		}
		_ = s.fs.RemoveAll(dir)
		return err
	}
	return nil
}

// orFenced returns ErrFenced where a new owner is the cause of err: it removes what was prepared.
func (s *session) orFenced(err error) error {
	if fenced := s.checkOwner(); errors.Is(fenced, checkpoint.ErrFenced) {
		return fenced
	}
	return err
}

// prepareAndRename is the order that doc.go speaks of: prepare, look at OWNER, rename.
func (s *session) prepareAndRename(dir string, data []byte) error {
	if err := s.fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := syncDir(s.fs, s.dir); err != nil {
		return err
	}
	path := s.fs.PathJoin(dir, metadataName)
	// The token keeps a stale owner from writing into the file of its successor.
	tmp := fmt.Sprintf("%s.%d%s", path, s.owner.Token, tmpSuffix)
	err := writeSynced(s.fs, tmp, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.checkOwner(); err != nil {
		return err
	}
	if err := s.fs.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(s.fs, dir)
}

// retain removes the oldest checkpoints, and then the files that only they named.
func (s *session) retain() error {
	readable := 0
	for _, p := range s.published {
		if p.err == nil {
			readable++
		}
	}
	drop := 0 // a damaged one goes together with those before the first that stays
	for _, p := range s.published {
		if p.err == nil {
			if readable <= s.opts.Retained {
				break
			}
			readable--
		}
		drop++
	}
	if drop > 0 {
		if err := s.checkOwner(); err != nil {
			return err
		}
		for range drop {
			if err := s.removeCheckpoint(s.published[0].id); err != nil {
				return err
			}
			s.published = s.published[1:]
		}
		// The names must be gone for good before the files that they need are.
		if err := syncDir(s.fs, s.dir); err != nil {
			return err
		}
		s.updateRefs()
	}
	return s.collect()
}

// removeCheckpoint removes a folder; _metadata first, so that no half of it is taken for a checkpoint.
func (s *session) removeCheckpoint(id checkpoint.ID) error {
	dir := s.path(dirName(id))
	if err := remove(s.fs, s.fs.PathJoin(dir, metadataName)); err != nil {
		return err
	}
	return s.fs.RemoveAll(dir)
}

// Discard removes _metadata of each; the empty folder keeps its id from being used again
// until the next owner has written down which ids there were.
func (s *session) Discard(ctx context.Context, id checkpoint.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := s.checkOwner(); err != nil {
		return s.wrap(err)
	}
	if err := s.scan(); err != nil {
		return s.wrap(err)
	}
	if !slices.ContainsFunc(s.published, func(p published) bool { return p.id < id && p.err == nil }) {
		return s.wrap(fmt.Errorf("checkpoint %d: %w", id, checkpoint.ErrLast))
	}
	for n := len(s.published); n > 0 && s.published[n-1].id >= id; n = len(s.published) {
		dir := s.path(dirName(s.published[n-1].id))
		if err := remove(s.fs, s.fs.PathJoin(dir, metadataName)); err != nil {
			return s.wrap(err)
		}
		if err := syncDir(s.fs, dir); err != nil {
			return s.wrap(err)
		}
		s.published = s.published[:n-1]
	}
	s.updateRefs()
	return s.wrap(s.collect())
}

// Abort removes the files that were stored for checkpoint id alone.
func (s *session) Abort(_ context.Context, id checkpoint.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.files.abort(id)
	if err := s.collect(); err != nil {
		s.opts.Logger.Warn("files of an aborted checkpoint are left for now", "dir", s.dir, "checkpoint", id, "error", err)
	}
}
