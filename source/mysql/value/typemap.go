package value

import (
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
)

// plainTypes are those without modifiers that matter, as Flink CDC maps them. An
// ENUM is its label. A SET is its labels with commas between them, which labels can't
// hold: what the server prints and Debezium sends, and what can be a key (Flink CDC
// announces ARRAY<STRING> and then fails). A geometry is GeoJSON with its srid.
var plainTypes = map[string]schema.Type{
	"mediumint": schema.Int(), "mediumint unsigned": schema.Int(), "smallint": schema.SmallInt(), "smallint unsigned": schema.Int(),
	"tinyint": schema.TinyInt(), "tinyint unsigned": schema.SmallInt(), "int": schema.Int(), "int unsigned": schema.BigInt(),
	"bigint": schema.BigInt(), "bigint unsigned": schema.UBigInt(), "year": schema.Int(), "double": schema.Double(), "date": schema.Date(),
	"tinytext": schema.String(), "text": schema.String(), "mediumtext": schema.String(), "longtext": schema.String(),
	"tinyblob": schema.Bytes(), "blob": schema.Bytes(), "mediumblob": schema.Bytes(), "longblob": schema.Bytes(),
	"enum": schema.String(), "set": schema.String(), "json": schema.JSON(), "vector": schema.Array(schema.Float()),
	"geometry": schema.String(), "point": schema.String(), "linestring": schema.String(), "polygon": schema.String(), "multipoint": schema.String(),
	"multilinestring": schema.String(), "multipolygon": schema.String(), "geometrycollection": schema.String(),
	"uuid": schema.UUID(), "inet6": schema.String(), "inet4": schema.String(),
}

// typeOf maps a type.
func typeOf(t columnType, o Options) (schema.Type, error) {
	switch t.name {
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		if o.GeometryBytes {
			return schema.Bytes(), nil
		}
	case "tinyint":
		if o.TinyInt1IsBool && !t.unsigned && t.arg(0, 4) == 1 {
			return schema.Boolean(), nil
		}
	case "float":
		if len(t.args) == 2 { // as in Flink CDC; the value stays that of the stored float
			return schema.Double(), nil
		}
		return schema.Float(), nil
	case "decimal":
		p, s := t.arg(0, 10), t.arg(1, 0)
		if p < 1 || p > 65 || s > p {
			return schema.Type{}, fmt.Errorf("%w: decimal(%d,%d)", ErrMalformed, p, s)
		}
		return schema.Decimal(p, s), nil
	case "bit":
		n := t.arg(0, 1)
		if n < 1 || n > 64 {
			return schema.Type{}, fmt.Errorf("%w: bit(%d)", ErrMalformed, n)
		}
		if n == 1 {
			return schema.Boolean(), nil
		}
		return schema.Binary((n + 7) / 8), nil
	case "char":
		return schema.Char(t.arg(0, 1)), nil
	case "varchar":
		return schema.Varchar(t.arg(0, 0)), nil
	case "binary":
		return schema.Binary(t.arg(0, 1)), nil
	case "varbinary":
		return schema.Varbinary(t.arg(0, 0)), nil
	case "time", "datetime", "timestamp":
		return temporalType(t, o)
	}
	name := t.name
	if t.unsigned {
		name += " unsigned"
	}
	if typ, ok := plainTypes[name]; ok {
		return typ, nil
	}
	if typ, ok := plainTypes[t.name]; ok { // double unsigned: a range, no type
		return typ, nil
	}
	return schema.Type{}, fmt.Errorf("%w: type %s; leave the table out with tables.exclude", ErrUnsupported, t.name)
}

func temporalType(t columnType, o Options) (schema.Type, error) {
	p := t.arg(0, 0)
	if p > 6 {
		return schema.Type{}, fmt.Errorf("%w: %s(%d)", ErrMalformed, t.name, p)
	}
	switch {
	case t.name == "datetime":
		return schema.Timestamp(p), nil
	case t.name == "timestamp":
		return schema.TimestampLTZ(p), nil
	case o.Time == TimeText:
		return schema.String(), nil
	}
	return schema.Time(p), nil
}

// arg returns one of the numbers in parentheses.
func (t columnType) arg(i, otherwise int) int {
	if i < len(t.args) {
		return t.args[i]
	}
	return otherwise
}

// isText reports the types whose bytes are in a character set.
func isText(name string) bool {
	switch name {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return true
	}
	return false
}
