package ddl

import (
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// convert gives a column another character set, as CONVERT TO CHARACTER SET does.
// grow: it gets the type that holds as many characters, which columns do that were there.
func (r resolver) convert(c *value.Definition, to charsetPair, grow bool) {
	name, length := splitType(c.ColumnType)
	if c.Charset == "" || c.Charset == "binary" || !hasCharset(name) {
		return
	}
	_, tail, compressed := strings.Cut(c.ColumnType, " /*")
	switch name {
	case "char", "varchar":
		c.ColumnType = charType(name, length, to.charset)
	case "tinytext", "text", "mediumtext", "longtext":
		if grow {
			name = grownText(name, c.Charset, to.charset)
		}
		c.ColumnType = textType(name, -1, to.charset)
	}
	if compressed {
		c.ColumnType += " /*" + tail
	}
	c.Charset, c.Collation = r.visibleCharset(c.ColumnType, to)
}

// grownText returns the text type that holds as many characters as name does in
// another character set.
func grownText(name, from, to string) string {
	for i, l := range textLimits {
		if l.prefix+"text" == name && i+1 < len(textLimits) && l.limit/collation.MaxLen(from)*collation.MaxLen(to) > l.limit {
			return textLimits[i+1].prefix + "text"
		}
	}
	return name
}

// refit gives a text or blob, into which a column is changed, the size that MySQL
// gives it where the same statement converts the character set: it goes by what the
// column was, not by what the statement says.
func refit(c *value.Definition, was value.Definition) {
	name, _ := splitType(c.ColumnType)
	suffix := "text"
	if strings.HasSuffix(name, "blob") {
		suffix = "blob"
	}
	if !strings.HasSuffix(name, suffix) || strings.HasSuffix(c.ColumnType, ")") {
		return
	}
	old, _ := splitType(was.ColumnType)
	var length int
	switch families[old] {
	case "text", "bytes":
		length = roomOf(takeApart(was.ColumnType))
		if strings.HasSuffix(old, "text") {
			length /= collation.MaxLen(was.Charset)
		}
	default:
		if length = 1; old == "json" || isSpatial(old) {
			length = textLimits[len(textLimits)-1].limit
		}
	}
	for _, l := range textLimits {
		if c.ColumnType = l.prefix + suffix; length*collation.MaxLen(c.Charset) <= l.limit {
			break
		}
	}
}
