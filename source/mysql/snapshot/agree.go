package snapshot

import (
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// The number of the binary collation, and that of DECIMAL among the types.
const (
	binaryCollation = 63
	typeDecimal     = 246
)

// agree compares what the server says of a result with the definition of the table
// that it was asked for. It finds what would be misread. What no result tells, such
// as the labels of an ENUM, the log tells before the chunk enters: its change lies
// before the chunk's High.
func agree(t *schema.Table, definitions []wire.ColumnDefinition) error {
	if len(definitions) != len(t.Columns) {
		return fmt.Errorf("%w: %d columns where %d were asked for", ErrStale, len(definitions), len(t.Columns))
	}
	for i, c := range t.Columns {
		if what := differs(c, definitions[i]); what != "" {
			return fmt.Errorf("%w: column %s is not %s: %s", ErrStale, c.Name, c.Source.Name, what)
		}
	}
	return nil
}

// differs says in what a result column differs from its definition, empty for nothing.
// That an integer stays an integer of its size, a time a time, value.NewBinaryReader sees to.
func differs(c schema.Column, d wire.ColumnDefinition) string {
	plain := value.SelectExpression(c) == wire.Ident(c.Name)
	if plain && !strings.EqualFold(d.Name, c.Name) {
		return "the result names it " + d.Name
	}
	base, _, _ := strings.Cut(c.Source.Name, " ")
	switch base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		if unsigned := strings.Contains(c.Source.Name, " unsigned"); unsigned != d.Unsigned() {
			return fmt.Sprintf("unsigned is %t", d.Unsigned())
		}
	case "decimal":
		if d.Type != typeDecimal || int(d.Decimals) != c.Type.Scale {
			return fmt.Sprintf("type %d with %d decimals", d.Type, d.Decimals)
		}
	case "time", "datetime", "timestamp":
		if int(d.Decimals) != max(c.Source.Length, 0) {
			return fmt.Sprintf("%d decimals of a second", d.Decimals)
		}
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		if binary := c.Source.Charset == "binary" || !plain; binary != (d.Charset == binaryCollation) {
			return fmt.Sprintf("collation %d", d.Charset)
		}
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		if d.Charset != binaryCollation {
			return fmt.Sprintf("collation %d", d.Charset)
		}
	}
	return ""
}
