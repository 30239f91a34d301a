package sortedfile

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// Backend is the name of the back end whose handles consist of one sorted file:
// the value of state.backend.type that Flink gives its in-memory one.
const Backend = "hashmap"

// ReadHandle fetches the file of h into the folder dir and calls fn for each
// entry, until it returns false.
func ReadHandle(ctx context.Context, fs vfs.FS, files state.Files, h state.Handle, dir string, fn func(key, value []byte) bool) error {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range h.Files {
		local := fs.PathJoin(dir, fs.PathBase(f.Name))
		if err := files.Fetch(ctx, f.Name, local); err != nil {
			return fmt.Errorf("fetch %s: %w", f.Name, err)
		}
		goOn, err := readFile(fs, local, fn)
		if err == nil {
			err = fs.Remove(local)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if !goOn {
			return nil
		}
	}
	return nil
}

func readFile(fs vfs.FS, name string, fn func(key, value []byte) bool) (goOn bool, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	r := NewReader(f)
	for {
		key, value, ok := r.Next()
		if !ok {
			return true, r.Err()
		}
		if len(key) < keygroup.PrefixLen {
			return false, fmt.Errorf("%w: a key of %d bytes", state.ErrCorrupt, len(key))
		}
		if !fn(key, value) {
			return false, nil
		}
	}
}
