package schema

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// ArrowSchema returns the Arrow schema of the table's batches: one field a
// column, in order. Every field is nullable, since a delete may hold the key alone.
func (t *Table) ArrowSchema() *arrow.Schema {
	fields := make([]arrow.Field, len(t.Columns))
	for i, c := range t.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type.Arrow(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Arrow returns the Arrow type that holds values of t in a [Batch]; see [Kind].
// It panics on an invalid type.
func (t Type) Arrow() arrow.DataType {
	switch t.Kind {
	case KindBoolean:
		return arrow.FixedWidthTypes.Boolean
	case KindTinyInt:
		return arrow.PrimitiveTypes.Int8
	case KindSmallInt:
		return arrow.PrimitiveTypes.Int16
	case KindInt:
		return arrow.PrimitiveTypes.Int32
	case KindBigInt:
		return arrow.PrimitiveTypes.Int64
	case KindUBigInt:
		return arrow.PrimitiveTypes.Uint64
	case KindFloat:
		return arrow.PrimitiveTypes.Float32
	case KindDouble:
		return arrow.PrimitiveTypes.Float64
	case KindDecimal:
		if t.Precision <= 38 {
			return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
		}
		return &arrow.Decimal256Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case KindNumeric, KindChar, KindVarchar, KindString, KindTimestampTZ, KindTimeTZ, KindInterval, KindJSON:
		return arrow.BinaryTypes.String
	case KindBinary, KindVarbinary, KindBytes:
		return arrow.BinaryTypes.Binary
	case KindDate:
		return arrow.FixedWidthTypes.Date32
	case KindTime:
		return arrow.FixedWidthTypes.Time64us
	case KindTimestamp:
		return &arrow.TimestampType{Unit: timestampUnit(t.Precision)}
	case KindTimestampLTZ:
		return &arrow.TimestampType{Unit: timestampUnit(t.Precision), TimeZone: "UTC"}
	case KindUUID:
		return &arrow.FixedSizeBinaryType{ByteWidth: 16}
	}
	return t.nestedArrow()
}

func (t Type) nestedArrow() arrow.DataType {
	switch t.Kind {
	case KindArray:
		return arrow.ListOf(t.Elem.Arrow())
	case KindMap:
		return arrow.MapOf(t.Key.Arrow(), t.Elem.Arrow())
	case KindRow:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true}
		}
		return arrow.StructOf(fields...)
	}
	panic(fmt.Sprintf("schema: type %s has no Arrow type", t))
}

func timestampUnit(precision int) arrow.TimeUnit {
	if precision > 6 {
		return arrow.Nanosecond
	}
	return arrow.Microsecond
}
