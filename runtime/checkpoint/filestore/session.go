package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// session is an acquired folder.
type session struct {
	fs      vfs.FS
	opts    Options
	dir     string
	shared  string
	lock    io.Closer
	lineage string
	owner   owner

	files *tracker // has a mutex of its own, inside mu

	mu        sync.Mutex // one publish, scan or abort at a time
	next      checkpoint.ID
	published []published // ascending
	closed    bool
}

// published is a checkpoint in the folder.
type published struct {
	id   checkpoint.ID
	meta *checkpoint.Metadata // nil when it is damaged
	err  error                // the damage
	refs map[string]int64     // the files that it names
	// refsKnown is false when _metadata can't be read: it may name any file.
	refsKnown bool
}

var _ checkpoint.Session = (*session)(nil)

// Lineage returns the UUID in LINEAGE.
func (s *session) Lineage() string { return s.lineage }

// Next returns the first id to use.
func (s *session) Next() checkpoint.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// Files returns shared/.
func (s *session) Files() state.Files { return files{s: s} }

// Latest reads the folder again, so that it also finds what was damaged meanwhile.
func (s *session) Latest(ctx context.Context) (*checkpoint.Metadata, []error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, nil, err
	}
	if err := s.scan(); err != nil {
		return nil, nil, s.wrap(err)
	}
	var corrupt []error
	for _, p := range slices.Backward(s.published) {
		if p.err == nil {
			return p.meta, corrupt, nil
		}
		corrupt = append(corrupt, p.err)
	}
	return nil, corrupt, nil
}

// Close frees the lock.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.wrap(s.lock.Close())
}

func (s *session) check(ctx context.Context) error {
	if s.closed {
		return s.wrap(os.ErrClosed)
	}
	return context.Cause(ctx)
}

func (s *session) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("checkpoint directory %s: %w", s.dir, err)
}

// list returns the ids of all folders of checkpoints, ascending.
func (s *session) list() ([]checkpoint.ID, error) {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return nil, err
	}
	var ids []checkpoint.ID
	for _, name := range names {
		if id, ok := parseDirName(name); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func (s *session) readMetadata(id checkpoint.ID) (envelope, error) {
	path := s.path(dirName(id), metadataName)
	data, err := readFile(s.fs, path)
	if err != nil {
		return envelope{}, err
	}
	e, err := decode(data)
	if err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

// scan reads all published checkpoints. Damage is noted; what may be a passing
// trouble (I/O errors, permissions) or a newer version is an error.
func (s *session) scan() error {
	ids, err := s.list()
	if err != nil {
		return err
	}
	before := s.published
	s.published = nil
	for _, id := range ids {
		p, err := s.inspect(id)
		if isNotExist(err) {
			continue // never published, or just removed
		}
		if err != nil {
			return fmt.Errorf("checkpoint %d: %w", id, err)
		}
		if i := slices.IndexFunc(before, func(b published) bool { return b.id == id }); i >= 0 && !p.refsKnown {
			p.refs, p.refsKnown = before[i].refs, before[i].refsKnown
		}
		s.published = append(s.published, p)
	}
	s.updateRefs()
	return nil
}

func (s *session) inspect(id checkpoint.ID) (published, error) {
	p := published{id: id}
	e, err := s.readMetadata(id)
	if err == nil {
		p.meta, p.refs, p.refsKnown = e.Checkpoint, filesOf(e.Checkpoint), true
		err = s.verify(id, e)
	}
	if errors.Is(err, checkpoint.ErrCorrupt) {
		p.meta, p.err = nil, fmt.Errorf("checkpoint %d: %w", id, err)
		return p, nil
	}
	return p, err
}

func (s *session) verify(id checkpoint.ID, e envelope) error {
	path := s.path(dirName(id), metadataName)
	if e.Checkpoint.ID != id {
		return fmt.Errorf("%w: %s is of checkpoint %d", checkpoint.ErrCorrupt, path, e.Checkpoint.ID)
	}
	if e.Checkpoint.Lineage != s.lineage {
		return fmt.Errorf("%w: %s is of lineage %s, the directory of %s; it was copied from elsewhere",
			checkpoint.ErrCorrupt, path, e.Checkpoint.Lineage, s.lineage)
	}
	return checkFiles(s.fs, s.shared, filesOf(e.Checkpoint))
}

// updateRefs tells the tracker which files the published checkpoints name.
func (s *session) updateRefs() {
	refs := map[string]bool{}
	known := true
	for _, p := range s.published {
		known = known && p.refsKnown
		for name := range p.refs {
			refs[name] = true
		}
	}
	s.files.setRefs(refs, known)
}
