package debezium

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// defaultOf returns the JSON of a column's default, nil where it has none that
// Debezium would know: expressions and arrays have none.
func (o *Options) defaultOf(c schema.Column, m mapping) []byte {
	if c.Default == nil || m.typ == "array" || m.typ == "map" {
		return nil
	}
	text, call := *c.Default, false
	if o.Connector == PostgreSQL {
		if m.typ == "struct" || m.typ == "bytes" && m.name == "" || o.hasNoDefault(c) {
			return nil
		}
		var ok bool
		if text, call, ok = postgresLiteral(text); !ok {
			return nil
		}
	} else if m.typ == "struct" || isText(c.Source.Name) { // their defaults are expressions always
		return nil
	} else {
		call = strings.HasPrefix(strings.ToUpper(text), "CURRENT_TIMESTAMP")
		if c.DefaultIsExpression && !call {
			return nil
		}
	}
	if call {
		return []byte(m.zero)
	}
	return literal(c, m, text)
}

// hasNoDefault names types whose defaults Debezium's PostgreSQL connector doesn't carry.
func (o *Options) hasNoDefault(c schema.Column) bool {
	switch c.Source.Name {
	case "inet", "cidr", "macaddr", "macaddr8", "money", "bytea", "hstore", "xml", "citext", "name":
		return true
	}
	return c.Type.Kind == schema.KindNumeric && c.Source.Length < 0
}

// isText reports MySQL's types whose defaults can only be expressions.
func isText(name string) bool {
	return name == "json" || strings.HasSuffix(name, "text") || strings.HasSuffix(name, "blob")
}

// postgresLiteral takes the value out of a default as pg_get_expr prints it:
// 'it”s'::text, -1, true, or a call of a function.
func postgresLiteral(s string) (text string, call, ok bool) {
	if strings.HasPrefix(s, "B'") {
		s = s[1:]
	}
	if rest, quoted := strings.CutPrefix(s, "'"); quoted {
		var b strings.Builder
		for {
			i := strings.IndexByte(rest, '\'')
			if i < 0 {
				return "", false, false
			}
			b.WriteString(rest[:i])
			if rest = rest[i+1:]; !strings.HasPrefix(rest, "'") {
				break
			}
			b.WriteByte('\'')
			rest = rest[1:]
		}
		return b.String(), false, rest == "" || strings.HasPrefix(rest, "::")
	}
	head, _, cast := strings.Cut(s, "::")
	if cast && strings.HasPrefix(head, "(") { // (-1)::numeric
		head = strings.Trim(head, "()")
	}
	if head == "true" || head == "false" {
		return head, false, true
	}
	if _, err := strconv.ParseFloat(head, 64); err == nil {
		return head, false, true
	}
	if name, _, found := strings.Cut(s, "("); found && name != "" && name != "ARRAY[" && strings.HasSuffix(s, ")") || strings.HasPrefix(s, "CURRENT_") {
		return "", true, true
	}
	return "", false, false
}

// literal returns the JSON of a literal of a column's type, nil if it is none.
func literal(c schema.Column, m mapping, text string) []byte {
	switch c.Type.Kind {
	case schema.KindDecimal, schema.KindNumeric:
		return decimalLiteral(m, text)
	case schema.KindDate, schema.KindTimestamp, schema.KindTimestampLTZ, schema.KindTime:
		return temporalLiteral(c, m, text)
	case schema.KindInterval, schema.KindTimeTZ:
		return convertedLiteral(m, text)
	case schema.KindBoolean:
		return booleanLiteral(text)
	case schema.KindFloat, schema.KindDouble:
		size := 64
		if c.Type.Kind == schema.KindFloat {
			size = 32
		}
		if v, err := strconv.ParseFloat(text, size); err == nil {
			return appendFloat(nil, v, size)
		}
		return nil
	case schema.KindBinary, schema.KindVarbinary, schema.KindBytes:
		return m.cell.(*bytesCell).literal(c, text)
	}
	switch {
	case strings.HasPrefix(m.typ, "int") && c.Type.Kind != schema.KindString:
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.AppendInt(nil, v, 10)
		}
		return nil
	case m.typ == "string" && m.name != "" || m.typ == "string" && isPlainText(c.Type.Kind):
		return appendString(nil, text)
	}
	return convertedLiteral(m, text)
}

func isPlainText(k schema.Kind) bool {
	return k == schema.KindChar || k == schema.KindVarchar || k == schema.KindString || k == schema.KindUUID
}

// convertedLiteral writes a literal as the column's cell writes texts.
func convertedLiteral(m mapping, text string) []byte {
	c, ok := m.cell.(*convertedCell)
	if !ok {
		return nil
	}
	out, err := c.convert(nil, text)
	if err != nil {
		return nil
	}
	return out
}

func booleanLiteral(text string) []byte {
	switch text {
	case "true", "1", "b'1'", "t":
		return []byte("true")
	case "false", "0", "b'0'", "f":
		return []byte("false")
	}
	return nil
}

func decimalLiteral(m mapping, text string) []byte {
	c := numericCell{fixed: true}
	switch d := m.cell.(type) {
	case *decimalCell:
		c.scale, c.mode, c.format = d.scale, d.mode, d.format
	case *numericCell:
		c.scale, c.fixed, c.mode, c.format = d.scale, d.fixed, d.mode, d.format
	}
	if c.n.setText(text, c.scale, c.fixed) != nil {
		return nil
	}
	out, err := c.n.appendAs(nil, c.mode, c.format)
	if err != nil {
		return nil
	}
	return out
}

// literal reads bytes as the servers print them in a default: b'101', 0x00FF, or
// themselves.
func (c *bytesCell) literal(col schema.Column, text string) []byte {
	v := []byte(text)
	if bits, ok := strings.CutPrefix(text, "b'"); ok {
		n, err := strconv.ParseUint(strings.TrimSuffix(bits, "'"), 2, 64)
		if err != nil {
			return nil
		}
		v = v[:0]
		for range col.Type.Length {
			v = append(v, byte(n))
			n >>= 8
		}
	} else if digits, ok := strings.CutPrefix(text, "0x"); ok {
		var err error
		if v, err = hex.DecodeString(digits); err != nil {
			return nil
		}
	}
	return append(c.encode([]byte{'"'}, v), '"')
}

// temporalLiteral reads 2024-02-29, 12:34:56.5 or both, with an offset.
func temporalLiteral(c schema.Column, m mapping, text string) []byte {
	var days, nanos int64
	ok := true
	if c.Type.Kind != schema.KindTime {
		if days, text, ok = dateText(text); !ok {
			if c.Nullable {
				return nil
			}
			return []byte(m.zero) // 0000-00-00
		}
		text = strings.TrimLeft(text, " T")
	}
	if text != "" {
		var rest string
		if nanos, rest, ok = clock(text); !ok {
			return nil
		}
		offset, ok := offsetSeconds(rest)
		if !ok {
			return nil
		}
		nanos -= offset * javatext.NanosPerSecond
	}
	var out []byte
	var err error
	v := days*microsPerDay + nanos/nanosPerMicro
	if unitOf(c.Type.Precision) == 1 && c.Type.Kind != schema.KindTime {
		v = days*microsPerDay*nanosPerMicro + nanos
	}
	as := m.cell
	if c, ok := as.(*changedCell); ok {
		as = c.read
	}
	switch cell := as.(type) {
	case *epochCell:
		cell.values = []int64{v}
		out, err = cell.append(nil, 0)
	case *isoCell:
		cell.values = []int64{v}
		out, err = cell.append(nil, 0)
	case *integerCell[int32]:
		cell.values = []int32{int32(days)}
		out, err = cell.append(nil, 0)
	case *isoDateCell:
		cell.values = []int32{int32(days)}
		out, err = cell.append(nil, 0)
	}
	if err != nil {
		return nil
	}
	return out
}

// dateText takes a date of the years 1 to 9999 from the front of s.
func dateText(s string) (days int64, rest string, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, s, false
	}
	year, err1 := strconv.ParseUint(s[:4], 10, 16)
	month, err2 := strconv.ParseUint(s[5:7], 10, 8)
	day, err3 := strconv.ParseUint(s[8:10], 10, 8)
	if err1 != nil || err2 != nil || err3 != nil || month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, s, false
	}
	return javatext.DaysOf(int64(year), int64(month), int64(day)), s[10:], true
}
