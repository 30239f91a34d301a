package debezium

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// SourceTypes returns an Options.SourceType for a table: of the columns whose name one of
// columns is (column.propagate.source.type), database.table.column or
// schema.table.column, and of those whose type one of types is
// (datatype.propagate.source.type), with the type's name at the place of the column's, or of
// table and column. Both are expressions for the whole name, in which case does not count.
func SourceTypes(id schema.TableID, columns, types []string) (func(schema.Column) bool, error) {
	names, err := expressions(columns)
	if err != nil {
		return nil, err
	}
	kinds, err := expressions(types)
	if err != nil || len(names)+len(kinds) == 0 {
		return nil, err
	}
	table := id.Schema + "." + id.Table + "."
	return func(c schema.Column) bool {
		typ := strings.ToUpper(c.Source.Name)
		return matchesAny(names, table+c.Name) || matchesAny(kinds, table+typ) || matchesAny(kinds, id.Schema+"."+typ)
	}, nil
}

func expressions(list []string) (out []*regexp.Regexp, err error) {
	for _, text := range list {
		re, err := regexp.Compile(`(?i)\A(?:` + strings.TrimSpace(text) + `)\z`)
		if err != nil {
			return nil, fmt.Errorf("debezium: expression %q: %w", text, err)
		}
		out = append(out, re)
	}
	return out, nil
}

func matchesAny(list []*regexp.Regexp, name string) bool {
	for _, re := range list {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}
