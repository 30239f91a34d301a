package ddl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// Options are what a catalogue has to know of the server and of the pipeline.
type Options struct {
	MariaDB bool
	// Version is the server's, for instance 90704 or 101118.
	Version int
	// LowerCaseTableNames is lower_case_table_names: 0, 1 or 2.
	LowerCaseTableNames int
	// ServerCollation is @@global.collation_server, CharsetCollations MariaDB's
	// @@global.character_set_collations, for statements that don't say it themselves.
	ServerCollation, CharsetCollations string
	// OmitsUnchanged: the log may leave out columns that did not change
	// (binlog_row_image MINIMAL or NOBLOB).
	OmitsUnchanged bool
	// Value says how columns are carried.
	Value value.Options
}

// Database is a database of the server.
type Database struct {
	Name, Charset, Collation string
	// Complete: all its tables are in the catalogue. Of other databases the
	// catalogue learns the tables that are made later.
	Complete bool
	// Partial: those that the account could see are, and there may be others.
	Partial bool
}

// Catalog holds the definitions in force at a place of the log. It is immutable;
// catalogues share what they have in common.
type Catalog struct {
	o         Options
	databases map[string]*database // by folded name
	// last is the highest Definition.Number given out.
	last uint64
	// temporary are temporary tables that the log mentions, which hide others from
	// the statements of their session.
	temporary map[temporary]struct{}
}

type database struct {
	Database
	tables map[string]*Definition // by folded name
}

type temporary struct {
	Thread   uint32 `json:"thread"`
	Database string `json:"database"` // folded
	Table    string `json:"table"`    // folded
}

// NewCatalog returns a catalogue of definitions as the server has them. A database of
// a table that is not listed is taken as incomplete.
func NewCatalog(o Options, databases []Database, tables []Definition) *Catalog {
	c := &Catalog{o: o, databases: map[string]*database{}, temporary: map[temporary]struct{}{}}
	for _, d := range databases {
		d.Charset, d.Collation = collation.Canonical(d.Charset), collation.Canonical(d.Collation)
		c.databases[c.fold(d.Name)] = &database{Database: d, tables: map[string]*Definition{}}
	}
	for i := range tables {
		d := tables[i].clone()
		if d.Number == 0 { // else it comes from a catalogue, which has decided
			d.markUnlogged(o)
		}
		c.put(d)
	}
	return c
}

// put enters a definition; only for a catalogue that nobody else has yet.
func (c *Catalog) put(d *Definition) {
	key := c.fold(d.ID.Schema)
	db := c.databases[key]
	if db == nil {
		db = &database{Database: Database{Name: d.ID.Schema}, tables: map[string]*Definition{}}
		c.databases[key] = db
	}
	d.ID = schema.TableID{Schema: d.ID.Schema, Table: d.ID.Table}
	if d.Number == 0 {
		c.last++
		d.Number = c.last
	}
	c.last = max(c.last, d.Number)
	d.Version = max(d.Version, 1)
	d.number()
	d.canonical()
	db.tables[c.fold(d.ID.Table)] = d.finish(c.o)
}

// fold makes names that the server takes for the same equal.
func (c *Catalog) fold(name string) string {
	if c.o.LowerCaseTableNames == 0 {
		return name
	}
	return strings.ToLower(name)
}

// Options returns what the catalogue was made with.
func (c *Catalog) Options() Options { return c.o }

// Definition returns the definition of a table.
func (c *Catalog) Definition(id schema.TableID) (*Definition, bool) {
	db := c.databases[c.fold(id.Schema)]
	if db == nil {
		return nil, false
	}
	d, ok := db.tables[c.fold(id.Table)]
	return d, ok
}

// Table returns a table as its rows are sent. false: there is no such table, or its
// definition is not known, or it can't be carried; Definition.Table says why.
func (c *Catalog) Table(id schema.TableID) (*schema.Table, bool) {
	d, ok := c.Definition(id)
	if !ok || d.err != nil {
		return nil, false
	}
	return d.table, true
}

// Databases returns the databases, ordered by name.
func (c *Catalog) Databases() []Database {
	out := make([]Database, 0, len(c.databases))
	for _, key := range slices.Sorted(maps.Keys(c.databases)) {
		out = append(out, c.databases[key].Database)
	}
	return out
}

// Tables returns the definitions of a database, ordered by name.
func (c *Catalog) Tables(name string) []*Definition {
	db := c.databases[c.fold(name)]
	if db == nil {
		return nil
	}
	return db.sorted()
}

func (d *database) sorted() []*Definition {
	out := make([]*Definition, 0, len(d.tables))
	for _, key := range slices.Sorted(maps.Keys(d.tables)) {
		out = append(out, d.tables[key])
	}
	return out
}

// Prune returns a catalogue without the tables of the databases that keep declines.
// Databases appear in the log by CREATE DATABASE, and all of their tables after them.
func (c *Catalog) Prune(keep func(database string) bool) *Catalog {
	e := c.edit(Statement{})
	for key, db := range c.databases {
		if !keep(db.Name) && (db.Complete || db.Partial || len(db.tables) > 0) {
			d := db.Database
			d.Complete, d.Partial = false, false
			e.c.databases[key] = &database{Database: d, tables: map[string]*Definition{}}
		}
	}
	return e.c
}

// catalogJSON is the form of a catalogue in checkpoints.
type catalogJSON struct {
	Databases []databaseJSON `json:"databases"`
	Last      uint64         `json:"last"`
	Temporary []temporary    `json:"temporary,omitempty"`
}

type databaseJSON struct {
	Name      string        `json:"name"`
	Charset   string        `json:"charset,omitempty"`
	Collation string        `json:"collation,omitempty"`
	Complete  bool          `json:"complete,omitempty"`
	Partial   bool          `json:"partial,omitempty"`
	Tables    []*Definition `json:"tables,omitempty"`
}

// MarshalJSON writes the catalogue, without its options.
func (c *Catalog) MarshalJSON() ([]byte, error) {
	j := catalogJSON{Last: c.last}
	for _, key := range slices.Sorted(maps.Keys(c.databases)) {
		db := c.databases[key]
		j.Databases = append(j.Databases, databaseJSON{Name: db.Name, Charset: db.Charset, Collation: db.Collation, Complete: db.Complete, Partial: db.Partial, Tables: db.sorted()})
	}
	for t := range c.temporary {
		j.Temporary = append(j.Temporary, t)
	}
	slices.SortFunc(j.Temporary, func(a, b temporary) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Database, b.Database), cmp.Compare(a.Table, b.Table))
	})
	return json.Marshal(j)
}

// Restore reads what MarshalJSON wrote.
func Restore(data []byte, o Options) (*Catalog, error) {
	var j catalogJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("the catalogue of a checkpoint: %w", err)
	}
	c := NewCatalog(o, nil, nil)
	c.last = j.Last
	for _, d := range j.Databases {
		c.databases[c.fold(d.Name)] = &database{tables: map[string]*Definition{},
			Database: Database{Name: d.Name, Charset: d.Charset, Collation: d.Collation, Complete: d.Complete, Partial: d.Partial}}
		for _, t := range d.Tables {
			c.put(t)
		}
	}
	for _, t := range j.Temporary {
		c.temporary[t] = struct{}{}
	}
	return c, nil
}
