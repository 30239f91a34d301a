package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// Rule is one rule of the route block.
type Rule struct {
	// Source is a pattern for whole table names: the alternatives between commas,
	// a dot means a dot and \. any character. Sink is the table that matches go
	// to: $1 is the first group of Source; or, with Symbol, each occurrence of
	// Symbol the name of the source table.
	Source, Sink, Symbol string
}

// RuleError is a rule that can't work.
type RuleError struct {
	// Index is the rule's number, from 0; Sink says that its sink table is at fault.
	Index int
	Sink  bool
	Err   error
}

func (e *RuleError) Error() string { return fmt.Sprintf("route rule %d: %v", e.Index+1, e.Err) }
func (e *RuleError) Unwrap() error { return e.Err }

// Router says where tables go. It is safe for concurrent use.
type Router struct {
	rules      []rule
	firstMatch bool
}

type rule struct {
	Rule
	re *regexp.Regexp
	// groups[i] is the index of the i-th reference's group in re.
	pieces []piece
}

// piece is a part of a sink table: a text, or a group of the match where group >= 0.
type piece struct {
	text  string
	group int
}

// Target is one table that a source table goes to. Rule is the number of the
// rule that says so, -1 where no rule matches.
type Target struct {
	ID   schema.TableID
	Rule int
}

// NewRouter compiles the rules. With firstMatch only the first matching rule
// applies to a table, else every one does. The error is a [*RuleError].
func NewRouter(rules []Rule, firstMatch bool) (*Router, error) {
	r := &Router{firstMatch: firstMatch}
	for i, spec := range rules {
		re, err := compile(routePattern(spec.Source), false)
		if err != nil {
			return nil, &RuleError{Index: i, Err: err}
		}
		compiled := rule{Rule: spec, re: re}
		if spec.Symbol == "" {
			if compiled.pieces, err = parseReferences(spec.Sink, re); err != nil {
				return nil, &RuleError{Index: i, Sink: true, Err: err}
			}
		}
		if err := checkSink(spec); err != nil {
			return nil, &RuleError{Index: i, Sink: true, Err: err}
		}
		r.rules = append(r.rules, compiled)
	}
	return r, nil
}

// Route returns where a table goes, in the order of the rules: itself when none
// matches. A sink table that is no table name (for instance an empty group) is an error.
func (r *Router) Route(id schema.TableID) ([]Target, error) {
	var out []Target
	name := id.String()
	for i, rule := range r.rules {
		m := rule.re.FindStringSubmatchIndex(name)
		if m == nil {
			continue
		}
		target, err := rule.target(id, name, m)
		if err != nil {
			return nil, &RuleError{Index: i, Sink: true, Err: fmt.Errorf("table %s: %w", id, err)}
		}
		if !slices.ContainsFunc(out, func(t Target) bool { return t.ID == target }) {
			out = append(out, Target{ID: target, Rule: i})
		}
		if r.firstMatch {
			break
		}
	}
	if out == nil {
		out = []Target{{ID: id, Rule: -1}}
	}
	return out, nil
}

// target fills in the sink table. The name that stands for Symbol may hold dots
// of its own: it is put in after the parts are told apart.
func (r rule) target(id schema.TableID, name string, m []int) (schema.TableID, error) {
	if r.Symbol != "" {
		target, err := schema.ParseTableID(r.Sink)
		for _, part := range []*string{&target.Namespace, &target.Schema, &target.Table} {
			*part = strings.ReplaceAll(*part, r.Symbol, id.Table)
		}
		return target, err
	}
	var text strings.Builder
	for _, p := range r.pieces {
		text.WriteString(p.text)
		if p.group >= 0 && m[2*p.group] >= 0 {
			text.WriteString(name[m[2*p.group]:m[2*p.group+1]])
		}
	}
	return schema.ParseTableID(text.String())
}

// routePattern turns a pattern of route into a regular expression: commas
// separate alternatives, a dot is a dot, an escaped dot is any character.
func routePattern(text string) string {
	var alternatives []string
	for _, alternative := range splitUnescaped(text, ',') {
		parts := splitUnescaped(strings.TrimSpace(alternative), '.')
		for i, part := range parts {
			parts[i] = strings.NewReplacer(`\.`, `.`, `\,`, `,`).Replace(part)
		}
		alternatives = append(alternatives, strings.Join(parts, `\.`))
	}
	return strings.Join(alternatives, "|")
}

// parseReferences finds the $n of a sink table, as Java's Matcher does: as many
// digits as there is a group for.
func parseReferences(sink string, re *regexp.Regexp) ([]piece, error) {
	var out []piece
	text := sink
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 {
			return append(out, piece{text, -1}), nil
		}
		n, digits := 0, 0
		for _, d := range text[i+1:] {
			if d < '0' || d > '9' || digits > 0 && 10*n+int(d-'0') > re.NumSubexp() {
				break
			}
			n, digits = 10*n+int(d-'0'), digits+1
		}
		switch {
		case digits == 0:
			out = append(out, piece{text[:i+1], -1})
		case n > re.NumSubexp():
			return nil, fmt.Errorf("%q refers to group $%d, but source-table has %d", sink, n, re.NumSubexp())
		default:
			out = append(out, piece{text[:i], n})
		}
		text = text[i+1+digits:]
	}
}

// checkSink checks the form of a sink table.
func checkSink(spec Rule) error {
	if spec.Symbol == "" && strings.Contains(spec.Sink, "$") {
		return nil // the parts are known when a table matches
	}
	_, err := schema.ParseTableID(spec.Sink)
	if err != nil {
		return fmt.Errorf("%q is no table name: one to three parts between dots", spec.Sink)
	}
	return nil
}
