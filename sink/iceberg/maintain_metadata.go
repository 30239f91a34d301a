package iceberg

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"time"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
)

// metadataFile is a metadata file of a table, as every Iceberg catalog names them:
// a number that counts the table's commits, and a UUID.
type metadataFile struct {
	path        string
	version     int
	compression string
	written     time.Time
}

var metadataPattern = regexp.MustCompile(`^(\d{5,9})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.gz|\.zstd)?\.metadata\.json$`)

// parseMetadataName reads version and compression from a file's name.
func parseMetadataName(name string) (m metadataFile, ok bool) {
	parts := metadataPattern.FindStringSubmatch(name)
	if parts == nil {
		return metadataFile{}, false
	}
	version, err := strconv.Atoi(parts[1])
	return metadataFile{version: version, compression: parts[2]}, err == nil
}

// staleMetadata returns the metadata files that nobody can need any more, and when
// the youngest of those that may become so is old enough; t is nil where no table is.
//
// A catalog swaps one metadata file for the next: of a table at version n, no file
// numbered n or less can be committed any more. Of these, the table needs its
// current one and those in its log.
func (s *sweep) staleMetadata(t *table.Table, files []metadataFile) (stale []string, again time.Time) {
	again = never
	keep := map[string]bool{}
	current, oldest, deletes, id := -1, 0, true, uuid.Nil
	if t != nil {
		name := baseName(t.MetadataLocation())
		own, ok := parseMetadataName(name)
		if !ok {
			return nil, again // a catalog with names of its own
		}
		keep[name] = true
		current, oldest, id = own.version, own.version, t.Metadata().TableUUID()
		for f := range t.Metadata().PreviousFiles() {
			keep[baseName(f.MetadataFile)] = true
			if m, ok := parseMetadataName(baseName(f.MetadataFile)); ok {
				oldest = min(oldest, m.version)
			}
		}
		// Where the table is to keep its old metadata, what has left the log stays.
		deletes = t.Metadata().Properties().GetBool(propDeleteMetadata, false)
	}
	for _, f := range files {
		if keep[baseName(f.path)] || !deletes && f.version < oldest {
			continue
		}
		if t != nil && f.version > current && !s.ofAnother(f, id) || !s.wroteMetadata(f) {
			continue
		}
		if due := f.written.Add(orphanAge); due.After(s.c.now()) {
			if due.Before(again) {
				again = due
			}
			continue
		}
		stale = append(stale, f.path)
	}
	return stale, again
}

// metadataJSON is the part of a metadata file that says whose it is.
type metadataJSON struct {
	TableUUID         uuid.UUID            `json:"table-uuid"`
	CurrentSnapshotID int64                `json:"current-snapshot-id"`
	Properties        iceberggo.Properties `json:"properties"`
	Snapshots         []struct {
		SnapshotID   int64  `json:"snapshot-id"`
		ManifestList string `json:"manifest-list"`
	} `json:"snapshots"`
}

// ofAnother says that a file belongs to another table than id: one that lay here before.
func (s *sweep) ofAnother(f metadataFile, id uuid.UUID) bool {
	m, err := s.readMetadata(f)
	return err == nil && m.TableUUID != id
}

// wroteMetadata says whether the commit that wrote a file was this lineage's. One
// that is cut off is nobody's any more.
func (s *sweep) wroteMetadata(f metadataFile) bool {
	m, err := s.readMetadata(f)
	if err != nil {
		return errors.Is(err, errCutOff)
	}
	if m.Properties[markerLineage] != s.c.sc.Lineage {
		return false
	}
	for _, snapshot := range m.Snapshots {
		if snapshot.SnapshotID == m.CurrentSnapshotID {
			lineage, _, ok := owner(baseName(snapshot.ManifestList))
			return ok && lineage == lineage8(s.c.sc.Lineage)
		}
	}
	return true
}

// errCutOff: a metadata file ends in the middle.
var errCutOff = errors.New("the metadata file is cut off")

func (s *sweep) readMetadata(f metadataFile) (m metadataJSON, err error) {
	file, err := s.c.fs.Open(f.path)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var in io.Reader = file
	switch f.compression {
	case ".gz":
		in, err = gzip.NewReader(file)
	case ".zstd":
		var dec *zstd.Decoder
		if dec, err = zstd.NewReader(file, zstd.WithDecoderConcurrency(1)); err == nil {
			defer dec.Close()
			in = dec
		}
	}
	if err == nil {
		err = json.NewDecoder(in).Decode(&m)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return m, errCutOff
	}
	return m, err
}
