package value

import (
	"fmt"
	"strconv"
	"strings"
)

// columnType is a column type taken apart.
type columnType struct {
	name               string // without modifiers, one name for all that the server calls alike
	args               []int
	labels             []string
	unsigned, zerofill bool
}

// otherNames are the names that the servers take for a type but never print, and
// those that one of them prints.
var otherNames = map[string]string{
	"integer": "int", "int1": "tinyint", "int2": "smallint", "int3": "mediumint", "middleint": "mediumint", "int4": "int", "int8": "bigint",
	"dec": "decimal", "numeric": "decimal", "fixed": "decimal", "real": "double", "double precision": "double",
	"float4": "float", "float8": "double", "character": "char", "geomcollection": "geometrycollection",
}

// parseColumnType takes a type as information_schema.COLUMNS.COLUMN_TYPE prints it apart.
func parseColumnType(text string) (columnType, error) {
	var t columnType
	head, rest, list := strings.Cut(text, "(")
	name := strings.ToLower(strings.TrimSpace(head))
	if list {
		var err error
		if name == "enum" || name == "set" {
			t.labels, rest, err = parseLabels(rest)
		} else {
			t.args, rest, err = parseArgs(rest)
		}
		if err != nil {
			return t, fmt.Errorf("%w: column type %q: %v", ErrMalformed, text, err)
		}
		t.modify(rest)
	} else {
		name = t.modify(name)
	}
	if name == "bool" || name == "boolean" {
		name, t.args = "tinyint", []int{1}
	}
	if other, ok := otherNames[name]; ok {
		name = other
	}
	t.name = name
	t.complete()
	return t, nil
}

// complete adds what the server adds to a type.
func (t *columnType) complete() {
	t.unsigned = t.unsigned || t.zerofill
	switch t.name {
	case "decimal":
		t.args = append(t.args, []int{10, 0}[min(len(t.args), 2):]...)
	case "bit", "char", "binary":
		t.args = append(t.args, []int{1}[min(len(t.args), 1):]...)
	case "float": // float(p) is one of the two types
		if len(t.args) == 1 {
			if t.args[0] > 24 {
				t.name = "double"
			}
			t.args = nil
		}
	}
}

// modify takes the modifiers out of the words of a type and returns the others.
// MariaDB's compressed columns say so in a comment; the binlog says it again for each.
func (t *columnType) modify(words string) string {
	if comment, tail, ok := strings.Cut(words, "/*"); ok {
		_, tail, _ = strings.Cut(tail, "*/")
		words = comment + " " + tail
	}
	var name []string
	for _, w := range strings.Fields(strings.ToLower(words)) {
		switch w {
		case "unsigned":
			t.unsigned = true
		case "zerofill":
			t.zerofill = true
		default:
			name = append(name, w)
		}
	}
	return strings.Join(name, " ")
}

// parseArgs reads 12,2).
func parseArgs(s string) (args []int, rest string, err error) {
	inside, rest, ok := strings.Cut(s, ")")
	if !ok {
		return nil, "", fmt.Errorf("no closing parenthesis")
	}
	for _, a := range strings.Split(inside, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(a), 10, 31)
		if err != nil {
			return nil, "", fmt.Errorf("%q is no number", a)
		}
		args = append(args, int(n))
	}
	return args, rest, nil
}

// parseLabels reads 'a','it”s'). Beside ” the servers escape a backslash, the
// zero byte and the ends of lines.
func parseLabels(s string) (labels []string, rest string, err error) {
	for {
		s = strings.TrimLeft(s, " ")
		if !strings.HasPrefix(s, "'") {
			return nil, "", fmt.Errorf("a label without quotes")
		}
		label, tail, ok := unquote(s[1:])
		if !ok {
			return nil, "", fmt.Errorf("a label without an end")
		}
		labels = append(labels, label)
		s = strings.TrimLeft(tail, " ")
		switch {
		case strings.HasPrefix(s, ","):
			s = s[1:]
		case strings.HasPrefix(s, ")"):
			return labels, s[1:], nil
		default:
			return nil, "", fmt.Errorf("no comma between two labels")
		}
	}
}

// unquote reads a label behind its opening quote.
func unquote(s string) (label, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' && i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case c == '\'':
			return b.String(), s[i+1:], true
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(unescape(s[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

func unescape(c byte) byte {
	switch c {
	case '0':
		return 0
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	}
	return c
}

// fullName is the type without what is in parentheses.
func (t columnType) fullName() string {
	name := t.name
	if t.unsigned {
		name += " unsigned"
	}
	if t.zerofill {
		name += " zerofill"
	}
	return name
}

// baseName is fullName without the modifiers.
func baseName(full string) string {
	name, _, _ := strings.Cut(full, " ")
	return name
}

func isUnsigned(full string) bool { return strings.Contains(full, " unsigned") }
