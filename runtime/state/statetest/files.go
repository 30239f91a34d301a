package statetest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/freshet-cdc/freshet/runtime/state"
)

// DirFiles is a plain folder as state.Files, which can fail and remembers what was stored.
type DirFiles struct {
	Dir string

	mu   sync.Mutex
	puts []string // names that were new
	fail error
	left int // Puts until fail is returned
}

var _ state.Files = (*DirFiles)(nil)

// FailAfter makes Put fail with err after n more successful calls; nil ends that.
func (f *DirFiles) FailAfter(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.fail = n, err
}

// TakeNew returns the names that were stored since the last call, sorted.
func (f *DirFiles) TakeNew() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	puts := f.puts
	f.puts = nil
	slices.Sort(puts)
	return puts
}

// Path returns where the file name lies.
func (f *DirFiles) Path(name string) string { return filepath.Join(f.Dir, name) }

// Put stores a copy of the file: the folder of the store may be removed or damaged without consequences.
func (f *DirFiles) Put(ctx context.Context, name, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if filepath.Base(name) != name {
		return errors.New("not a plain file name: " + name)
	}
	if f.fail != nil {
		if f.left--; f.left < 0 {
			return f.fail
		}
	}
	if _, err := os.Stat(f.Path(name)); err == nil {
		return nil
	}
	if err := copyFile(path, f.Path(name)); err != nil {
		return err
	}
	f.puts = append(f.puts, name)
	return nil
}

// Fetch links the file, so that a back end which writes to it damages the original, and the test sees it.
func (f *DirFiles) Fetch(ctx context.Context, name, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return os.Link(f.Path(name), path)
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
