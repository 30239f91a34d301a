package ddl

import (
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// versionNoWidth is the MySQL that stopped to print the width of integers.
const versionNoWidth = 80019

// intWidths are the widths that integers get where none is given, signed and unsigned.
var intWidths = map[string][2]int{"tinyint": {4, 3}, "smallint": {6, 5}, "mediumint": {9, 8}, "int": {11, 10}, "bigint": {20, 20}}

// textLimits are the most bytes that the text and blob types hold.
var textLimits = []struct {
	prefix string
	limit  int
}{{"tiny", 1<<8 - 1}, {"", 1<<16 - 1}, {"medium", 1<<24 - 1}, {"long", 1<<32 - 1}}

// maxVarchar is the most bytes that a VARCHAR holds.
const maxVarchar = 1<<16 - 1

// apply sets the type of c as the server prints it, and its character set.
func (r resolver) apply(t syntax.Type, base, parent charsetPair, c *value.Definition) error {
	var cs charsetPair
	name := r.typeName(t)
	if hasCharset(name) {
		var err error
		if cs, err = r.columnCharset(t, base, parent); err != nil {
			return err
		}
	}
	switch name {
	case "char", "varchar":
		c.ColumnType = charType(name, t.Length, cs.charset)
	case "tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob":
		c.ColumnType = textType(name, t.Length, cs.charset)
	case "enum", "set":
		c.ColumnType = value.ListType(name, trimLabels(t.Labels, cs.charset))
	case "json":
		if r.o.MariaDB { // another name
			c.ColumnType, c.Charset, c.Collation = "longtext", "utf8mb4", "utf8mb4_bin"
			return nil
		}
		c.ColumnType = name
	default:
		c.ColumnType = r.plainType(name, t)
	}
	c.Charset, c.Collation = r.visibleCharset(c.ColumnType, cs)
	return nil
}

// visibleCharset returns what information_schema shows: nothing for bytes, where
// MariaDB makes an exception for lists.
func (r resolver) visibleCharset(columnType string, cs charsetPair) (charset, name string) {
	if cs.charset == "binary" && !(r.o.MariaDB && isList(columnType)) {
		return "", ""
	}
	return cs.charset, cs.collation
}

func isList(columnType string) bool {
	return strings.HasPrefix(columnType, "enum(") || strings.HasPrefix(columnType, "set(")
}

// typeName follows sql_mode, which gives some names another meaning.
func (r resolver) typeName(t syntax.Type) string {
	oracle := r.o.MariaDB && r.s.SQLMode&modeOracle != 0
	switch t.Name {
	case "real":
		if r.s.SQLMode&modeRealAsFloat != 0 {
			return "float"
		}
		return "double"
	case "number":
		if t.Length < 0 {
			return "double"
		}
		return "decimal"
	case "clob":
		return "longtext"
	case "date":
		if oracle {
			return "datetime"
		}
	case "blob":
		if oracle && t.Length < 0 {
			return "longblob"
		}
	case "timestamp":
		if r.o.MariaDB && r.s.SQLMode&modeMaxDB != 0 {
			return "datetime"
		}
	}
	return t.Name
}

func hasCharset(name string) bool {
	switch name {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set":
		return true
	}
	return false
}

// columnCharset returns the character set of a column as declared.
func (r resolver) columnCharset(t syntax.Type, base, parent charsetPair) (charsetPair, error) {
	cs, err := r.pair(t.Charset, t.Collation, base, parent)
	if err == nil && t.Binary && t.Collation == "" && cs.charset != "binary" {
		cs.collation = cs.charset + "_bin"
	}
	return cs, err
}

// charType prints CHAR and VARCHAR, which are types of bytes in the character set
// binary. Without strict mode a VARCHAR too long becomes a text.
func charType(name string, length int, charset string) string {
	if length < 0 {
		length = 1
	}
	if name == "varchar" && length*collation.MaxLen(charset) > maxVarchar {
		return textType("text", length, charset)
	}
	if charset == "binary" {
		name = strings.Replace(name, "char", "binary", 1)
	}
	return fmt.Sprintf("%s(%d)", name, length)
}

// textType prints the types of texts and blobs. One with a length, in characters,
// becomes the smallest that holds it.
func textType(name string, length int, charset string) string {
	suffix := "text"
	if strings.HasSuffix(name, "blob") || charset == "binary" {
		suffix = "blob"
	}
	prefix := strings.TrimSuffix(strings.TrimSuffix(name, "text"), "blob")
	if prefix == "" && length > 0 {
		for _, l := range textLimits {
			if prefix = l.prefix; length*collation.MaxLen(charset) <= l.limit {
				break
			}
		}
	}
	return prefix + suffix
}

// trimLabels removes the blanks at the end of labels, as the server does.
func trimLabels(labels []string, charset string) []string {
	out := make([]string, len(labels))
	for i, l := range labels {
		if out[i] = l; charset != "binary" {
			out[i] = strings.TrimRight(l, " ")
		}
	}
	return out
}

// plainType prints the types without a character set.
func (r resolver) plainType(name string, t syntax.Type) string {
	text := name
	switch name {
	case "boolean":
		text = "tinyint(1)"
	case "serial":
		name, t.Unsigned = "bigint", true
		text = r.intType(name, t)
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		text = r.intType(name, t)
	case "float", "double":
		text = floatType(name, t)
	case "decimal":
		text = fmt.Sprintf("decimal(%d,%d)", orDefault(t.Length, 10), max(t.Scale, 0))
	case "bit", "binary":
		text = fmt.Sprintf("%s(%d)", name, max(t.Length, 1))
		if name == "binary" && t.Length == 0 {
			text = "binary(0)"
		}
	case "varbinary":
		text = charType("varchar", t.Length, "binary")
	case "time", "datetime", "timestamp":
		if t.Length > 0 {
			text = fmt.Sprintf("%s(%d)", name, t.Length)
		}
	case "year":
		if r.o.MariaDB || r.o.Version < versionNoWidth {
			text = fmt.Sprintf("year(%d)", orDefault(t.Length, 4))
		}
	case "vector":
		text = fmt.Sprintf("vector(%d)", orDefault(t.Length, 2048))
	case "geometrycollection":
		if !r.o.MariaDB {
			text = "geomcollection"
		}
	}
	if t.Unsigned {
		text += " unsigned"
	}
	if t.Zerofill {
		text += " zerofill"
	}
	return text
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

func (r resolver) intType(name string, t syntax.Type) string {
	width := t.Length
	if width <= 0 {
		widths := intWidths[name]
		if width = widths[0]; t.Unsigned {
			width = widths[1]
		}
	}
	boolean := name == "tinyint" && width == 1 && !t.Unsigned
	if r.o.MariaDB || r.o.Version < versionNoWidth || t.Zerofill || boolean {
		return fmt.Sprintf("%s(%d)", name, width)
	}
	return name
}

// floatType prints FLOAT and DOUBLE; FLOAT(p) is one of them.
func floatType(name string, t syntax.Type) string {
	switch {
	case t.Scale >= 0:
		return fmt.Sprintf("%s(%d,%d)", name, t.Length, t.Scale)
	case name == "float" && t.Length > 24:
		return "double"
	}
	return name
}

// splitType takes the name and the first number of a column type.
func splitType(columnType string) (name string, length int) {
	name, rest, ok := strings.Cut(columnType, "(")
	if !ok {
		name, _, _ = strings.Cut(columnType, " ")
		return name, 0
	}
	for _, c := range []byte(rest) {
		if c < '0' || c > '9' {
			break
		}
		length = length*10 + int(c-'0')
	}
	return name, length
}
