//go:build unix

package postgres

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// processCPU returns the CPU time that the process has used since the last call.
func processCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	now := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	d := now - lastCPU
	lastCPU = now
	return d
}

func isError(err, target error) bool { return errors.Is(err, target) }

// chownAll gives a folder and all in it to the owner of another.
func chownAll(dir string, owner fs.FileInfo) error {
	st := owner.Sys().(*syscall.Stat_t)
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(st.Uid), int(st.Gid))
	})
}
