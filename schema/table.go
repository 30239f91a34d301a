package schema

import "slices"

// SourceType is the type of a column as its database has it, kept beside the
// [Type] because formats such as Debezium's print it.
type SourceType struct {
	// Name is the server's own name, for instance numeric or bigint unsigned.
	Name string
	// Length and Scale are the declared modifiers, -1 where there are none.
	Length, Scale int
	// OID is the type's object id (PostgreSQL), else 0.
	OID uint32
	// Modifier is PostgreSQL's atttypmod, -1 where there is none.
	Modifier int32
	// Charset is the character set (MySQL, MariaDB).
	Charset string
	// Enum are the labels of an ENUM or SET, in order.
	Enum []string
}

// Column is one column of a [Table].
type Column struct {
	Name     string
	Type     Type
	Nullable bool
	Comment  string
	// Default is the default expression as the server prints it, nil for none.
	Default *string
	// DefaultIsExpression says that Default is no literal but is computed for each row,
	// where the server tells the two apart by more than the text (MySQL, MariaDB).
	DefaultIsExpression bool
	// Source is the column's type at its database.
	Source SourceType
	// Ordinal identifies the column at its source across renames (PostgreSQL's
	// attnum; 0 where the source has no such number).
	Ordinal int
}

// Table is one version of a table's definition. It is immutable once shared: a
// change makes a new Table.
type Table struct {
	ID      TableID
	Columns []Column
	// PrimaryKey names the key columns in key order; empty for a table without
	// a key. Where PostgreSQL's replica identity is an index, its columns.
	PrimaryKey []string
	// UniqueKey names the columns of a unique index that are never NULL, of a table
	// without a key whose source knows one. Changes are not split by it.
	UniqueKey []string
	Comment   string
	// Version counts the schema versions of the table in this pipeline, from 1.
	Version int
	// SourceID identifies the table at its source across renames (PostgreSQL's
	// pg_class oid; 0 where the source has no such number).
	SourceID uint64
	// OmitsUnchanged says that updates of this table may leave out column
	// values that did not change (PostgreSQL's TOAST without REPLICA IDENTITY
	// FULL): a sink must then be able to find the old value, see Batch.Unchanged.
	OmitsUnchanged bool
}

// Column returns the column called name and its index, or -1.
func (t *Table) Column(name string) (Column, int) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return Column{}, -1
	}
	return t.Columns[i], i
}

// KeyIndexes returns the indexes of the key columns in key order.
func (t *Table) KeyIndexes() []int {
	out := make([]int, 0, len(t.PrimaryKey))
	for _, name := range t.PrimaryKey {
		if _, i := t.Column(name); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// HasKey reports whether rows of the table can be told apart by a key.
func (t *Table) HasKey() bool { return len(t.PrimaryKey) > 0 }

// Clone returns a copy whose slices may be changed.
func (t *Table) Clone() *Table {
	u := *t
	u.Columns = slices.Clone(t.Columns)
	u.PrimaryKey, u.UniqueKey = slices.Clone(t.PrimaryKey), slices.Clone(t.UniqueKey)
	return &u
}

// WithID returns the same definition under another name.
func (t *Table) WithID(id TableID) *Table {
	u := *t
	u.ID = id
	return &u
}
