package iceberg

import (
	"fmt"

	iceberggo "github.com/apache/iceberg-go"

	"github.com/freshet-cdc/freshet/schema"
)

// maxDecimalPrecision is the most digits that an Iceberg decimal has.
const maxDecimalPrecision = 38

// primitiveTypes maps the kinds that need no more than a look. NUMERIC, INTERVAL,
// JSON and the types with their own offset have no counterpart and stay the text
// that the source gave; Iceberg has no unsigned type, so BIGINT UNSIGNED
// takes the decimal that holds all of it.
var primitiveTypes = map[schema.Kind]iceberggo.Type{
	schema.KindBoolean:     iceberggo.PrimitiveTypes.Bool,
	schema.KindTinyInt:     iceberggo.PrimitiveTypes.Int32,
	schema.KindSmallInt:    iceberggo.PrimitiveTypes.Int32,
	schema.KindInt:         iceberggo.PrimitiveTypes.Int32,
	schema.KindBigInt:      iceberggo.PrimitiveTypes.Int64,
	schema.KindUBigInt:     iceberggo.DecimalTypeOf(20, 0),
	schema.KindFloat:       iceberggo.PrimitiveTypes.Float32,
	schema.KindDouble:      iceberggo.PrimitiveTypes.Float64,
	schema.KindNumeric:     iceberggo.PrimitiveTypes.String,
	schema.KindChar:        iceberggo.PrimitiveTypes.String,
	schema.KindVarchar:     iceberggo.PrimitiveTypes.String,
	schema.KindString:      iceberggo.PrimitiveTypes.String,
	schema.KindJSON:        iceberggo.PrimitiveTypes.String,
	schema.KindInterval:    iceberggo.PrimitiveTypes.String,
	schema.KindTimeTZ:      iceberggo.PrimitiveTypes.String,
	schema.KindTimestampTZ: iceberggo.PrimitiveTypes.String,
	schema.KindBinary:      iceberggo.PrimitiveTypes.Binary,
	schema.KindVarbinary:   iceberggo.PrimitiveTypes.Binary,
	schema.KindBytes:       iceberggo.PrimitiveTypes.Binary,
	schema.KindDate:        iceberggo.PrimitiveTypes.Date,
	schema.KindUUID:        iceberggo.PrimitiveTypes.UUID,
}

// icebergType returns the Iceberg type (format v2) that holds every value of t;
// nested fields take their ids from next, outer before inner. All nested
// fields but map keys are optional, as in [schema.Type]. What no type of format v2
// holds without loss is an error.
func icebergType(t schema.Type, next func() int) (iceberggo.Type, error) {
	if p, ok := primitiveTypes[t.Kind]; ok {
		return p, nil
	}
	switch t.Kind {
	case schema.KindDecimal:
		if t.Precision > maxDecimalPrecision {
			return iceberggo.PrimitiveTypes.String, nil
		}
		return iceberggo.DecimalTypeOf(t.Precision, t.Scale), nil
	case schema.KindTime:
		return microseconds(t, iceberggo.PrimitiveTypes.Time)
	case schema.KindTimestamp:
		return microseconds(t, iceberggo.PrimitiveTypes.Timestamp)
	case schema.KindTimestampLTZ:
		return microseconds(t, iceberggo.PrimitiveTypes.TimestampTz)
	case schema.KindArray:
		list := &iceberggo.ListType{ElementID: next()}
		var err error
		list.Element, err = icebergType(*t.Elem, next)
		return list, err
	case schema.KindMap:
		return icebergMap(t, next)
	case schema.KindRow:
		return icebergStruct(t.Fields, next)
	}
	return nil, fmt.Errorf("type %s has no counterpart in Iceberg", t)
}

func microseconds(t schema.Type, p iceberggo.Type) (iceberggo.Type, error) {
	if t.Precision > 6 {
		return nil, fmt.Errorf("type %s holds nanoseconds, and Iceberg's format version 2 has microseconds: declare at most 6 digits at the source", t)
	}
	return p, nil
}

func icebergMap(t schema.Type, next func() int) (iceberggo.Type, error) {
	m := &iceberggo.MapType{KeyID: next(), ValueID: next()}
	var err error
	if m.KeyType, err = icebergType(*t.Key, next); err != nil {
		return nil, err
	}
	m.ValueType, err = icebergType(*t.Elem, next)
	return m, err
}

func icebergStruct(fields []schema.Column, next func() int) (iceberggo.Type, error) {
	st := &iceberggo.StructType{FieldList: make([]iceberggo.NestedField, len(fields))}
	for i, f := range fields {
		st.FieldList[i] = iceberggo.NestedField{ID: next(), Name: f.Name, Doc: f.Comment}
	}
	for i, f := range fields {
		var err error
		if st.FieldList[i].Type, err = icebergType(f.Type, next); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// promotes reports whether Iceberg may read values written as old as type new:
// the promotions of the specification (int to long, float to double, more
// digits of a decimal), anywhere inside nested types. Ids are not compared.
func promotes(old, new iceberggo.Type) bool {
	switch n := new.(type) {
	case *iceberggo.ListType:
		o, ok := old.(*iceberggo.ListType)
		return ok && promotes(o.Element, n.Element)
	case *iceberggo.MapType:
		o, ok := old.(*iceberggo.MapType)
		return ok && promotes(o.ValueType, n.ValueType) && sameType(o.KeyType, n.KeyType)
	case *iceberggo.StructType:
		o, ok := old.(*iceberggo.StructType)
		if !ok || len(o.FieldList) != len(n.FieldList) {
			return false
		}
		for i := range n.FieldList {
			if o.FieldList[i].Name != n.FieldList[i].Name || !promotes(o.FieldList[i].Type, n.FieldList[i].Type) {
				return false
			}
		}
		return true
	case iceberggo.DecimalType:
		o, ok := old.(iceberggo.DecimalType)
		return ok && o.Scale() == n.Scale() && o.Precision() <= n.Precision()
	case iceberggo.Int64Type:
		return old.Equals(iceberggo.PrimitiveTypes.Int32) || old.Equals(new)
	case iceberggo.Float64Type:
		return old.Equals(iceberggo.PrimitiveTypes.Float32) || old.Equals(new)
	}
	return old.Equals(new)
}

// sameType compares two types but for the ids inside them.
func sameType(a, b iceberggo.Type) bool { return promotes(a, b) && promotes(b, a) }

// withIDs returns new with the ids that old has in the same places, so that a
// widened nested type keeps them. promotes(old, new) holds.
func withIDs(old, new iceberggo.Type) iceberggo.Type {
	switch n := new.(type) {
	case *iceberggo.ListType:
		o := old.(*iceberggo.ListType)
		return &iceberggo.ListType{ElementID: o.ElementID, Element: withIDs(o.Element, n.Element)}
	case *iceberggo.MapType:
		o := old.(*iceberggo.MapType)
		return &iceberggo.MapType{KeyID: o.KeyID, ValueID: o.ValueID, KeyType: withIDs(o.KeyType, n.KeyType), ValueType: withIDs(o.ValueType, n.ValueType)}
	case *iceberggo.StructType:
		o := old.(*iceberggo.StructType)
		st := &iceberggo.StructType{FieldList: make([]iceberggo.NestedField, len(n.FieldList))}
		for i, f := range n.FieldList {
			f.ID, f.Type = o.FieldList[i].ID, withIDs(o.FieldList[i].Type, f.Type)
			st.FieldList[i] = f
		}
		return st
	}
	return new
}
