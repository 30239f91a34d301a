package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// maxName is the longest name of a table, in characters.
const maxName = 64

// isShadow reports whether from is the name of the table that an online schema
// change made to take the place of id: _t_gho (gh-ost, whose names are cut to the
// longest that can be), or _t_new with one underscore or more before it
// (pt-online-schema-change, Spirit).
func isShadow(id, from schema.TableID) bool {
	if id.Schema != from.Schema || !strings.HasPrefix(from.Table, "_") {
		return false
	}
	if name, ok := strings.CutSuffix(from.Table[1:], "_gho"); ok {
		return name == id.Table || len([]rune(from.Table)) == maxName && strings.HasPrefix(id.Table, name)
	}
	name, ok := strings.CutSuffix(from.Table, "_new")
	underscores := len(name) - len(id.Table)
	return ok && underscores > 0 && name == strings.Repeat("_", underscores)+id.Table
}

// continued returns the definition next as the one that follows old under old's
// name: with its number, and with its ordinals for the columns that go on. These are
// the ones of the same name, by which rows are copied, and those that were renamed
// since next was made by CREATE TABLE ... LIKE.
func continued(old, next *Definition) *Definition {
	d := next.clone()
	d.ID, d.Number, d.Like, d.LikeOrdinal, d.LastOrdinal = old.ID, old.Number, 0, 0, old.LastOrdinal
	ordinals := oldOrdinals(old, next)
	hidden := map[string]string{}
	for i := range d.Columns {
		c := &d.Columns[i]
		if c.Ordinal = ordinals[i]; c.Ordinal == 0 {
			d.LastOrdinal++
			c.Ordinal = d.LastOrdinal
		}
		if c.Hidden {
			name := fmt.Sprintf("!%d", c.Ordinal)
			hidden[c.Name], c.Name = name, name
		}
	}
	for i := range d.Keys {
		for j, p := range d.Keys[i].Parts {
			if name, ok := hidden[p.Column]; ok {
				d.Keys[i].Parts[j].Column = name
			}
		}
	}
	return d
}

// oldOrdinals returns the ordinals in old of the columns of next, 0 for those that are new.
func oldOrdinals(old, next *Definition) []int {
	out := make([]int, len(next.Columns))
	for i, c := range next.Columns {
		if at := old.column(c.Name); at >= 0 && !c.Hidden {
			out[i] = old.Columns[at].Ordinal
		}
	}
	for i, c := range next.Columns {
		if out[i] == 0 && !c.Hidden && copiedColumn(old, next, c) && !slices.Contains(out, c.Ordinal) {
			out[i] = c.Ordinal
		}
	}
	return out
}

// copiedColumn reports whether a column of next came from one of old by CREATE TABLE ... LIKE.
func copiedColumn(old, next *Definition, c Column) bool {
	return next.Like == old.Number && c.Ordinal <= next.LikeOrdinal && old.ordinal(c.Ordinal) >= 0
}

// shadowReasons says what an online schema change may have done to rows beside
// what an ALTER TABLE does: it copies with INSERT IGNORE, and by names.
func shadowReasons(changes []*schema.Change, old, shadow, next *Definition) []string {
	var out []string
	var dropped, added []string
	for _, c := range changes {
		switch c.Kind {
		case schema.ChangeRenameColumn:
			for from, to := range c.Renames {
				out = append(out, fmt.Sprintf("whether the values of column %s were copied to %s can't be told", from, to))
			}
		case schema.ChangeDropColumn:
			dropped = columnNames(c.Columns)
		case schema.ChangeAddColumn:
			added = columnNames(c.Columns)
		}
	}
	slices.Sort(out)
	for _, c := range shadow.Columns {
		if at := old.column(c.Name); at >= 0 && copiedColumn(old, shadow, c) && old.Columns[at].Ordinal != c.Ordinal {
			out = append(out, fmt.Sprintf("column %s may have the values of what was another one", c.Name))
		}
	}
	if len(dropped) > 0 && len(added) > 0 {
		out = append(out, fmt.Sprintf("column %s may be what column %s was", strings.Join(added, ", "), strings.Join(dropped, ", ")))
	}
	for _, k := range next.Keys {
		if k.Unique && !slices.ContainsFunc(old.Keys, func(o Key) bool { return o.Unique && sameParts(old, o, next, k) }) {
			out = append(out, fmt.Sprintf("rows that the unique key %s does not allow were left out", k.Name))
		}
	}
	return out
}

func columnNames(columns []schema.Column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return out
}

// sameParts reports whether keys of two definitions are of the same columns.
func sameParts(old *Definition, a Key, next *Definition, b Key) bool {
	return slices.EqualFunc(a.Parts, b.Parts, func(p, q KeyPart) bool {
		i, j := old.column(p.Column), next.column(q.Column)
		return p.Prefix == q.Prefix && i >= 0 && j >= 0 && old.Columns[i].Ordinal == next.Columns[j].Ordinal
	})
}

func joinReasons(reasons []string) string { return strings.Join(reasons, "; ") }
