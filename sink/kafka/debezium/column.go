package debezium

import (
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// mapping is how a column is written: its type in Kafka Connect and its cell.
type mapping struct {
	connectType
	cell cell
	// zero is the JSON of the value that stands where a column that can't be NULL
	// has none.
	zero string
	// missing is the JSON of a value that the server did not send, empty where none fits.
	missing string
}

// describe says how a column is written; ok is false for a type that Debezium does
// not know.
func (o *Options) describe(c schema.Column) (m mapping, ok bool, err error) {
	if o.Connector == PostgreSQL {
		if !knownByDebezium(c) && !o.UnknownTypes {
			return mapping{}, false, nil
		}
		if m, special := o.postgresSpecial(c); special {
			return m, true, nil
		}
	} else if m, special, err := o.mysqlSpecial(c); special || err != nil {
		return m, true, err
	}
	m, err = o.byKind(c)
	return m, true, err
}

// byKind maps a type that needs to know nothing of its server.
func (o *Options) byKind(c schema.Column) (mapping, error) {
	switch c.Type.Kind {
	case schema.KindBoolean:
		return mapping{connectType: plain("boolean"), cell: &booleanCell{}, zero: "false"}, nil
	case schema.KindTinyInt:
		return mapping{connectType: plain("int16"), cell: &integerCell[int8]{}, zero: "0"}, nil
	case schema.KindSmallInt:
		return mapping{connectType: plain("int16"), cell: &integerCell[int16]{}, zero: "0"}, nil
	case schema.KindInt:
		return mapping{connectType: plain("int32"), cell: &integerCell[int32]{}, zero: "0"}, nil
	case schema.KindBigInt:
		return mapping{connectType: plain("int64"), cell: &integerCell[int64]{}, zero: "0"}, nil
	case schema.KindUBigInt:
		return o.unsigned(), nil
	case schema.KindFloat:
		return mapping{connectType: plain("float"), cell: &floatCell{}, zero: "0.0"}, nil
	case schema.KindDouble:
		return mapping{connectType: plain("double"), cell: &doubleCell{}, zero: "0.0"}, nil
	case schema.KindDecimal, schema.KindNumeric:
		return o.decimal(c), nil
	case schema.KindChar, schema.KindVarchar, schema.KindString:
		return o.text(plain("string")), nil
	case schema.KindBinary, schema.KindVarbinary, schema.KindBytes:
		return o.bytes(), nil
	case schema.KindUUID:
		m := o.text(named("string", "io.debezium.data.Uuid"))
		m.cell, m.zero = &uuidCell{}, `"00000000-0000-0000-0000-000000000000"`
		return m, nil
	case schema.KindJSON:
		m := o.text(named("string", "io.debezium.data.Json"))
		m.zero = `"{}"`
		if o.Connector != PostgreSQL {
			m.cell = &jsonCell{changed: &o.changed}
		}
		return m, nil
	case schema.KindInterval:
		return o.interval(), nil
	case schema.KindArray, schema.KindMap, schema.KindRow:
		return o.nested(c)
	}
	if m, ok := o.temporal(c.Type); ok {
		return m, nil
	}
	return mapping{}, fmt.Errorf("type %s has no form in Debezium's messages", c.Type)
}

// text is a type whose values are texts.
func (o *Options) text(t connectType) mapping {
	return mapping{connectType: t, cell: &textCell{}, zero: `""`, missing: string(appendString(nil, o.Placeholder))}
}

// converted is a type whose values are made of texts.
func converted(t connectType, zero string, convert func(dst []byte, s string) ([]byte, error)) mapping {
	return mapping{connectType: t, cell: &convertedCell{convert: convert}, zero: zero}
}

func (o *Options) bytes() mapping {
	t := "string"
	if o.Binary == BinaryBytes {
		t = "bytes"
	}
	encode := encodingOf(o.Binary)
	missing := append(encode([]byte{'"'}, []byte(o.Placeholder)), '"')
	return mapping{connectType: plain(t), cell: &bytesCell{encode: encode}, zero: `""`, missing: string(missing)}
}

func (o *Options) unsigned() mapping {
	if o.Unsigned == UnsignedLong {
		return mapping{connectType: plain("int64"), cell: &unsignedCell{}, zero: "0"}
	}
	m := mapping{connectType: decimalType(0, 0), cell: &unsignedDecimalCell{format: o.DecimalFormat}, zero: `"AA=="`}
	if o.DecimalFormat == FormatNumeric {
		m.zero = "0"
	}
	return m
}

// decimalType is Connect's Decimal; precision 0 is none.
func decimalType(precision, scale int) connectType {
	t := named("bytes", "org.apache.kafka.connect.data.Decimal", param{"scale", fmt.Sprint(scale)})
	if precision > 0 {
		t.params = append(t.params, param{"connect.decimal.precision", fmt.Sprint(precision)})
	}
	return t
}

// decimal maps DECIMAL and numbers of any size. What a server declares counts, also
// where the type here could not hold it as a DECIMAL.
func (o *Options) decimal(c schema.Column) mapping {
	precision, scale, fixed := c.Type.Precision, c.Type.Scale, c.Type.Kind == schema.KindDecimal
	if !fixed && c.Source.Length >= 0 && c.Source.Name != "" {
		precision, scale, fixed = c.Source.Length, c.Source.Scale, true
	}
	if strings.TrimPrefix(c.Source.Name, "_") == "money" {
		precision = 0
	}
	m := mapping{cell: &decimalCell{scale: scale, mode: o.Decimal, format: o.DecimalFormat}}
	if c.Type.Kind == schema.KindNumeric {
		m.cell = &numericCell{scale: scale, fixed: fixed, mode: o.Decimal, format: o.DecimalFormat}
	}
	var n number
	n.scale = scale
	switch {
	case o.Decimal == DecimalString:
		m.connectType = plain("string")
	case o.Decimal == DecimalDouble:
		m.connectType = plain("double")
	case !fixed:
		m.connectType = named("struct", "io.debezium.data.VariableScaleDecimal")
		m.doc = "Variable scaled decimal"
		m.fields = []connectField{{"scale", plain("int32")}, {"value", plain("bytes")}}
		m.zero = `{"scale":0,"value":"AA=="}`
		return m
	default:
		m.connectType = decimalType(precision, scale)
	}
	zero, _ := n.appendAs(nil, o.Decimal, o.DecimalFormat)
	m.zero = string(zero)
	return m
}

func (o *Options) interval() mapping {
	if o.Interval == IntervalString {
		return converted(named("string", "io.debezium.time.Interval"), `"P0Y0M0DT0H0M0S"`, intervalText)
	}
	return converted(named("int64", "io.debezium.time.MicroDuration"), "0", intervalMicros)
}

// nested maps arrays, maps and rows.
func (o *Options) nested(c schema.Column) (mapping, error) {
	switch c.Type.Kind {
	case schema.KindArray:
		return o.array(c)
	case schema.KindMap:
		if o.Hstore == HstoreMap {
			keys, values := plain("string"), plain("string")
			values.optional = true
			return mapping{connectType: connectType{typ: "map", keys: &keys, values: &values}, cell: &mapCell{}, zero: "{}"}, nil
		}
		m := o.text(named("string", "io.debezium.data.Json"))
		m.cell, m.zero = &mapCell{quoted: true}, `"{}"`
		return m, nil
	}
	row := &rowCell{}
	m := mapping{connectType: plain("struct"), cell: row}
	for _, f := range c.Type.Fields {
		fm, ok, err := o.describe(f)
		if err != nil || !ok {
			return mapping{}, fmt.Errorf("field %s: type %s has no form in Debezium's messages", f.Name, f.Type)
		}
		fm.optional = f.Nullable
		m.fields = append(m.fields, connectField{f.Name, fm.connectType})
		row.fields = append(row.fields, newField(f.Name, fm, false))
	}
	return m, nil
}

func (o *Options) array(c schema.Column) (mapping, error) {
	elem := schema.Column{Name: c.Name, Type: *c.Type.Elem, Nullable: true, Source: c.Source}
	if elem.Type.Kind != schema.KindArray {
		elem.Source.Name = strings.TrimPrefix(elem.Source.Name, "_")
	}
	inner, ok, err := o.describe(elem)
	if err != nil {
		return mapping{}, err
	}
	if !ok {
		return mapping{}, fmt.Errorf("type %s has no form in Debezium's messages", c.Type)
	}
	// Debezium declares the elements of an array of an enum as never NULL.
	inner.optional = inner.name != "io.debezium.data.Enum"
	m := mapping{connectType: connectType{typ: "array", items: &inner.connectType}, cell: &listCell{elem: inner.cell}, zero: "[]"}
	switch {
	case inner.missing != "":
		m.missing = "[" + inner.missing + "]"
	case strings.HasPrefix(inner.typ, "int"):
		signed := make([]string, len(o.Placeholder))
		for i, b := range []byte(o.Placeholder) {
			signed[i] = fmt.Sprint(int8(b))
		}
		m.missing = "[" + strings.Join(signed, ",") + "]"
	}
	return m, nil
}
