package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	iceio "github.com/apache/iceberg-go/io"
)

// durableFS is iceberg-go's local file system with what that one lacks: a file is
// on disk, name and all, when Close or WriteFile returned without an error. A
// catalog on the same machine would otherwise survive a power cut that its
// metadata files don't.
type durableFS struct{ iceio.LocalFS }

// registerDurable makes every file:// of iceberg-go durable, the metadata files
// that the catalog writes included. The registry is global, hence once.
var registerDurable = sync.OnceFunc(func() {
	factory := func(context.Context, *url.URL, map[string]string) (iceio.IO, error) { return durableFS{}, nil }
	for _, scheme := range []string{"file", ""} {
		iceio.Unregister(scheme)
		iceio.Register(scheme, factory)
	}
})

// Create creates or empties the file. Close of the result syncs it and its folder.
func (fs durableFS) Create(name string) (iceio.FileWriter, error) { return fs.create(name, true) }

// createUnnamed is Create without the sync of the folder, for a file whose
// folder is synced before anybody is told its name.
func (fs durableFS) createUnnamed(name string) (iceio.FileWriter, error) {
	return fs.create(name, false)
}

func (durableFS) create(name string, syncFolder bool) (iceio.FileWriter, error) {
	path, err := localPath(name)
	if err != nil {
		return nil, err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &durableFile{File: f, syncFolder: syncFolder}, nil
}

// WriteFile writes the file and syncs it and its folder.
func (fs durableFS) WriteFile(name string, content []byte) error {
	w, err := fs.Create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return errors.Join(err, w.Close())
}

// durableFile syncs when it is closed.
type durableFile struct {
	*os.File
	syncFolder bool
	closed     bool
}

func (f *durableFile) ReadFrom(r io.Reader) (int64, error) { return io.Copy(f.File, r) }

// Close syncs and closes; calls after the first do nothing.
func (f *durableFile) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	err := f.Sync()
	if err = errors.Join(err, f.File.Close()); err != nil {
		return fmt.Errorf("file %s did not reach the disk: %w", f.Name(), err)
	}
	if !f.syncFolder {
		return nil
	}
	return syncFolder(filepath.Dir(f.Name()))
}

// makeFolder makes the folder and its parents, and syncs each folder that got a new entry.
func makeFolder(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// localPath turns a file URI, or a plain path, into a path. iceberg-go writes
// locations as the warehouse option has them, so both occur.
func localPath(name string) (string, error) {
	rest, ok := strings.CutPrefix(name, "file:")
	if !ok {
		if i := strings.Index(name, "://"); i > 0 {
			return "", fmt.Errorf("%s is not a local path", name)
		}
		return name, nil
	}
	u, err := url.Parse(name)
	if err != nil {
		return "", fmt.Errorf("file location %q: %w", name, err)
	}
	if u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("file location %q names a host; write file:///absolute/path", name)
	}
	if u.Opaque != "" || !strings.HasPrefix(rest, "/") {
		return "", fmt.Errorf("file location %q is not absolute; write file:///absolute/path", name)
	}
	return u.Path, nil
}
