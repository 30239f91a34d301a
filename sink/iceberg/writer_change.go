package iceberg

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
)

// change applies a change to the sink table target.
func (w *writer) change(ctx context.Context, target schema.TableID, c *schema.Change) error {
	t, known := w.tables[target]
	if c.Kind == schema.ChangeCreateTable {
		return w.create(t, target, c)
	}
	if !known {
		return fmt.Errorf("iceberg: a change (%s) of table %s came before its definition", c.Kind, target)
	}
	if own := t.layout.staged.Source.ID; own != c.Table {
		return fmt.Errorf("iceberg: table %s is written from %s and can't be written from %s too (route them to different tables)", target, own, c.Table)
	}
	t.used = w.clock
	switch c.Kind {
	case schema.ChangeAddColumn, schema.ChangeDropColumn, schema.ChangeRenameColumn, schema.ChangeAlterColumn:
		return t.evolve(ctx, c)
	case schema.ChangeTruncate:
		return t.truncate(c)
	case schema.ChangeReset:
		return t.resetTable(c)
	case schema.ChangeSnapshotStart:
		return t.snapshotStart(ctx, c)
	case schema.ChangeSnapshotDone:
		return t.snapshotDone(ctx, c)
	}
	return fmt.Errorf("iceberg: table %s: change %s is unknown", target, c.Kind)
}

// create takes a table's definition, which comes again after every restart.
func (w *writer) create(t *tableWriter, target schema.TableID, c *schema.Change) error {
	if t == nil {
		return w.createNew(target, c)
	}
	if own := t.layout.staged.Source.ID; own != c.After.ID {
		return fmt.Errorf("iceberg: table %s is written from %s and can't be written from %s too (route them to different tables)", target, own, c.After.ID)
	}
	if err := t.adopt(c); err != nil {
		return err
	}
	// The replica identity may have changed: from now on the rows are indexed, or not any more.
	if t.indexed && !needsIndex(t.layout.staged.Mode, c.After) {
		return t.dropIndex(c)
	}
	return t.needIndex(c.After)
}

// dropIndex forgets where rows are. Their keys may come to any writer from now on,
// so what the index says would soon be old.
func (t *tableWriter) dropIndex(c *schema.Change) error {
	if t.partials > 0 {
		return &EvolveError{Table: t.target, Position: c.Position, Change: c.Kind, Msg: "its replica identity changed while rows of its snapshot waited for cells that the log had left out", Hint: startAgain}
	}
	if err := t.index.clear(); err != nil {
		return fmt.Errorf("iceberg: table %s: %w", t.target, err)
	}
	t.indexed = false
	return nil
}

func (w *writer) createNew(target schema.TableID, c *schema.Change) error {
	staged, err := newStagedSchema(c.After, target, modeOf(w.cfg.Mode, c.After))
	if err != nil {
		return err
	}
	t := &tableWriter{target: target, number: 1, layout: &layout{staged: staged}}
	for _, o := range w.order {
		t.number = max(t.number, o.number+1)
	}
	if err := w.addTable(t); err != nil {
		return err
	}
	t.begin(c)
	return t.needIndex(c.After)
}

// needIndex opens the key index when rows of the definition need it.
func (t *tableWriter) needIndex(def *schema.Table) error {
	if t.indexed || !needsIndex(t.layout.staged.Mode, def) {
		return nil
	}
	t.indexed = true
	return t.openIndex()
}

// needsIndex says whether the rows of a table have to be found by key.
func needsIndex(mode writeMode, def *schema.Table) bool {
	return def.HasKey() && (mode == modeUpsert || def.OmitsUnchanged)
}

// evolve goes on with another schema. Rows before the change stay in files of the
// old one; the index survives.
func (t *tableWriter) evolve(ctx context.Context, c *schema.Change) error {
	if err := t.settle(ctx); err != nil {
		return err
	}
	if err := t.adopt(c); err != nil {
		return err
	}
	t.begin(c)
	return t.needIndex(c.After)
}

// adopt goes on with the definition after c.
func (t *tableWriter) adopt(c *schema.Change) error {
	staged, err := t.layout.staged.apply(c)
	if err != nil {
		return err
	}
	l, err := newLayout(staged)
	if err != nil {
		return err
	}
	t.layout, t.last = l, nil
	return nil
}

func (t *tableWriter) truncate(c *schema.Change) error {
	if err := t.wipe(); err != nil {
		return fmt.Errorf("iceberg: truncating table %s: %w", t.target, err)
	}
	t.begin(c)
	return nil
}

// resetTable starts the table anew. What follows is a snapshot into an empty index.
func (t *tableWriter) resetTable(c *schema.Change) error {
	if err := t.wipe(); err != nil {
		return fmt.Errorf("iceberg: resetting table %s: %w", t.target, err)
	}
	if err := t.adopt(c); err != nil {
		return err
	}
	t.staged = c.Staged
	t.snapshotting, t.fresh = true, true
	t.begin(c)
	return nil
}

// snapshotStart is a step of its own only where the rows are staged.
func (t *tableWriter) snapshotStart(ctx context.Context, c *schema.Change) error {
	if err := t.settle(ctx); err != nil {
		return err
	}
	t.snapshotting, t.fresh = true, false
	if t.indexed {
		empty, err := t.index.empty()
		if err != nil {
			return fmt.Errorf("iceberg: table %s: %w", t.target, err)
		}
		t.fresh = empty
	}
	if c.Staged {
		t.staged = true
		t.begin(c)
	}
	return nil
}

func (t *tableWriter) snapshotDone(ctx context.Context, c *schema.Change) error {
	if err := t.settle(ctx); err != nil {
		return err
	}
	if t.partials > 0 {
		return t.leftPartial()
	}
	t.snapshotting, t.fresh = false, false
	if t.staged {
		t.staged = false
		t.begin(c)
	}
	return nil
}
