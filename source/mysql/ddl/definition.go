package ddl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// Definition is one version of a table's definition. It is immutable once it is in
// a [Catalog]: a change makes a new one.
type Definition struct {
	ID schema.TableID `json:"id"`
	// Columns are in the order of the table, hidden ones included.
	Columns []Column `json:"columns"`
	// Keys are in the server's order (that of SHOW INDEX): the primary key, unique
	// keys of columns that are NOT NULL, other unique keys, the rest.
	Keys []Key `json:"keys,omitempty"`
	// Charset and Collation are the defaults of new columns.
	Charset   string `json:"charset,omitempty"`
	Collation string `json:"collation,omitempty"`
	Comment   string `json:"comment,omitempty"`
	// Versioned: the table is system-versioned (MariaDB). Where no column has
	// value.Definition.SystemTime, the log has two more columns, row_start and row_end.
	Versioned bool `json:"versioned,omitempty"`
	// Number identifies the table across renames, in this catalogue: schema.Table.SourceID.
	Number uint64 `json:"number"`
	// Version counts the versions of what is sent, from 1: schema.Table.Version.
	Version int `json:"version"`
	// LastOrdinal is the highest Column.Ordinal ever given out in the table.
	LastOrdinal int `json:"lastOrdinal"`
	// Like is the table that this one was made like, with the same ordinals up to
	// LikeOrdinal; 0 for none. So a shadow table knows its columns again.
	Like        uint64 `json:"like,omitempty"`
	LikeOrdinal int    `json:"likeOrdinal,omitempty"`
	// LostRows: what made the definition unknown may have rewritten rows, too.
	LostRows bool `json:"lostRows,omitempty"`
	// Lost says why the definition is not known any more, empty when it is. Then
	// the rest is the last one that was.
	Lost string `json:"lost,omitempty"`
	// LostBy is the newest statement that left the definition unknown, shortened, and
	// LostAt where the log has it.
	LostBy string `json:"lostBy,omitempty"`
	LostAt uint64 `json:"lostAt,omitempty"`

	table *schema.Table // what is sent
	err   error         // why there is no table
}

// Column is a column of a Definition.
type Column struct {
	value.Definition
	// Ordinal identifies the column across renames; no number is used again in a
	// table. 0: to be given when the definition enters the catalogue.
	Ordinal       int  `json:"ordinal"`
	AutoIncrement bool `json:"autoIncrement,omitempty"`
	// Expression is what a generated column is generated from, as far as it is known.
	Expression string `json:"expression,omitempty"`
	// Hidden: made by the server for the part of a key that is an expression.
	// Rows don't show it, TABLE_MAP of MySQL before 8.0.23 does.
	Hidden bool `json:"hidden,omitempty"`
	// Unlogged: the server may leave the column out of its log although it changed, so
	// it is not in Table. Where an earlier version of the table had it, it was dropped.
	Unlogged bool `json:"unlogged,omitempty"`
	// Guessed: only the log tells of the column, which does not say whether it is
	// generated.
	Guessed bool `json:"guessed,omitempty"`
}

// Key is a key or an index of a Definition.
type Key struct {
	Name    string    `json:"name"`
	Primary bool      `json:"primary,omitempty"`
	Unique  bool      `json:"unique,omitempty"`
	Parts   []KeyPart `json:"parts"`
	// Hash: unique by a hidden column with a hash (MariaDB, long columns).
	Hash bool `json:"hash,omitempty"`
	// Generated: made for a foreign key, and gone when another one can take its place.
	Generated bool `json:"generated,omitempty"`
	// Other is a FULLTEXT, SPATIAL or VECTOR index.
	Other bool `json:"other,omitempty"`
}

// KeyPart is a column of a key.
type KeyPart struct {
	// Column is the name of the column, which is hidden where the part is an
	// expression and empty where it is a period.
	Column string `json:"column,omitempty"`
	// Prefix is the number of characters or bytes that the key has of the column, 0 for all.
	Prefix int `json:"prefix,omitempty"`
	// Descending keys of MySQL can't take the place of one for a foreign key.
	Descending bool `json:"descending,omitempty"`
}

// ErrUnknown is the cause where a table's definition is not known.
var ErrUnknown = errors.New("the definition of the table is not known")

// Table returns the table as its rows are sent: the same pointer until something of
// it changes. It fails with [ErrUnknown] where the definition was lost, and for a column
// that can't be carried.
func (d *Definition) Table() (*schema.Table, error) { return d.table, d.err }

// clone returns a copy to be changed.
func (d *Definition) clone() *Definition {
	n := *d
	n.Columns = slices.Clone(d.Columns)
	n.Keys = slices.Clone(d.Keys)
	for i := range n.Keys {
		n.Keys[i].Parts = slices.Clone(n.Keys[i].Parts)
	}
	n.table, n.err = nil, nil
	return &n
}

// column returns the index of a column by its name, which has no case, or -1.
func (d *Definition) column(name string) int {
	return slices.IndexFunc(d.Columns, func(c Column) bool { return sameName(c.Name, name) })
}

// ordinal returns the index of a column by its ordinal, or -1.
func (d *Definition) ordinal(n int) int {
	return slices.IndexFunc(d.Columns, func(c Column) bool { return c.Ordinal == n })
}

// keyNamed returns the index of a key by its name, which has no case, or -1.
func (d *Definition) keyNamed(name string) int {
	return slices.IndexFunc(d.Keys, func(k Key) bool { return sameName(k.Name, name) })
}

// sameName compares names of columns and keys.
func sameName(a, b string) bool { return a == b || strings.EqualFold(a, b) }

// number gives ordinals to the columns that have none.
func (d *Definition) number() {
	for _, c := range d.Columns {
		d.LastOrdinal = max(d.LastOrdinal, c.Ordinal)
	}
	for i := range d.Columns {
		if d.Columns[i].Ordinal == 0 {
			d.LastOrdinal++
			d.Columns[i].Ordinal = d.LastOrdinal
		}
	}
}

// canonical brings what was read from a server into the form of the catalogue: the
// names of character sets, which changed over time, and the order of keys.
func (d *Definition) canonical() {
	d.Charset, d.Collation = collation.Canonical(d.Charset), collation.Canonical(d.Collation)
	for i := range d.Columns {
		c := &d.Columns[i]
		c.Charset, c.Collation = collation.Canonical(c.Charset), collation.Canonical(c.Collation)
	}
	d.sortKeys()
}

// finish makes the table that is sent; d is immutable from here on.
func (d *Definition) finish(o Options) *Definition {
	d.table, d.err = nil, nil
	if d.Lost != "" {
		d.err = fmt.Errorf("table %s: %w: %s", d.ID, ErrUnknown, d.Lost)
		return d
	}
	t := &schema.Table{ID: d.ID, PrimaryKey: d.rowKey(), Comment: d.Comment, Version: d.Version, SourceID: d.Number}
	for _, c := range d.Columns {
		if c.Hidden || c.Unlogged {
			continue
		}
		sc, err := value.Column(c.Definition, o.Value)
		if err != nil {
			d.err = fmt.Errorf("table %s: %w", d.ID, err)
			return d
		}
		sc.Ordinal = c.Ordinal
		t.Columns = append(t.Columns, sc)
	}
	if err := d.checkSent(t); err != nil {
		d.err = fmt.Errorf("table %s: %w", d.ID, err)
		return d
	}
	t.OmitsUnchanged = o.OmitsUnchanged && t.HasKey()
	d.table = t
	return d
}

// rowKey returns the columns that tell rows apart: those of the primary key, or of
// the first unique key whose columns are NOT NULL and whole, as InnoDB chooses it.
func (d *Definition) rowKey() []string {
	for _, k := range d.Keys {
		if !k.Primary && !d.identifies(k) {
			continue
		}
		names := make([]string, 0, len(k.Parts))
		for _, p := range k.Parts {
			if i := d.column(p.Column); i >= 0 && d.Columns[i].SystemTime == "" {
				names = append(names, d.Columns[i].Name)
			}
		}
		return names
	}
	return nil
}

// identifies reports whether a key can take the place of a primary key.
func (d *Definition) identifies(k Key) bool {
	if !k.Unique || k.Hash {
		return false
	}
	return !slices.ContainsFunc(k.Parts, func(p KeyPart) bool {
		i := d.column(p.Column)
		return i < 0 || d.Columns[i].Nullable || d.Columns[i].Hidden || d.Columns[i].Unlogged || d.Columns[i].Generated == "VIRTUAL" || p.Prefix > 0
	})
}

// hiddenTail returns how many columns MariaDB's log has behind those of the table:
// row_start and row_end, then one for each hash, from least to most. Whether a unique
// key of a geometry has one depends on how the server altered the table.
func (d *Definition) hiddenTail() (least, most int) {
	if d.Versioned && !slices.ContainsFunc(d.Columns, func(c Column) bool { return c.SystemTime != "" }) {
		least = 2
	}
	most = least
	for _, k := range d.Keys {
		switch {
		case k.Unique && d.ofGeometry(k):
			most++
		case k.Hash:
			least, most = least+1, most+1
		}
	}
	return least, most
}

// ofGeometry reports whether a key has a geometry in it.
func (d *Definition) ofGeometry(k Key) bool {
	return slices.ContainsFunc(k.Parts, func(p KeyPart) bool {
		i := d.column(p.Column)
		if i < 0 {
			return false
		}
		name, _ := splitType(d.Columns[i].ColumnType)
		return isSpatial(name)
	})
}
