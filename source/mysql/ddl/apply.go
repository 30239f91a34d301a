package ddl

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// Apply returns the catalogue behind a statement, and what the statement did to
// tables of the catalogue, in order. A statement that is about nothing in the
// catalogue gives c itself and no effects, whether it can be parsed or not. An error is
// a statement about a table in bytes that are no text, so that its name can't be told.
func (c *Catalog) Apply(s Statement) (*Catalog, []Effect, error) {
	parsed, err := s.parse(c.o)
	var bad *syntax.Error
	switch {
	case errors.As(err, &bad):
		e := c.edit(s)
		e.unparsable(bad)
		return e.result(c)
	case err != nil:
		return c, nil, err
	case parsed == nil:
		return c, nil, nil
	}
	e := c.edit(s)
	e.statement(parsed)
	return e.result(c)
}

// edit makes the catalogue behind a statement.
type edit struct {
	resolver
	c       *Catalog // a copy that shares databases until they are written to
	copied  map[string]bool
	changed bool
	effects []Effect
}

func (c *Catalog) edit(s Statement) *edit {
	n := *c
	n.databases = maps.Clone(c.databases)
	return &edit{resolver: resolver{o: c.o, s: s}, c: &n, copied: map[string]bool{}}
}

func (e *edit) result(was *Catalog) (*Catalog, []Effect, error) {
	if !e.changed {
		return was, e.effects, nil
	}
	return e.c, e.effects, nil
}

func (e *edit) statement(s syntax.Statement) {
	switch s := s.(type) {
	case *syntax.CreateTable:
		e.createTable(s)
	case *syntax.AlterTable:
		e.alterTable(s)
	case *syntax.DropTable:
		e.dropTables(s)
	case *syntax.RenameTable:
		e.renameTables(s.Renames, s.IfExists)
	case *syntax.TruncateTable:
		e.truncate(s)
	case *syntax.CreateDatabase:
		e.createDatabase(s)
	case *syntax.AlterDatabase:
		e.alterDatabase(s)
	case *syntax.DropDatabase:
		e.dropDatabase(s.Name)
	case *syntax.RowChange:
		e.rowChange(s)
	}
}

// id returns the full name of a table.
func (e *edit) id(t syntax.TableName) schema.TableID {
	id := schema.TableID{Schema: t.Database, Table: t.Table}
	if id.Schema == "" {
		id.Schema = e.s.Database
	}
	if e.o.LowerCaseTableNames == 1 {
		id.Schema, id.Table = strings.ToLower(id.Schema), strings.ToLower(id.Table)
	}
	return id
}

// get returns the definition of a table, nil for none.
func (e *edit) get(id schema.TableID) *Definition {
	d, _ := e.c.Definition(id)
	return d
}

// complete reports whether all tables of a database are known.
func (e *edit) complete(name string) bool {
	db := e.c.databases[e.c.fold(name)]
	return db != nil && db.Complete
}

// held reports whether the tables of a database are known, or those that could be seen.
func (e *edit) held(name string) bool {
	db := e.c.databases[e.c.fold(name)]
	return db != nil && (db.Complete || db.Partial)
}

// own returns a database that may be written to.
func (e *edit) own(name string) *database {
	key := e.c.fold(name)
	e.changed = true
	if e.copied[key] {
		return e.c.databases[key]
	}
	db := &database{Database: Database{Name: name}, tables: map[string]*Definition{}}
	if was := e.c.databases[key]; was != nil {
		db = &database{Database: was.Database, tables: maps.Clone(was.tables)}
	}
	e.c.databases[key], e.copied[key] = db, true
	return db
}

// set enters a definition under its name.
func (e *edit) set(d *Definition) {
	e.own(d.ID.Schema).tables[e.c.fold(d.ID.Table)] = d
}

func (e *edit) remove(id schema.TableID) {
	delete(e.own(id.Schema).tables, e.c.fold(id.Table))
}

// nextNumber returns the number of a new table.
func (e *edit) nextNumber() uint64 {
	e.c.last++
	return e.c.last
}

// emit adds an effect.
func (e *edit) emit(f Effect) {
	f.SQL, f.Position = shorten(e.s.SQL), e.s.Position
	e.effects = append(e.effects, f)
}

func (e *edit) fail(id schema.TableID, err error, what, hint string) error {
	return &Error{Table: id, Position: e.s.Position, SQL: shorten(e.s.SQL), What: what, Hint: hint, Err: err}
}

// lose keeps that the definition of a table is not known any more. was is the last
// known one, nil for none; rows: the statement may have rewritten rows too.
func (e *edit) lose(id schema.TableID, was *Definition, why string, rows bool) {
	lost := &Definition{ID: id, Version: 1}
	before := (*schema.Table)(nil)
	if was != nil {
		lost, before = was.clone(), was.table
		lost.ID = id
	} else {
		lost.Number = e.nextNumber()
	}
	lost.Lost, lost.LostRows = why, lost.LostRows || rows
	lost.LostBy, lost.LostAt = shorten(e.s.SQL), e.s.Position
	e.set(lost.finish(e.o))
	e.emit(Effect{Table: id, Kind: Unknown, Before: before, What: why,
		Err: e.fail(id, ErrUnparsable, why, startAgain)})
}

// unparsable tells of the tables that a statement which can't be parsed may be about.
func (e *edit) unparsable(bad *syntax.Error) {
	why := fmt.Sprintf("it can't be parsed: %v", bad)
	if len(bad.Tables) == 0 { // not even the table was found: all that are mentioned
		for _, db := range e.c.databases {
			for _, d := range db.tables {
				if slices.Contains(bad.Names, d.ID.Table) && (d.ID.Schema == e.s.Database || slices.Contains(bad.Names, d.ID.Schema)) {
					bad.Tables = append(bad.Tables, syntax.TableName{Database: d.ID.Schema, Table: d.ID.Table})
				}
			}
		}
		slices.SortFunc(bad.Tables, func(a, b syntax.TableName) int {
			return strings.Compare(a.Database+"\x00"+a.Table, b.Database+"\x00"+b.Table)
		})
	}
	rows := mayMoveValues(e.s.SQL)
	var done []schema.TableID
	for _, t := range bad.Tables {
		id := e.id(t)
		was := e.get(id)
		if slices.Contains(done, id) || e.isTemporary(id) || was == nil && !e.held(id.Schema) {
			continue
		}
		done = append(done, id)
		switch {
		case was == nil: // a new table is empty
			e.lose(id, nil, why, !creates(e.s.SQL, e.complete(id.Schema)))
		case was.Lost != "":
			e.lose(id, was, why, rows || altersColumns(e.s.SQL))
		default:
			e.lose(id, was, why, rows)
		}
	}
}

// rowChange tells of the tables in the catalogue that a statement changes rows of.
func (e *edit) rowChange(s *syntax.RowChange) {
	var done []schema.TableID
	for _, t := range s.Tables {
		id := e.id(t)
		d := e.get(id)
		if d == nil || slices.Contains(done, id) || e.isTemporary(id) {
			continue
		}
		done = append(done, id)
		what := "binlog_format was not ROW for a " + strings.ToUpper(s.Verb)
		e.emit(Effect{Table: id, Kind: RowChange, Before: d.table, After: d.table, RewritesRows: true, What: what,
			Err: e.fail(id, ErrRowChange, what, "SET GLOBAL binlog_format=ROW, also in the sessions that set another one; then "+startAgain)})
	}
}

// temporaryKey is a temporary table of the statement's session.
func (e *edit) temporaryKey(id schema.TableID) temporary {
	return temporary{Thread: e.s.ThreadID, Database: e.c.fold(id.Schema), Table: e.c.fold(id.Table)}
}

// isTemporary reports whether the session has a temporary table of that name, which
// hides the other one.
func (e *edit) isTemporary(id schema.TableID) bool {
	_, ok := e.c.temporary[e.temporaryKey(id)]
	return ok
}

// setTemporary remembers or forgets a temporary table.
func (e *edit) setTemporary(id schema.TableID, is bool) {
	if e.isTemporary(id) == is {
		return
	}
	e.changed = true
	e.c.temporary = maps.Clone(e.c.temporary)
	if is {
		e.c.temporary[e.temporaryKey(id)] = struct{}{}
	} else {
		delete(e.c.temporary, e.temporaryKey(id))
	}
}
