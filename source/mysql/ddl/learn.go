package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// Learn returns the catalogue with a definition that did not come from a statement:
// read from the server where it is the one in force at position, or made by
// [FromTableMap]. Ordinals, number and version of d are given here. The effect leads
// from the last definition that was known, whose columns go on by their names; it is
// nil where nothing that is sent changed.
func (c *Catalog) Learn(d Definition, position uint64) (*Catalog, *Effect) {
	e := c.edit(Statement{Position: position})
	was := e.get(d.ID)
	if was != nil {
		e.s.SQL = was.LostBy
	}
	next := d.clone()
	next.Lost, next.LostRows, next.LostBy, next.LostAt = "", false, "", 0
	next.canonical()
	if next.markLearned(was, e.o); was == nil || len(was.Columns) == 0 {
		next.Number, next.Version, next.LastOrdinal = e.nextNumber(), 1, 0
		for i := range next.Columns {
			next.Columns[i].Ordinal = 0
		}
		next.number()
		e.set(next.finish(e.o))
		f := Effect{}
		if was != nil && was.LostRows {
			f.RewritesRows, f.What = true, "it may have come with rows: "+was.Lost
		}
		e.created(next, f)
		return e.c, &e.effects[0]
	}
	known := was.clone()
	known.Lost = ""
	known.finish(e.o)
	next = continued(known, next)
	f := Effect{Table: d.ID, Kind: Alter, Position: position}
	reasons := e.evolve(&f, known, next, conversionRules{})
	if was.LostRows {
		reasons = append(reasons, fmt.Sprintf("the rows may be others: %s", was.Lost))
	}
	if what := renamedMaybe(f.Changes); what != "" && was.Lost != "" && f.Err == nil {
		f.Err = e.fail(d.ID, ErrNotEvolvable, what, startAgain)
	}
	f.RewritesRows, f.What = len(reasons) > 0, joinReasons(reasons)
	e.set(next)
	if was.Lost == "" && len(f.Changes) == 0 && f.Err == nil && !f.RewritesRows {
		return e.c, nil
	}
	return e.c, &f
}

// renamedMaybe says what can't be told where columns went and others came: by their
// names alone it may be a renaming.
func renamedMaybe(changes []*schema.Change) string {
	var dropped, added []string
	for _, c := range changes {
		switch c.Kind {
		case schema.ChangeDropColumn:
			dropped = columnNames(c.Columns)
		case schema.ChangeAddColumn:
			added = columnNames(c.Columns)
		}
	}
	if len(dropped) == 0 || len(added) == 0 {
		return ""
	}
	return fmt.Sprintf("column %s may be what column %s was: whether it was renamed can't be told", strings.Join(added, ", "), strings.Join(dropped, ", "))
}

// Forget returns the catalogue without a table.
func (c *Catalog) Forget(id schema.TableID) *Catalog {
	if _, ok := c.Definition(id); !ok {
		return c
	}
	e := c.edit(Statement{})
	e.remove(id)
	return e.c
}

// Define returns the definition that the text of SHOW CREATE TABLE declares, which
// has all that the catalogue needs: also the order of the keys. s has the sql_mode of
// the session that asked, and the table's database. The table does not have to be in
// the catalogue, of which Define takes the options and the defaults of the databases.
func Define(s Statement, c *Catalog) (Definition, error) {
	parsed, err := s.parse(c.o)
	if err != nil {
		return Definition{}, err
	}
	create, ok := parsed.(*syntax.CreateTable)
	if !ok {
		return Definition{}, fmt.Errorf("%q is no CREATE TABLE", shorten(s.SQL))
	}
	// All indexes are listed, also those for foreign keys as far as they still exist.
	create.Keys = slices.DeleteFunc(create.Keys, func(k syntax.Key) bool { return k.Kind == syntax.ForeignKey })
	e := c.edit(s)
	d, err := e.define(e.id(create.Table), create)
	if err != nil {
		return Definition{}, fmt.Errorf("table %s: %w", e.id(create.Table), err)
	}
	return *d, nil
}
