package iceberg

import (
	"fmt"
	"strings"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/freshet-cdc/freshet/schema"
)

// StateError is a table in a state that the pipeline can't go on from: written by
// others in a way that collides, moved back, dropped, or of another lineage.
type StateError struct {
	// Table is the sink table, zero where several are meant.
	Table schema.TableID
	// Msg says what was found, Hint the way out.
	Msg, Hint string
}

func (e *StateError) Error() string {
	s := "iceberg: "
	if !e.Table.IsZero() {
		s += "table " + e.Table.String() + ": "
	}
	s += e.Msg
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Permanent says that somebody has to act.
func (e *StateError) Permanent() bool { return true }

// check compares the table with what the pipeline left; done means that the
// checkpoint is in it already.
func (c *Committer) check(meta table.Metadata, p *pendingCheckpoint, w *tableWork) (done bool, err error) {
	m, marked, err := tableMarker(meta)
	switch {
	case err != nil:
		return false, &StateError{Table: w.Table, Msg: err.Error(), Hint: "set the property to the value in the newest snapshot's summary"}
	case !marked:
		return false, c.adopt(meta, w)
	case m.Lineage != c.sc.Lineage:
		return false, foreignLineage(w.Table, m, c.sc.Lineage)
	case m.Checkpoint >= p.ID:
		return true, nil
	}
	if !strings.HasPrefix(meta.Location(), "file:") && !strings.HasPrefix(meta.Location(), "/") {
		return false, &StateError{Table: w.Table, Msg: "its files are not local: " + meta.Location()}
	}
	return false, c.checkForeign(meta, m, w)
}

func foreignLineage(id schema.TableID, m marker, ours string) error {
	return &StateError{Table: id, Msg: fmt.Sprintf("it was written by pipeline %q of lineage %s (up to its checkpoint %d), this one has lineage %s", m.Pipeline, m.Lineage, m.Checkpoint, ours),
		Hint: "two pipelines can't write one table, and a new or copied checkpoint directory is another lineage: start with the directory that wrote the table, or drop the table so that it is read again"}
}

// adopt decides on a table without a marker.
func (c *Committer) adopt(meta table.Metadata, w *tableWork) error {
	spec := meta.PartitionSpec()
	fail := func(msg, hint string) error { return &StateError{Table: w.Table, Msg: msg, Hint: hint} }
	want := w.Schema.Iceberg
	if w.Create {
		want = w.Schemas[0].Iceberg
	}
	switch {
	case !w.Create:
		return fail("its marker is gone: it was replaced by another table of the same name", "start with a new checkpoint directory, so that every table is read again")
	case !c.opts.acceptExisting:
		return fail("it exists already and no pipeline has written it", "drop or rename it, route the source table elsewhere, or set "+optAccept)
	case meta.Location() != c.opts.location(w.Table):
		return fail(fmt.Sprintf("it lies at %s, and the sink would write to %s", meta.Location(), c.opts.location(w.Table)), "drop it or route the source table elsewhere")
	case meta.Version() != formatVersion:
		return fail(fmt.Sprintf("it has format version %d, the sink writes %d", meta.Version(), formatVersion), "")
	case spec.NumFields() > 0:
		return fail("it is partitioned, and the sink writes unpartitioned tables", "drop it or route the source table elsewhere")
	case !meta.CurrentSchema().Equals(want):
		return fail("its schema does not fit the source's: "+describeDifference(meta.CurrentSchema(), want), "drop it or route the source table elsewhere")
	case w.Schema.Mode == modeUpsert && meta.CurrentSnapshot() != nil && meta.CurrentSnapshot().Summary.Properties["total-records"] != "0":
		return fail("it holds rows, and upsert mode would not know where they are", "empty it first")
	}
	return nil
}

// describeDifference names the first field that differs.
func describeDifference(have, want *iceberggo.Schema) string {
	for i := range max(have.NumFields(), want.NumFields()) {
		switch {
		case i >= have.NumFields():
			f := want.Field(i)
			return fmt.Sprintf("column %s (%s) is missing", f.Name, f.Type)
		case i >= want.NumFields():
			return fmt.Sprintf("column %s is not in the source", have.Field(i).Name)
		}
		h, w := have.Field(i), want.Field(i)
		if !h.Equals(w) {
			return fmt.Sprintf("column %d is %s, it should be %s", i+1, h.String(), w.String())
		}
	}
	return fmt.Sprintf("the identifier fields are %v, they should be %v", have.IdentifierFieldIDs, want.IdentifierFieldIDs)
}

// checkForeign looks at what others committed since our own last snapshot. Rows that others
// append stay; but files that the key index points to must not be rewritten, or
// an update would leave its old row alive.
func (c *Committer) checkForeign(meta table.Metadata, m marker, w *tableWork) error {
	for _, s := range ancestors(meta) {
		if own, ok := snapshotMarker(&s); ok && own.Lineage == c.sc.Lineage {
			if own.Checkpoint < m.Checkpoint {
				return &StateError{Table: w.Table, Msg: fmt.Sprintf("someone set it back to checkpoint %d; the pipeline had committed %d", own.Checkpoint, m.Checkpoint),
					Hint: "set the branch main to the newest snapshot again, or drop the table and start with a new checkpoint directory"}
			}
			return nil
		}
		if !w.Indexed || w.Replace {
			continue
		}
		removed, err := c.removesFiles(&s)
		if err != nil {
			return err
		}
		if removed {
			return &StateError{Table: w.Table, Msg: fmt.Sprintf("snapshot %d (%s) by someone else removed or rewrote data files that the key index points to", s.SnapshotID, s.Summary.Operation),
				Hint: "roll the table back to the snapshot before it, or drop the table and start with a new checkpoint directory; keep compaction by other tools away from tables in upsert mode"}
		}
	}
	return nil
}

// removesFiles reports whether a snapshot took data files away.
func (c *Committer) removesFiles(s *table.Snapshot) (bool, error) {
	if s.Summary != nil && s.Summary.Operation == table.OpAppend {
		return false, nil
	}
	manifests, err := s.Manifests(c.fs)
	if err != nil {
		return false, fmt.Errorf("manifest list of snapshot %d: %w", s.SnapshotID, err)
	}
	for _, mf := range manifests {
		if mf.ManifestContent() != iceberggo.ManifestContentData || mf.SnapshotID() != s.SnapshotID || mf.DeletedDataFiles() == 0 {
			continue
		}
		return true, nil
	}
	return false, nil
}
