package debezium

import (
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

var errGeometry = errors.New("geometries must come as the server keeps them, with their SRID; GeoJSON has lost the order of rings")

// mysqlSpecial maps what depends on the name of a type of MySQL or MariaDB.
func (o *Options) mysqlSpecial(c schema.Column) (m mapping, special bool, err error) {
	name, _, _ := strings.Cut(c.Source.Name, " ")
	switch name {
	case "year":
		return mapping{connectType: named("int32", "io.debezium.time.Year"), cell: &integerCell[int32]{}, zero: "0"}, true, nil
	case "enum":
		return o.text(enumType("io.debezium.data.Enum", c.Source.Enum, true)), true, nil
	case "set":
		return o.text(enumType("io.debezium.data.EnumSet", c.Source.Enum, true)), true, nil
	case "bit":
		if c.Type.Kind == schema.KindBoolean {
			return mapping{}, false, nil
		}
		m := mapping{connectType: bitsType(c.Source.Length), cell: &bytesCell{encode: encodingOf(BinaryBytes)}}
		m.zero = `""`
		return m, true, nil
	case "time":
		if c.Type.Kind == schema.KindString {
			return o.mysqlTime(), true, nil
		}
	case "uuid":
		m := o.text(plain("string"))
		m.cell = &uuidCell{}
		return m, true, nil
	case "vector":
		items := plain("float")
		t := connectType{typ: "array", items: &items, name: "io.debezium.data.FloatVector", version: 1}
		return mapping{connectType: t, cell: &listCell{elem: &floatCell{}}, zero: "[]"}, true, nil
	}
	if isGeometry(name) {
		if c.Type.Kind != schema.KindBytes {
			return mapping{}, true, errGeometry
		}
		t, zero := geometryType("Geometry"), `{"wkb":"AQcAAAAAAAAA","srid":null}`
		if name == "point" {
			t, zero = pointType(), zeroPoint
		}
		return mapping{connectType: t, cell: &geometryCell{point: name == "point"}, zero: zero}, true, nil
	}
	return mapping{}, false, nil
}

func isGeometry(name string) bool {
	switch name {
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		return true
	}
	return false
}

// mysqlTime maps a TIME that comes as the server's text, since it may be more
// than a day or less than nothing.
func (o *Options) mysqlTime() mapping {
	if o.Time == TimeISOString {
		return converted(named("string", "io.debezium.time.IsoTime"), `"00:00:00Z"`, mysqlISOTime)
	}
	u := o.timeUnit(6)
	return converted(named(u.typ, u.name), "0", mysqlTime(u.nanos))
}

// enumType is a type of labels; escaped: a comma in a label has a backslash before it.
func enumType(name string, labels []string, escaped bool) connectType {
	if escaped {
		labels = append([]string(nil), labels...)
		for i, l := range labels {
			labels[i] = strings.ReplaceAll(l, ",", `\,`)
		}
	}
	return named("string", name, param{"allowed", strings.Join(labels, ",")})
}

func bitsType(length int) connectType {
	return named("bytes", "io.debezium.data.Bits", param{"length", fmt.Sprint(length)})
}

// geometryType is a struct of well-known binary and SRID.
func geometryType(name string) connectType {
	t := named("struct", "io.debezium.data.geometry."+name)
	t.doc = name
	srid := plain("int32")
	srid.optional = true
	t.fields = []connectField{{"wkb", plain("bytes")}, {"srid", srid}}
	return t
}

const zeroPoint = `{"x":0.0,"y":0.0,"wkb":"AQEAAAAAAAAAAAAAAAAAAAAAAAAA","srid":null}`

func pointType() connectType {
	t := geometryType("Point")
	t.doc = "Geometry (POINT)"
	wkb := plain("bytes")
	wkb.optional = true
	t.fields = append([]connectField{{"x", plain("double")}, {"y", plain("double")}, {"wkb", wkb}}, t.fields[1])
	return t
}
