package iceberg

import (
	"fmt"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// commitPlan is one commit ready for the catalog.
type commitPlan struct {
	builder      *snapshotBuilder
	requirements []table.Requirement
	updates      []table.Update
	// expired are the snapshots that the commit removes.
	expired []table.Snapshot
}

// plan turns work into the updates of one catalog commit, in the order: schemas,
// snapshot, branch, properties, expired snapshots. The requirements fail it when
// the table has moved since it was loaded. refused, if there is one, has files of
// the same work that are used again.
func (c *Committer) plan(meta table.Metadata, p *pendingCheckpoint, w *tableWork, refused *snapshotBuilder) (*commitPlan, error) {
	plan := &commitPlan{requirements: []table.Requirement{table.AssertTableUUID(meta.TableUUID()), table.AssertRefSnapshotID(table.MainBranch, headID(meta))}}
	current, err := plan.evolve(meta, w)
	if err != nil {
		if refused != nil {
			refused.discard()
		}
		return nil, err
	}
	m := marker{Lineage: c.sc.Lineage, Pipeline: c.sc.Pipeline, Checkpoint: p.ID, Position: p.Position}
	if refused != nil && refused.rebase(meta, current, w) {
		plan.builder = refused
	} else {
		plan.builder = newSnapshotBuilder(c.fs, meta, current, fmt.Sprintf("%s-%d-%s", lineage8(c.sc.Lineage), p.ID, c.attemptID))
	}
	snapshot, err := plan.builder.build(w, m)
	if err != nil {
		plan.builder.discard()
		return nil, err
	}
	plan.updates = append(plan.updates, table.NewAddSnapshotUpdate(snapshot), mainRef(meta, snapshot.SnapshotID), table.NewSetPropertiesUpdate(m.properties()))
	if plan.expired = c.expirable(meta); len(plan.expired) > 0 {
		plan.updates = append(plan.updates, table.NewRemoveSnapshotsUpdate(snapshotIDs(plan.expired), false))
	}
	return plan, nil
}

// evolve adds the schemas of the work and returns the one in force afterwards. All of them
// are added, also those that nothing uses any more, so that the table's last
// column id covers every id in a file.
func (plan *commitPlan) evolve(meta table.Metadata, w *tableWork) (*iceberggo.Schema, error) {
	schemas := w.Schemas
	if w.Create && meta.CurrentSchema().Equals(schemas[0].Iceberg) {
		schemas = schemas[1:]
	}
	if len(schemas) == 0 {
		return meta.CurrentSchema(), nil
	}
	if err := checkEvolution(meta, w); err != nil {
		return nil, err
	}
	plan.requirements = append(plan.requirements, table.AssertCurrentSchemaID(meta.CurrentSchema().ID), table.AssertLastAssignedFieldID(meta.LastColumnID()))
	// The catalog numbers the schemas; a rehearsal on a copy tells how.
	rehearsal, err := table.MetadataBuilderFromBase(meta, "")
	if err != nil {
		return nil, err
	}
	apply := func(u table.Update, copied table.Update) error {
		plan.updates = append(plan.updates, u)
		return copied.Apply(rehearsal)
	}
	for _, s := range schemas {
		if err := apply(table.NewAddSchemaUpdate(s.numbered(0)), table.NewAddSchemaUpdate(s.numbered(0))); err != nil {
			return nil, fmt.Errorf("schema change: %w", err)
		}
	}
	if err := apply(table.NewSetCurrentSchemaUpdate(-1), table.NewSetCurrentSchemaUpdate(-1)); err != nil {
		return nil, fmt.Errorf("schema change: %w", err)
	}
	return rehearsal.CurrentSchema(), nil
}

// checkEvolution refuses changes on top of changes by others.
func checkEvolution(meta table.Metadata, w *tableWork) error {
	fail := func(msg string) error {
		return &StateError{Table: w.Table, Msg: msg, Hint: "undo the change of the other tool, or drop the table and start with a new checkpoint directory"}
	}
	if w.Before != nil && !meta.CurrentSchema().Equals(w.Before.Iceberg) {
		return fail("someone else changed its schema: " + describeDifference(meta.CurrentSchema(), w.Before.Iceberg))
	}
	if w.Replace {
		return nil // no old file is left
	}
	// A field id of ours that a file may hold as something else would mix the two up.
	inUse := map[int]bool{}
	for _, s := range meta.Snapshots() {
		if s.SchemaID != nil {
			inUse[*s.SchemaID] = true
		}
	}
	for _, old := range meta.Schemas() {
		if !inUse[old.ID] || w.Before == nil {
			continue
		}
		for _, f := range old.Fields() {
			if f.ID > w.Before.LastColumnID {
				return fail(fmt.Sprintf("someone else gave the field id %d to column %s", f.ID, f.Name))
			}
		}
	}
	return nil
}

// numbered returns the Iceberg schema under an id, as a copy: catalogs write theirs into it.
func (s *stagedSchema) numbered(id int) *iceberggo.Schema {
	return iceberggo.NewSchemaWithIdentifiers(id, s.Iceberg.IdentifierFieldIDs, s.Iceberg.Fields()...)
}

// headID is the snapshot of the main branch, nil for a table without one.
func headID(meta table.Metadata) *int64 {
	if s := meta.CurrentSnapshot(); s != nil {
		return &s.SnapshotID
	}
	return nil
}

// mainRef moves the main branch and keeps its retention.
func mainRef(meta table.Metadata, id int64) table.Update {
	var maxRefAge, maxSnapshotAge int64
	var minSnapshots int
	for name, ref := range meta.Refs() {
		if name != table.MainBranch {
			continue
		}
		if ref.MaxRefAgeMs != nil {
			maxRefAge = *ref.MaxRefAgeMs
		}
		if ref.MaxSnapshotAgeMs != nil {
			maxSnapshotAge = *ref.MaxSnapshotAgeMs
		}
		if ref.MinSnapshotsToKeep != nil {
			minSnapshots = *ref.MinSnapshotsToKeep
		}
	}
	return table.NewSetSnapshotRefUpdate(table.MainBranch, id, table.BranchRef, maxRefAge, maxSnapshotAge, minSnapshots)
}

func snapshotIDs(snapshots []table.Snapshot) []int64 {
	ids := make([]int64, len(snapshots))
	for i, s := range snapshots {
		ids[i] = s.SnapshotID
	}
	return ids
}
