package iceberg

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/schema"
)

// unpartitioned is the partition spec of every table that we create.
var unpartitioned = *iceberggo.UnpartitionedSpec

// foldTable joins what all writers prepared of one table, step after step, into
// one piece of work. It takes staged files out of and puts them into staged,
// replacing entries and never changing them.
func foldTable(id schema.TableID, parts []*tableCommittable, staged map[schema.TableID]*stagedFiles) (*tableWork, []fileDeletes, error) {
	steps := 0
	for _, p := range parts {
		steps = max(steps, len(p.Steps))
	}
	w := &tableWork{Table: id}
	var deletes [][]fileDeletes
	var last *stagedSchema // in force before the step
	for k := range steps {
		var change *schema.Change
		for i, p := range parts {
			if len(p.Steps) != steps || k == 0 && p.Steps[0].Change != nil || k > 0 && (p.Steps[k].Change == nil || p.Steps[k].Schema == nil) {
				return nil, nil, fmt.Errorf("table %s: writer %d of %d disagrees on the changes of the checkpoint", id, i, len(parts))
			}
			change = p.Steps[k].Change
		}
		sc := parts[0].Steps[k].Schema
		if change != nil {
			if w.apply(change, last, sc, staged) {
				deletes = nil
			}
		}
		for _, p := range parts {
			s := p.Steps[k]
			if s.Staged {
				if len(s.Deletes) > 0 {
					return nil, nil, fmt.Errorf("table %s: deletes in a staged snapshot", id)
				}
				stage(staged, id, sc, s.Files)
				continue
			}
			w.Data = append(w.Data, s.Files...)
			deletes = append(deletes, s.Deletes)
		}
		if sc != nil {
			last = sc
		}
	}
	if w.Schema = last; last == nil {
		return nil, nil, fmt.Errorf("table %s: its writers named no schema", id)
	}
	w.Indexed = last.Mode == modeUpsert || last.Source.OmitsUnchanged && last.Source.HasKey()
	return w, mergeDeletes(deletes...), nil
}

// apply adds a change to the work; it reports that everything before the change,
// deletes included, is gone.
func (w *tableWork) apply(c *schema.Change, before, after *stagedSchema, staged map[schema.TableID]*stagedFiles) (emptied bool) {
	switch c.Kind {
	case schema.ChangeCreateTable:
		w.Create, w.Schemas = true, []*stagedSchema{after}
		return false
	case schema.ChangeSnapshotDone:
		if s := staged[w.Table]; s != nil {
			w.Data = append(w.Data, s.Files...)
			delete(staged, w.Table)
		}
		return false
	case schema.ChangeTruncate, schema.ChangeReset:
		w.Replace, w.Data = !w.Create, nil
		if s := staged[w.Table]; s != nil {
			for _, f := range s.Files {
				w.Obsolete = append(w.Obsolete, f.FilePath())
			}
			delete(staged, w.Table)
		}
		emptied = true
	}
	if before != nil && !before.Iceberg.Equals(after.Iceberg) {
		if len(w.Schemas) == 0 {
			w.Before = before
		}
		w.Schemas = append(w.Schemas, after)
	}
	return emptied
}

func stage(staged map[schema.TableID]*stagedFiles, id schema.TableID, sc *stagedSchema, files []iceberggo.DataFile) {
	if len(files) == 0 {
		return
	}
	next := &stagedFiles{Schema: sc}
	if s := staged[id]; s != nil {
		next.Files = slices.Clone(s.Files)
	}
	next.Files = append(next.Files, files...)
	staged[id] = next
}

// deleteFileName names a position-delete file after its lineage and checkpoint.
func deleteFileName(lineage string, checkpoint int64, id uuid.UUID) string {
	return fmt.Sprintf("%s-%d-deletes-%s.parquet", lineage8(lineage), checkpoint, id)
}

var deleteFilePattern = regexp.MustCompile(`^([^-]*)-(\d+)-deletes-[0-9a-f-]{36}\.parquet$`)

// parseDeleteFileName is the inverse of deleteFileName.
func parseDeleteFileName(name string) (lineage string, checkpoint int64, ok bool) {
	m := deleteFilePattern.FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}
	checkpoint, err := strconv.ParseInt(m[2], 10, 64)
	return m[1], checkpoint, err == nil
}
