package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
)

// conversionRules say how the server treats values that don't fit.
type conversionRules struct {
	// strict: they make the statement fail, so what was executed found none.
	strict bool
	// keepsZero: an AUTO_INCREMENT column may hold 0 (NO_AUTO_VALUE_ON_ZERO).
	keepsZero bool
}

// rewrites says how values of a column may have become others, empty when each
// is the same as it was.
func (r conversionRules) rewrites(from, to Column) string {
	switch {
	case to.Generated != "" && (from.Generated == "" || from.Expression != "" && to.Expression != "" && plainExpression(from.Expression) != plainExpression(to.Expression)):
		return "its generated values are others"
	case from.Nullable && !to.Nullable && !r.strict:
		return "NULL became a value"
	case to.AutoIncrement && !from.AutoIncrement && !r.keepsZero:
		return "0 became a number of AUTO_INCREMENT"
	case from.ColumnType == to.ColumnType && from.Charset == to.Charset:
		return ""
	}
	f, t := takeApart(from.ColumnType), takeApart(to.ColumnType)
	if !r.keeps(f, t) || !r.transcodes(from.Charset, to.Charset) {
		return fmt.Sprintf("values may have changed from %s to %s", from.ColumnType, to.ColumnType)
	}
	return ""
}

// plainExpression makes expressions comparable: the server prints them with quotes
// and parentheses that nobody wrote.
func plainExpression(s string) string {
	return strings.ToLower(strings.NewReplacer("`", "", " ", "", "(", "", ")", "", "\n", "", "\t", "").Replace(s))
}

// apart is a column type taken apart.
type apart struct {
	name     string
	labels   []string // of an ENUM or SET
	unsigned bool
	length   int // the first number in parentheses, 0 for none
	scale    int // the second, -1 for none
}

// families group the types whose conversions into each other are known.
var families = map[string]string{
	"tinyint": "integer", "smallint": "integer", "mediumint": "integer", "int": "integer", "bigint": "integer", "year": "integer",
	"float": "float", "double": "float", "decimal": "decimal", "bit": "bit",
	"char": "text", "varchar": "text", "tinytext": "text", "text": "text", "mediumtext": "text", "longtext": "text",
	"binary": "bytes", "varbinary": "bytes", "tinyblob": "bytes", "blob": "bytes", "mediumblob": "bytes", "longblob": "bytes",
	"time": "time", "datetime": "datetime", "timestamp": "timestamp", "enum": "enum", "set": "set", "vector": "vector",
}

// keeps reports whether every value stays what it was.
func (r conversionRules) keeps(f, t apart) bool {
	family := families[f.name]
	if isSpatial(f.name) && isSpatial(t.name) {
		return true // else the statement fails
	}
	if family != families[t.name] {
		return (family == "enum" || family == "set") && families[t.name] == "text" && r.strict
	}
	switch family {
	case "integer":
		return r.strict || fits(f, t)
	case "float":
		return keepsFloat(f, t) && (r.strict || !t.unsigned || f.unsigned)
	case "decimal":
		return t.scale >= f.scale && (r.strict || t.length-t.scale >= f.length-f.scale && (!t.unsigned || f.unsigned))
	case "text":
		if t.name == "char" && f.name != "char" {
			return false // blanks at the end are lost
		}
		return r.strict || roomOf(t) >= roomOf(f)
	case "bytes":
		if t.name == "binary" {
			return f.name == "binary" && f.length == t.length // filled up with zero bytes
		}
		return r.strict || roomOf(t) >= roomOf(f)
	case "bit":
		return (f.length+7)/8 == (t.length+7)/8 && f.length > 1 && t.length > 1
	case "time", "datetime", "timestamp":
		return t.length >= f.length
	case "enum", "set":
		return r.keepsLabels(f.labels, t.labels, family == "set")
	case "vector":
		return true
	}
	return f.name == t.name
}

// fits reports whether one integer type has all numbers of the other.
func fits(f, t apart) bool {
	bits := map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64, "year": 12}
	b, c := bits[f.name], bits[t.name]
	if f.name == "year" {
		f.unsigned = true
	}
	switch {
	case t.name == "year":
		return f.name == "year"
	case f.unsigned == t.unsigned:
		return c >= b
	case f.unsigned:
		return c > b
	}
	return false
}

func keepsFloat(f, t apart) bool {
	if f.name == "double" && t.name == "float" {
		return false
	}
	return t.scale < 0 || f.name == t.name && f.scale >= 0 && t.scale >= f.scale && t.length-t.scale >= f.length-f.scale
}

// roomOf returns how much a type of texts or bytes holds, in its own unit.
func roomOf(a apart) int {
	for _, l := range textLimits {
		if a.name == l.prefix+"text" || a.name == l.prefix+"blob" {
			return l.limit
		}
	}
	return a.length
}

// keepsLabels reports whether the labels are all still there; ordered: in the same
// order, in which a SET prints them. A label that is gone belonged to no row, unless another
// one is the same but for its case.
func (r conversionRules) keepsLabels(from, to []string, ordered bool) bool {
	last := -1
	for _, l := range from {
		at := slices.Index(to, l)
		switch {
		case at < 0 && (!r.strict || slices.ContainsFunc(to, func(other string) bool { return strings.EqualFold(other, l) })):
			return false
		case at < 0:
		case ordered && at < last:
			return false
		default:
			last = at
		}
	}
	return true
}

// transcodes reports whether a text stays the same in another character set.
func (r conversionRules) transcodes(from, to string) bool {
	from, to = collation.Canonical(from), collation.Canonical(to)
	switch {
	case from == to, r.strict && from != "" && to != "", from == "ascii" && to != "":
		return true
	case to == "utf8mb4" || to == "utf16" || to == "utf32" || to == "utf16le" || to == "gb18030":
		return from != ""
	case to == "utf8mb3" || to == "ucs2":
		return from != "" && from != "utf8mb4" && from != "utf16" && from != "utf32" && from != "utf16le" && from != "gb18030"
	}
	return false
}
