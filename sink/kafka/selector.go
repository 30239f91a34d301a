package kafka

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// compileSelector returns what a selector of tables means, as Flink CDC has it:
// alternatives between commas, of up to three parts between dots, each an
// expression for a whole part, in which case does not count. A backslash before a comma or a dot
// makes it a part of the expression. A selector of fewer parts than a table's name never matches;
// where it has more, its first ones don't count.
func compileSelector(text string) (func(schema.TableID) bool, error) {
	var alternatives [][]*regexp.Regexp
	for _, alternative := range splitPlain(text, ',') {
		var parts []*regexp.Regexp
		for _, part := range splitPlain(strings.TrimSpace(alternative), '.') {
			if part == "" {
				return nil, fmt.Errorf("the selector %q has an empty part (a backslash belongs before the dot of an expression)", text)
			}
			re, err := regexp.Compile(`(?is)\A(?:` + strings.NewReplacer(`\.`, `.`, `\,`, `,`).Replace(part) + `)\z`)
			if err != nil {
				return nil, fmt.Errorf("the selector %q: %w", text, err)
			}
			parts = append(parts, re)
		}
		if len(parts) > 3 {
			return nil, fmt.Errorf("the selector %q has more than three parts (a backslash belongs before the dot of an expression)", text)
		}
		alternatives = append(alternatives, parts)
	}
	return func(id schema.TableID) bool {
		for _, parts := range alternatives {
			if matches(parts, id) {
				return true
			}
		}
		return false
	}, nil
}

func matches(parts []*regexp.Regexp, id schema.TableID) bool {
	var names []string
	for _, name := range []string{id.Namespace, id.Schema, id.Table} {
		if name != "" {
			names = append(names, name)
		}
	}
	if len(parts) < len(names) {
		return false
	}
	parts = parts[len(parts)-len(names):]
	for i, name := range names {
		if !parts[i].MatchString(name) {
			return false
		}
	}
	return true
}

// splitPlain splits at a character that has no backslash before it.
func splitPlain(text string, at byte) (out []string) {
	start := 0
	for i := range len(text) {
		if text[i] == at && (i == 0 || text[i-1] != '\\') {
			out, start = append(out, text[start:i]), i+1
		}
	}
	return append(out, text[start:])
}
