package value

import (
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// SelectExpression is how a SELECT asks for a column, so that [NewTextReader] reads
// the very value that the binlog has:
//
//   - FLOAT, and DOUBLE(m,d), as a double, because the server prints six digits of the
//     one and d decimals of the other;
//   - text in another character set than utf8mb4 as its own bytes, because the
//     server turns what it can't convert into '?'.
//
// Everything else is the column itself. Its name is in it, so invisible columns come too.
func SelectExpression(c schema.Column) string {
	name := "`" + strings.ReplaceAll(c.Name, "`", "``") + "`"
	base := baseName(c.Source.Name)
	switch {
	case base == "float", base == "double" && c.Source.Length >= 0:
		return name + " * 1e0"
	case isText(base) && c.Source.Charset != "utf8mb4" && c.Source.Charset != "binary":
		return "CAST(" + name + " AS BINARY)"
	}
	return name
}
