package postgres

import (
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// diffTable derives the schema changes between old, the definition in force, and
// m, the one that the log announces at pos. attributes is the table in the
// catalogue, which may be ahead of the log, empty when the table is gone by now;
// types are the types that m refers to, as far as they still exist.
//
// Columns of m come in the order of their numbers, and numbers only grow. So the
// result is exact: a rename is told from a drop and an add, or an error says that
// it can't be. Each change has its own Before and After.
func diffTable(old *schema.Table, m relationMessage, attributes []attribute, types typeCatalog, o textOptions, events bool, pos uint64) ([]*schema.Change, error) {
	d := &tableDiff{old: old, m: m, attributes: attributes, types: types, text: o, events: events, pos: pos, table: old}
	if err := d.number(); err != nil {
		return nil, err
	}
	steps := []func() error{d.drop, d.rename, d.alter, d.add}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if !sameKey(d.table.PrimaryKey, m) {
		if !events {
			return nil, keyChanged(old, pos)
		}
		d.rekey()
	}
	return d.changes, nil
}

type tableDiff struct {
	old        *schema.Table
	m          relationMessage
	attributes []attribute
	types      typeCatalog
	text       textOptions
	events     bool // rows that are there already don't matter
	pos        uint64

	numbers []int         // attnum of each column of m
	table   *schema.Table // as changed so far
	changes []*schema.Change
}

func (d *tableDiff) fail(what, hint string) error {
	return &SchemaChangeError{Table: d.old.ID, Position: d.pos, What: what, Hint: hint}
}

// number finds the attnum of each announced column.
func (d *tableDiff) number() error {
	if d.numberFromCatalog() {
		return nil
	}
	return d.numberFromOrder()
}

// numberFromCatalog works when the catalogue has not moved on: the same live
// columns in the same order.
func (d *tableDiff) numberFromCatalog() bool {
	var live []attribute
	for _, a := range d.attributes {
		if !a.Dropped && !a.Generated {
			live = append(live, a)
		}
	}
	if len(live) != len(d.m.columns) {
		return false
	}
	numbers := make([]int, len(live))
	for i, a := range live {
		if a.Name != d.m.columns[i].name {
			return false
		}
		numbers[i] = a.Num
	}
	d.numbers = numbers
	return true
}

// numberFromOrder aligns the announced columns with the old ones: those with the
// same name and type are the same; what lies between two of these can only be a
// rename; what comes behind all old columns was added, unless no column was ever.
func (d *tableDiff) numberFromOrder() error {
	d.numbers = make([]int, len(d.m.columns))
	cols := d.old.Columns
	next := 0 // first old column that is not accounted for
	for i := 0; i < len(d.m.columns); i++ {
		at := d.sameColumn(i, next)
		if at >= 0 {
			d.numbers[i], next = cols[at].Ordinal, at+1
			continue
		}
		// The run of unknown columns up to the next known one.
		end, known := i, -1
		for ; end < len(d.m.columns); end++ {
			if known = d.sameColumn(end, next); known >= 0 {
				break
			}
		}
		free := len(cols) - next
		if known >= 0 {
			free = known - next
		}
		if err := d.numberRun(i, end, next, free, known < 0); err != nil {
			return err
		}
		next += free
		i = end - 1
	}
	return nil
}

// sameColumn finds the old column, from the given one on, that column i of the
// message continues by name, -1 for none.
func (d *tableDiff) sameColumn(i, from int) int {
	for at := from; at < len(d.old.Columns); at++ {
		if d.old.Columns[at].Name == d.m.columns[i].name {
			return at
		}
	}
	return -1
}

// numberRun numbers the announced columns [start, end), which have names that
// the old table does not have behind old column next-1; free old columns lie there.
func (d *tableDiff) numberRun(start, end, next, free int, tail bool) error {
	ambiguous := d.fail(fmt.Sprintf("column %q is new, and the table has changed again since, so that it can't be told whether it was renamed or added", d.m.columns[start].name),
		"change a table in one statement at a time while the pipeline follows, or start a new pipeline for the table")
	run := end - start
	last := 0
	if n := len(d.old.Columns); n > 0 {
		last = d.old.Columns[n-1].Ordinal
	}
	for i := start; i < end; i++ {
		num := d.catalogNumber(d.m.columns[i].name)
		switch {
		case num > last && tail:
			d.numbers[i] = num
		case num > 0 && slices.ContainsFunc(d.old.Columns[next:next+free], func(c schema.Column) bool { return c.Ordinal == num }):
			d.numbers[i] = num
		case !tail && run == free, tail && run == free && d.neverAdded(last):
			d.numbers[i] = d.old.Columns[next+i-start].Ordinal
		case tail && free == 0 && len(d.numbersAbove(last)) == run:
			d.numbers[i] = d.numbersAbove(last)[i-start]
		default:
			return ambiguous
		}
	}
	return nil
}

// catalogNumber returns the attnum that a live column of that name has by now, 0 for none.
func (d *tableDiff) catalogNumber(name string) int {
	for _, a := range d.attributes {
		if a.Name == name && !a.Dropped {
			return a.Num
		}
	}
	return 0
}

// numbersAbove lists the numbers of the columns, dropped ones included, above last.
func (d *tableDiff) numbersAbove(last int) []int {
	var out []int
	for _, a := range d.attributes {
		if a.Num > last && !a.Generated {
			out = append(out, a.Num)
		}
	}
	return out
}

// neverAdded reports whether no column has a number above last, not even a dropped one.
func (d *tableDiff) neverAdded(last int) bool {
	return len(d.attributes) > 0 && d.attributes[len(d.attributes)-1].Num <= last
}

func (d *tableDiff) attribute(num int) (attribute, bool) {
	for _, a := range d.attributes {
		if a.Num == num && !a.Dropped {
			return a, true
		}
	}
	return attribute{}, false
}

// push records a change whose result is next.
// rekey gives the table the key of the message.
func (d *tableDiff) rekey() {
	next := d.table.Clone()
	next.PrimaryKey = nil
	for _, c := range d.m.columns {
		if c.key {
			next.PrimaryKey = append(next.PrimaryKey, c.name)
		}
	}
	d.push(schema.Change{Kind: schema.ChangeAlterColumn}, next)
}

func (d *tableDiff) push(c schema.Change, next *schema.Table) {
	next.Version = d.table.Version + 1
	c.Table, c.Before, c.After, c.Position = d.old.ID, d.table, next, d.pos
	d.changes = append(d.changes, &c)
	d.table = next
}

func (d *tableDiff) drop() error {
	var dropped []schema.Column
	next := d.table.Clone()
	next.Columns = nil
	for _, c := range d.table.Columns {
		if slices.Contains(d.numbers, c.Ordinal) {
			next.Columns = append(next.Columns, c)
			continue
		}
		if slices.Contains(d.table.PrimaryKey, c.Name) {
			return d.fail(fmt.Sprintf("key column %q was dropped", c.Name), "start a new pipeline for the table: its rows can't be told apart as before")
		}
		dropped = append(dropped, c)
	}
	if len(dropped) > 0 {
		d.push(schema.Change{Kind: schema.ChangeDropColumn, Columns: dropped}, next)
	}
	return nil
}

func (d *tableDiff) rename() error {
	next := d.table.Clone()
	renames := map[string]string{}
	for i, c := range next.Columns {
		if name := d.m.columns[i].name; name != c.Name {
			renames[c.Name] = name
			next.Columns[i].Name = name
			for k, key := range d.table.PrimaryKey {
				if key == c.Name {
					next.PrimaryKey[k] = name
				}
			}
		}
	}
	if len(renames) > 0 {
		d.push(schema.Change{Kind: schema.ChangeRenameColumn, Renames: renames}, next)
	}
	return nil
}

// columnType returns the type of an announced column; old is the column that it
// continues, if any.
func (d *tableDiff) columnType(i int, old *schema.Column) (schema.Type, schema.SourceType) {
	c := d.m.columns[i]
	if old != nil && old.Source.OID == c.oid && old.Source.Modifier == c.mod {
		return old.Type, old.Source
	}
	dims := 0
	if a, ok := d.attribute(d.numbers[i]); ok {
		dims = a.Dims
	} else if old != nil {
		for t := &old.Type; t.Kind == schema.KindArray; t = t.Elem {
			dims++
		}
	}
	return d.types.column(c.oid, c.mod, dims, d.text)
}

func (d *tableDiff) alter() error {
	next := d.table.Clone()
	var altered []schema.Column
	for i := range next.Columns {
		old := next.Columns[i]
		typ, src := d.columnType(i, &old)
		if old.Source.OID == src.OID && old.Source.Modifier == src.Modifier {
			continue
		}
		if !widens(old, typ, src) {
			return d.fail(fmt.Sprintf("column %q changed its type from %s (%s) to %s (%s)", old.Name, old.Source.Name, old.Type, src.Name, typ),
				"only widening can be followed (integers, float to double, numeric with more digits of the same scale, longer varchar, text); change it back, or start a new pipeline for the table")
		}
		next.Columns[i].Type, next.Columns[i].Source = typ, src
		altered = append(altered, next.Columns[i])
	}
	if len(altered) > 0 {
		d.push(schema.Change{Kind: schema.ChangeAlterColumn, Columns: altered}, next)
	}
	return nil
}

func (d *tableDiff) add() error {
	have := len(d.table.Columns)
	next := d.table.Clone()
	var added []schema.Column
	for i := have; i < len(d.m.columns); i++ {
		typ, src := d.columnType(i, nil)
		c := schema.Column{Name: d.m.columns[i].name, Type: typ, Nullable: true, Source: src, Ordinal: d.numbers[i]}
		if a, ok := d.attribute(c.Ordinal); ok {
			if d.events {
				c.Nullable, c.Default = !a.NotNull, a.Default
			} else if a.Missing || a.Default != nil || a.Identity {
				return d.fail(fmt.Sprintf("column %q was added with a default, which fills rows without events", c.Name),
					"add columns without a default and set the default in a statement afterwards once the column has been seen; for this table start a new pipeline")
			}
			c.Comment = a.Comment
		}
		next.Columns = append(next.Columns, c)
		added = append(added, c)
	}
	if len(added) > 0 {
		d.push(schema.Change{Kind: schema.ChangeAddColumn, Columns: added}, next)
	}
	return nil
}

// widens reports whether every value of the old column is, unchanged, a value of
// the new type.
func widens(old schema.Column, typ schema.Type, src schema.SourceType) bool {
	from := old.Type
	switch {
	case from.Equal(typ) && old.Source.Name == src.Name: // a domain and its base
		return true
	case from.Kind == schema.KindSmallInt:
		return typ.Kind == schema.KindInt || isBigInt(typ, src)
	case from.Kind == schema.KindInt:
		return isBigInt(typ, src)
	case from.Kind == schema.KindFloat:
		return typ.Kind == schema.KindDouble
	case from.Kind == schema.KindDecimal && old.Source.Name == "numeric":
		return typ.Kind == schema.KindDecimal && src.Name == "numeric" && typ.Scale == from.Scale && typ.Precision >= from.Precision
	case from.Kind == typ.Kind && (from.Kind == schema.KindTime || from.Kind == schema.KindTimestamp || from.Kind == schema.KindTimestampLTZ || from.Kind == schema.KindTimeTZ):
		return typ.Precision >= from.Precision
	case old.Source.Name == "varchar" && src.Name == "varchar":
		return typ.Kind == schema.KindString || from.Kind == schema.KindVarchar && typ.Length >= from.Length
	case old.Source.Name == "varchar" || old.Source.Name == "text" || old.Source.Name == "citext":
		return typ.Kind == schema.KindString && (src.Name == "varchar" || src.Name == "text" || src.Name == "citext")
	case len(old.Source.Enum) > 0: // labels are their own text
		return typ.Kind == schema.KindString && (len(src.Enum) > 0 || src.Name == "text" || src.Name == "varchar")
	}
	return false
}

func isBigInt(t schema.Type, src schema.SourceType) bool {
	return t.Kind == schema.KindBigInt && src.Name == "int8"
}
