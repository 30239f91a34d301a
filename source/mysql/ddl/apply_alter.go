package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// alterTable follows an ALTER TABLE: the definition, then the rows that partitions
// and tablespaces bring or take, then the name.
func (e *edit) alterTable(s *syntax.AlterTable) {
	id := e.id(s.Table)
	d := e.get(id)
	renames := e.renamesOf(s)
	switch {
	case e.isTemporary(id):
		for _, r := range renames {
			e.setTemporary(id, false)
			e.setTemporary(e.id(r.To), true)
		}
		return
	case d == nil:
		e.alterUnknown(id, s)
	case d.Lost != "":
		e.lose(id, d, d.Lost, movesRows(s) || mayMoveValues(e.s.SQL) || altersColumns(e.s.SQL))
	default:
		e.alterKnown(d, s)
	}
	e.renameTables(renames, s.IfExists)
}

// renamesOf returns what an ALTER TABLE renames.
func (e *edit) renamesOf(s *syntax.AlterTable) []syntax.Rename {
	var out []syntax.Rename
	for _, p := range s.Parts {
		if p.Kind == syntax.RenameTo && e.id(p.Table) != e.id(s.Table) {
			out = []syntax.Rename{{From: s.Table, To: p.Table}} // the last one counts
		}
	}
	return out
}

// alterUnknown is an ALTER of a table that the catalogue does not have: one that
// can't be seen, or is no table of rows, unless the catalogue is behind.
func (e *edit) alterUnknown(id schema.TableID, s *syntax.AlterTable) {
	if e.complete(id.Schema) && !s.IfExists {
		e.lose(id, nil, "it was not known before", false)
	}
	for _, p := range s.Parts { // tables that take or give rows are altered all the same
		e.moveRows(id, p)
	}
}

func (e *edit) alterKnown(d *Definition, s *syntax.AlterTable) {
	parent, _ := e.database(d.ID.Schema)
	next, err := e.alter(d, s, parent, e.session())
	if err != nil {
		e.lose(d.ID, d, err.Error(), movesRows(s) || mayMoveValues(e.s.SQL))
		return
	}
	f := Effect{Table: d.ID, Kind: Alter}
	v := conversionRules{strict: e.s.strict() && !s.Ignore, keepsZero: e.s.SQLMode&modeNoAutoValueOnZero != 0}
	reasons := e.evolve(&f, d, next, v)
	if s.Ignore {
		reasons = append(reasons, "ALTER IGNORE removes rows that a unique key does not allow")
	}
	for _, p := range s.Parts {
		if why := rowsMoved(p); why != "" {
			reasons = append(reasons, why)
		}
	}
	e.set(next)
	f.RewritesRows, f.What = len(reasons) > 0, strings.Join(reasons, "; ")
	if f.RewritesRows || len(f.Changes) > 0 || f.Err != nil {
		e.emit(f)
	}
	for _, p := range s.Parts {
		e.moveRows(d.ID, p)
	}
}

// movesRows reports whether a statement does something to rows beside the definition.
func movesRows(s *syntax.AlterTable) bool {
	return s.Ignore || slices.ContainsFunc(s.Parts, func(p syntax.AlterPart) bool { return rowsMoved(p) != "" })
}

// rowsMoved says what a part does to rows beside the definition, empty for nothing.
func rowsMoved(p syntax.AlterPart) string {
	switch p.Kind {
	case syntax.DropPartition:
		return "the rows of partitions were dropped: " + p.Name
	case syntax.TruncatePartition:
		return "the rows of partitions were removed: " + p.Name
	case syntax.ExchangePartition:
		return fmt.Sprintf("the rows of partition %s were exchanged with those of table %s", p.Name, p.Table.Table)
	case syntax.PartitionToTable:
		return fmt.Sprintf("the rows of partition %s became table %s", p.Name, p.Table.Table)
	case syntax.TableToPartition:
		return fmt.Sprintf("the rows of table %s came in as a partition", p.Table.Table)
	case syntax.ImportTablespace, syntax.DiscardTablespace:
		return "the rows were replaced by those of a tablespace"
	case syntax.SetOptions:
		if strings.EqualFold(p.Options.Engine, "BLACKHOLE") {
			return "the engine BLACKHOLE keeps no rows"
		}
	}
	return ""
}

// moveRows follows what a part does to another table.
func (e *edit) moveRows(id schema.TableID, p syntax.AlterPart) {
	switch p.Kind {
	case syntax.ExchangePartition:
		other := e.id(p.Table)
		if d := e.get(other); d != nil {
			e.emit(Effect{Table: d.ID, Kind: Alter, Before: d.table, After: d.table, RewritesRows: true,
				What: fmt.Sprintf("its rows were exchanged with those of partition %s of table %s", p.Name, id)})
		}
	case syntax.PartitionToTable:
		other := e.id(p.Table)
		d, err := e.defineLike(other, id)
		if err != nil {
			e.lose(other, nil, err.Error(), true)
			return
		}
		d.Number, d.Version = e.nextNumber(), 1
		e.set(d.finish(e.o))
		e.created(d, Effect{From: id, RewritesRows: true, What: fmt.Sprintf("it has the rows of partition %s of table %s", p.Name, id)})
	case syntax.TableToPartition:
		if d := e.get(e.id(p.Table)); d != nil {
			e.remove(d.ID)
			e.emit(Effect{Table: d.ID, Kind: Drop, Before: d.table, NewID: id, What: "it became a partition of table " + id.String()})
		}
	}
}
