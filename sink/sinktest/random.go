package sinktest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
)

// transaction changes some rows.
func (w *world) transaction(id schema.TableID) {
	s := w.tables[id]
	var events []event
	for range 1 + w.rng.IntN(6) {
		op := []schema.Op{schema.OpInsert, schema.OpInsert, schema.OpUpdate, schema.OpDelete}[w.rng.IntN(4)]
		if s.staged { // only the snapshot's reads come then
			op = schema.OpRead
		}
		if len(s.rows) == 0 && op != schema.OpRead {
			op = schema.OpInsert
		}
		events = append(events, w.event(s, op))
	}
	w.rig.Position += 10
	b, err := batch(w.mem, s.Def, events, w.rig.Position, uint32(w.rng.IntN(3)))
	w.must(err, "batch")
	w.must(w.rig.Rows(w.ctx, id, b), "rows")
}

func (w *world) event(s *Source, op schema.Op) event {
	fill := func(r row) row {
		for _, c := range s.Def.Columns {
			if slices.Contains(s.Def.PrimaryKey, c.Name) || c.Name == "id" {
				continue
			}
			delete(r, c.Name)
			if w.rng.IntN(5) > 0 {
				r[c.Name] = value(c, w.rng.IntN(1000))
			}
		}
		return r
	}
	switch op {
	case schema.OpInsert, schema.OpRead:
		s.next++
		r := row{"id": strconv.Itoa(s.next)}
		for _, k := range s.Def.PrimaryKey {
			r[k] = strconv.Itoa(s.next)
		}
		if !s.Def.HasKey() {
			r["id"] = strconv.Itoa(s.next % 3) // rows that are equal
		}
		r = fill(r)
		s.rows = append(s.rows, r)
		return event{op: op, row: maps.Clone(r)}
	case schema.OpUpdate:
		i := w.rng.IntN(len(s.rows))
		before := maps.Clone(s.rows[i])
		s.rows[i] = fill(s.rows[i])
		e := event{op: op, row: maps.Clone(s.rows[i])}
		if !s.Def.HasKey() {
			e.before = before
		}
		return e
	}
	i := w.rng.IntN(len(s.rows))
	e := event{op: op, row: s.rows[i]}
	if !s.Def.HasKey() {
		e.before = s.rows[i]
	}
	s.rows = slices.Delete(s.rows, i, i+1)
	return e
}

// evolve adds, drops, renames or widens a column.
func (w *world) evolve(id schema.TableID) {
	s := w.tables[id]
	if s.staged {
		return
	}
	before, after := s.Def, s.Def.Clone()
	after.Version++
	c := &schema.Change{Table: before.ID, Before: before, After: after}
	at := w.rng.IntN(len(after.Columns))
	col := after.Columns[at]
	key := slices.Contains(after.PrimaryKey, col.Name)
	switch n := w.rng.IntN(4); {
	case n == 0 && len(after.Columns) < 8:
		w.columns++
		added := schema.Column{Name: fmt.Sprintf("c%d", w.columns), Type: []schema.Type{schema.Int(), schema.String(), schema.BigInt()}[w.rng.IntN(3)], Nullable: true}
		after.Columns = append(after.Columns, added)
		c.Kind, c.Columns = schema.ChangeAddColumn, []schema.Column{added}
	case n == 1 && !key && col.Name != "id" && len(after.Columns) > 2:
		after.Columns = slices.Delete(after.Columns, at, at+1)
		c.Kind, c.Columns = schema.ChangeDropColumn, []schema.Column{col}
		for _, r := range s.rows {
			delete(r, col.Name)
		}
	case n == 2 && col.Name != "id" && !key:
		w.columns++
		to := fmt.Sprintf("c%d", w.columns)
		after.Columns[at].Name = to
		c.Kind, c.Renames = schema.ChangeRenameColumn, map[string]string{col.Name: to}
		for _, r := range s.rows {
			if v, ok := r[col.Name]; ok {
				r[to] = v
				delete(r, col.Name)
			}
		}
	default:
		wider := map[schema.Kind]schema.Type{schema.KindSmallInt: schema.Int(), schema.KindInt: schema.BigInt()}
		t, ok := wider[col.Type.Kind]
		if !ok {
			return
		}
		after.Columns[at].Type = t
		c.Kind, c.Columns = schema.ChangeAlterColumn, []schema.Column{after.Columns[at]}
	}
	w.rig.Position += 10
	w.must(w.rig.Change(w.ctx, id, c), "change")
	s.Def = after
}

// empty truncates or resets a table.
func (w *world) empty(id schema.TableID, kind schema.ChangeKind) {
	s := w.tables[id]
	if s.staged {
		return
	}
	w.rig.Position += 10
	w.must(w.rig.Change(w.ctx, id, &schema.Change{Kind: kind, Table: s.Def.ID, Before: s.Def, After: s.Def}), "change")
	s.rows = nil
	if kind == schema.ChangeReset { // which a snapshot follows
		w.rig.Position += 10
		b, err := batch(w.mem, s.Def, []event{w.event(s, schema.OpRead), w.event(s, schema.OpRead)}, w.rig.Position, 0)
		w.must(err, "batch")
		w.must(w.rig.Rows(w.ctx, id, b), "rows")
		w.must(w.rig.Change(w.ctx, id, &schema.Change{Kind: schema.ChangeSnapshotDone, Table: s.Def.ID, Before: s.Def, After: s.Def}), "snapshot done")
	}
}

// stagedSnapshot begins the snapshot of the table without a key anew, or ends it.
func (w *world) stagedSnapshot() {
	for _, id := range w.ids() {
		s := w.tables[id]
		if s.Def.HasKey() {
			continue
		}
		if s.staged {
			w.endStaged(id)
			continue
		}
		w.rig.Position += 10
		w.must(w.rig.Change(w.ctx, id, &schema.Change{Kind: schema.ChangeReset, Table: s.Def.ID, Before: s.Def, After: s.Def, Staged: true}), "reset")
		s.rows, s.staged = nil, true
		w.transaction(id)
	}
}

func (w *world) endStaged(id schema.TableID) {
	s := w.tables[id]
	if !s.staged {
		return
	}
	w.must(w.rig.Change(w.ctx, id, &schema.Change{Kind: schema.ChangeSnapshotDone, Table: s.Def.ID, Before: s.Def, After: s.Def, Staged: true}), "snapshot done")
	s.staged = false
}
