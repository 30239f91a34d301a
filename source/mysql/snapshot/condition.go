package snapshot

import (
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// where writes the condition of a range, empty for the whole table. It spells out
// what (a, b) > (1, 2) means, because of a row comparison the optimizers of MySQL
// and MariaDB make a scan of the index, of this a range.
func (k *Key) where(r Range) string {
	var and []string
	// What both bounds share is an equality: narrower for the optimizer. Not so for an
	// ENUM or SET, where it would sort the rows then.
	same := 0
	for same < len(r.From)-1 && same < len(r.To)-1 && r.From[same] == r.To[same] && k.Columns[same].Form != Enum && k.Columns[same].Form != Bits {
		and = append(and, k.Columns[same].comparison("=", r.From[same]))
		same++
	}
	if r.From != nil {
		and = append(and, k.beyond(r.From, same, ">", ">"))
	}
	if r.To != nil {
		and = append(and, k.beyond(r.To, same, "<", "<="))
	}
	return strings.Join(and, " AND ")
}

// beyond writes on which side of a bound rows lie: op compares all columns but the
// last, last the last one. The first skip columns are known to be equal.
func (k *Key) beyond(b Bound, skip int, op, last string) string {
	var or []string
	for i := skip; i < len(b); i++ {
		o := op
		if i == len(b)-1 {
			o = last
		}
		term := k.Columns[i].comparison(turned(o, k.Columns[i].Descending), b[i])
		if term == "" {
			continue
		}
		and := make([]string, 0, i-skip+1)
		for j := skip; j < i; j++ {
			and = append(and, k.Columns[j].comparison("=", b[j]))
		}
		or = append(or, "("+strings.Join(append(and, term), " AND ")+")")
	}
	if len(or) == 0 {
		return "FALSE"
	}
	return "(" + strings.Join(or, " OR ") + ")"
}

// turned returns the operator for the order of a column.
func turned(op string, descending bool) string {
	if !descending {
		return op
	}
	return map[string]string{"<": ">", "<=": ">=", ">": "<"}[op]
}

// order writes the ORDER BY list, backwards if asked for.
func (k *Key) order(backwards bool) string {
	var b strings.Builder
	for i, c := range k.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(wire.Ident(c.Name))
		if c.Descending != backwards {
			b.WriteString(" DESC")
		}
	}
	return b.String()
}

// expressions writes the select list that bound understands.
func (k *Key) expressions() string {
	list := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		list[i] = c.expression()
	}
	return strings.Join(list, ", ")
}

// from writes the FROM clause that reads by the key's index.
func (k *Key) from(table string) string {
	if k.Index == "" {
		return " FROM " + table
	}
	return " FROM " + table + " FORCE INDEX (" + wire.Ident(k.Index) + ")"
}

// clause writes the WHERE of a range, empty for the whole table.
func (k *Key) clause(r Range) string {
	if c := k.where(r); c != "" {
		return " WHERE " + c
	}
	return ""
}
