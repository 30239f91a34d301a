package iceberg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// newCommitter returns the committer after it has brought every table to the
// restored checkpoint.
func newCommitter(ctx context.Context, o options, st store, sc sink.Context, logger *slog.Logger) (*Committer, error) {
	if sc.Reached == nil {
		sc.Reached = func(string) {}
	}
	c := &Committer{
		opts: o, store: st, sc: sc, logger: logger, state: newCommitterState(), attemptID: uuid.New(),
		cache: map[schema.TableID]*base{}, writers: map[uuid.UUID]bool{}, sweeps: map[schema.TableID]time.Time{},
		now: time.Now, expireBatch: defaultExpireBatch, chores: newChores(logger),
	}
	if err := c.recover(ctx); err != nil {
		c.chores.close()
		return nil, err
	}
	return c, nil
}

// recover commits what the restored checkpoint holds and rolls back what is ahead of it.
func (c *Committer) recover(ctx context.Context) error {
	if len(c.sc.State) > 1 {
		return fmt.Errorf("iceberg: the checkpoint holds the state of %d committers", len(c.sc.State))
	}
	if len(c.sc.State) == 1 && len(c.sc.State[0]) > 0 {
		s, err := decodeState(c.sc.State[0])
		if err != nil {
			return err
		}
		c.state = s
	}
	tables, err := c.ownTables(ctx)
	if err != nil {
		return err
	}
	if !c.sc.Restored {
		return c.refuseOld(tables)
	}
	for _, id := range sortedTables(tables) {
		if m := tables[id].marker; m.Lineage != c.sc.Lineage {
			return foreignLineage(id, m, c.sc.Lineage)
		}
		c.sweeps[id] = time.Time{}
	}
	if err := c.Commit(ctx, c.sc.RestoredID); err != nil {
		return fmt.Errorf("finishing restored checkpoint %d: %w", c.sc.RestoredID, err)
	}
	for _, id := range sortedTables(tables) {
		if tables[id].marker.Checkpoint <= c.sc.RestoredID {
			continue
		}
		if err := c.rollBack(ctx, id, tables[id].meta); err != nil {
			return err
		}
	}
	return c.checkWritten(ctx, tables)
}

// ownTable is a table that this pipeline has written.
type ownTable struct {
	meta   table.Metadata
	marker marker
}

// ownTables loads every table of the catalog that carries this pipeline's name or lineage.
func (c *Committer) ownTables(ctx context.Context) (map[schema.TableID]ownTable, error) {
	idents, err := listTables(ctx, c.store)
	if err != nil {
		return nil, err
	}
	own := map[schema.TableID]ownTable{}
	for _, ident := range idents {
		id := tableID(ident)
		t, err := c.store.LoadTable(ctx, ident)
		if err != nil {
			if _, known := c.state.Written[id]; !known && ctx.Err() == nil {
				c.logger.Warn("iceberg: a table in the catalog can't be read; it is none that the pipeline's checkpoint knows", "table", id.String(), "error", err)
				continue
			}
			return nil, fmt.Errorf("iceberg: table %s: %w", id, err)
		}
		m, marked, err := tableMarker(t.Metadata())
		if err != nil {
			return nil, &StateError{Table: id, Msg: err.Error()}
		}
		if marked && (m.Lineage == c.sc.Lineage || m.Pipeline == c.sc.Pipeline) {
			own[id] = ownTable{meta: t.Metadata(), marker: m}
		}
	}
	return own, nil
}

// listTables lists all tables of a catalog.
func listTables(ctx context.Context, st store) ([]table.Identifier, error) {
	namespaces, err := st.ListNamespaces(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("iceberg: listing namespaces: %w", err)
	}
	var out []table.Identifier
	for _, ns := range namespaces {
		for ident, err := range st.ListTables(ctx, ns) {
			if err != nil {
				return nil, fmt.Errorf("iceberg: listing tables of %s: %w", strings.Join(ns, "."), err)
			}
			out = append(out, ident)
		}
	}
	return out, nil
}

// tableID is the inverse of [identifier], but for a table without any namespace.
func tableID(ident table.Identifier) schema.TableID {
	n := len(ident)
	id := schema.TableID{Table: ident[n-1]}
	if n > 1 {
		id.Schema = ident[n-2]
	}
	if n > 2 {
		id.Namespace = strings.Join(ident[:n-2], ".")
	}
	return id
}

// refuseOld ends a start without a checkpoint over tables of this pipeline: what it
// would write is in them already.
func (c *Committer) refuseOld(tables map[schema.TableID]ownTable) error {
	if len(tables) == 0 {
		return nil
	}
	ids := sortedTables(tables)
	names := make([]string, 0, 3)
	for _, id := range ids[:min(3, len(ids))] {
		names = append(names, id.String())
	}
	if len(ids) > 3 {
		names = append(names, fmt.Sprintf("and %d more", len(ids)-3))
	}
	m := tables[ids[0]].marker
	return &StateError{
		Msg: fmt.Sprintf("the pipeline %q starts without a checkpoint, but tables (%s) hold what it committed before (lineage %s, checkpoint %d): the checkpoint directory was emptied, or it is another one",
			c.sc.Pipeline, strings.Join(names, ", "), m.Lineage, m.Checkpoint),
		Hint: "start with the directory that wrote them; or drop these tables, and everything is read again",
	}
}

// checkWritten makes sure that no table is behind what the checkpoint says of it.
func (c *Committer) checkWritten(ctx context.Context, tables map[schema.TableID]ownTable) error {
	for _, id := range sortedTables(c.state.Written) {
		want := c.state.Written[id]
		if own, ok := tables[id]; ok && own.marker.Checkpoint >= want {
			continue
		}
		hint := "restore the newer table; or drop the pipeline's tables and start with a new checkpoint directory"
		t, err := c.store.LoadTable(ctx, identifier(id)) // pending work may just have made or moved it
		if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
			return &StateError{Table: id, Msg: fmt.Sprintf("it is gone from the catalog; the restored checkpoint %d has written it", c.sc.RestoredID), Hint: hint}
		}
		if err != nil {
			return fmt.Errorf("iceberg: table %s: %w", id, err)
		}
		m, ok, err := tableMarker(t.Metadata())
		if err != nil || !ok || m.Lineage != c.sc.Lineage || m.Checkpoint < want {
			return &StateError{Table: id, Msg: fmt.Sprintf("it stands at checkpoint %d, but the restored checkpoint %d has committed %d to it: an older state of the table was brought back", m.Checkpoint, c.sc.RestoredID, want), Hint: hint}
		}
	}
	return nil
}

// rollBack takes a table back to its newest snapshot of a checkpoint up to the
// restored one, when nobody else has committed since.
func (c *Committer) rollBack(ctx context.Context, id schema.TableID, meta table.Metadata) error {
	c.forget(id)
	target, undone, err := c.rollBackTarget(meta)
	if err != nil {
		return &StateError{Table: id, Msg: fmt.Sprintf("it is ahead of the restored checkpoint %d and can't be rolled back: %v", c.sc.RestoredID, err),
			Hint: "restore the newest checkpoint; or drop the pipeline's tables and start with a new checkpoint directory, and everything is read again"}
	}
	c.logger.Warn("iceberg: rolling a table back to the restored checkpoint", "table", id.String(), "checkpoint", c.sc.RestoredID, "snapshots", len(undone))
	if target == nil && meta.Properties()[markerCreated] == "true" {
		// The table was made after the checkpoint; it will be made again.
		if err := c.store.DropTable(ctx, identifier(id)); err != nil {
			return fmt.Errorf("iceberg: dropping table %s, which is newer than the restored checkpoint: %w", id, err)
		}
		return nil
	}
	reqs := []table.Requirement{table.AssertTableUUID(meta.TableUUID()), table.AssertRefSnapshotID(table.MainBranch, headID(meta)), table.AssertCurrentSchemaID(meta.CurrentSchema().ID)}
	updates, err := rollBackUpdates(meta, target, undone)
	if err != nil {
		return err
	}
	if _, _, err := c.store.CommitTable(ctx, identifier(id), reqs, updates); err != nil {
		return fmt.Errorf("iceberg: rolling back table %s: %w", id, err)
	}
	return nil
}

// rollBackTarget finds the snapshot to return to (nil: the table had none) and those to undo.
func (c *Committer) rollBackTarget(meta table.Metadata) (target *table.Snapshot, undone []table.Snapshot, err error) {
	head := meta.CurrentSnapshot()
	if head == nil {
		return nil, nil, nil
	}
	chain, complete := table.AncestorsOfChecked(head.SnapshotID, meta.SnapshotByID)
	if head.SchemaID != nil && *head.SchemaID != meta.CurrentSchema().ID {
		return nil, nil, errors.New("someone else changed its schema since")
	}
	own := func(s table.Snapshot) (marker, bool) {
		m, ok := snapshotMarker(&s)
		return m, ok && m.Lineage == c.sc.Lineage
	}
	firstForeign := slices.IndexFunc(chain, func(s table.Snapshot) bool { _, ok := own(s); return !ok })
	for i, s := range chain {
		m, ok := own(s)
		if !ok || m.Checkpoint > c.sc.RestoredID {
			continue
		}
		if firstForeign >= 0 && firstForeign < i {
			return nil, nil, fmt.Errorf("someone else committed snapshot %d since", chain[firstForeign].SnapshotID)
		}
		return &chain[i], chain[:i], nil
	}
	switch {
	case firstForeign == 0:
		return nil, nil, fmt.Errorf("someone else committed snapshot %d since", chain[0].SnapshotID)
	case firstForeign > 0: // what the table held before the pipeline took it over
		return &chain[firstForeign], chain[:firstForeign], nil
	case !complete:
		return nil, nil, errors.New("the snapshot of that checkpoint has been expired")
	}
	return nil, chain, nil
}

// rollBackUpdates undo snapshots in one commit: branch, schema, marker, and the
// snapshots themselves, so that their files become orphans.
func rollBackUpdates(meta table.Metadata, target *table.Snapshot, undone []table.Snapshot) ([]table.Update, error) {
	pinned := map[int64]bool{}
	for name, ref := range meta.Refs() {
		if name != table.MainBranch {
			for _, s := range table.AncestorsOf(ref.SnapshotID, meta.SnapshotByID) {
				pinned[s.SnapshotID] = true
			}
		}
	}
	var updates []table.Update
	props := iceberggo.Properties{}
	if target == nil {
		updates = append(updates, table.NewRemoveSnapshotRefUpdate(table.MainBranch))
	} else {
		if target.SchemaID != nil && *target.SchemaID != meta.CurrentSchema().ID {
			updates = append(updates, table.NewSetCurrentSchemaUpdate(*target.SchemaID))
		}
		updates = append(updates, mainRef(meta, target.SnapshotID))
		if m, ok := snapshotMarker(target); ok {
			props = m.properties()
		}
	}
	if len(props) > 0 {
		updates = append(updates, table.NewSetPropertiesUpdate(props))
	} else {
		updates = append(updates, table.NewRemovePropertiesUpdate(slices.Sorted(maps.Keys(marker{}.properties()))))
	}
	undone = slices.DeleteFunc(slices.Clone(undone), func(s table.Snapshot) bool { return pinned[s.SnapshotID] })
	if len(undone) > 0 {
		updates = append(updates, table.NewRemoveSnapshotsUpdate(snapshotIDs(undone), false))
	}
	return updates, nil
}
