package iceberg

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/schema"
)

// fileRef identifies a data file among all files of a pipeline, in few bytes: the
// epoch is one writer of one attempt (see [epochRecord]), seq counts its files.
// The path follows from both, so that no list of files has to be kept.
type fileRef struct{ epoch, seq uint32 }

// epochRecord is what a path needs to know of an epoch. Epochs of all writers of
// all attempts are kept in the writers' state: one a restart and writer.
type epochRecord struct {
	Epoch   uint32    `json:"epoch"`
	Subtask int       `json:"subtask"`
	Lineage string    `json:"lineage"`
	UUID    uuid.UUID `json:"uuid"`
}

// dataFileName is what the name of one of our data files says.
type dataFileName struct {
	// Lineage8 is the start of the lineage that wrote it.
	Lineage8 string
	Subtask  int
	Epoch    uint32
	Seq      uint32
	UUID     uuid.UUID
}

// lineage8 returns the part of a lineage that file names carry.
func lineage8(lineage string) string {
	s := strings.ReplaceAll(lineage, "-", "")
	return s[:min(8, len(s))]
}

// fileName returns the name of a data file. The UUID belongs to one writer of one
// attempt: a writer that should be dead can't overwrite the file of its successor.
func fileName(lineage string, subtask int, epoch, seq uint32, id uuid.UUID) string {
	return fmt.Sprintf("%s-%05d-%03d-%05d-%s.parquet", lineage8(lineage), epoch, subtask, seq, id)
}

var fileNamePattern = regexp.MustCompile(`^([^-]*)-(\d{5,10})-(\d{3,})-(\d{5,10})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.parquet$`)

// parseFileName is the inverse of [fileName]; ok is false for a foreign name.
func parseFileName(name string) (f dataFileName, ok bool) {
	m := fileNamePattern.FindStringSubmatch(name)
	if m == nil {
		return dataFileName{}, false
	}
	epoch, err1 := strconv.ParseUint(m[2], 10, 32)
	subtask, err2 := strconv.Atoi(m[3])
	seq, err3 := strconv.ParseUint(m[4], 10, 32)
	id, err4 := uuid.Parse(m[5])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return dataFileName{}, false
	}
	return dataFileName{Lineage8: m[1], Subtask: subtask, Epoch: uint32(epoch), Seq: uint32(seq), UUID: id}, true
}

// registry knows the epochs of the pipeline and so the path of every data file.
type registry struct {
	epochs   map[uint32]epochRecord
	location func(schema.TableID) string
}

// path returns where the file of a table lies.
func (r *registry) path(table schema.TableID, ref fileRef) (string, error) {
	e, ok := r.epochs[ref.epoch]
	if !ok {
		return "", fmt.Errorf("iceberg: the key index of table %s names epoch %d, which the checkpoint does not know: the state is damaged", table, ref.epoch)
	}
	return r.location(table) + "/data/" + fileName(e.Lineage, e.Subtask, e.Epoch, ref.seq, e.UUID), nil
}
