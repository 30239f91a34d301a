package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// keys makes the keys: the old ones without what was dropped, then the new ones.
func (a *alteration) keys(parts []syntax.AlterPart) error {
	var declared []syntax.Key
	gone := map[int]bool{}
	renames := map[int]string{}
	for _, p := range parts {
		var name string
		switch p.Kind {
		case syntax.AddKey:
			if p.Key.OrReplace {
				if i := a.old.keyNamed(p.Key.Name); i >= 0 {
					gone[i] = true
				}
			}
			declared = append(declared, p.Key)
			continue
		case syntax.DropKey, syntax.RenameKey, syntax.DropConstraint:
			name = p.Name
		case syntax.DropPrimaryKey:
			name = primaryName
		default:
			continue
		}
		at := a.old.keyNamed(name)
		switch {
		case at < 0 && p.Kind == syntax.DropConstraint: // a foreign key or a check
		case at < 0 && p.Kind != syntax.DropPrimaryKey && a.old.keyNamed(primaryName) >= 0:
			// One for a foreign key, maybe. It can't be what tells rows apart.
		case at < 0:
			return fmt.Errorf("%w: it has no key %q", errDiffers, name)
		case p.Kind == syntax.RenameKey:
			renames[at] = p.NewName
		case p.Kind != syntax.DropConstraint || a.old.Keys[at].Unique:
			gone[at] = true
		}
	}
	var old []Key
	for i, k := range a.old.Keys {
		if name, ok := renames[i]; ok {
			k.Name, k.Generated = name, false
		}
		if k = a.keptKey(k); !gone[i] && len(k.Parts) > 0 {
			old = append(old, k)
		}
	}
	err := a.setKeys(a.d, old, declared)
	a.d.dropHidden()
	return err
}

// keptKey returns an old key with the names and lengths that its columns have by
// now, without those that are gone. As at the server, a new column takes the place of
// one of its name that is dropped in the same statement, with as many bytes in the key.
func (a *alteration) keptKey(k Key) Key {
	parts := k.Parts
	k.Parts = nil
	for _, p := range parts {
		if p.Column == "" {
			k.Parts = append(k.Parts, p)
			continue
		}
		at := slices.IndexFunc(a.d.Columns, func(c Column) bool {
			if was := a.old.ordinal(c.Ordinal); was >= 0 {
				return sameName(a.old.Columns[was].Name, p.Column)
			}
			return sameName(c.Name, p.Column)
		})
		if at < 0 {
			continue
		}
		c := a.d.Columns[at]
		if was := a.old.Columns[a.old.column(p.Column)]; was.Ordinal != c.Ordinal || a.keepsBytes(was) {
			p.Prefix, _ = partBytes(was, p.Prefix)
			p.Prefix /= collation.MaxLen(was.Charset)
		}
		p.Column, p.Prefix = c.Name, wholePrefix(c, p.Prefix)
		k.Parts = append(k.Parts, p)
	}
	return k
}

// hasPrefix reports whether a key can be of the beginning of a column only.
func hasPrefix(name string) bool {
	return strings.HasSuffix(name, "char") || strings.HasSuffix(name, "binary") || strings.HasSuffix(name, "text") || strings.HasSuffix(name, "blob")
}
