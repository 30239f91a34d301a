package ddl

import (
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// withoutNeedless removes the parts that MariaDB passes over because of their IF
// EXISTS or IF NOT EXISTS: it looks at the table as it was, and at the parts before.
func withoutNeedless(old *Definition, parts []syntax.AlterPart) []syntax.AlterPart {
	var out []syntax.AlterPart
	for _, p := range parts {
		if !p.IfExists || !needless(old, out, p) {
			out = append(out, p)
		}
	}
	return out
}

func needless(old *Definition, before []syntax.AlterPart, p syntax.AlterPart) bool {
	twice := func(same func(q syntax.AlterPart) bool) bool { return slices.ContainsFunc(before, same) }
	switch p.Kind {
	case syntax.AddColumn:
		return old.column(p.Column.Name) >= 0 || twice(func(q syntax.AlterPart) bool {
			return q.Kind == syntax.AddColumn && sameName(q.Column.Name, p.Column.Name)
		})
	case syntax.DropColumn:
		return old.column(p.Name) < 0 || twice(func(q syntax.AlterPart) bool { return q.Kind == syntax.DropColumn && sameName(q.Name, p.Name) })
	case syntax.ModifyColumn, syntax.ChangeColumn, syntax.SetDefault, syntax.RenameColumn:
		return old.column(p.Name) < 0
	case syntax.DropKey, syntax.RenameKey:
		return old.keyNamed(p.Name) < 0 || twice(func(q syntax.AlterPart) bool { return q.Kind == p.Kind && sameName(q.Name, p.Name) })
	case syntax.DropPrimaryKey:
		return old.keyNamed(primaryName) < 0
	case syntax.AddKey:
		name := declaredName(p.Key)
		return old.keyNamed(name) >= 0 || twice(func(q syntax.AlterPart) bool {
			return q.Kind == syntax.AddKey && strings.EqualFold(declaredName(q.Key), name)
		})
	}
	return false
}

// declaredName is the name by which MariaDB looks for a key that may be there.
func declaredName(k syntax.Key) string {
	switch {
	case k.Kind == syntax.PrimaryKey:
		return primaryName
	case k.Name != "":
		return k.Name
	case k.Symbol != "" && k.Kind != syntax.Index:
		return k.Symbol
	}
	return k.Parts[0].Column
}
