package snapshot

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Form says how the values of a key column are written in SQL, so that the server
// reads back exactly the value that it printed.
type Form string

// The forms.
const (
	// Number: integers, DECIMAL and YEAR, digit for digit.
	Number Form = "number"
	// Float: FLOAT and DOUBLE, with as many digits as a double needs.
	Float Form = "float"
	// Text: the bytes in the column's own character set, in hex.
	Text Form = "text"
	// Bytes: BINARY and VARBINARY, in hex.
	Bytes Form = "bytes"
	// Enum: ENUM, which is ordered by the number of its label.
	Enum Form = "enum"
	// Bits: BIT and SET, as a number.
	Bits Form = "bits"
	// Plain: what the server prints in ASCII and compares exactly: times, UUID, INET4, INET6.
	Plain Form = "plain"
)

// KeyColumn is one column of a Key.
type KeyColumn struct {
	Name string `json:"name"`
	Form Form   `json:"form"`
	// Charset is the character set of Text.
	Charset string `json:"charset,omitempty"`
	// Labels is the number of labels of Enum.
	Labels int `json:"labels,omitempty"`
	// Whole says that the values are integers or decimals, which can be split evenly.
	Whole bool `json:"whole,omitempty"`
	// Descending is the order in the index.
	Descending bool `json:"descending,omitempty"`
	// Prefix says that the index holds the beginning of the value only.
	Prefix bool `json:"prefix,omitempty"`
	// NoPad: see checkNoPad.
	NoPad bool `json:"noPad,omitempty"`
}

// Key is what the rows of a table are told apart and ordered by: an index without
// NULL and without equal entries. Only the server compares values of it.
type Key struct {
	Index   string      `json:"index"`
	Columns []KeyColumn `json:"columns"`
}

// ordered reports whether the index brings the rows in the order of the columns.
func (k *Key) ordered() bool {
	for _, c := range k.Columns {
		if c.Prefix {
			return false
		}
	}
	return true
}

// Bound is a place in the order of a key: the values of its first columns, or of
// all, as SQL literals. A nil Bound is no bound.
type Bound []string

// Range is a part of a table: the rows with From < key <= To. A bound of less
// columns than the key has is compared with those alone.
type Range struct {
	From Bound `json:"from,omitempty"`
	To   Bound `json:"to,omitempty"`
}

// String prints the range for people.
func (r Range) String() string {
	from, to := "the first", "the last"
	if r.From != nil {
		from = "(" + strings.Join(r.From, ", ") + ")"
	}
	if r.To != nil {
		to = "(" + strings.Join(r.To, ", ") + ")"
	}
	return from + " to " + to
}

// expression asks the server for a value in a form that literal understands.
func (c KeyColumn) expression() string {
	name := wire.Ident(c.Name)
	switch c.Form {
	case Float:
		return name + " + 0e0" // FLOAT alone prints six digits
	case Text, Bytes:
		if c.NoPad {
			return "IF(" + c.beforeBlank() + ", NULL, HEX(" + name + "))"
		}
		return "HEX(" + name + ")"
	case Enum, Bits:
		return "CAST(" + name + " AS UNSIGNED)"
	}
	return name
}

// literal makes the SQL literal of a value that expression brought. It lets
// nothing through that could be read as anything else.
func (c KeyColumn) literal(v wire.Value) (string, error) {
	if v == nil && c.NoPad {
		return "", errNoPad(c)
	}
	text := string(v)
	ok := v != nil
	switch c.Form {
	case Number, Enum, Bits:
		ok = ok && text != "" && only(text, "0123456789.-")
	case Float:
		if ok = ok && text != "" && only(text, "0123456789.-+e"); ok && !strings.Contains(text, "e") {
			text += "e0"
		}
	case Text:
		ok = ok && only(text, hexDigits) && only(c.Charset, "abcdefghijklmnopqrstuvwxyz0123456789")
		text = "_" + c.Charset + " x'" + text + "'"
	case Bytes:
		ok = ok && only(text, hexDigits)
		text = "_binary x'" + text + "'"
	case Plain:
		ok = ok && only(text, "0123456789abcdefABCDEF.:- ")
		text = "'" + text + "'"
	default:
		ok = false
	}
	if !ok {
		return "", fmt.Errorf("key column %s: %w: %q as %s", c.Name, errKeyValue, truncate(v), c.Form)
	}
	return text, nil
}

const hexDigits = "0123456789ABCDEFabcdef"

// only reports whether s consists of the bytes of set.
func only(s, set string) bool {
	for i := range len(s) {
		if strings.IndexByte(set, s[i]) < 0 {
			return false
		}
	}
	return true
}

func truncate(v []byte) []byte { return v[:min(len(v), 40)] }

// bound makes the Bound of a row that holds the expressions of all columns.
func (k *Key) bound(row []wire.Value) (Bound, error) {
	if len(row) != len(k.Columns) {
		return nil, fmt.Errorf("%w: %d values for a key of %d columns", errKeyValue, len(row), len(k.Columns))
	}
	b := make(Bound, len(row))
	for i, c := range k.Columns {
		var err error
		if b[i], err = c.literal(row[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// comparison writes "column op literal"; empty says that no value fulfils it.
// Operators are =, <, <=, > and >=.
func (c KeyColumn) comparison(op, literal string) string {
	if c.Form == Enum && op != "=" && c.Labels <= maxLabels {
		return c.labels(op, literal)
	}
	return wire.Ident(c.Name) + " " + op + " " + literal
}

// maxLabels bounds the lists that stand for comparisons of an ENUM.
const maxLabels = 512

// labels writes an order of ENUM as a list of numbers: the optimizer finds no range
// of an index in "enum > number" (8.0, 9.7, MariaDB 11.8), but does in a list.
// Number 0 is the empty label of a value that was refused.
func (c KeyColumn) labels(op, literal string) string {
	n, err := strconv.Atoi(literal)
	if err != nil || n < 0 || n > c.Labels {
		return wire.Ident(c.Name) + " " + op + " " + literal
	}
	from, to := 0, n
	switch op {
	case "<":
		to = n - 1
	case ">":
		from, to = n+1, c.Labels
	case ">=":
		from, to = n, c.Labels
	}
	if from > to {
		return ""
	}
	var b strings.Builder
	b.WriteString(wire.Ident(c.Name) + " IN (")
	for i := from; i <= to; i++ {
		if i > from {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(i))
	}
	return b.String() + ")"
}
