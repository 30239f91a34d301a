package filestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
)

// DefaultRetained is the number of checkpoints that are kept when Options don't say:
// the newest, and two to go back to when it is damaged.
const DefaultRetained = 3

// Options say where checkpoints lie and whose they are.
type Options struct {
	// Dir is the folder, for one pipeline alone. It is made when it is missing.
	Dir string
	// Pipeline is the name of the pipeline. A folder of another one is refused.
	Pipeline string
	// Retained is the number of checkpoints to keep, DefaultRetained when 0.
	Retained int
	// FS is the file system of Dir and of the local files that are stored; vfs.Default when nil.
	FS vfs.FS
	// Logger gets warnings of files that can't be removed; slog.Default() when nil.
	Logger *slog.Logger
}

// Store is a folder with checkpoints.
type Store struct{ opts Options }

var _ checkpoint.Store = (*Store)(nil)

// New returns the store in opts.Dir; it touches nothing yet.
func New(opts Options) (*Store, error) {
	if opts.Dir == "" || opts.Pipeline == "" {
		return nil, errors.New("a checkpoint store needs a folder and the pipeline's name")
	}
	if opts.Retained < 0 {
		return nil, fmt.Errorf("%d checkpoints can't be retained", opts.Retained)
	}
	if opts.Retained == 0 {
		opts.Retained = DefaultRetained
	}
	if opts.FS == nil {
		opts.FS = vfs.Default
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.FS == vfs.Default { // one name for one folder: locks within a process go by it
		dir, err := filepath.Abs(opts.Dir)
		if err != nil {
			return nil, err
		}
		opts.Dir = dir
	}
	return &Store{opts: opts}, nil
}

// Acquire locks the folder, fences earlier owners and removes what they left unfinished.
func (st *Store) Acquire(ctx context.Context) (checkpoint.Session, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s := &session{
		fs: st.opts.FS, opts: st.opts, dir: st.opts.Dir,
		shared: st.opts.FS.PathJoin(st.opts.Dir, "shared"),
		files:  newTracker(),
	}
	if err := s.acquire(); err != nil {
		if s.lock != nil {
			err = errors.Join(err, s.lock.Close())
		}
		return nil, fmt.Errorf("checkpoint directory %s: %w", s.dir, err)
	}
	return s, nil
}

func (s *session) acquire() error {
	// whose folder it is comes first: the better error where both apply
	if err := s.checkPipeline(); err != nil {
		return err
	}
	if err := makeDir(s.fs, s.shared); err != nil {
		return err
	}
	if err := s.takeLock(); err != nil {
		return err
	}
	if err := s.identify(); err != nil {
		return err
	}
	if err := s.takeOver(); err != nil {
		return err
	}
	if err := s.removeUnpublished(); err != nil {
		return err
	}
	if err := s.scan(); err != nil {
		return err
	}
	return s.removeLeftovers()
}

// takeLock locks LOCK. The system frees it when the process ends, however it ends.
func (s *session) takeLock() error {
	lock, err := s.fs.Lock(s.path(lockName))
	if err == nil {
		s.lock = lock
		return nil
	}
	var perr *os.PathError
	if errors.As(err, &perr) { // the file could not be made
		return err
	}
	var o owner
	who := "which has not written its name yet"
	if readJSON(s.fs, s.path(ownerName), &o) == nil {
		who = fmt.Sprintf("pid %d on host %s, since %s", o.PID, o.Host, o.Since.Format("2006-01-02 15:04:05 MST"))
	}
	return fmt.Errorf("%w: %s; stop it first, or give this pipeline another directory (%w)", checkpoint.ErrLocked, who, err)
}

func (s *session) path(elem ...string) string {
	return s.fs.PathJoin(append([]string{s.dir}, elem...)...)
}
