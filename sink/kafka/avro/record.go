package avro

import (
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// ErrName is a name that Avro does not allow; see [NameError].
var ErrName = errors.New("name is not allowed in Avro")

// NameError is a name that Avro does not allow.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%v: %q (letters, digits and '_' are, no digit in front)", ErrName, e.Name)
}

// Is says that it is an ErrName.
func (e *NameError) Is(target error) bool { return target == ErrName }

// Field is a field of a record.
type Field struct {
	Name string
	// Type is the JSON of its schema; Nullable makes a union of null and it, with null as
	// its default.
	Type     string
	Nullable bool
}

// Record returns the JSON of a record's schema. name is its full name, its namespace
// included. A name that Avro does not allow is a [*NameError].
func Record(name string, fields []Field) (string, error) {
	namespace, short, err := splitName(name)
	if err != nil {
		return "", err
	}
	dst := javatext.Jackson.Append([]byte(`{"type":"record","name":`), short)
	if namespace != "" {
		dst = javatext.Jackson.Append(append(dst, `,"namespace":`...), namespace)
	}
	dst = append(dst, `,"fields":[`...)
	for i, f := range fields {
		if !validName(f.Name) {
			return "", &NameError{f.Name}
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = javatext.Jackson.Append(append(dst, `{"name":`...), f.Name)
		if dst = append(dst, `,"type":`...); f.Nullable {
			dst = append(append(append(dst, `["null",`...), f.Type...), `],"default":null}`...)
		} else {
			dst = append(append(dst, f.Type...), '}')
		}
	}
	return string(append(dst, "]}"...)), nil
}

// Name makes the nearest name that Avro allows of one whose parts are apart by dots.
func Name(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		var b strings.Builder
		for n, r := range p {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_', r >= '0' && r <= '9' && n > 0:
				b.WriteRune(r)
			case r >= '0' && r <= '9':
				b.WriteByte('_')
				b.WriteRune(r)
			default:
				b.WriteByte('_')
			}
		}
		if parts[i] = b.String(); parts[i] == "" {
			parts[i] = "_"
		}
	}
	return strings.Join(parts, ".")
}

// splitName takes a full name apart and checks its parts.
func splitName(name string) (namespace, short string, err error) {
	for _, part := range strings.Split(name, ".") {
		if !validName(part) {
			return "", "", &NameError{name}
		}
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:], nil
	}
	return "", name, nil
}

func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
