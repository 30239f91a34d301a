package pebble

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/state"
)

// The manifest, the options and the marker files of a Pebble checkpoint are small, some
// of them empty. One archive of them costs one sync in the checkpoint store, not
// five: a line with the CRC-32C of what follows, then JSON, file name to content.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeArchive packs the files of dir into the file name there and returns its size.
func writeArchive(fs vfs.FS, dir, name string, locals []string) (int64, error) {
	content := make(map[string][]byte, len(locals))
	for _, local := range locals {
		data, err := readFile(fs, fs.PathJoin(dir, local))
		if err != nil {
			return 0, err
		}
		content[local] = data
	}
	body, err := json.Marshal(content)
	if err != nil {
		return 0, err
	}
	data := append(fmt.Appendf(nil, "%08x\n", crc32.Checksum(body, castagnoli)), body...)
	return int64(len(data)), writeFile(fs, fs.PathJoin(dir, name), data)
}

// readArchive unpacks the file name into dir and removes it.
func readArchive(fs vfs.FS, dir, name string) error {
	data, err := readFile(fs, fs.PathJoin(dir, name))
	if err != nil {
		return err
	}
	sum, body, ok := strings.Cut(string(data), "\n")
	if !ok || sum != fmt.Sprintf("%08x", crc32.Checksum([]byte(body), castagnoli)) {
		return fmt.Errorf("%w: bad checksum of the manifest archive", state.ErrCorrupt)
	}
	var content map[string][]byte
	if err := json.Unmarshal([]byte(body), &content); err != nil {
		return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	for local, data := range content {
		if path.Base(local) != local {
			return fmt.Errorf("%w: %q is no file name", state.ErrCorrupt, local)
		}
		if err := writeFile(fs, fs.PathJoin(dir, local), data); err != nil {
			return err
		}
	}
	return fs.Remove(fs.PathJoin(dir, name))
}

func readFile(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func writeFile(fs vfs.FS, name string, data []byte) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
