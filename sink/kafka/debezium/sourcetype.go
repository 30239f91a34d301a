package debezium

import (
	"fmt"
	"math"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// sourceParams are the parameters that tell a column's type at its server.
func (o *Options) sourceParams(c schema.Column) []param {
	if o.SourceType == nil || !o.SourceType(c) {
		return nil
	}
	length, scale := c.Source.Length, c.Source.Scale
	if o.Connector == PostgreSQL {
		length, scale = driverSize(c)
	} else if name, _, _ := strings.Cut(c.Source.Name, " "); name == "enum" {
		length = 1
	}
	out := []param{{"__debezium.source.column.type", strings.ToUpper(c.Source.Name)}}
	if length >= 0 {
		out = append(out, param{"__debezium.source.column.length", fmt.Sprint(length)})
	}
	if scale >= 0 {
		out = append(out, param{"__debezium.source.column.scale", fmt.Sprint(scale)})
	}
	return append(out, param{"__debezium.source.column.name", c.Name})
}

// driverSize returns length and scale as PostgreSQL's driver for Java has them for a
// column's type, of an array those of its element. -1 is none.
func driverSize(c schema.Column) (length, scale int) {
	name := strings.TrimPrefix(c.Source.Name, "_")
	seconds, digits := 7, 6 // of a fraction, its point included
	if n := c.Source.Length; n == 0 {
		seconds, digits = 0, 0
	} else if n > 0 {
		seconds, digits = n+1, n
	}
	switch name {
	case "int2":
		return 5, 0
	case "int4", "oid":
		return 10, 0
	case "int8":
		return 19, 0
	case "float4":
		return 8, 8
	case "float8":
		return 17, 17
	case "numeric":
		if c.Source.Length < 0 {
			return 0, -1
		}
		return c.Source.Length, c.Source.Scale
	case "bool":
		return 1, 0
	case "date":
		return 13, 0
	case "time":
		return 8 + seconds, digits
	case "timetz":
		return 14 + seconds, digits
	case "timestamp":
		return 22 + seconds, digits
	case "timestamptz":
		return 28 + seconds, digits
	case "interval":
		return 49, 6
	case "varchar", "bpchar", "bit", "varbit":
		if c.Source.Length >= 0 {
			return c.Source.Length, 0
		}
	}
	return math.MaxInt32, 0
}
