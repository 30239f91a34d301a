package debezium

import (
	"math"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// known are the types of PostgreSQL and its extensions that Debezium has a form for.
var known = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(`bool bit varbit int2 int4 int8 oid float4 float8 numeric money varchar bpchar char text
		name citext bytea date time timetz timestamp timestamptz interval uuid json jsonb xml hstore inet cidr macaddr macaddr8
		int4range int8range numrange tsrange tstzrange daterange point ltree isbn geometry geography tsvector vector halfvec sparsevec`) {
		out[name] = true
	}
	return out
}()

// knownByDebezium reports whether Debezium writes a column. Of arrays it leaves those
// of intervals and of money out.
func knownByDebezium(c schema.Column) bool {
	name, isArray := strings.CutPrefix(c.Source.Name, "_")
	if isArray && (name == "interval" || name == "money") {
		return false
	}
	// A column that a transform has made has no type at the server.
	return c.Source.Name == "" || len(c.Source.Enum) > 0 || known[name]
}

// postgresTexts are the types whose values are texts with a meaning.
var postgresTexts = map[string]string{
	"xml": "io.debezium.data.Xml", "ltree": "io.debezium.data.Ltree", "tsvector": "io.debezium.data.Tsvector",
}

// postgresSpecial maps what depends on the name of a type of PostgreSQL.
func (o *Options) postgresSpecial(c schema.Column) (m mapping, special bool) {
	if c.Type.Kind != schema.KindString {
		return mapping{}, false
	}
	if name, ok := postgresTexts[c.Source.Name]; ok {
		return o.text(named("string", name)), true
	}
	if len(c.Source.Enum) > 0 {
		return o.text(enumType("io.debezium.data.Enum", c.Source.Enum, false)), true
	}
	switch c.Source.Name {
	case "bit", "varbit":
		length := c.Source.Length
		if length < 0 {
			length = math.MaxInt32
		}
		return converted(bitsType(length), `""`, appendBits), true
	case "point":
		return converted(pointType(), zeroPoint, appendPoint), true
	case "geometry":
		return converted(geometryType("Geometry"), `{"wkb":"AQcAAAAAAAAA","srid":null}`, appendPostGIS), true
	case "geography":
		return converted(geometryType("Geography"), `{"wkb":"AQcAAAAAAAAA","srid":null}`, appendPostGIS), true
	case "vector":
		return vectorMapping("DoubleVector", "double", 64), true
	case "halfvec":
		return vectorMapping("FloatVector", "float", 32), true
	case "sparsevec":
		t := named("struct", "io.debezium.data.SparseDoubleVector")
		t.doc = "Sparse double vector"
		keys, values := plain("int16"), plain("double")
		t.fields = []connectField{{"dimensions", plain("int16")}, {"vector", connectType{typ: "map", keys: &keys, values: &values}}}
		return converted(t, `{"dimensions":0,"vector":{}}`, appendSparse), true
	}
	return mapping{}, false
}

func vectorMapping(name, elem string, size int) mapping {
	items := plain(elem)
	t := connectType{typ: "array", items: &items, name: "io.debezium.data." + name, version: 1}
	return converted(t, "[]", vectorText(size))
}
