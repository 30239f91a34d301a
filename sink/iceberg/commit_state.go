package iceberg

import (
	"bytes"
	"encoding/json"
	"fmt"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/codec"

	"github.com/freshet-cdc/freshet/schema"
)

// stateVersion is the version of the committer's bytes in a checkpoint.
const stateVersion = 1

// committerState is what the committer keeps in a checkpoint: all that is
// prepared and not committed.
type committerState struct {
	// Pending are the checkpoints to be committed, oldest first.
	Pending []*pendingCheckpoint
	// Staged are files that wait for the end of their table's snapshot.
	Staged map[schema.TableID]*stagedFiles
	// Written has the newest checkpoint, pending ones included, that wrote each table.
	Written map[schema.TableID]int64
}

// pendingCheckpoint is one prepared checkpoint.
type pendingCheckpoint struct {
	ID       int64
	Position uint64
	Tables   []*tableWork
}

// tableWork is what one checkpoint does to one table, all in one commit.
type tableWork struct {
	Table schema.TableID
	// Create makes the table in schema Schemas[0]; it must not exist.
	Create bool
	// Before is the schema before the checkpoint where Schemas follow, nil for a new table.
	Before *stagedSchema
	// Schemas are the definitions that the table goes through, in order.
	Schemas []*stagedSchema
	// Schema is in force at the end.
	Schema *stagedSchema
	// Replace removes all that the table held before: a truncate or a reset.
	Replace bool
	// Data and Deletes are the files that the table gets.
	Data, Deletes []iceberggo.DataFile
	// Obsolete are staged files that a reset gave up: nobody knows them after
	// the commit, and they are removed then.
	Obsolete []string
	// Indexed says that a key index points into the table's files.
	Indexed bool
}

// empty reports that nothing has to be committed.
func (w *tableWork) empty() bool {
	return !w.Create && !w.Replace && len(w.Schemas) == 0 && len(w.Data) == 0 && len(w.Deletes) == 0
}

// stagedFiles are files of a table that nobody may see yet.
type stagedFiles struct {
	Schema *stagedSchema
	Files  []iceberggo.DataFile
}

// The JSON forms. Data files are in iceberg-go's own binary form.
type (
	stateJSON struct {
		Version int              `json:"version"`
		Pending []checkpointJSON `json:"pending,omitempty"`
		Staged  []workJSON       `json:"staged,omitempty"`
		Written []writtenJSON    `json:"written,omitempty"`
	}
	checkpointJSON struct {
		ID       int64      `json:"id"`
		Position uint64     `json:"position"`
		Tables   []workJSON `json:"tables"`
	}
	workJSON struct {
		Table    schema.TableID  `json:"table"`
		Create   bool            `json:"create,omitempty"`
		Replace  bool            `json:"replace,omitempty"`
		Indexed  bool            `json:"indexed,omitempty"`
		Before   *stagedSchema   `json:"before,omitempty"`
		Schemas  []*stagedSchema `json:"schemas,omitempty"`
		Schema   *stagedSchema   `json:"schema"`
		Data     [][]byte        `json:"data,omitempty"`
		Deletes  [][]byte        `json:"deletes,omitempty"`
		Obsolete []string        `json:"obsolete,omitempty"`
	}
	writtenJSON struct {
		Table      schema.TableID `json:"table"`
		Checkpoint int64          `json:"checkpoint"`
	}
)

// encode returns the bytes for the checkpoint; equal states give equal bytes.
func (s *committerState) encode() ([]byte, error) {
	j := stateJSON{Version: stateVersion}
	for _, p := range s.Pending {
		cj := checkpointJSON{ID: p.ID, Position: p.Position}
		for _, w := range p.Tables {
			wj, err := encodeWork(w)
			if err != nil {
				return nil, err
			}
			cj.Tables = append(cj.Tables, wj)
		}
		j.Pending = append(j.Pending, cj)
	}
	for _, id := range sortedTables(s.Staged) {
		wj, err := encodeWork(&tableWork{Table: id, Schema: s.Staged[id].Schema, Data: s.Staged[id].Files})
		if err != nil {
			return nil, err
		}
		j.Staged = append(j.Staged, wj)
	}
	for _, id := range sortedTables(s.Written) {
		j.Written = append(j.Written, writtenJSON{Table: id, Checkpoint: s.Written[id]})
	}
	return json.Marshal(j)
}

// decodeState reads what encode wrote.
func decodeState(data []byte) (*committerState, error) {
	var j stateJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&j); err != nil {
		return nil, fmt.Errorf("iceberg: the committer's part of the checkpoint is unreadable: %w", err)
	}
	if j.Version != stateVersion {
		return nil, fmt.Errorf("iceberg: the checkpoint has version %d of the committer's state, this program knows %d", j.Version, stateVersion)
	}
	s := newCommitterState()
	for _, cj := range j.Pending {
		p := &pendingCheckpoint{ID: cj.ID, Position: cj.Position}
		for _, wj := range cj.Tables {
			w, err := decodeWork(wj)
			if err != nil {
				return nil, err
			}
			p.Tables = append(p.Tables, w)
		}
		s.Pending = append(s.Pending, p)
	}
	for _, wj := range j.Staged {
		w, err := decodeWork(wj)
		if err != nil {
			return nil, err
		}
		s.Staged[w.Table] = &stagedFiles{Schema: w.Schema, Files: w.Data}
	}
	for _, w := range j.Written {
		s.Written[w.Table] = w.Checkpoint
	}
	return s, nil
}

func newCommitterState() *committerState {
	return &committerState{Staged: map[schema.TableID]*stagedFiles{}, Written: map[schema.TableID]int64{}}
}

func encodeWork(w *tableWork) (workJSON, error) {
	j := workJSON{Table: w.Table, Create: w.Create, Replace: w.Replace, Indexed: w.Indexed, Before: w.Before, Schemas: w.Schemas, Schema: w.Schema, Obsolete: w.Obsolete}
	var err error
	if j.Data, err = encodeFiles(w.Data, w.Schema.Iceberg); err != nil {
		return j, fmt.Errorf("iceberg: table %s: %w", w.Table, err)
	}
	if j.Deletes, err = encodeFiles(w.Deletes, w.Schema.Iceberg); err != nil {
		return j, fmt.Errorf("iceberg: table %s: %w", w.Table, err)
	}
	return j, nil
}

func decodeWork(j workJSON) (*tableWork, error) {
	w := &tableWork{Table: j.Table, Create: j.Create, Replace: j.Replace, Indexed: j.Indexed, Before: j.Before, Schemas: j.Schemas, Schema: j.Schema, Obsolete: j.Obsolete}
	if j.Schema == nil {
		return nil, fmt.Errorf("iceberg: the checkpoint has no schema for table %s", j.Table)
	}
	var err error
	if w.Data, err = decodeFiles(j.Data, w.Schema.Iceberg); err != nil {
		return nil, fmt.Errorf("iceberg: table %s: %w", w.Table, err)
	}
	if w.Deletes, err = decodeFiles(j.Deletes, w.Schema.Iceberg); err != nil {
		return nil, fmt.Errorf("iceberg: table %s: %w", w.Table, err)
	}
	return w, nil
}

// encodeFiles encodes manifest entries. The schema only matters for partitions,
// which our tables do not have.
func encodeFiles(files []iceberggo.DataFile, sc *iceberggo.Schema) ([][]byte, error) {
	var out [][]byte
	for _, f := range files {
		b, err := codec.EncodeDataFile(f, *iceberggo.UnpartitionedSpec, sc, formatVersion)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", f.FilePath(), err)
		}
		out = append(out, b)
	}
	return out, nil
}

func decodeFiles(data [][]byte, sc *iceberggo.Schema) ([]iceberggo.DataFile, error) {
	var out []iceberggo.DataFile
	for _, b := range data {
		f, err := codec.DecodeDataFile(b, *iceberggo.UnpartitionedSpec, sc, formatVersion)
		if err != nil {
			return nil, fmt.Errorf("the checkpoint holds an unreadable file entry: %w", err)
		}
		out = append(out, f)
	}
	return out, nil
}
