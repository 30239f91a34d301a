package mysql

import (
	"context"
	"errors"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
)

// redefines reports whether a statement leaves a table with another definition that a
// sink of events can go on with, though rows that it might keep could not: of another
// key, of narrower types, or made anew.
func redefines(e ddl.Effect) bool {
	if e.After == nil {
		return false
	}
	if e.Kind == ddl.Create || e.Kind == ddl.Rename {
		return e.Err == nil
	}
	return e.Before != nil && errors.Is(e.Err, ddl.ErrNotEvolvable)
}

// emitRedefined emits the new definition of a table as one change, if it has another one.
func (r *reader) emitRedefined(ctx context.Context, t *tableState, e ddl.Effect) error {
	if e.Kind == ddl.Rename && e.Table == t.def.ID {
		t.dropped = true
		if t = r.tables[e.NewID]; t == nil {
			return r.appeared(ctx, e)
		}
	}
	t.dropped = false
	if sameShape(t.def, e.After) {
		return nil
	}
	c := &schema.Change{Kind: schema.ChangeAlterColumn, Table: t.def.ID, Before: t.def, After: e.After, Columns: e.After.Columns, Position: e.Position}
	t.define(e.After)
	return r.emit(ctx, source.Element{Change: c})
}
