package value

import (
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// Definition is a column as information_schema.COLUMNS describes it, and as a
// CREATE TABLE or ALTER TABLE leaves it.
type Definition struct {
	Name string `json:"name"`
	// ColumnType is the whole type, lower case but for labels: int(10) unsigned
	// zerofill, enum('a','b'), text /*M!100301 COMPRESSED*/. See [ListType] for the labels.
	ColumnType string `json:"type"`
	// Charset and Collation are empty for types without them.
	Charset   string `json:"charset,omitempty"`
	Collation string `json:"collation,omitempty"`
	Nullable  bool   `json:"nullable,omitempty"`
	// Default is the text of a literal, without quotes, or of an expression; nil for none and for NULL.
	Default             *string `json:"default,omitempty"`
	DefaultIsExpression bool    `json:"defaultIsExpression,omitempty"`
	Comment             string  `json:"comment,omitempty"`
	// Generated is VIRTUAL or STORED for a generated column, else empty.
	Generated string `json:"generated,omitempty"`
	Invisible bool   `json:"invisible,omitempty"`
	// SystemTime is START or END for the columns of a system-versioned table that
	// hold a row's lifetime, else empty (MariaDB).
	SystemTime string `json:"systemTime,omitempty"`
}

// ListType prints the column type of an ENUM or SET (kind enum or set) as the server does.
func ListType(kind string, labels []string) string {
	var b strings.Builder
	b.WriteString(kind)
	for i, l := range labels {
		if i == 0 {
			b.WriteString("('")
		} else {
			b.WriteString("','")
		}
		for _, c := range []byte(l) {
			switch c {
			case '\'':
				b.WriteString("''")
			case '\\':
				b.WriteString(`\\`)
			case 0:
				b.WriteString(`\0`)
			case '\n':
				b.WriteString(`\n`)
			case '\r':
				b.WriteString(`\r`)
			default:
				b.WriteByte(c)
			}
		}
	}
	b.WriteString("')")
	return b.String()
}

// Column says how a column is carried. Its Source has the server's type:
// Name without what is in parentheses (int unsigned zerofill), Length and Scale from
// there, the character set and the labels. It fails, naming the column, for a
// type or a character set that is not known.
func Column(d Definition, o Options) (schema.Column, error) {
	c := schema.Column{
		Name: d.Name, Nullable: d.Nullable, Comment: d.Comment, Default: d.Default, DefaultIsExpression: d.DefaultIsExpression,
		Source: schema.SourceType{Name: d.ColumnType, Length: -1, Scale: -1, Modifier: -1, Charset: d.Charset},
	}
	t, err := parseColumnType(d.ColumnType)
	if err != nil {
		return c, placeOf(c).fail(err)
	}
	if t.name == "json" && o.MariaDB {
		t.name, c.Source.Charset = "longtext", "utf8mb4"
	}
	c.Source.Name, c.Source.Enum = t.fullName(), t.labels
	if len(t.args) > 0 {
		c.Source.Length = t.args[0]
	}
	if len(t.args) > 1 {
		c.Source.Scale = t.args[1]
	}
	if c.Type, err = typeOf(t, o); err != nil {
		return c, placeOf(c).fail(err)
	}
	if isText(t.name) {
		if c.Source.Charset == "binary" { // how the servers name the text types without a character set
			c.Type = withoutCharset(c.Type)
		} else if _, err := decoderOf(c.Source.Charset); err != nil {
			return c, placeOf(c).fail(err)
		}
	}
	return c, nil
}

// withoutCharset turns a text type into that of bytes.
func withoutCharset(t schema.Type) schema.Type {
	switch t.Kind {
	case schema.KindChar:
		return schema.Binary(t.Length)
	case schema.KindVarchar:
		return schema.Varbinary(t.Length)
	}
	return schema.Bytes()
}
