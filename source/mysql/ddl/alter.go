package ddl

import (
	"fmt"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// alteration makes a table's next definition. As at the server, names on the left
// side of a part are those of the old table, and the parts take effect by kind, not
// in their order: drops, changes and additions of columns, then keys.
type alteration struct {
	resolver
	old, d *Definition
	// base is the default character set behind the statement, parent that of the
	// table's database, session that of the session's, which is what DEFAULT means
	// to MySQL's CONVERT TO.
	base, parent, session charsetPair
	// convert is where CONVERT TO CHARACTER SET leads.
	convert *charsetPair
}

// alter returns the definition behind an ALTER TABLE, without its version.
func (r resolver) alter(old *Definition, s *syntax.AlterTable, parent, session charsetPair) (*Definition, error) {
	parts := s.Parts
	if r.o.MariaDB {
		parts = withoutNeedless(old, parts)
	}
	a := &alteration{resolver: r, old: old, d: old.clone(), parent: parent, session: session, base: charsetPair{old.Charset, old.Collation}}
	steps := []func([]syntax.AlterPart) error{a.options, a.columns, a.attributes, a.place, a.versioning, a.keys}
	for _, step := range steps {
		if err := step(parts); err != nil {
			return nil, err
		}
	}
	return a.d, nil
}

// options finds the defaults of the columns that the statement defines.
func (a *alteration) options(parts []syntax.AlterPart) error {
	for _, p := range parts {
		switch p.Kind {
		case syntax.SetOptions:
			base, err := a.pair(p.Options.Charset, p.Options.Collation, a.base, a.parent)
			if err != nil {
				return err
			}
			a.base = base
			if p.Options.Comment != nil {
				a.d.Comment = *p.Options.Comment
			}
			a.d.Versioned = a.d.Versioned || p.Options.SystemVersioning
		case syntax.ConvertCharset:
			parent := a.session
			if a.o.MariaDB {
				parent = a.parent
			}
			to, err := a.pair(p.Options.Charset, p.Options.Collation, a.base, parent)
			if err != nil {
				return err
			}
			a.base, a.convert = to, &to
		}
	}
	a.d.Charset, a.d.Collation = a.base.charset, a.base.collation
	return nil
}

// attributes changes columns that are not defined anew: default, visibility, name.
func (a *alteration) attributes(parts []syntax.AlterPart) error {
	renames := map[int]string{} // by index in d.Columns: all at once, since names may be swapped
	for _, p := range parts {
		switch p.Kind {
		case syntax.SetDefault, syntax.SetVisible, syntax.SetInvisible, syntax.RenameColumn:
		default:
			continue
		}
		was, err := a.oldColumn(p.Name)
		if err != nil {
			return err
		}
		at := a.d.ordinal(a.old.Columns[was].Ordinal)
		if at < 0 {
			return fmt.Errorf("%w: column %q is dropped too", errDiffers, p.Name)
		}
		c := &a.d.Columns[at]
		switch p.Kind {
		case syntax.SetDefault:
			if c.AutoIncrement && !a.o.MariaDB { // some versions take it and forget it
				continue
			}
			c.Default, c.DefaultIsExpression = p.Column.Default, p.Column.DefaultIsExpression
		case syntax.SetVisible, syntax.SetInvisible:
			c.Invisible = p.Kind == syntax.SetInvisible
		case syntax.RenameColumn:
			renames[at] = p.NewName
		}
	}
	for at, name := range renames {
		a.d.Columns[at].Name = name
	}
	return nil
}

// versioning follows MariaDB's system versioning.
func (a *alteration) versioning(parts []syntax.AlterPart) error {
	for _, p := range parts {
		switch p.Kind {
		case syntax.AddVersioning:
			a.d.Versioned = true
		case syntax.DropVersioning:
			a.d.Versioned = false
		case syntax.AddPeriod:
			a.d.addPeriod(p.Period)
		}
	}
	return nil
}
