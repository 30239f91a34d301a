package ddl

import (
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// columns makes the list of the old columns. place moves some of them and adds the
// new ones, in the order of the statement, as the server does.
func (a *alteration) columns(parts []syntax.AlterPart) error {
	dropped := map[int]bool{}
	changed := map[int]*syntax.AlterPart{} // by index in old.Columns
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case syntax.DropColumn, syntax.ModifyColumn, syntax.ChangeColumn:
			at, err := a.oldColumn(p.Name)
			if err != nil {
				return err
			}
			if p.Kind == syntax.DropColumn {
				dropped[at] = true
			} else {
				changed[at] = p
			}
		}
	}
	a.d.Columns = nil
	for i, c := range a.old.Columns {
		p := changed[i]
		switch {
		case dropped[i]:
		case p == nil:
			if a.convert != nil {
				a.resolver.convert(&c.Definition, *a.convert, true)
			}
			a.d.Columns = append(a.d.Columns, c)
		default:
			n, err := a.defined(p, c.Ordinal)
			if err != nil {
				return err
			}
			a.d.Columns = append(a.d.Columns, n)
		}
	}
	return nil
}

// place inserts the columns that are new or get another place.
func (a *alteration) place(parts []syntax.AlterPart) error {
	for i := range parts {
		p := &parts[i]
		var c Column
		switch p.Kind {
		case syntax.AddColumn:
			a.d.LastOrdinal++
			var err error
			if c, err = a.defined(p, a.d.LastOrdinal); err != nil {
				return err
			}
		case syntax.ModifyColumn, syntax.ChangeColumn:
			if p.Place == (syntax.Place{}) {
				continue
			}
			at := a.d.ordinal(a.old.Columns[a.old.column(p.Name)].Ordinal)
			if at < 0 {
				return fmt.Errorf("%w: column %q is dropped too", errDiffers, p.Name)
			}
			c = a.d.Columns[at]
			a.d.Columns = slices.Delete(a.d.Columns, at, at+1)
		default:
			continue
		}
		at := len(a.d.Columns)
		switch {
		case p.Place.First:
			at = 0
		case p.Place.After != "":
			after := a.d.column(p.Place.After)
			if after < 0 {
				return fmt.Errorf("%w: it has no column %q to put another one behind", errDiffers, p.Place.After)
			}
			at = after + 1
		}
		a.d.Columns = slices.Insert(a.d.Columns, at, c)
	}
	for i, c := range a.d.Columns {
		if a.d.column(c.Name) != i {
			return fmt.Errorf("%w: it has a column %q already", errDiffers, c.Name)
		}
	}
	return nil
}

// defined returns the column that a part defines.
func (a *alteration) defined(p *syntax.AlterPart, ordinal int) (Column, error) {
	declared := p.Column
	if a.convert != nil && a.convert.charset == "binary" {
		declared.Type.Charset, declared.Type.Collation, declared.Type.Binary = "binary", "", false
	}
	c, err := a.column(declared, a.base, a.parent)
	if err != nil {
		return c, fmt.Errorf("column %s: %w", p.Column.Name, err)
	}
	if a.convert != nil {
		a.resolver.convert(&c.Definition, a.converted(p.Column.Type), false)
		if at := a.old.ordinal(ordinal); at >= 0 && !a.o.MariaDB && resized(p.Column.Type) {
			refit(&c.Definition, a.old.Columns[at].Definition)
		}
	}
	c.Ordinal = ordinal
	a.d.Versioned = a.d.Versioned || p.Column.Versioned
	return c, nil
}

// resized reports whether MySQL gives a text or blob another size where the statement
// converts the character set: one without a length that is not the longest.
func resized(t syntax.Type) bool { return t.Length < 0 && t.Name != "longtext" && t.Name != "longblob" }

// converted returns what CONVERT TO makes of a column that the same statement
// defines: the attribute BINARY and MariaDB's short names of collations fit any
// character set and stay, others don't.
func (a *alteration) converted(t syntax.Type) charsetPair {
	to := *a.convert
	name := collation.Canonical(t.Collation)
	switch {
	case to.charset == "binary":
	case name != "" && name != "default" && collation.Charset(name) == "":
		to.collation = to.charset + "_" + name
	case name == "" && t.Binary:
		to.collation = to.charset + "_bin"
	}
	return to
}

func (a *alteration) oldColumn(name string) (int, error) {
	at := a.old.column(name)
	if at < 0 {
		return at, fmt.Errorf("%w: it has no column %q", errDiffers, name)
	}
	return at, nil
}
