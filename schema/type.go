package schema

import (
	"fmt"
	"strings"
)

// Kind is the family of a [Type].
type Kind uint8

// The kinds of the row type system. Beside each: its Arrow type in a [Batch].
const (
	KindInvalid      Kind = iota
	KindBoolean           // bool
	KindTinyInt           // int8
	KindSmallInt          // int16
	KindInt               // int32
	KindBigInt            // int64
	KindUBigInt           // uint64
	KindFloat             // float32
	KindDouble            // float64
	KindDecimal           // decimal128(p,s) up to 38 digits, else decimal256(p,s)
	KindNumeric           // utf8: a decimal number of any size in plain notation, or NaN, Infinity, -Infinity
	KindChar              // utf8
	KindVarchar           // utf8
	KindString            // utf8
	KindBinary            // binary
	KindVarbinary         // binary
	KindBytes             // binary
	KindDate              // date32; MinInt32 and MaxInt32 are -infinity and infinity
	KindTime              // time64[us]; 86,400,000,000 is 24:00:00
	KindTimestamp         // timestamp[us] without zone, [ns] above precision 6; MinInt64 and MaxInt64 are -infinity and infinity
	KindTimestampLTZ      // timestamp[us, UTC], [ns, UTC] above precision 6; the same infinities
	KindTimestampTZ       // utf8: ISO 8601 with its own offset
	KindTimeTZ            // utf8: ISO 8601 with its own offset
	KindInterval          // utf8: ISO 8601 duration
	KindUUID              // fixed_size_binary(16)
	KindJSON              // utf8
	KindArray             // list<Elem>
	KindMap               // map<Key, Elem>
	KindRow               // struct of Fields
)

// Type is the type of a column. The zero value is invalid. Types are values and
// compare with [Type.Equal].
type Type struct {
	Kind Kind
	// Length is the declared length of CHAR, VARCHAR (characters), BINARY and
	// VARBINARY (bytes); 0 where none is declared.
	Length int
	// Precision is the number of digits of DECIMAL, or the fractional digits
	// (0 to 9) of the temporal kinds.
	Precision int
	// Scale is the number of fractional digits of DECIMAL.
	Scale int
	// Key and Elem are the parts of MAP, Elem also the element of ARRAY.
	// Elements of arrays and values of maps are always nullable.
	Key, Elem *Type
	// Fields are the parts of ROW.
	Fields []Column
}

// Boolean returns the type BOOLEAN.
func Boolean() Type { return Type{Kind: KindBoolean} }

// TinyInt returns the type TINYINT, 8 bits.
func TinyInt() Type { return Type{Kind: KindTinyInt} }

// SmallInt returns the type SMALLINT, 16 bits.
func SmallInt() Type { return Type{Kind: KindSmallInt} }

// Int returns the type INT, 32 bits.
func Int() Type { return Type{Kind: KindInt} }

// BigInt returns the type BIGINT, 64 bits.
func BigInt() Type { return Type{Kind: KindBigInt} }

// UBigInt returns the type BIGINT UNSIGNED.
func UBigInt() Type { return Type{Kind: KindUBigInt} }

// Float returns the type FLOAT, 32 bits.
func Float() Type { return Type{Kind: KindFloat} }

// Double returns the type DOUBLE, 64 bits.
func Double() Type { return Type{Kind: KindDouble} }

// Decimal returns the type DECIMAL with precision digits, scale of them behind the point.
func Decimal(precision, scale int) Type {
	return Type{Kind: KindDecimal, Precision: precision, Scale: scale}
}

// Numeric returns a decimal number of any size.
func Numeric() Type { return Type{Kind: KindNumeric} }

// Char returns the type CHAR of length characters.
func Char(length int) Type { return Type{Kind: KindChar, Length: length} }

// Varchar returns the type VARCHAR of at most length characters.
func Varchar(length int) Type { return Type{Kind: KindVarchar, Length: length} }

// String returns the type STRING.
func String() Type { return Type{Kind: KindString} }

// Binary returns the type BINARY of length bytes.
func Binary(length int) Type { return Type{Kind: KindBinary, Length: length} }

// Varbinary returns the type VARBINARY of at most length bytes.
func Varbinary(length int) Type { return Type{Kind: KindVarbinary, Length: length} }

// Bytes returns the type BYTES.
func Bytes() Type { return Type{Kind: KindBytes} }

// Date returns the type DATE.
func Date() Type { return Type{Kind: KindDate} }

// Time returns the type TIME with precision fractional digits.
func Time(precision int) Type { return Type{Kind: KindTime, Precision: precision} }

// Timestamp returns the type TIMESTAMP with precision fractional digits, without zone.
func Timestamp(precision int) Type { return Type{Kind: KindTimestamp, Precision: precision} }

// TimestampLTZ returns the type TIMESTAMP_LTZ, an instant.
func TimestampLTZ(precision int) Type { return Type{Kind: KindTimestampLTZ, Precision: precision} }

// TimestampTZ returns the type TIMESTAMP WITH TIME ZONE, which keeps its offset.
func TimestampTZ(precision int) Type { return Type{Kind: KindTimestampTZ, Precision: precision} }

// TimeTZ returns the type TIME WITH TIME ZONE.
func TimeTZ(precision int) Type { return Type{Kind: KindTimeTZ, Precision: precision} }

// Interval returns a span of time.
func Interval() Type { return Type{Kind: KindInterval} }

// UUID returns the type UUID.
func UUID() Type { return Type{Kind: KindUUID} }

// JSON returns a JSON document.
func JSON() Type { return Type{Kind: KindJSON} }

// Array is a list of elem, whose elements may be NULL.
func Array(elem Type) Type { return Type{Kind: KindArray, Elem: &elem} }

// Map maps key, never NULL, to elem, which may be.
func Map(key, elem Type) Type { return Type{Kind: KindMap, Key: &key, Elem: &elem} }

// Row is a nested row.
func Row(fields ...Column) Type { return Type{Kind: KindRow, Fields: fields} }

var kindNames = map[Kind]string{
	KindBoolean: "BOOLEAN", KindTinyInt: "TINYINT", KindSmallInt: "SMALLINT", KindInt: "INT", KindBigInt: "BIGINT",
	KindUBigInt: "BIGINT UNSIGNED", KindFloat: "FLOAT", KindDouble: "DOUBLE", KindDecimal: "DECIMAL", KindNumeric: "NUMERIC",
	KindChar: "CHAR", KindVarchar: "VARCHAR", KindString: "STRING", KindBinary: "BINARY", KindVarbinary: "VARBINARY",
	KindBytes: "BYTES", KindDate: "DATE", KindTime: "TIME", KindTimestamp: "TIMESTAMP", KindTimestampLTZ: "TIMESTAMP_LTZ",
	KindTimestampTZ: "TIMESTAMP", KindTimeTZ: "TIME", KindInterval: "INTERVAL", KindUUID: "UUID", KindJSON: "JSON",
	KindArray: "ARRAY", KindMap: "MAP", KindRow: "ROW",
}

// String prints the type as Flink SQL would, for instance DECIMAL(12, 2) or ARRAY<INT>.
func (t Type) String() string {
	name := kindNames[t.Kind]
	switch t.Kind {
	case KindInvalid:
		return "INVALID"
	case KindDecimal:
		return fmt.Sprintf("%s(%d, %d)", name, t.Precision, t.Scale)
	case KindChar, KindVarchar, KindBinary, KindVarbinary:
		return fmt.Sprintf("%s(%d)", name, t.Length)
	case KindTime, KindTimestamp, KindTimestampLTZ:
		return fmt.Sprintf("%s(%d)", name, t.Precision)
	case KindTimestampTZ, KindTimeTZ:
		return fmt.Sprintf("%s(%d) WITH TIME ZONE", name, t.Precision)
	case KindArray:
		return "ARRAY<" + t.Elem.String() + ">"
	case KindMap:
		return "MAP<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case KindRow:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Name + " " + f.Type.String()
		}
		return "ROW<" + strings.Join(parts, ", ") + ">"
	}
	return name
}

// Equal reports whether t and u are the same type in every part.
func (t Type) Equal(u Type) bool {
	if t.Kind != u.Kind || t.Length != u.Length || t.Precision != u.Precision || t.Scale != u.Scale || len(t.Fields) != len(u.Fields) {
		return false
	}
	if (t.Key == nil) != (u.Key == nil) || (t.Elem == nil) != (u.Elem == nil) {
		return false
	}
	if t.Key != nil && !t.Key.Equal(*u.Key) || t.Elem != nil && !t.Elem.Equal(*u.Elem) {
		return false
	}
	for i := range t.Fields {
		if t.Fields[i].Name != u.Fields[i].Name || t.Fields[i].Nullable != u.Fields[i].Nullable || !t.Fields[i].Type.Equal(u.Fields[i].Type) {
			return false
		}
	}
	return true
}
