package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/source/window"
)

// partitions is what the reader knows of a table's partitions.
//
// A window is exact when no partition came, went or was emptied from a moment
// before its start to one behind the last read. So a table starts when the tail has
// passed the moment of its tree, and ends when a later look, which the tail has
// passed too, finds the same tree. Behind the snapshot every look is compared.
type partitions struct {
	tree      *leafTree // nil for a table without partitions, or whose past is not captured
	savedTree []byte    // tree in JSON, for the state
	treeHigh  uint64    // the snapshot must not start before the tail is there
	awaiting  uint64    // ticket of the look that was asked for, 0 for none
	checked   bool      // that look found the tree of the start
	moved     string    // why the snapshot must start anew once the look is there
	asking    bool      // the server is asked about changes of the tree
	reread    *reread
}

// reread is a table that is going to be read again. Its rows in the log are dropped
// until then: they may belong to rows that the target does not have.
type reread struct {
	why string
	// tree is that of the look at the catalogue that decided it, and from where the
	// tail has passed its moment.
	tree *leafTree
	from uint64
	// xids are the transactions that the tail has passed since.
	xids   []uint64
	asking bool
}

// setTree puts a tree into force.
func (p *partitions) setTree(tree *leafTree, high uint64) {
	p.tree, p.treeHigh, p.savedTree = tree, high, nil
}

func (p *partitions) restoreTree(saved []byte) error {
	if len(saved) == 0 {
		return nil
	}
	p.tree, p.savedTree = new(leafTree), saved
	if err := json.Unmarshal(saved, p.tree); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}

// treePosition is how far the tail must get for the tables that wait and for the
// look at the catalogue that a snapshot needs.
func (r *reader) treePosition() (target uint64) {
	for _, t := range r.tables {
		switch {
		case t.reread != nil:
			target = max(target, t.reread.from)
		case t.win.Phase() == window.Waiting:
			target = max(target, t.treeHigh)
		case t.awaiting != 0:
			target = max(target, r.log.ReportHigh())
		}
	}
	return target
}

// verified reports whether the table's partitions stayed as they were, and asks
// for the look that tells.
func (r *reader) verified(t *tableState) bool {
	if t.tree == nil || t.checked {
		return true
	}
	if t.awaiting == 0 {
		t.awaiting = r.log.CheckCatalogue()
	}
	return false
}

// report takes a look at the catalogue whose moment the tail has passed.
func (r *reader) report(ctx context.Context, report *catalogueReport) error {
	for _, win := range r.core.Tables() {
		t := r.tables[win.ID]
		info := report.tables[uint32(t.def.SourceID)]
		if t.tree == nil || info == nil || t.asking || t.reread != nil {
			continue
		}
		if err := r.compareTree(ctx, t, info, report); err != nil {
			return err
		}
	}
	return nil
}

// compareTree compares a table's partitions with those of a report.
func (r *reader) compareTree(ctx context.Context, t *tableState, info *tableInfo, report *catalogueReport) error {
	now := treeOf(info, report.sees.Xmin)
	if now == nil {
		return r.stopPartitions(t, "it is no partitioned table any more", "start a new pipeline for the table")
	}
	if t.win.Phase() == window.Waiting {
		t.setTree(now, 0)
		return nil
	}
	change := diffTrees(t.tree, now)
	if change.none() {
		return r.adopt(ctx, t, now, report)
	}
	incarnation, old := t.incarnation, t.tree
	t.asking = r.pool.ask(func(ctx context.Context, conn *pgx.Conn) func(context.Context) error {
		rest, err := change.explain(ctx, conn, old)
		return func(ctx context.Context) error {
			t.asking = false
			switch {
			case err != nil || t.incarnation != incarnation || t.tree != old:
				return err
			case rest.none():
				return r.adopt(ctx, t, now, report)
			}
			return r.changed(ctx, t, rest, now, report)
		}
	})
	return nil
}

// adopt goes on with a tree whose rows are those of the one before.
func (r *reader) adopt(ctx context.Context, t *tableState, now *leafTree, report *catalogueReport) error {
	t.setTree(now, 0)
	if t.awaiting == 0 || report.ticket < t.awaiting {
		return nil
	}
	if t.moved != "" {
		return r.reset(ctx, t, t.moved)
	}
	t.checked, t.awaiting = true, 0
	return nil
}

// changed handles rows that came or went with partitions: a snapshot that runs
// starts anew, behind one the options say what becomes of them.
func (r *reader) changed(ctx context.Context, t *tableState, c treeChange, now *leafTree, report *catalogueReport) error {
	mode := r.partitionMode(c)
	running := t.win.Phase() != window.Done
	if (running || mode == partitionReread) && report.version < partitionsFollowed && (len(c.attached) > 0 || stays(c.detached, report)) {
		return r.stopPartitions(t, describe(c)+", and PostgreSQL before 15 goes on to log a partition as what it was when the connection first met it",
			"empty the checkpoint directory and the target table, choose another slot.name, and start with a new snapshot; from PostgreSQL 15 on the table can be read again")
	}
	switch {
	case running:
		t.setTree(now, 0)
		return r.reset(ctx, t, describe(c))
	case mode == partitionStop:
		return r.stopPartitions(t, describe(c), "partition.attach.mode and partition.detach.mode: reread reads the table again, "+
			"ignore (rows that an attached partition brought along stay out) and keep (rows of partitions that left stay in the target) go on")
	case mode == partitionReread:
		return r.readAgain(t, &reread{why: describe(c), tree: now})
	}
	r.logger.Warn("the target table differs from its source from here on, as the options want it", "table", t.def.ID.String(), "why", describe(c))
	return r.adopt(ctx, t, now, report)
}

// partitionMode returns what the options say of a change; of two different
// answers the more careful one.
func (r *reader) partitionMode(c treeChange) string {
	mode := ""
	if len(c.attached) > 0 {
		mode = r.cfg.onAttach
	}
	if len(c.detached)+len(c.rewritten) > 0 {
		switch on := r.cfg.onDetach; {
		case mode == "" || on == partitionStop, on == partitionReread && mode != partitionStop:
			mode = on
		}
	}
	return mode
}

// stays reports whether a partition that was detached is there as a table.
func stays(detached []leafState, report *catalogueReport) bool {
	return slices.ContainsFunc(detached, func(l leafState) bool { return report.relations[l.OID] })
}

func (r *reader) stopPartitions(t *tableState, what, hint string) error {
	return &SchemaChangeError{Table: t.def.ID, Position: r.core.Position(), What: what, Hint: hint}
}

// describe says what happened to a table's partitions.
func describe(c treeChange) string {
	text := ""
	add := func(leaves []leafState, what string) {
		if len(leaves) == 0 {
			return
		}
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf(what, leafNames(leaves))
	}
	add(c.attached, "partition %s was attached, perhaps with rows that have no events")
	add(c.detached, "partition %s was detached or dropped, with rows that have no events")
	add(c.rewritten, "partition %s was truncated, or every row of it was written anew with its file, which has no event")
	return text
}

// readAgain decides that a table that is done is read again.
func (r *reader) readAgain(t *tableState, again *reread) error {
	if !r.rc.Needs.Reset {
		return r.stopPartitions(t, again.why, "the sink can't take the table anew: start a new pipeline for it")
	}
	r.logger.Info("the table is read again", "table", t.def.ID.String(), "why", again.why)
	t.reread = again
	r.rereading++
	r.progressTable(t)
	return nil
}

// rereads begins the snapshot anew of the tables that are read again, once the tail has
// got there. First it learns which transactions must be visible to it: those that
// the tail has passed till now, and those that it passes until the answer is there.
func (r *reader) rereads() {
	if r.rereading == 0 || r.inTransaction {
		return
	}
	for _, t := range r.tables {
		again := t.reread
		if again == nil || again.asking || again.from > r.core.Position() {
			continue
		}
		again.asking = r.pool.ask(func(ctx context.Context, conn *pgx.Conn) func(context.Context) error {
			xid, err := nextXID(ctx, conn)
			return func(ctx context.Context) error {
				if again.asking = false; err != nil || r.inTransaction {
					return err
				}
				return r.beginAgain(ctx, t, window.Cover{Before: xid, XIDs: again.xids})
			}
		})
	}
}

func (r *reader) beginAgain(ctx context.Context, t *tableState, cover window.Cover) (err error) {
	var set window.Set
	if t.win.Keyed() {
		if set, err = r.openSet(t); err != nil {
			return err
		}
	}
	t.setTree(t.reread.tree, 0)
	t.reread = nil
	r.rereading--
	r.core.Require(cover)
	return r.do(ctx, r.core.Again(t.win, set))
}

// comparePartitions looks, before the log begins, for partitions that came and went
// while nobody followed or looked. What follows may belong to rows that the target
// does not have, so tables behind their snapshot can't wait for the next look.
func (r *reader) comparePartitions(ctx context.Context, conn *pgx.Conn, report *catalogueReport) error {
	for _, win := range r.core.Tables() {
		t := r.tables[win.ID]
		info := report.tables[uint32(t.def.SourceID)]
		if t.tree == nil || info == nil || info.Kind != 'p' {
			continue
		}
		now := treeOf(info, report.sees.Xmin)
		switch {
		case win.Phase() == window.Waiting:
			t.setTree(now, report.high)
			continue
		case win.Phase() != window.Done: // its end compares the trees
			continue
		case t.reread != nil: // decided before
			t.reread.tree, t.reread.from = now, report.high
			continue
		}
		rest, err := diffTrees(t.tree, now).explain(ctx, conn, t.tree)
		if err != nil {
			return err
		}
		if rest.none() {
			continue
		}
		if err := r.changed(ctx, t, rest, now, report); err != nil {
			return err
		}
		if t.reread != nil {
			t.reread.from = report.high
		}
	}
	return nil
}

// noteReread notes transactions that pass while a table waits to be read again.
func (r *reader) noteReread(t *tableState, xids ...uint32) {
	if t.reread == nil {
		return
	}
	for _, xid := range xids {
		t.reread.xids = append(t.reread.xids, r.fullXID(uint64(xid)))
	}
}
