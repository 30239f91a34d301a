package document

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxDepth bounds nested mappings, so that an alias to itself ends.
const maxDepth = 16

// reader walks over the nodes of a document and gathers problems.
type reader struct {
	file     string
	env      Environment
	problems Problems
	secrets  []string
}

// field is one key with a scalar value, after substitution.
type field struct {
	key             string
	keyPlace, place Place
	text            string
	// raw is the value as written, safe to print where it holds a substitution.
	raw       string
	env, file bool
	// bad says that the value could not be read, which has been reported.
	bad bool
}

// shown returns the value as a problem may print it.
func (f field) shown() string {
	if f.env || f.file {
		return f.raw
	}
	return strconv.Quote(f.text)
}

// entry is one key of a mapping.
type entry struct {
	key   string
	place Place
	value *yaml.Node
}

func (r *reader) place(n *yaml.Node) Place {
	return Place{File: r.file, Line: n.Line, Column: n.Column}
}

func (r *reader) report(at Place, hint, format string, args ...any) {
	r.problems = append(r.problems, Problem{Place: at, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// follow resolves aliases.
func follow(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n.Kind != yaml.AliasNode {
			break
		}
		n = n.Alias
	}
	return n
}

func describe(n *yaml.Node) string {
	switch follow(n).Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if follow(n).Tag == "!!null" {
		return "nothing"
	}
	return "a text"
}

// mapping returns the entries of n, which is what. Keys that come twice are reported.
func (r *reader) mapping(n *yaml.Node, what string) []entry {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		r.report(r.place(n), "", "%s must be a mapping of keys to values, but is %s", what, describe(n))
		return nil
	}
	seen := map[string]Place{}
	var out []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		at := r.place(k)
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!null":
			r.report(at, "", "a key of %s must be a text, but is %s", what, describe(k))
			continue
		case k.Tag == "!!merge":
			r.report(at, "write the keys out", "YAML merge keys (<<) are not supported")
			continue
		}
		if first, twice := seen[k.Value]; twice {
			r.report(at, "remove one of them", "%q is already given in line %d", k.Value, first.Line)
			continue
		}
		seen[k.Value] = at
		out = append(out, entry{k.Value, at, v})
	}
	return out
}

// fields reads a block of options: flat keys as in Flink CDC, or mappings in
// mappings, whose keys are joined with dots.
func (r *reader) fields(n *yaml.Node, what string, skip map[string]bool) []field {
	var out []field
	seen := map[string]Place{}
	var walk func(entries []entry, prefix string, depth int)
	walk = func(entries []entry, prefix string, depth int) {
		for _, e := range entries {
			key := prefix + e.key
			if skip[key] {
				continue
			}
			if v := follow(e.value); v.Kind == yaml.MappingNode && depth < maxDepth {
				walk(r.mapping(v, strconv.Quote(key)), key+".", depth+1)
				continue
			}
			if first, twice := seen[key]; twice {
				r.report(e.place, "remove one of them", "%q is already given in line %d", key, first.Line)
				continue
			}
			seen[key] = e.place
			out = append(out, r.scalar(key, e))
		}
	}
	walk(r.mapping(n, what), "", 0)
	return out
}

// scalar reads one value; what is wrong with it is reported.
func (r *reader) scalar(key string, e entry) field {
	n := follow(e.value)
	f := field{key: key, keyPlace: e.place, place: r.place(n), text: n.Value, raw: n.Value, bad: true}
	switch {
	case n.Kind == yaml.SequenceNode:
		r.report(f.place, "separate several values with commas", "%q must be one value, but is a list", key)
		return f
	case n.Kind != yaml.ScalarNode:
		r.report(f.place, "", "%q must be one value, but is %s", key, describe(n))
		return f
	case n.Tag == "!!null" && n.Value == "":
		r.report(f.keyPlace, `write "" for an empty text`, "%q has no value", key)
		return f
	}
	s, err := substitute(n.Value, filepath.Dir(r.file), r.env)
	if err != nil {
		r.report(f.place, "", "%q: %s", key, err)
		return f
	}
	f.text, f.env, f.file, f.bad = s.text, s.env, s.file, false
	if f.file && f.text != "" {
		r.secrets = append(r.secrets, f.text)
	}
	return f
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntax turns an error of the YAML library into a problem.
func (r *reader) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := Place{File: r.file, Line: 1, Column: 1}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		at.Line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	hint := ""
	switch {
	case strings.Contains(text, "cannot start any token"):
		hint = "indent with spaces, and put values with special characters in quotes"
	case strings.Contains(text, "mapping values are not allowed"):
		hint = "put values that hold a colon and a blank in quotes, and check the indentation"
	}
	r.report(at, hint, "not valid YAML: %s", text)
}
