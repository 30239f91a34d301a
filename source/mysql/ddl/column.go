package ddl

import (
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// compressed is how MariaDB prints the attribute COMPRESSED in a column's type.
const compressed = " /*M!100301 COMPRESSED*/"

// column makes a column as declared, without an ordinal. base is the table's
// default character set, parent that of the database.
func (r resolver) column(sc syntax.Column, base, parent charsetPair) (Column, error) {
	c := Column{
		Definition: value.Definition{Name: sc.Name, Nullable: !sc.NotNull, Comment: sc.Comment, Default: sc.Default,
			DefaultIsExpression: sc.DefaultIsExpression, Generated: sc.Generated, Invisible: sc.Invisible},
		AutoIncrement: sc.AutoIncrement, Expression: sc.Expression,
	}
	if err := r.apply(sc.Type, base, parent, &c.Definition); err != nil {
		return c, err
	}
	if sc.Compressed {
		c.ColumnType += compressed
	}
	switch {
	case sc.RowStart:
		c.SystemTime = "START"
	case sc.RowEnd:
		c.SystemTime = "END"
	}
	if name, _ := splitType(c.ColumnType); name == "timestamp" && r.s.ImplicitTimestamps && !sc.Null && sc.Generated == "" {
		c.Nullable = false
	}
	c.Unlogged = r.o.unlogged(c)
	return c, nil
}
