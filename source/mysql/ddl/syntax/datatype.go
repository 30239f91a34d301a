package syntax

import "strings"

// typeNames gives the first name of each type; the rest of a name of several
// words is read by dataType.
var typeNames = map[string]string{
	"BOOL": "boolean", "BOOLEAN": "boolean", "BIT": "bit", "SERIAL": "serial",
	"TINYINT": "tinyint", "INT1": "tinyint", "SMALLINT": "smallint", "INT2": "smallint",
	"MEDIUMINT": "mediumint", "INT3": "mediumint", "MIDDLEINT": "mediumint", "INT": "int", "INT4": "int", "INTEGER": "int",
	"BIGINT": "bigint", "INT8": "bigint", "FLOAT": "float", "FLOAT4": "float", "DOUBLE": "double", "FLOAT8": "double", "REAL": "real",
	"DECIMAL": "decimal", "DEC": "decimal", "FIXED": "decimal", "NUMERIC": "decimal", "NUMBER": "number",
	"DATE": "date", "TIME": "time", "DATETIME": "datetime", "TIMESTAMP": "timestamp", "YEAR": "year",
	"CHAR": "char", "CHARACTER": "char", "NCHAR": "char", "VARCHAR": "varchar", "VARCHARACTER": "varchar", "VARCHAR2": "varchar", "NVARCHAR": "varchar",
	"BINARY": "binary", "VARBINARY": "varbinary", "RAW": "varbinary",
	"TINYTEXT": "tinytext", "TEXT": "text", "MEDIUMTEXT": "mediumtext", "LONGTEXT": "longtext", "CLOB": "clob", "LONG": "mediumtext",
	"TINYBLOB": "tinyblob", "BLOB": "blob", "MEDIUMBLOB": "mediumblob", "LONGBLOB": "longblob",
	"ENUM": "enum", "SET": "set", "JSON": "json", "VECTOR": "vector",
	"GEOMETRY": "geometry", "POINT": "point", "LINESTRING": "linestring", "POLYGON": "polygon", "MULTIPOINT": "multipoint",
	"MULTILINESTRING": "multilinestring", "MULTIPOLYGON": "multipolygon", "GEOMETRYCOLLECTION": "geometrycollection", "GEOMCOLLECTION": "geometrycollection",
	"UUID": "uuid", "INET6": "inet6", "INET4": "inet4",
}

// national is the charset of NCHAR and its like, whatever the server takes for it.
const national = "national"

// dataType reads a type with its attributes.
func (p *parser) dataType() Type {
	t := Type{Length: -1, Scale: -1}
	if p.peekAt(1).isMark('.') { // mariadb_schema.date
		p.name("a type")
		p.next()
	}
	word := strings.ToUpper(p.peek().Text)
	t.Name = typeNames[word]
	switch {
	case p.accept("NATIONAL"):
		t.Charset = national
		if t.Name = typeNames[strings.ToUpper(p.peek().Text)]; t.Name != "char" && t.Name != "varchar" {
			p.fail("CHAR or VARCHAR")
		}
	case t.Name == "" || p.peek().Kind != Word:
		p.fail("a type")
	case word[0] == 'N' && (t.Name == "char" || t.Name == "varchar"):
		t.Charset = national
	}
	p.next()
	p.restOfName(word, &t)
	p.typeArguments(&t)
	p.typeAttributes(&t)
	return t
}

// restOfName reads the further words of a type's name.
func (p *parser) restOfName(word string, t *Type) {
	switch {
	case t.Name == "char" && (p.accept("VARYING") || word == "NCHAR" && p.acceptAny("VARCHAR", "VARCHARACTER")):
		t.Name = "varchar"
	case word == "DOUBLE":
		p.accept("PRECISION")
	case word == "LONG" && p.accept("VARBINARY"):
		t.Name = "mediumblob"
	case word == "LONG":
		if !p.acceptAny("VARCHAR", "VARCHARACTER") && p.acceptAny("CHAR", "CHARACTER") {
			p.expect("VARYING")
		}
	}
}

// typeArguments reads the numbers or labels in parentheses.
func (p *parser) typeArguments(t *Type) {
	if !p.acceptMark('(') {
		return
	}
	if t.Name == "enum" || t.Name == "set" {
		for {
			t.Labels = append(t.Labels, p.label())
			if !p.acceptMark(',') {
				break
			}
		}
		p.expectMark(')')
		return
	}
	t.Length = p.number()
	if p.acceptMark(',') {
		t.Scale = p.number()
	}
	p.acceptAny("CHAR", "BYTE") // VARCHAR2(10 CHAR) in Oracle mode
	p.expectMark(')')
}

// label reads one label of an ENUM or SET: a string, or its bytes in hexadecimal.
func (p *parser) label() string {
	if t := p.peek(); t.Kind == Number {
		if s, ok := hexText(t.Text); ok {
			p.next()
			return s
		}
	}
	return p.text()
}

// hexText decodes 0x61 and x'61'.
func hexText(s string) (string, bool) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok {
		if len(s) < 3 || s[0] != 'x' && s[0] != 'X' {
			return "", false
		}
		digits = strings.Trim(s[1:], "'")
	}
	if len(digits)%2 != 0 {
		digits = "0" + digits
	}
	var out []byte
	for i := 0; i < len(digits); i += 2 {
		hi, lo := hexDigit(digits[i]), hexDigit(digits[i+1])
		if hi < 0 || lo < 0 {
			return "", false
		}
		out = append(out, byte(hi<<4|lo))
	}
	return string(out), true
}

func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// typeAttributes reads what belongs to a type; COLLATE may come again among the
// attributes of the column.
func (p *parser) typeAttributes(t *Type) {
	for {
		switch {
		case p.accept("UNSIGNED"):
			t.Unsigned = true
		case p.accept("SIGNED"):
		case p.accept("ZEROFILL"):
			t.Unsigned, t.Zerofill = true, true
		case p.accept("BINARY"):
			t.Binary = true
		case p.accept("ASCII"):
			t.Charset = "latin1"
		case p.accept("UNICODE"):
			t.Charset = "ucs2"
		case p.accept("BYTE"):
			t.Charset = "binary"
		case p.charset():
			t.Charset = p.charsetName()
		default:
			return
		}
	}
}
