package iceberg

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// toSource returns a column of an Iceberg table in the Arrow type that the source's
// batches have, the way back from [icebergType]. The caller releases it.
func toSource(col arrow.Array, t schema.Type) (arrow.Array, error) {
	if ext, ok := col.(array.ExtensionArray); ok { // UUIDs
		col = ext.Storage()
	}
	switch t.Kind {
	case schema.KindUBigInt:
		return decimalToUint64(col)
	case schema.KindDecimal:
		if s, ok := col.(*array.String); ok {
			return textToDecimal(s, t)
		}
	case schema.KindArray, schema.KindMap, schema.KindRow:
		return nestedToSource(col, t)
	}
	want := t.Arrow()
	if col.DataType().ID() == want.ID() && sameUnit(col.DataType(), want) {
		return withType(col.Data(), want, col.Data().Children()), nil
	}
	out, err := compute.CastArray(context.Background(), col, compute.SafeCastOptions(want))
	if err != nil {
		return nil, fmt.Errorf("an Iceberg column of Arrow type %s is no %s: %w", col.DataType(), t, err)
	}
	return out, nil
}

// sameUnit tells whether values of one type mean the same in the other, both being of one kind.
func sameUnit(have, want arrow.DataType) bool {
	switch w := want.(type) {
	case *arrow.TimestampType:
		return have.(*arrow.TimestampType).Unit == w.Unit
	case *arrow.Time64Type:
		return have.(*arrow.Time64Type).Unit == w.Unit
	case *arrow.Decimal128Type:
		return have.(*arrow.Decimal128Type).Scale == w.Scale
	}
	return true
}

// withType returns the same values under another type.
func withType(d arrow.ArrayData, t arrow.DataType, children []arrow.ArrayData) arrow.Array {
	data := array.NewData(t, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

func nestedToSource(col arrow.Array, t schema.Type) (arrow.Array, error) {
	data := col.Data()
	types := []schema.Type{}
	switch t.Kind {
	case schema.KindArray:
		types = append(types, *t.Elem)
	case schema.KindRow:
		for _, f := range t.Fields {
			types = append(types, f.Type)
		}
	case schema.KindMap:
		entries := schema.Row(schema.Column{Name: "key", Type: *t.Key}, schema.Column{Name: "value", Type: *t.Elem})
		pairs := array.MakeFromData(data.Children()[0])
		inner, err := nestedToSource(pairs, entries)
		pairs.Release()
		if err != nil {
			return nil, err
		}
		defer inner.Release()
		want := t.Arrow().(*arrow.MapType)
		entry := withType(inner.Data(), want.Elem(), inner.Data().Children())
		defer entry.Release()
		return withType(data, want, []arrow.ArrayData{entry.Data()}), nil
	}
	if len(data.Children()) != len(types) {
		return nil, fmt.Errorf("an Iceberg column of Arrow type %s is no %s", col.DataType(), t)
	}
	children := make([]arrow.ArrayData, len(types))
	for i, child := range data.Children() {
		a := array.MakeFromData(child)
		c, err := toSource(a, types[i])
		a.Release()
		if err != nil {
			return nil, err
		}
		defer c.Release()
		children[i] = c.Data()
	}
	return withType(data, t.Arrow(), children), nil
}

func decimalToUint64(col arrow.Array) (arrow.Array, error) {
	d, ok := col.(*array.Decimal128)
	if !ok {
		return nil, fmt.Errorf("an Iceberg column of Arrow type %s is no BIGINT UNSIGNED", col.DataType())
	}
	b := array.NewUint64Builder(memory.DefaultAllocator)
	defer b.Release()
	for i := range d.Len() {
		if d.IsNull(i) {
			b.AppendNull()
			continue
		}
		v := d.Value(i)
		if v.HighBits() != 0 {
			return nil, fmt.Errorf("row %d: %s is no BIGINT UNSIGNED", i, v.BigInt())
		}
		b.Append(v.LowBits())
	}
	return b.NewArray(), nil
}

func textToDecimal(col *array.String, t schema.Type) (arrow.Array, error) {
	typ, ok := t.Arrow().(*arrow.Decimal256Type)
	if !ok {
		return nil, fmt.Errorf("text in a column of type %s", t)
	}
	b := array.NewDecimal256Builder(memory.DefaultAllocator, typ)
	defer b.Release()
	for i := range col.Len() {
		if col.IsNull(i) {
			b.AppendNull()
			continue
		}
		v, err := decimal256.FromString(col.Value(i), typ.Precision, typ.Scale)
		if err != nil {
			return nil, fmt.Errorf("row %d: %q is no %s: %w", i, col.Value(i), t, err)
		}
		b.Append(v)
	}
	return b.NewArray(), nil
}
