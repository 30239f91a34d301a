package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
)

// recheck says that a Relation message may stand for a column that takes NULL from
// now on, which it does not say: the table has NOT NULL columns beside its key, and
// no look at the catalogue has seen the transaction.
func (r *relationResolver) recheck(oid uint32, tx transaction) bool {
	t := r.tables[oid]
	if t == nil || len(notNull(t)) == 0 || sees(r.known, tx.xid) {
		return false
	}
	checked, before := r.checked[oid]
	return !before || !sees(checked, tx.xid)
}

// notNull lists the numbers of the columns that take no NULL, but for the key.
func notNull(t *schema.Table) []int16 {
	var out []int16
	for _, c := range t.Columns {
		if !c.Nullable && !slices.Contains(t.PrimaryKey, c.Name) {
			out = append(out, int16(c.Ordinal))
		}
	}
	return out
}

const nullableQuery = `SELECT ARRAY(SELECT a.attnum FROM pg_catalog.pg_attribute a
	WHERE a.attrelid = $1 AND a.attnum = any($2) AND NOT a.attisdropped AND NOT a.attnotnull)`

// widen returns the change that makes those columns nullable that are so by now,
// nil for none. The log announces the table anew between the statement and the first
// NULL, so it comes in time; that it may come early does no harm.
func (r *relationResolver) widen(t *schema.Table, tx transaction) (*schema.Change, error) {
	var nullable []int16
	err := r.ask(t, func(ctx context.Context, conn *pgx.Conn) error {
		visible, s, err := awaitVisible(ctx, conn, tx.xid)
		if err != nil {
			return err
		}
		if !visible { // it may have made any of them nullable
			nullable = notNull(t)
			return nil
		}
		r.checked[uint32(t.SourceID)] = s
		return conn.QueryRow(ctx, nullableQuery, uint32(t.SourceID), notNull(t)).Scan(&nullable)
	})
	if err != nil {
		return nil, err
	}
	return alterColumns(t, tx.commit, func(c *schema.Column) {
		c.Nullable = c.Nullable || slices.Contains(nullable, int16(c.Ordinal))
	}), nil
}

// alterColumns returns the change that set makes of a table's columns, nil for
// none. It leaves names and types alone.
func alterColumns(t *schema.Table, pos uint64, set func(*schema.Column)) *schema.Change {
	after := t.Clone()
	after.Version++
	c := &schema.Change{Kind: schema.ChangeAlterColumn, Table: t.ID, Before: t, After: after, Position: pos}
	for i := range after.Columns {
		if set(&after.Columns[i]); !sameNotes(t.Columns[i], after.Columns[i]) {
			c.Columns = append(c.Columns, after.Columns[i])
		}
	}
	if len(c.Columns) == 0 {
		return nil
	}
	return c
}

// sameNotes compares what a column has beside its name and type.
func sameNotes(a, b schema.Column) bool {
	return a.Nullable == b.Nullable && a.Comment == b.Comment && (a.Default == nil) == (b.Default == nil) && (a.Default == nil || *a.Default == *b.Default)
}

// sameRows reports whether two definitions have the same columns, by number, name
// and type: rows of one are rows of the other.
func sameRows(a, b *schema.Table) bool {
	return slices.EqualFunc(a.Columns, b.Columns, func(x, y schema.Column) bool {
		return x.Ordinal == y.Ordinal && x.Name == y.Name && x.Type.Equal(y.Type)
	})
}

// compare returns what a report of the catalogue, whose moment the log has passed,
// shows that the log did not: that a column must not be NULL any more, comments and
// defaults, and changes behind which no row was written. The relations are those of
// known that change with it.
func (r *relationResolver) compare(report *catalogueReport, known map[uint32]*relation, position uint64) ([]*schema.Change, map[uint32]*relation, error) {
	r.known = report.sees
	out := map[uint32]*relation{}
	var changes []*schema.Change
	for _, oid := range slices.SortedFunc(maps.Keys(r.tables), func(a, b uint32) int {
		return cmp.Compare(r.tables[a].ID.String(), r.tables[b].ID.String())
	}) {
		info := report.tables[oid]
		if changed := r.changed[oid]; info == nil || changed != 0 && !sees(report.sees, changed) { // dropped, or the log has overtaken the report
			continue
		}
		more, err := r.compareTable(r.tables[oid], info, position)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, more...)
		partial := r.partial[oid]
		r.describe(oid, info)
		rel := known[oid]
		if rel == nil || len(more) == 0 && partial == r.partial[oid] {
			continue
		}
		m, err := parseRelation(rel.raw)
		if err != nil {
			return nil, nil, err
		}
		next := r.relation(m, r.tables[oid])
		next.raw = rel.raw
		if !sameRows(rel.table, next.table) { // the next message is no old one, whatever it says
			*next = *rel
			next.raw = nil
		}
		out[oid] = next
	}
	return changes, out, nil
}

// compareTable compares one table and puts its new definition into force.
func (r *relationResolver) compareTable(t *schema.Table, info *tableInfo, position uint64) ([]*schema.Change, error) {
	now := info.Schema
	if now.ID != t.ID {
		return nil, &SchemaChangeError{Table: t.ID, Position: position, What: "the table was renamed to " + now.ID.String(),
			Hint: "rename it back, or start a new pipeline for the new name"}
	}
	var changes []*schema.Change
	if !sameRows(t, now) {
		var err error
		if changes, err = r.changes(t, announce(now), position); err != nil {
			return nil, err
		}
	}
	if len(changes) > 0 {
		t = changes[len(changes)-1].After
	}
	if t.HasKey() && sameRows(t, now) && !slices.Equal(t.PrimaryKey, now.PrimaryKey) {
		if !r.needs.Events {
			return nil, keyChanged(t, position)
		}
		next := t.Clone()
		next.PrimaryKey, next.Version = now.PrimaryKey, t.Version+1
		changes = append(changes, &schema.Change{Kind: schema.ChangeAlterColumn, Table: t.ID, Before: t, After: next, Position: position})
		t = next
	}
	if sameRows(t, now) { // what was looked up since may be ahead
		notes := make(map[int]schema.Column, len(now.Columns))
		for _, c := range now.Columns {
			notes[c.Ordinal] = c
		}
		if c := alterColumns(t, position, func(c *schema.Column) {
			n := notes[c.Ordinal]
			c.Nullable, c.Comment, c.Default = n.Nullable, n.Comment, n.Default
		}); c != nil {
			changes, t = append(changes, c), c.After
		}
	}
	r.tables[uint32(t.SourceID)] = t
	return changes, nil
}

// keyChanged is the error for a table whose rows can't be told apart as before.
func keyChanged(t *schema.Table, position uint64) error {
	return &SchemaChangeError{Table: t.ID, Position: position, What: "the key changed", Hint: "start a new pipeline for the table: its rows can't be told apart as before"}
}

// announce makes the message by which the log would announce a definition.
func announce(t *schema.Table) relationMessage {
	m := relationMessage{oid: uint32(t.SourceID), schema: t.ID.Schema, name: t.ID.Table, identity: 'n'}
	for _, c := range t.Columns {
		m.columns = append(m.columns, relationColumn{name: c.Name, oid: c.Source.OID, mod: c.Source.Modifier})
	}
	return m
}

// leaf takes the message of a partition, which says which columns of the old row
// the log has, and returns another version of its root's relation where that changes it.
func (r *relationResolver) leaf(m relationMessage, root *relation, tx transaction) (*relation, error) {
	t := root.table
	if !r.leaves[m.oid] && r.look != nil { // it is new, perhaps with rows
		r.leaves[m.oid] = true
		r.look()
	}
	if m.identity == 'f' || r.insertOnly[root.oid] {
		return nil, nil
	}
	var columns []string
	for _, c := range m.columns {
		if c.key {
			columns = append(columns, c.name)
		}
	}
	covered := t.HasKey() && covers(m.identity, columns, t.PrimaryKey)
	if covered && !root.full {
		return nil, nil
	}
	below, err := r.below(m, t)
	if err != nil || !below {
		return nil, err
	}
	switch {
	case covered: // from here on no old row of the table counts as complete
		r.partial[root.oid] = true
		announced, err := parseRelation(root.raw)
		if err != nil {
			return nil, err
		}
		next := r.relation(announced, t)
		next.raw = root.raw
		return next, nil
	case t.HasKey():
		return nil, &IdentityError{Table: t.ID, Position: tx.commit, Partition: m.schema + "." + m.name, Key: t.PrimaryKey, Logged: columns}
	}
	return nil, r.unidentified(m, t, tx)
}

// isBelow reports whether a relation is a partition of t, or is gone.
func (r *relationResolver) isBelow(m relationMessage, t *schema.Table) (below bool, err error) {
	const query = `SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = $1) OR EXISTS (SELECT FROM pg_partition_ancestors($1::oid::regclass) WHERE relid = $2)`
	err = r.ask(t, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query, m.oid, uint32(t.SourceID)).Scan(&below)
	})
	return below, err
}

// unidentified is the error for a partition of a table without a key that does not
// log the old row. As long as it is published, the application can't change it.
func (r *relationResolver) unidentified(m relationMessage, t *schema.Table, tx transaction) error {
	err := &SchemaChangeError{Table: t.ID, Position: tx.commit,
		What: fmt.Sprintf("partition %s.%s does not log the whole old row, which a table without a key needs; without any replica identity, UPDATE and DELETE of it fail at the application while the table is published", m.schema, m.name),
		Hint: fmt.Sprintf("ALTER TABLE %s.%s REPLICA IDENTITY FULL, then start again", quoteIdent(m.schema), quoteIdent(m.name))}
	if released := r.ask(t, func(ctx context.Context, conn *pgx.Conn) error { return r.cfg.release(ctx, conn) }); released != nil {
		return fmt.Errorf("%w; taking the table out of the publication failed: %w", err, released)
	}
	return err
}
