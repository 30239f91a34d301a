package ddl

import (
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// integers are the kinds of integer that a column may go through upwards.
var integers = []schema.Kind{schema.KindTinyInt, schema.KindSmallInt, schema.KindInt, schema.KindBigInt}

// widens reports whether the values of the old column that can be in the new one
// too are, unchanged, values of its type, so that a sink can go on with its table.
func widens(old, c schema.Column) bool {
	from, to := old.Type, c.Type
	switch {
	case from.Equal(to):
		return true
	case slices.Contains(integers, from.Kind):
		return slices.Contains(integers, to.Kind) && slices.Index(integers, to.Kind) > slices.Index(integers, from.Kind)
	case from.Kind == schema.KindFloat:
		return to.Kind == schema.KindDouble
	case from.Kind == schema.KindDecimal:
		return to.Kind == schema.KindDecimal && to.Scale == from.Scale && to.Precision >= from.Precision
	case from.Kind == schema.KindChar:
		return (to.Kind == schema.KindChar || to.Kind == schema.KindVarchar) && to.Length >= from.Length || isText(c)
	case from.Kind == schema.KindVarchar:
		return to.Kind == schema.KindVarchar && to.Length >= from.Length || isText(c)
	case from.Kind == schema.KindBinary:
		return (to.Kind == schema.KindBinary || to.Kind == schema.KindVarbinary) && to.Length >= from.Length || to.Kind == schema.KindBytes
	case from.Kind == schema.KindVarbinary:
		return to.Kind == schema.KindVarbinary && to.Length >= from.Length || to.Kind == schema.KindBytes
	case from.Kind == to.Kind && (from.Kind == schema.KindTime || from.Kind == schema.KindTimestamp || from.Kind == schema.KindTimestampLTZ):
		return to.Precision >= from.Precision
	}
	return false
}

// isText reports whether a column is a text without a length.
func isText(c schema.Column) bool {
	switch c.Source.Name {
	case "tinytext", "text", "mediumtext", "longtext":
		return c.Type.Kind == schema.KindString
	}
	return false
}
