package ddl

import (
	"strings"
	"unicode/utf8"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
)

// maxKeyBytes is the longest key of InnoDB; MariaDB makes a longer unique one a hash.
const maxKeyBytes = 3072

// fixedWidths are the bytes of the types whose width does not depend on arguments.
var fixedWidths = map[string]int{"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8, "float": 4, "double": 8, "year": 1, "date": 3,
	"uuid": 16, "inet6": 16, "inet4": 4, "enum": 1, "set": 1}

// needsHash reports whether MariaDB makes a unique key with a hash: one of a blob
// without a length, or longer than a key may be.
func (d *Definition) needsHash(k Key) bool {
	total := 0
	for _, p := range k.Parts {
		i := d.column(p.Column)
		if i < 0 {
			continue // a period
		}
		n, ok := partBytes(d.Columns[i], p.Prefix)
		if !ok {
			return true
		}
		total += n
	}
	return total > maxKeyBytes
}

// partBytes returns how long a part of a key is in bytes; false for a whole blob.
func partBytes(c Column, prefix int) (int, bool) {
	name, length := splitType(c.ColumnType)
	switch {
	case name == "point":
		return 25, prefix > 0
	case isSpatial(name):
		return 8, prefix > 0
	case strings.HasSuffix(name, "text"), strings.HasSuffix(name, "blob"):
		return prefix * collation.MaxLen(c.Charset), prefix > 0
	case strings.HasSuffix(name, "char"), strings.HasSuffix(name, "binary"):
		if prefix > 0 {
			length = prefix
		}
		return length * collation.MaxLen(c.Charset), true
	case name == "decimal":
		return (length + 1) / 2, true
	case name == "time" || name == "datetime" || name == "timestamp":
		return 5 + (length+1)/2, true
	case name == "bit":
		return (length + 7) / 8, true
	}
	return fixedWidths[name], true
}

// keepsBytes reports whether a key of a whole column keeps its length when the column
// becomes a text: in MySQL that of an ENUM or SET with labels longer than it, in
// MariaDB that of a geometry.
func (r resolver) keepsBytes(c Column) bool {
	if name, _ := splitType(c.ColumnType); r.o.MariaDB || !isList(c.ColumnType) {
		return r.o.MariaDB && isSpatial(name)
	}
	longest, total := 0, 0
	for _, l := range takeApart(c.ColumnType).labels {
		n := utf8.RuneCountInString(l)
		longest, total = max(longest, n), total+n+1
	}
	if strings.HasPrefix(c.ColumnType, "set(") {
		longest = total - 1
	}
	n, _ := partBytes(c, 0)
	return longest*collation.MaxLen(c.Charset) != n
}

func isSpatial(name string) bool {
	switch name {
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		return true
	}
	return false
}
