package canal

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// The types of JDBC that messages name.
const (
	jdbcBit       = -7
	jdbcTinyInt   = -6
	jdbcBigInt    = -5
	jdbcChar      = 1
	jdbcDecimal   = 3
	jdbcInteger   = 4
	jdbcSmallInt  = 5
	jdbcReal      = 7
	jdbcDouble    = 8
	jdbcVarchar   = 12
	jdbcBoolean   = 16
	jdbcDate      = 91
	jdbcTime      = 92
	jdbcTimestamp = 93
	jdbcArray     = 2003
	jdbcBlob      = 2004
	jdbcClob      = 2005
)

// mapping is how a column is written.
type mapping struct {
	cell  cell.Cell
	class cell.Class
	// sqlType is its type in JDBC. Where limit is set, values above it, in decimal
	// digits, have the type above.
	sqlType, above int
	limit          string
}

// mysqlNames are the types of MySQL whose type in JDBC follows from their name.
var mysqlNames = map[string]int{
	"tinyint": jdbcTinyInt, "smallint": jdbcSmallInt, "mediumint": jdbcInteger, "int": jdbcInteger, "bigint": jdbcBigInt,
	"float": jdbcReal, "double": jdbcDouble, "decimal": jdbcDecimal, "year": jdbcVarchar, "date": jdbcDate, "time": jdbcTime,
	"datetime": jdbcTimestamp, "timestamp": jdbcTimestamp, "char": jdbcChar, "varchar": jdbcVarchar, "json": jdbcVarchar,
	"tinytext": jdbcClob, "text": jdbcClob, "mediumtext": jdbcClob, "longtext": jdbcClob,
	"enum": jdbcInteger, "set": jdbcBit, "bit": jdbcBit,
}

// unsigned are the numbers up to which an unsigned type is that of JDBC which the
// signed one is, and the type above.
var unsigned = map[string]mapping{
	"tinyint": {limit: "127", above: jdbcSmallInt}, "smallint": {limit: "32767", above: jdbcInteger}, "mediumint": {limit: "8388607", above: jdbcInteger},
	"int": {limit: "2147483647", above: jdbcBigInt}, "bigint": {limit: "9223372036854775807", above: jdbcDecimal},
}

// kinds are the types in JDBC of what has no name of MySQL's.
var kinds = map[schema.Kind]int{
	schema.KindBoolean: jdbcBoolean, schema.KindTinyInt: jdbcTinyInt, schema.KindSmallInt: jdbcSmallInt, schema.KindInt: jdbcInteger,
	schema.KindBigInt: jdbcBigInt, schema.KindUBigInt: jdbcDecimal, schema.KindFloat: jdbcReal, schema.KindDouble: jdbcDouble,
	schema.KindDecimal: jdbcDecimal, schema.KindNumeric: jdbcDecimal, schema.KindChar: jdbcChar, schema.KindBinary: jdbcBlob,
	schema.KindVarbinary: jdbcBlob, schema.KindBytes: jdbcBlob, schema.KindDate: jdbcDate, schema.KindTime: jdbcTime, schema.KindTimeTZ: jdbcTime,
	schema.KindTimestamp: jdbcTimestamp, schema.KindTimestampLTZ: jdbcTimestamp, schema.KindTimestampTZ: jdbcTimestamp, schema.KindArray: jdbcArray,
}

// describe says how a column is written.
func (o *Options) describe(c schema.Column) (m mapping, err error) {
	word, rest, _ := strings.Cut(c.Source.Name, " ")
	mysql := c.Source.OID == 0 // PostgreSQL's types have numbers
	sqlType, named := mysqlNames[word]
	if m.sqlType = sqlType; !mysql || !named || c.Type.Kind == schema.KindArray {
		m.sqlType, named = kinds[c.Type.Kind], false
	}
	if m.sqlType == 0 {
		m.sqlType = jdbcVarchar
	}
	switch c.Type.Kind { // a text type without a character set is one of bytes
	case schema.KindBinary, schema.KindVarbinary, schema.KindBytes:
		if word != "bit" {
			m.sqlType = jdbcBlob
		}
	}
	if named && strings.HasPrefix(rest, "unsigned") {
		if u, ok := unsigned[word]; ok && u.above != m.sqlType {
			m.limit, m.above = u.limit, u.above
		}
	}
	if mysql {
		if special, class := o.special(c, word); special != nil {
			m.cell, m.class = special, class
			if o.Labels && (word == "enum" || word == "set") {
				m.sqlType = jdbcVarchar
			}
			return m, nil
		}
	}
	switch c.Type.Kind {
	case schema.KindArray, schema.KindMap, schema.KindRow:
		m.class = cell.Free
		m.cell, err = plain.NewJSONCell(c.Type, plain.JSONOptions{PlainDecimals: true})
		return m, err
	}
	co := cell.Options{AllDigits: true, Latin1: true, Zone: cell.In(o.zone())}
	m.cell, m.class, err = cell.New(c.Type, co)
	return m, err
}

// special returns the cell of a type of MySQL that has a form of its own, else nil.
func (o *Options) special(c schema.Column, word string) (cell.Cell, cell.Class) {
	switch {
	case c.Type.Kind == schema.KindBoolean && (word == "tinyint" || word == "bit"):
		return &flagCell{}, cell.Number
	case word == "bit" && c.Type.Kind == schema.KindBinary:
		return &bitCell{}, cell.Number
	case word == "year" && c.Type.Kind == schema.KindInt:
		return &yearCell{}, cell.Simple
	case word == "enum" && !o.Labels && len(c.Source.Enum) > 0:
		return newEnumCell(c.Source.Enum), cell.Number
	case word == "set" && !o.Labels && len(c.Source.Enum) > 0:
		return newSetCell(c.Source.Enum), cell.Number
	case (word == "enum" || word == "set") && o.Labels:
		text, class, _ := cell.New(schema.String(), cell.Options{})
		return text, class
	}
	return nil, 0
}

// columnType prints a column's type as its server declares it.
func columnType(c schema.Column) string {
	s := c.Source
	if s.Name == "" {
		return c.Type.String()
	}
	word, rest, more := strings.Cut(s.Name, " ")
	switch {
	case s.OID == 0 && len(s.Enum) > 0:
		word += "("
		for i, label := range s.Enum {
			if i > 0 {
				word += ","
			}
			word += quoteText(label)
		}
		word += ")"
	case s.Length >= 0 && s.Scale >= 0:
		word += fmt.Sprintf("(%d,%d)", s.Length, s.Scale)
	case s.Length >= 0:
		word += "(" + strconv.Itoa(s.Length) + ")"
	}
	if more {
		word += " " + rest
	}
	return word
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
