package format

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
)

// columns reads mysqlType, or takes the fields of the first row as texts where a message
// tells no types (Canal leaves them out of rows of other databases).
func (c *canal) columns() ([]schema.Column, error) {
	if c.e.types == nil {
		return c.untyped()
	}
	if columns, ok := c.types[string(c.e.types)]; ok {
		return columns, nil
	}
	var r connect.JSONReader
	r.Reset(c.e.types)
	if err := r.Enter('{'); err != nil {
		return nil, fmt.Errorf("field mysqlType: %w", err)
	}
	var out []schema.Column
	for {
		key, ok, err := r.NextKey()
		if err != nil {
			return nil, fmt.Errorf("field mysqlType: %w", err)
		}
		if !ok {
			break
		}
		name := string(key)
		declared, err := r.Text()
		if err != nil {
			return nil, fmt.Errorf("field mysqlType.%s: %w", name, err)
		}
		out = append(out, canalColumn(name, string(declared)))
	}
	if len(c.types) >= maxSchemas {
		clear(c.types)
	}
	c.types[string(c.e.types)] = out
	return out, nil
}

func (c *canal) untyped() (out []schema.Column, err error) {
	rows, err := objects(c.e.data)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var r connect.JSONReader
	r.Reset(rows[0])
	if err := r.Enter('{'); err != nil {
		return nil, err
	}
	for {
		key, ok, err := r.NextKey()
		if !ok || err != nil {
			return out, err
		}
		out = append(out, canalColumn(string(key), ""))
		if _, err := r.Skip(); err != nil {
			return nil, err
		}
	}
}

// canalTypes are the types without modifiers that count.
var canalTypes = map[string]schema.Type{
	"tinyint": schema.TinyInt(), "smallint": schema.SmallInt(), "mediumint": schema.Int(), "int": schema.Int(), "integer": schema.Int(), "bigint": schema.BigInt(),
	"tinyint unsigned": schema.SmallInt(), "smallint unsigned": schema.Int(), "mediumint unsigned": schema.Int(), "int unsigned": schema.BigInt(),
	"integer unsigned": schema.BigInt(), "bigint unsigned": schema.UBigInt(), "year": schema.Int(), "bool": schema.Boolean(), "boolean": schema.Boolean(),
	"float": schema.Float(), "double": schema.Double(), "real": schema.Double(), "float unsigned": schema.Float(), "double unsigned": schema.Double(),
	"date": schema.Date(), "json": schema.JSON(), "binary": schema.Bytes(), "varbinary": schema.Bytes(), "blob": schema.Bytes(), "tinyblob": schema.Bytes(),
	"mediumblob": schema.Bytes(), "longblob": schema.Bytes(), "bit": schema.UBigInt(), "uuid": schema.UUID(),
}

// canalColumn maps a type as MySQL declares it. What is not known is text.
func canalColumn(name, declared string) schema.Column {
	base, inside, rest := strings.ToLower(strings.TrimSpace(declared)), "", ""
	if open := strings.IndexByte(base, '('); open >= 0 {
		if end := strings.LastIndexByte(base, ')'); end > open {
			base, inside, rest = base[:open], base[open+1:end], base[end+1:]
		}
	}
	base = strings.TrimSpace(base)
	if strings.Contains(rest, "unsigned") {
		base += " unsigned"
	}
	base = strings.TrimSuffix(base, " zerofill")
	c := schema.Column{Name: name, Nullable: true, Type: schema.String(), Source: schema.SourceType{Name: strings.ToLower(declared), Length: -1, Scale: -1, Modifier: -1}}
	if t, ok := canalTypes[base]; ok {
		c.Type = t
		return c
	}
	first, second := modifiers(inside)
	switch strings.TrimSuffix(base, " unsigned") {
	case "decimal", "numeric":
		if first < 0 {
			first, second = 10, 0
		}
		if first >= 1 && first <= 65 && second <= first {
			c.Type = schema.Decimal(first, max(second, 0))
		}
	case "time":
		c.Type = schema.Time(min(max(first, 0), 6))
	case "datetime":
		c.Type = schema.Timestamp(min(max(first, 0), 6))
	case "timestamp":
		c.Type = schema.TimestampLTZ(min(max(first, 0), 6))
	}
	return c
}

// modifiers reads the numbers between the brackets of a type, -1 where there is none.
func modifiers(inside string) (first, second int) {
	first, second = -1, -1
	a, b, _ := strings.Cut(inside, ",")
	if n, err := strconv.Atoi(strings.TrimSpace(a)); err == nil {
		first = n
	}
	if n, err := strconv.Atoi(strings.TrimSpace(b)); err == nil {
		second = n
	}
	return first, second
}
