package table

import (
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/cell"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
)

// Bind returns which column takes each field of a row; where fields and columns differ the
// table changes first. The key's columns stay what they are.
func (t *Table) Bind(s *connect.Schema, at At) (*connect.Binding, error) {
	if b := t.bound[s]; b != nil {
		return b, nil
	}
	if !t.fixed {
		columns, err := s.Columns()
		if err != nil {
			return nil, err
		}
		if err := t.merge(columns, true, at); err != nil {
			return nil, err
		}
	}
	b := connect.Bind(s, func(name string) int {
		_, i := t.Def.Column(name)
		return i
	})
	t.bound[s] = b
	return b, nil
}

// Learn merges the columns of a row that has no schema: those that it lacks mean nothing.
func (t *Table) Learn(s *connect.Schema, at At) error {
	if t.fixed || len(s.Fields) == 0 {
		return nil
	}
	columns, err := s.Columns()
	if err != nil {
		return err
	}
	return t.merge(columns, false, at)
}

// Adopt is Bind for columns that are known otherwise.
func (t *Table) Adopt(columns []schema.Column, at At) error {
	if t.fixed {
		return nil
	}
	return t.merge(columns, true, at)
}

// merge changes the definition so that it takes rows of these columns; whole says that
// columns which are not among them have no values.
func (t *Table) merge(columns []schema.Column, whole bool, at At) error {
	next := t.Def.Clone()
	var altered, added []schema.Column
	for _, c := range columns {
		_, i := next.Column(c.Name)
		if i < 0 {
			c.Nullable = true // the rows before it have none
			added = append(added, c)
			continue
		}
		have := next.Columns[i]
		merged, ok := cell.Merge(have.Type, c.Type)
		if !ok {
			return &ChangeError{Table: t.Def.ID, Column: c.Name, Problem: "it was " + have.Type.String() + " and is " + c.Type.String() + " now",
				Hint: "give the column's type in the option schema"}
		}
		nullable := have.Nullable || c.Nullable && !slices.Contains(t.Def.PrimaryKey, c.Name)
		if !merged.Equal(have.Type) || nullable != have.Nullable {
			next.Columns[i].Type, next.Columns[i].Nullable = merged, nullable
			altered = append(altered, next.Columns[i])
		}
	}
	if whole {
		altered = append(altered, missing(next, columns)...)
	}
	if err := t.apply(schema.ChangeAlterColumn, next, altered, at); err != nil {
		return err
	}
	next = next.Clone()
	next.Columns = append(next.Columns, added...)
	return t.apply(schema.ChangeAddColumn, next, added, at)
}

// missing lets columns that are not among columns be NULL.
func missing(def *schema.Table, columns []schema.Column) (out []schema.Column) {
	for i, c := range def.Columns {
		if c.Nullable || slices.Contains(def.PrimaryKey, c.Name) || slices.ContainsFunc(columns, func(o schema.Column) bool { return o.Name == c.Name }) {
			continue
		}
		def.Columns[i].Nullable = true
		out = append(out, def.Columns[i])
	}
	return out
}

// apply makes next the definition, if columns changed.
func (t *Table) apply(kind schema.ChangeKind, next *schema.Table, columns []schema.Column, at At) error {
	if len(columns) == 0 {
		return nil
	}
	next.Version = t.Def.Version + 1
	err := t.change(&schema.Change{Kind: kind, Before: t.Def, After: next, Columns: columns, Position: at.Position})
	if err != nil {
		return err
	}
	t.define(next)
	return nil
}
