package iceberg

import (
	"cmp"
	"slices"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/schema"
)

// writeMode is how the rows of a table reach Iceberg.
type writeMode uint8

const (
	// modeUpsert keeps the table equal to its source: one row a key.
	modeUpsert writeMode = iota + 1
	// modeAppend writes a changelog: one row a change, with the changelog columns.
	modeAppend
)

// String returns the value of the option write.mode.
func (m writeMode) String() string {
	if m == modeAppend {
		return "append"
	}
	return "upsert"
}

// modeOf returns the mode of a table: a table without a key is always a changelog.
func modeOf(configured writeMode, t *schema.Table) writeMode {
	if !t.HasKey() {
		return modeAppend
	}
	return configured
}

// The changelog columns that follow the table's own in append mode; see [modeAppend].
const (
	// columnOp holds r, c, u or d, and ub for the row before an update where a
	// table has no key.
	columnOp = "__op"
	// columnCommitTime is the commit's time (timestamptz, microseconds).
	columnCommitTime = "__commit_time"
	// columnPos is the log position of the commit (long).
	columnPos = "__pos"
	// columnOrdinal is the row's number in its transaction (long), 0 for a read.
	columnOrdinal = "__ordinal"
	// columnTx is the number of the transaction (long), 0 for a read.
	columnTx = "__tx"
)

// writerInfo is the first committable of every writer in every checkpoint. Data
// files carry the UUID in their name, so a file of our lineage that no manifest and no
// pending checkpoint names, and whose UUID is none of the running writers', is
// what a failed attempt left behind.
type writerInfo struct {
	Subtask int
	Epoch   uint32
	UUID    uuid.UUID
}

// tableCommittable is what one writer prepared of one table in one checkpoint.
// Every writer gets every change, so that all writers that name a table agree on
// its steps when there is more than one; a writer without rows of the table still
// names it in a checkpoint with a change.
type tableCommittable struct {
	Table schema.TableID
	// Steps are to be applied in order, at least one.
	Steps []tableStep
}

// tableStep is a change (none in the first step where rows come first) and the rows
// that followed it.
type tableStep struct {
	// Change opens the step, nil only in the first step of a checkpoint. Kinds:
	// create (the table is new), add, drop, rename, alter, truncate, reset, and
	// snapshot start and done where they are Staged.
	Change *schema.Change
	// Schema is in force for the files of the step, so after Change.
	Schema *stagedSchema
	// Staged says that the step lies between a staged snapshot's start and done:
	// its files must not be seen before the step whose Change is the done.
	Staged bool
	// Files are closed, synced, and named by no earlier step. What lay before a
	// truncate or reset in the same checkpoint has been removed already.
	Files []iceberggo.DataFile
	// Deletes name rows of files of this step, of an earlier step of this
	// checkpoint, or of an earlier checkpoint; never of a later one, never of a
	// file that a truncate or reset before this step removed.
	Deletes []fileDeletes
}

// fileDeletes are deleted positions of one data file.
type fileDeletes struct {
	// Path is the data file's path as its manifest entry has it.
	Path string
	// Positions are row numbers from 0, ascending, each once.
	Positions []int64
}

// mergeDeletes joins the deletes of several writers: sorted by path, each path
// once. Two writers hit one file after a change of the parallelism. It may
// reuse the slices.
func mergeDeletes(parts ...[]fileDeletes) []fileDeletes {
	all := slices.Concat(parts...)
	slices.SortStableFunc(all, func(a, b fileDeletes) int { return cmp.Compare(a.Path, b.Path) })
	out := all[:0]
	for _, d := range all {
		if n := len(out); n > 0 && out[n-1].Path == d.Path {
			merged := append(slices.Clip(out[n-1].Positions), d.Positions...)
			slices.Sort(merged)
			out[n-1].Positions = slices.Compact(merged)
			continue
		}
		out = append(out, d)
	}
	return out
}
