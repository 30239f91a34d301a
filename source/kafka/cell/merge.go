package cell

import (
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// digits are the decimal digits that each integer type may have.
var digits = map[schema.Kind]int{schema.KindTinyInt: 3, schema.KindSmallInt: 5, schema.KindInt: 10, schema.KindBigInt: 19, schema.KindUBigInt: 20}

// integers in order of their width.
var integers = []schema.Kind{schema.KindTinyInt, schema.KindSmallInt, schema.KindInt, schema.KindBigInt}

// maxDecimal is the most digits that a DECIMAL has.
const maxDecimal = 76

// Merge returns the narrowest type that holds the values of both; false where there is none
// but text. A BIGINT and a DOUBLE are a DOUBLE, as in Flink CDC, although large integers lose digits in it.
func Merge(a, b schema.Type) (schema.Type, bool) {
	if a.Equal(b) {
		return a, true
	}
	if a.Kind == b.Kind {
		return mergeSame(a, b)
	}
	if rank(a) > rank(b) {
		a, b = b, a
	}
	na, nb := digits[a.Kind] > 0, digits[b.Kind] > 0
	switch {
	case na && nb && b.Kind == schema.KindUBigInt:
		return schema.Decimal(20, 0), true
	case na && nb:
		return b, true
	case na && b.Kind == schema.KindDecimal:
		return mergeSame(schema.Decimal(digits[a.Kind], 0), b)
	case na && b.Kind == schema.KindFloat && slices.Index(integers, a.Kind) < 2 && a.Kind != schema.KindUBigInt:
		return b, true
	case na && (b.Kind == schema.KindFloat || b.Kind == schema.KindDouble):
		return schema.Double(), true
	case a.Kind == schema.KindFloat && b.Kind == schema.KindDouble:
		return b, true
	case b.Kind == schema.KindNumeric && (na || rank(a) > 0):
		return b, true
	case isText(a) && isText(b):
		return schema.String(), true
	case isBytes(a) && isBytes(b):
		return schema.Bytes(), true
	case a.Kind == schema.KindDate && b.Kind == schema.KindTimestamp:
		return b, true
	case b.Kind == schema.KindDate && a.Kind == schema.KindTimestamp:
		return a, true
	}
	return schema.Type{}, false
}

// rank orders the kinds of numbers; 0 is no number.
func rank(t schema.Type) int {
	return 1 + slices.Index([]schema.Kind{schema.KindTinyInt, schema.KindSmallInt, schema.KindInt, schema.KindBigInt, schema.KindUBigInt,
		schema.KindDecimal, schema.KindFloat, schema.KindDouble, schema.KindNumeric}, t.Kind)
}

func isText(t schema.Type) bool {
	return t.Kind == schema.KindChar || t.Kind == schema.KindVarchar || t.Kind == schema.KindString
}

func isBytes(t schema.Type) bool {
	return t.Kind == schema.KindBinary || t.Kind == schema.KindVarbinary || t.Kind == schema.KindBytes
}

// mergeSame merges two types of one kind.
func mergeSame(a, b schema.Type) (schema.Type, bool) {
	switch a.Kind {
	case schema.KindDecimal:
		scale := max(a.Scale, b.Scale)
		precision := max(a.Precision-a.Scale, b.Precision-b.Scale) + scale
		if precision > maxDecimal {
			return schema.Numeric(), true
		}
		return schema.Decimal(precision, scale), true
	case schema.KindArray:
		elem, ok := Merge(*a.Elem, *b.Elem)
		return schema.Array(elem), ok
	case schema.KindMap:
		key, ok1 := Merge(*a.Key, *b.Key)
		elem, ok2 := Merge(*a.Elem, *b.Elem)
		return schema.Map(key, elem), ok1 && ok2
	case schema.KindRow:
		return mergeRows(a, b)
	}
	a.Length, a.Precision = max(a.Length, b.Length), max(a.Precision, b.Precision)
	return a, true
}

// mergeRows merges by name; fields that only b has come last.
func mergeRows(a, b schema.Type) (schema.Type, bool) {
	fields := slices.Clone(a.Fields)
	for _, f := range b.Fields {
		i := slices.IndexFunc(fields, func(o schema.Column) bool { return o.Name == f.Name })
		if i < 0 {
			f.Nullable = true
			fields = append(fields, f)
			continue
		}
		t, ok := Merge(fields[i].Type, f.Type)
		if !ok {
			return schema.Type{}, false
		}
		fields[i].Type, fields[i].Nullable = t, fields[i].Nullable || f.Nullable
	}
	return schema.Row(fields...), true
}
