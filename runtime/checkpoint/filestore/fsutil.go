package filestore

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// tmpSuffix marks a file that is being written.
const tmpSuffix = ".tmp"

// syncDir makes the names in a folder durable.
func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// syncFile makes the content of an existing file durable.
func syncFile(fs vfs.FS, name string) error {
	f, err := fs.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// writeSynced writes a new file and makes its content durable, not yet its name.
// After an error the file is gone, if it can be removed.
func writeSynced(fs vfs.FS, name string, write func(w io.Writer) error) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		_ = fs.Remove(name)
	}
	return err
}

// replaceJSON writes v to a file of dir, as one unit and durably.
func replaceJSON(fs vfs.FS, dir, name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	path := fs.PathJoin(dir, name)
	err = writeSynced(fs, path+tmpSuffix, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	if err := fs.Rename(path+tmpSuffix, path); err != nil {
		_ = fs.Remove(path + tmpSuffix)
		return err
	}
	return syncDir(fs, dir)
}

func readJSON(fs vfs.FS, name string, v any) error {
	data, err := readFile(fs, name)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func readFile(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// copySynced copies a file, under a temporary name first.
func copySynced(fs vfs.FS, from, to string) error {
	in, err := fs.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer in.Close()
	err = writeSynced(fs, to+tmpSuffix, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
	if err != nil {
		return err
	}
	if err := fs.Rename(to+tmpSuffix, to); err != nil {
		_ = fs.Remove(to + tmpSuffix)
		return err
	}
	return nil
}

// makeDir makes a folder and the missing ones above it, durably.
func makeDir(fs vfs.FS, dir string) error {
	var parents []string
	for d := dir; ; d = fs.PathDir(d) {
		if _, err := fs.Stat(d); err == nil || fs.PathDir(d) == d {
			break
		} else if !isNotExist(err) {
			return err
		}
		parents = append(parents, fs.PathDir(d))
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range parents {
		if err := syncDir(fs, p); err != nil {
			return err
		}
	}
	return nil
}

func isNotExist(err error) bool { return errors.Is(err, os.ErrNotExist) }

// remove removes a file or an empty folder; one that isn't there is no error.
func remove(fs vfs.FS, name string) error {
	if err := fs.Remove(name); err != nil && !isNotExist(err) {
		return err
	}
	return nil
}
