package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// pathLeg is a step of a JSON path: a member of an object or a cell of an array.
type pathLeg struct {
	member bool
	name   []byte
	index  int
	// fromEnd: index counts back from the last cell.
	fromEnd bool
}

// position of the leg in an array of n cells, found for one that is there; else the
// place at the nearer end.
func (l pathLeg) position(n int) (i int, found bool) {
	switch {
	case l.index < n && l.fromEnd:
		return n - 1 - l.index, true
	case l.index < n:
		return l.index, true
	case l.fromEnd:
		return 0, false
	}
	return n, false
}

// parsePath parses a path as the server prints it into a diff, without wildcards:
// $.name."quoted name"[0][last-1].
func parsePath(path []byte) ([]pathLeg, error) {
	rest, ok := bytes.CutPrefix(path, []byte("$"))
	if !ok || !utf8.Valid(path) {
		return nil, badPath(path)
	}
	var legs []pathLeg
	for len(rest) > 0 {
		var leg pathLeg
		switch c := rest[0]; {
		case c == '.':
			leg.member = true
			leg.name, rest, ok = memberName(rest[1:])
		case c == '[':
			leg, rest, ok = arrayCell(rest[1:])
		default:
			ok = false
		}
		if !ok {
			return nil, badPath(path)
		}
		legs = append(legs, leg)
	}
	return legs, nil
}

func badPath(path []byte) error {
	return fmt.Errorf("%w: %q is no path in JSON", ErrMalformed, shorten(path))
}

// memberName reads a name, which is in quotes unless it is an identifier.
func memberName(s []byte) (name, rest []byte, ok bool) {
	if len(s) > 0 && s[0] == '"' {
		end := 1
		for end < len(s) && s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(s) {
			return nil, nil, false
		}
		var text string
		if json.Unmarshal(s[:end+1], &text) != nil {
			return nil, nil, false
		}
		return []byte(text), s[end+1:], true
	}
	end := bytes.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:], end > 0
}

// arrayCell reads 3], last] or last-3].
func arrayCell(s []byte) (leg pathLeg, rest []byte, ok bool) {
	inside, rest, ok := bytes.Cut(s, []byte("]"))
	if !ok {
		return leg, nil, false
	}
	number, fromEnd := bytes.CutPrefix(bytes.ReplaceAll(inside, []byte(" "), nil), []byte("last"))
	leg.fromEnd = fromEnd
	if fromEnd {
		if len(number) == 0 {
			return leg, rest, true
		}
		if number, ok = bytes.CutPrefix(number, []byte("-")); !ok {
			return leg, nil, false
		}
	}
	n, err := strconv.ParseUint(string(number), 10, 32)
	leg.index = int(n)
	return leg, rest, err == nil
}
