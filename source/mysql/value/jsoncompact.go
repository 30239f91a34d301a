package value

import (
	"fmt"
	"unicode/utf8"
)

// compactForm takes the blanks out of JSON that the server has printed: all that are
// not in a string.
func compactForm() form {
	var buf []byte
	return func(v []byte) ([]byte, error) {
		if !utf8.Valid(v) {
			return nil, fmt.Errorf("%w: %q is no utf8mb4", ErrMalformed, shorten(v))
		}
		buf = buf[:0]
		quoted, escaped := false, false
		for _, c := range v {
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = quoted
			case c == '"':
				quoted = !quoted
			case c == ' ' && !quoted:
				continue
			}
			buf = append(buf, c)
		}
		return buf, nil
	}
}
