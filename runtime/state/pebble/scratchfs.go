package pebble

import (
	"os"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// failedDelay slows Pebble down, which tries a failed flush again at once, until the store is closed.
const failedDelay = 10 * time.Millisecond

// scratchFS is a file system whose content need not outlive the process: it
// does not sync. The first failed write makes the store fail.
//
// After that, tables can't be written any more, so no flush and no compaction
// ends. What is no table seems to be written, to nowhere: Pebble's memory is
// wrong after a manifest that it could not write, and it ends the process or
// panics. Nobody reads these files: the store refuses to fix a snapshot, and the
// next Open begins with an empty folder.
type scratchFS struct {
	vfs.FS
	failure *failure
}

// isTable reports whether a file holds entries: its loss Pebble can live with.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// check lets no write of a table begin after a failure.
func (fs *scratchFS) check() error {
	err := fs.failure.get()
	if err != nil {
		time.Sleep(failedDelay)
	}
	return err
}

func (fs *scratchFS) report(err error) error {
	if err != nil {
		fs.failure.set(err)
	}
	return err
}

func (fs *scratchFS) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, fs.report(err)
	}
	return &scratchFile{File: f, fs: fs}, nil
}

func (fs *scratchFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if isTable(name) {
		if err := fs.check(); err != nil {
			return nil, err
		}
		return fs.wrap(fs.FS.Create(name, category))
	}
	if fs.failure.get() == nil {
		f, err := fs.wrap(fs.FS.Create(name, category))
		if err == nil {
			f.(*scratchFile).lossy = true
			return f, nil
		}
	}
	return vfs.NewMem().Create("nowhere", category)
}

func (fs *scratchFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := fs.check(); err != nil {
		return nil, err
	}
	return fs.wrap(fs.FS.OpenReadWrite(name, category, opts...))
}

func (fs *scratchFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.check(); err != nil {
		return nil, err
	}
	return fs.wrap(fs.FS.ReuseForWrite(oldname, newname, category))
}

func (fs *scratchFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &scratchFile{File: f, fs: fs}, nil
}

func (fs *scratchFS) Rename(oldname, newname string) error {
	if isTable(newname) {
		if err := fs.check(); err != nil {
			return err
		}
		return fs.report(fs.FS.Rename(oldname, newname))
	}
	if fs.failure.get() == nil {
		_ = fs.report(fs.FS.Rename(oldname, newname))
	}
	return nil
}

func (fs *scratchFS) MkdirAll(dir string, perm os.FileMode) error {
	if err := fs.check(); err != nil {
		return err
	}
	return fs.report(fs.FS.MkdirAll(dir, perm))
}

func (fs *scratchFS) Unwrap() vfs.FS { return fs.FS }

// scratchFile is a file that is not synced.
type scratchFile struct {
	vfs.File
	fs *scratchFS
	// lossy: a write after a failure, and the one that fails, goes nowhere.
	lossy bool
}

func (f *scratchFile) Write(p []byte) (int, error) {
	return f.written(len(p), func() (int, error) { return f.File.Write(p) })
}

func (f *scratchFile) WriteAt(p []byte, off int64) (int, error) {
	return f.written(len(p), func() (int, error) { return f.File.WriteAt(p, off) })
}

func (f *scratchFile) written(size int, write func() (int, error)) (int, error) {
	if !f.lossy {
		n, err := write()
		return n, f.fs.report(err)
	}
	if f.fs.failure.get() == nil {
		_, err := write()
		_ = f.fs.report(err)
	}
	return size, nil
}

func (f *scratchFile) Sync() error                { return nil }
func (f *scratchFile) SyncData() error            { return nil }
func (f *scratchFile) SyncTo(int64) (bool, error) { return false, nil }
