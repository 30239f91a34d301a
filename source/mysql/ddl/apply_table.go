package ddl

import (
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// createTable enters the table that a CREATE TABLE makes.
func (e *edit) createTable(s *syntax.CreateTable) {
	id := e.id(s.Table)
	was := e.get(id)
	switch {
	case s.Temporary:
		e.setTemporary(id, true)
		return
	case s.Options.Sequence, s.IfNotExists && was != nil:
		return
	case was == nil && s.IfNotExists && !e.complete(id.Schema):
		e.lose(id, nil, "the table may have been there already", true)
		return
	case was != nil: // OR REPLACE, or a table whose end the log does not have
		e.drop(was)
	}
	d, err := e.define(id, s)
	if err != nil {
		e.lose(id, nil, err.Error(), false)
		return
	}
	d.Number, d.Version = e.nextNumber(), 1
	d.number()
	e.set(d.finish(e.o))
	e.created(d, Effect{})
}

// created tells of a new table; f has what else is known of it.
func (e *edit) created(d *Definition, f Effect) {
	f.Table, f.Kind, f.After = d.ID, Create, d.table
	if d.err != nil {
		f.Err = e.fail(d.ID, ErrNotEvolvable, d.err.Error(), "exclude the table")
	}
	e.emit(f)
}

// database returns the defaults of a database.
func (e *edit) database(name string) (charsetPair, error) {
	db := e.c.databases[e.c.fold(name)]
	switch {
	case db != nil && db.Charset != "":
		return charsetPair{db.Charset, db.Collation}, nil
	case db != nil && db.Collation != "":
		return collationPair(db.Collation), nil
	}
	return charsetPair{}, fmt.Errorf("the default character set of database %s is not known", name)
}

// session returns the default of the session's database.
func (e *edit) session() charsetPair {
	if name := collation.Name(e.s.DatabaseCollation, e.o.MariaDB); name != "" {
		return collationPair(name)
	}
	pair, _ := e.database(e.s.Database)
	return pair
}

// define makes the definition that a CREATE TABLE declares, without numbers.
func (e *edit) define(id schema.TableID, s *syntax.CreateTable) (*Definition, error) {
	if s.Like != nil {
		return e.defineLike(id, e.id(*s.Like))
	}
	if s.Query {
		return nil, fmt.Errorf("columns come from a query")
	}
	parent, err := e.database(id.Schema)
	if err != nil {
		return nil, err
	}
	base, err := e.pair(s.Options.Charset, s.Options.Collation, parent, parent)
	if err != nil {
		return nil, err
	}
	d := &Definition{ID: id, Charset: base.charset, Collation: base.collation, Versioned: s.Options.SystemVersioning}
	if s.Options.Comment != nil {
		d.Comment = *s.Options.Comment
	}
	for _, sc := range s.Columns {
		c, err := e.column(sc, base, parent)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", sc.Name, err)
		}
		d.LastOrdinal++
		c.Ordinal = d.LastOrdinal
		d.Columns = append(d.Columns, c)
		d.Versioned = d.Versioned || sc.Versioned
	}
	for _, p := range s.Periods {
		d.addPeriod(p)
	}
	return d, e.setKeys(d, nil, s.Keys)
}

// addPeriod makes the columns of a period NOT NULL.
func (d *Definition) addPeriod(p syntax.Period) {
	for _, name := range []string{p.Start, p.End} {
		if i := d.column(name); i >= 0 {
			d.Columns[i].Nullable = false
		}
	}
}

// defineLike copies the definition of another table, the ordinals too.
func (e *edit) defineLike(id, like schema.TableID) (*Definition, error) {
	was := e.get(like)
	if was == nil || was.Lost != "" || e.isTemporary(like) {
		return nil, fmt.Errorf("it is made like %s, whose definition is not known", like)
	}
	d := was.clone()
	d.ID, d.Like, d.LikeOrdinal = id, was.Number, was.LastOrdinal
	d.markUnlogged(e.o)
	for i, k := range d.Keys {
		d.Keys[i].Hash = k.Hash && d.needsHash(k) // USING HASH is not copied
	}
	return d, nil
}

// drop removes a table.
func (e *edit) drop(d *Definition) {
	e.remove(d.ID)
	e.emit(Effect{Table: d.ID, Kind: Drop, Before: d.table})
}

func (e *edit) dropTables(s *syntax.DropTable) {
	for _, t := range s.Tables {
		id := e.id(t)
		if s.Temporary {
			e.setTemporary(id, false)
			continue
		}
		if d := e.get(id); d != nil {
			e.drop(d)
		}
	}
}

func (e *edit) truncate(s *syntax.TruncateTable) {
	id := e.id(s.Table)
	d := e.get(id)
	if d == nil || e.isTemporary(id) {
		return
	}
	f := Effect{Table: d.ID, Kind: Truncate, Before: d.table, After: d.table}
	if d.table != nil {
		f.Changes = []*schema.Change{{Kind: schema.ChangeTruncate, Table: d.ID, Before: d.table, After: d.table, Position: e.s.Position}}
	}
	e.emit(f)
}

// createDatabase enters a database, whose tables are all known from then on.
func (e *edit) createDatabase(s *syntax.CreateDatabase) {
	was := e.c.databases[e.c.fold(s.Name)]
	if was != nil && s.IfNotExists {
		return
	}
	if was != nil {
		e.dropDatabase(s.Name)
	}
	name := s.Name
	if e.o.LowerCaseTableNames == 1 {
		name = strings.ToLower(name)
	}
	db := e.own(name)
	db.Complete, db.Partial = true, false
	pair, err := e.pair(s.Charset, s.Collation, e.server(), e.server())
	if err == nil { // else its tables can't be told where they don't say it
		db.Charset, db.Collation = pair.charset, pair.collation
	}
}

func (e *edit) alterDatabase(s *syntax.AlterDatabase) {
	name := s.Name
	if name == "" {
		name = e.s.Database
	}
	was := e.c.databases[e.c.fold(name)]
	if was == nil || s.Charset == "" && s.Collation == "" {
		return
	}
	db := e.own(was.Name)
	pair, err := e.pair(s.Charset, s.Collation, charsetPair{db.Charset, db.Collation}, e.server())
	db.Charset, db.Collation = pair.charset, pair.collation
	if err != nil {
		db.Charset, db.Collation = "", ""
	}
}

func (e *edit) dropDatabase(name string) {
	key := e.c.fold(name)
	db := e.c.databases[key]
	if db == nil {
		return
	}
	for _, d := range db.sorted() {
		e.emit(Effect{Table: d.ID, Kind: Drop, Before: d.table})
	}
	e.changed = true
	delete(e.c.databases, key)
	delete(e.copied, key)
}
