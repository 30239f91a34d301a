package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// evolve finishes next, the definition behind old, and fills f with what changed of
// the table as it is sent. It returns why rows have other values now, if they have.
func (e *edit) evolve(f *Effect, old, next *Definition, rules conversionRules) (reasons []string) {
	next.Version = old.Version
	next.renumberUnlogged(old)
	next.finish(e.o)
	f.Before, f.After = old.table, next.table
	if old.err != nil || next.err != nil {
		if next.err != nil {
			f.Err = e.fail(next.ID, ErrNotEvolvable, next.err.Error(), "exclude the table")
		}
		next.Version++
		next.finish(e.o)
		f.After = next.table
		return nil
	}
	v := &evolution{before: old.table, after: next.table, table: old.table, old: old, next: next, rules: rules, position: e.s.Position}
	for _, step := range []func(){v.drop, v.rename, v.alter, v.add} {
		step()
	}
	keyChanged := !slices.Equal(v.table.PrimaryKey, next.table.PrimaryKey)
	if keyChanged {
		what := fmt.Sprintf("the key went from (%s) to (%s)", strings.Join(v.table.PrimaryKey, ", "), strings.Join(next.table.PrimaryKey, ", "))
		v.problems, v.reasons = append(v.problems, what), append(v.reasons, what)
	}
	if n := len(v.changes); n > 0 || keyChanged || next.table.OmitsUnchanged != old.table.OmitsUnchanged {
		next.Version = old.Version + max(n, 1)
		next.finish(e.o)
		if n > 0 {
			v.changes[n-1].After = next.table
		}
	} else if next.Comment == old.Comment {
		next.table = old.table // nothing that is sent changed
	}
	f.After, f.Changes = next.table, v.changes
	if len(v.problems) > 0 {
		f.Err = e.fail(next.ID, ErrNotEvolvable, strings.Join(v.problems, "; "),
			"only adding, dropping, renaming and widening columns can be followed; change it back, or "+startAgain)
	}
	return v.reasons
}

// evolution derives the changes between two versions of a table. Columns are the
// same where their ordinals are.
type evolution struct {
	before, after *schema.Table
	old, next     *Definition
	rules         conversionRules
	position      uint64

	table    *schema.Table // as changed so far
	changes  []*schema.Change
	problems []string // what can't be followed
	reasons  []string // why rows have other values now
}

// push records a change whose result is next.
func (v *evolution) push(c schema.Change, next *schema.Table) {
	next.Version = v.table.Version + 1
	c.Table, c.Before, c.After, c.Position = v.before.ID, v.table, next, v.position
	v.changes = append(v.changes, &c)
	v.table = next
}

// same returns the index in t of the column with an ordinal, or -1.
func same(t *schema.Table, ordinal int) int {
	return slices.IndexFunc(t.Columns, func(c schema.Column) bool { return c.Ordinal == ordinal })
}

func (v *evolution) drop() {
	next := v.table.Clone()
	next.Columns = nil
	var dropped []schema.Column
	for _, c := range v.table.Columns {
		if same(v.after, c.Ordinal) >= 0 {
			next.Columns = append(next.Columns, c)
			continue
		}
		dropped = append(dropped, c)
		next.PrimaryKey = slices.DeleteFunc(next.PrimaryKey, func(name string) bool { return name == c.Name })
		if slices.Contains(v.before.PrimaryKey, c.Name) {
			what := fmt.Sprintf("key column %s was dropped", c.Name)
			v.problems, v.reasons = append(v.problems, what), append(v.reasons, what)
		}
	}
	if len(dropped) > 0 {
		v.push(schema.Change{Kind: schema.ChangeDropColumn, Columns: dropped}, next)
	}
}

func (v *evolution) rename() {
	next := v.table.Clone()
	renames := map[string]string{}
	for i, c := range v.table.Columns {
		if name := v.after.Columns[same(v.after, c.Ordinal)].Name; name != c.Name {
			renames[c.Name], next.Columns[i].Name = name, name
		}
	}
	for i, name := range next.PrimaryKey {
		if to, ok := renames[name]; ok {
			next.PrimaryKey[i] = to
		}
	}
	if len(renames) > 0 {
		v.push(schema.Change{Kind: schema.ChangeRenameColumn, Renames: renames}, next)
	}
}

// alter takes over the definitions of the columns that go on, and their order.
func (v *evolution) alter() {
	next := v.table.Clone()
	next.Columns = nil
	var altered []schema.Column
	for _, c := range v.after.Columns {
		at := same(v.table, c.Ordinal)
		if at < 0 {
			continue
		}
		old := v.table.Columns[at]
		if !equalColumns(old, c) || at != len(next.Columns) {
			altered = append(altered, c)
		}
		next.Columns = append(next.Columns, c)
		v.convert(old, c)
	}
	if len(altered) > 0 {
		v.push(schema.Change{Kind: schema.ChangeAlterColumn, Columns: altered}, next)
	}
}

// convert judges what became of the values of a column that goes on.
func (v *evolution) convert(old, c schema.Column) {
	from, to := v.old.Columns[v.old.ordinal(c.Ordinal)], v.next.Columns[v.next.ordinal(c.Ordinal)]
	if !widens(old, c) {
		v.problems = append(v.problems, fmt.Sprintf("column %s went from %s (%s) to %s (%s)", c.Name, from.ColumnType, old.Type, to.ColumnType, c.Type))
	}
	if why := v.rules.rewrites(from, to); why != "" {
		v.reasons = append(v.reasons, fmt.Sprintf("column %s: %s", c.Name, why))
	}
}

func (v *evolution) add() {
	next := v.table.Clone()
	var added []schema.Column
	next.Columns = slices.Clone(v.after.Columns)
	for _, c := range v.after.Columns {
		if same(v.table, c.Ordinal) >= 0 {
			continue
		}
		added = append(added, c)
		if v.old.ordinal(c.Ordinal) >= 0 {
			v.reasons = append(v.reasons, fmt.Sprintf("column %s was generated and not captured, and rows that were there keep its values", c.Name))
		} else if why := filled(v.next.Columns[v.next.ordinal(c.Ordinal)]); why != "" {
			v.reasons = append(v.reasons, fmt.Sprintf("column %s was added %s, which rows that were there have without events", c.Name, why))
		}
	}
	if len(added) > 0 {
		v.push(schema.Change{Kind: schema.ChangeAddColumn, Columns: added}, next)
	}
}

// filled says what an added column has in rows that were there, empty for NULL.
func filled(c Column) string {
	switch {
	case c.SystemTime != "":
		return "with the time of a row's version"
	case c.Generated != "":
		return "with generated values"
	case c.AutoIncrement:
		return "with numbers of AUTO_INCREMENT"
	case c.Default != nil:
		return "with a default"
	case !c.Nullable:
		return "NOT NULL"
	}
	return ""
}

// equalColumns reports whether two columns are sent alike.
func equalColumns(a, b schema.Column) bool {
	if (a.Default == nil) != (b.Default == nil) || a.Default != nil && *a.Default != *b.Default {
		return false
	}
	s, t := a.Source, b.Source
	return a.Name == b.Name && a.Type.Equal(b.Type) && a.Nullable == b.Nullable && a.Comment == b.Comment &&
		s.Name == t.Name && s.Length == t.Length && s.Scale == t.Scale && s.Charset == t.Charset && slices.Equal(s.Enum, t.Enum)
}
