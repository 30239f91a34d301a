package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
)

// pgType is what pg_type says of a type.
type pgType struct {
	OID     uint32
	Name    string // typname: int4, _text, ...
	Kind    byte   // typtype: base, composite, domain, enum, pseudo, range, multirange
	Base    uint32 // of a domain
	BaseMod int32  // of a domain
	Dims    int    // of a domain over an array
	Elem    uint32 // of a true array, else 0
	Delim   byte   // between the elements of arrays of this type
	Labels  []string
}

// typeCatalog knows the types of a database that have been looked up.
type typeCatalog map[uint32]pgType

const typeQuery = `SELECT t.oid, t.typname, t.typtype, t.typbasetype, t.typtypmod, t.typndims,
	coalesce((SELECT e.oid FROM pg_catalog.pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid), 0), t.typdelim,
	coalesce((SELECT array_agg(l.enumlabel::text ORDER BY l.enumsortorder) FROM pg_catalog.pg_enum l WHERE l.enumtypid = t.oid), '{}')
	FROM pg_catalog.pg_type t WHERE t.oid = any($1)`

// load looks up the types that are missing, with their bases and elements.
// A type that no longer exists stays missing.
func (c typeCatalog) load(ctx context.Context, conn *pgx.Conn, oids []uint32) error {
	for {
		var need []uint32
		for _, oid := range oids {
			if _, ok := c[oid]; !ok && oid != 0 {
				need = append(need, oid)
			}
		}
		if len(need) == 0 {
			return nil
		}
		rows, err := conn.Query(ctx, typeQuery, need)
		if err != nil {
			return fmt.Errorf("look up types: %w", err)
		}
		oids = oids[:0:0]
		var t pgType
		var kind, delim rune
		_, err = pgx.ForEachRow(rows, []any{&t.OID, &t.Name, &kind, &t.Base, &t.BaseMod, &t.Dims, &t.Elem, &delim, &t.Labels}, func() error {
			t.Kind, t.Delim = byte(kind), byte(delim)
			c[t.OID] = t
			oids = append(oids, t.Base, t.Elem)
			t.Labels = nil
			return nil
		})
		if err != nil {
			return fmt.Errorf("look up types: %w", err)
		}
	}
}

// column returns the type of a column declared with oid, typmod and dims
// dimensions (0 where none were declared). A type that is not in the catalogue is
// carried as text.
func (c typeCatalog) column(oid uint32, typmod int32, dims int, o textOptions) (schema.Type, schema.SourceType) {
	t, ok := c[oid]
	declared := typmod
	for ok && t.Kind == 'd' {
		if typmod < 0 {
			typmod = t.BaseMod
		}
		dims = max(dims, t.Dims)
		t, ok = c[t.Base]
	}
	src := schema.SourceType{Name: t.Name, Length: -1, Scale: -1, OID: oid, Modifier: declared, Enum: t.Labels}
	if !ok {
		src.Name = "unknown"
		return schema.String(), src
	}
	if t.Elem != 0 {
		if o.ArrayText {
			return schema.String(), src
		}
		elem, inner := c.column(t.Elem, typmod, 0, o)
		src.Length, src.Scale, src.Enum = inner.Length, inner.Scale, inner.Enum
		typ := schema.Array(elem)
		for range max(dims, 1) - 1 {
			typ = schema.Array(typ)
		}
		return typ, src
	}
	src.Length, src.Scale = modifiers(t.Name, typmod)
	if o.SpecialKeep && t.Name == "numeric" {
		return schema.Numeric(), src
	}
	return scalarType(t.Name, typmod), src
}

// modifiers returns what format_type would print in parentheses, -1 for nothing.
func modifiers(name string, typmod int32) (length, scale int) {
	if typmod < 0 {
		return -1, -1
	}
	switch name {
	case "numeric":
		return numericModifier(typmod)
	case "varchar", "bpchar":
		return int(typmod) - 4, -1
	case "bit", "varbit", "time", "timetz", "timestamp", "timestamptz":
		return int(typmod), -1
	}
	return -1, -1
}

// numericModifier takes numeric's typmod apart: VARHDRSZ (4) is added to
// precision << 16 | scale in 11 bits, signed since PostgreSQL 15.
func numericModifier(typmod int32) (precision, scale int) {
	m := typmod - 4
	return int(m>>16) & 0xffff, int((m&0x7ff)^1024) - 1024
}

// maxDecimal is the number of digits that decimal256 holds.
const maxDecimal = 76

var plainTypes = map[string]schema.Type{
	"bool": schema.Boolean(), "int2": schema.SmallInt(), "int4": schema.Int(), "int8": schema.BigInt(),
	"oid": schema.BigInt(), "xid": schema.BigInt(), "cid": schema.BigInt(), "xid8": schema.BigInt(),
	"float4": schema.Float(), "float8": schema.Double(), "money": schema.Decimal(19, 2), "bytea": schema.Bytes(),
	"date": schema.Date(), "interval": schema.Interval(), "uuid": schema.UUID(), "json": schema.JSON(), "jsonb": schema.JSON(),
	"hstore": schema.Map(schema.String(), schema.String()),
}

// scalarType maps a base type. What has no type of its own is carried as the
// server's text.
func scalarType(name string, typmod int32) schema.Type {
	if t, ok := plainTypes[name]; ok {
		return t
	}
	fraction := 6
	if typmod >= 0 {
		fraction = int(typmod)
	}
	switch name {
	case "numeric":
		if p, s := numericModifier(typmod); typmod >= 0 && p <= maxDecimal && s >= 0 && s <= p {
			return schema.Decimal(p, s)
		}
		return schema.Numeric()
	case "varchar":
		if typmod >= 4 {
			return schema.Varchar(int(typmod) - 4)
		}
	case "bpchar":
		if typmod >= 4 {
			return schema.Char(int(typmod) - 4)
		}
	case "bit":
		if typmod == 1 {
			return schema.Boolean()
		}
	case "time":
		return schema.Time(fraction)
	case "timetz":
		return schema.TimeTZ(fraction)
	case "timestamp":
		return schema.Timestamp(fraction)
	case "timestamptz":
		return schema.TimestampLTZ(fraction)
	}
	return schema.String()
}
