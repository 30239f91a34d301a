package debezium

import "strings"

// Adjustment says how names are made fit for other formats.
type Adjustment string

// The adjustments.
const (
	AdjustNone Adjustment = "none"
	AdjustAvro Adjustment = "avro" // letters, digits and '_', no digit in front
)

// schema adjusts the name of a schema, whose parts are apart by dots.
func (a Adjustment) schema(name string) string {
	if a != AdjustAvro {
		return name
	}
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = avroName(p)
	}
	return strings.Join(parts, ".")
}

// field adjusts the name of a field.
func (a Adjustment) field(name string) string {
	if a != AdjustAvro {
		return name
	}
	return avroName(name)
}

func avroName(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_':
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			if i == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		case r > 0xffff: // two characters for Java
			b.WriteString("__")
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}
