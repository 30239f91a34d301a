package filestore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
)

// _metadata is a line of text, then JSON:
//
//	freshet-checkpoint <version> <length of the JSON> <CRC-32C of the JSON, hexadecimal>
const (
	metadataName  = "_metadata"
	metadataMagic = "freshet-checkpoint"
	dirPrefix     = "chk-"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// envelope is the JSON in _metadata.
type envelope struct {
	// Pipeline and Token say who published it.
	Pipeline   string               `json:"pipeline"`
	Token      int64                `json:"token"`
	Checkpoint *checkpoint.Metadata `json:"checkpoint"`
}

func encode(e envelope) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%s %d %d %08x\n", metadataMagic, e.Checkpoint.Version, len(body), crc32.Checksum(body, castagnoli))
	return append([]byte(head), body...), nil
}

// decode returns errors that wrap ErrCorrupt or ErrVersion.
func decode(data []byte) (envelope, error) {
	var e envelope
	head, body, ok := bytes.Cut(data, []byte("\n"))
	fields := strings.Fields(string(head))
	if !ok || len(fields) != 4 || fields[0] != metadataMagic {
		return e, fmt.Errorf("%w: it does not begin with a line of %s", checkpoint.ErrCorrupt, metadataMagic)
	}
	version, err := strconv.Atoi(fields[1])
	if err != nil || version < 1 {
		return e, fmt.Errorf("%w: version %q", checkpoint.ErrCorrupt, fields[1])
	}
	if fields[2] != strconv.Itoa(len(body)) {
		return e, fmt.Errorf("%w: %d bytes after the first line, not %s", checkpoint.ErrCorrupt, len(body), fields[2])
	}
	if sum := fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)); fields[3] != sum {
		return e, fmt.Errorf("%w: checksum is %s, not %s", checkpoint.ErrCorrupt, sum, fields[3])
	}
	if version > checkpoint.MetadataVersion {
		return e, fmt.Errorf("%w: version %d, this program reads up to %d", checkpoint.ErrVersion, version, checkpoint.MetadataVersion)
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("%w: %w", checkpoint.ErrCorrupt, err)
	}
	if e.Checkpoint == nil {
		return e, fmt.Errorf("%w: no checkpoint in it", checkpoint.ErrCorrupt)
	}
	return e, nil
}

// filesOf returns the files of shared/ that a checkpoint names, with their sizes.
func filesOf(m *checkpoint.Metadata) map[string]int64 {
	files := map[string]int64{}
	for _, op := range m.Operators {
		for _, h := range op.Keyed {
			for _, f := range h.Files {
				files[f.Name] = f.Bytes
			}
		}
	}
	return files
}

// checkFiles says whether all files are there with their sizes.
func checkFiles(fs vfs.FS, shared string, files map[string]int64) error {
	for name, size := range files {
		path := fs.PathJoin(shared, name)
		info, err := fs.Stat(path)
		if isNotExist(err) {
			return fmt.Errorf("%w: %s is missing", checkpoint.ErrCorrupt, path)
		}
		if err != nil {
			return err
		}
		if info.Size() != size {
			return fmt.Errorf("%w: %s has %d bytes, not %d", checkpoint.ErrCorrupt, path, info.Size(), size)
		}
	}
	return nil
}

func dirName(id checkpoint.ID) string { return dirPrefix + strconv.FormatInt(id, 10) }

// parseDirName returns the id of a checkpoint's folder.
func parseDirName(name string) (checkpoint.ID, bool) {
	digits, ok := strings.CutPrefix(name, dirPrefix)
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, ok && err == nil && id > 0 && dirName(id) == name
}
