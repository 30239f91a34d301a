package match

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// Selectors are the alternatives of a value of tables or tables.exclude. They
// are safe for concurrent use.
type Selectors struct {
	alternatives [][]*regexp.Regexp // parts, outermost first
	parts        [][]string         // the same as written, unescaped
}

// ParseSelectors parses Flink CDC's selectors. Blanks around alternatives do not count.
func ParseSelectors(text string) (*Selectors, error) {
	s := &Selectors{}
	for _, alternative := range splitUnescaped(text, ',') {
		alternative = strings.TrimSpace(alternative)
		if alternative == "" {
			return nil, fmt.Errorf("%q holds an empty alternative between commas", text)
		}
		parts := splitUnescaped(alternative, '.')
		if len(parts) > 3 {
			return nil, fmt.Errorf("%q has %d parts between dots, at most 3 are possible; put a backslash before a dot of the expression", alternative, len(parts))
		}
		var compiled []*regexp.Regexp
		for i, part := range parts {
			if part == "" {
				return nil, fmt.Errorf("%q has an empty part between dots; put a backslash before a dot of the expression", alternative)
			}
			parts[i] = strings.NewReplacer(`\.`, `.`, `\,`, `,`).Replace(part)
			re, err := compile(parts[i], true)
			if err != nil {
				return nil, err
			}
			compiled = append(compiled, re)
		}
		s.alternatives, s.parts = append(s.alternatives, compiled), append(s.parts, parts)
	}
	return s, nil
}

// Match says whether id is selected. An alternative with fewer parts than id
// never matches; of one with more, the extra leading parts are not looked at.
func (s *Selectors) Match(id schema.TableID) bool {
	parts := idParts(id)
	for _, alternative := range s.alternatives {
		if len(alternative) >= len(parts) && matchParts(alternative[len(alternative)-len(parts):], parts) {
			return true
		}
	}
	return false
}

// InAnyDatabase returns selectors that read two parts as schema and table of
// whatever database the source is connected to.
func (s *Selectors) InAnyDatabase() *Selectors {
	out := &Selectors{}
	for i, alternative := range s.alternatives {
		parts := s.parts[i]
		if len(alternative) == 2 {
			alternative = append([]*regexp.Regexp{anything}, alternative...)
		}
		out.alternatives, out.parts = append(out.alternatives, alternative), append(out.parts, parts)
	}
	return out
}

var anything = regexp.MustCompile(`(?s)^.*$`)

// Fewest returns the smallest number of parts of an alternative.
func (s *Selectors) Fewest() int {
	n := 3
	for _, parts := range s.parts {
		n = min(n, len(parts))
	}
	return n
}

func matchParts(patterns []*regexp.Regexp, parts []string) bool {
	for i, re := range patterns {
		if !re.MatchString(parts[i]) {
			return false
		}
	}
	return true
}

// ErrDatabases says that the alternatives name several databases.
var ErrDatabases = errors.New("all tables must be of one database")

var plainName = regexp.MustCompile(`^[\p{L}\p{N}_$ -]+$`)

// Database returns the first part of the selectors with three parts, for
// databases that a source can only read one of; empty when no selector has three
// parts. A pattern there, or two names, are an error.
func (s *Selectors) Database() (string, error) {
	name := ""
	for _, parts := range s.parts {
		switch {
		case len(parts) < 3:
			continue
		case !plainName.MatchString(parts[0]):
			return "", fmt.Errorf("the database %q must be a plain name, no pattern", parts[0])
		case name != "" && name != parts[0]:
			return "", fmt.Errorf("%w, but %q and %q are named", ErrDatabases, name, parts[0])
		}
		name = parts[0]
	}
	return name, nil
}

func idParts(id schema.TableID) []string {
	switch {
	case id.Namespace != "":
		return []string{id.Namespace, id.Schema, id.Table}
	case id.Schema != "":
		return []string{id.Schema, id.Table}
	}
	return []string{id.Table}
}

// splitUnescaped splits text at each sep that no backslash stands before.
func splitUnescaped(text string, sep byte) []string {
	var out []string
	start := 0
	for i := range len(text) {
		if text[i] == sep && (i == 0 || text[i-1] != '\\') {
			out = append(out, text[start:i])
			start = i + 1
		}
	}
	return append(out, text[start:])
}
