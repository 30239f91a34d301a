package document

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Option describes one option of a source, a sink or the pipeline block. Its
// fields are those of source.OptionSpec and sink.OptionSpec, so that one
// converts to the other.
type Option struct {
	// Key is the option's name; a family of keys ends in ".*".
	Key string
	// Type is string, int, float, bool, duration, bytes or enum.
	Type string
	// Default is printed in help, empty for none.
	Default string
	Doc     string
	// Required options have no default; Secret values are never printed.
	Required, Secret bool
	// Values are the allowed ones of an enum.
	Values []string
}

// find returns the option that key belongs to.
func find(options []Option, key string) (Option, bool) {
	for _, o := range options {
		if o.Key == key {
			return o, true
		}
	}
	for _, o := range options {
		if prefix, ok := strings.CutSuffix(o.Key, "*"); ok && strings.HasPrefix(key, prefix) && len(key) > len(prefix) {
			return o, true
		}
	}
	return Option{}, false
}

// candidates returns the valid keys that key may stand for. A family stands for
// its prefix with the rest of key.
func candidates(options []Option, key string) []string {
	var out []string
	for _, o := range options {
		prefix, family := strings.CutSuffix(o.Key, "*")
		if !family {
			out = append(out, o.Key)
			continue
		}
		rest := key
		for range strings.Count(prefix, ".") {
			if _, after, ok := strings.Cut(rest, "."); ok {
				rest = after
			}
		}
		out = append(out, prefix+rest)
	}
	return out
}

// check checks the fields of a block against its options and returns their
// values in one spelling: enums as the option has them, durations as a whole
// number with a unit (90s), sizes in bytes. what names the block, at is where a missing option is reported.
func (r *reader) check(fields []field, options []Option, what string, at Place) map[string]string {
	values, given := map[string]string{}, map[string]bool{}
	for _, f := range fields {
		given[f.key] = true
		o, ok := find(options, f.key)
		if !ok {
			keys := candidates(options, f.key)
			r.report(f.keyPlace, didYouMean(f.key, keys), "unknown option %q of %s", f.key, what)
			if best, distance := nearest(f.key, keys); distance <= 2 {
				given[best] = true // misspelled rather than missing
			}
			continue
		}
		if f.bad {
			continue
		}
		if isSecret(o, f) {
			r.secrets = append(r.secrets, secretParts(f.text)...)
		}
		text, err := o.parse(f.text)
		if err != nil {
			shown, cause := f.shown(), err.Error()
			if isSecret(o, f) {
				shown = "the secret value"
			}
			if isSecret(o, f) || f.env {
				cause = o.want() // the cause may quote the value
			}
			r.report(f.place, "", "%q: %s is no %s: %s", f.key, shown, typeNames[o.Type], cause)
			continue
		}
		values[f.key] = text
	}
	r.required(fields, options, values, given, what, at)
	return values
}

// required reports the required options that are missing or empty.
func (r *reader) required(fields []field, options []Option, values map[string]string, given map[string]bool, what string, at Place) {
	for _, o := range options {
		if !o.Required || strings.HasSuffix(o.Key, ".*") {
			continue
		}
		if !given[o.Key] {
			r.report(at, o.Doc, "%s needs the option %q", what, o.Key)
		} else if v, ok := values[o.Key]; ok && v == "" {
			f := fields[slices.IndexFunc(fields, func(f field) bool { return f.key == o.Key })]
			r.report(f.place, "", "%q of %s is empty", o.Key, what)
		}
	}
}

var typeNames = map[string]string{
	"string": "text", "int": "whole number", "float": "number", "bool": "boolean",
	"duration": "duration", "bytes": "size", "enum": "valid value",
}

// want says what a value looks like.
func (o Option) want() string {
	switch o.Type {
	case "int":
		return "want a number such as 4"
	case "float":
		return "want a number such as 1.5"
	case "bool":
		return "want true or false"
	case "duration":
		return "want a duration such as 10s, 3 min or 500 ms"
	case "bytes":
		return "want a size such as 64mb"
	case "enum":
		return "want " + strings.Join(o.Values, ", ")
	}
	return "want a text"
}

// parse checks a value and returns its canonical spelling.
func (o Option) parse(text string) (string, error) {
	switch o.Type {
	case "int":
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return "", errors.New(o.want())
		}
	case "float":
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return "", errors.New(o.want())
		}
	case "bool":
		_, err := parseBool(text)
		return strings.ToLower(text), err
	case "duration":
		d, err := ParseDuration(text)
		if err != nil {
			return "", errors.New(err.Error() + ", " + o.want())
		}
		return canonicalDuration(d), nil
	case "bytes":
		n, err := ParseBytes(text)
		if err != nil {
			return "", errors.New(err.Error() + ", " + o.want())
		}
		return strconv.FormatInt(n, 10), nil
	case "enum":
		return o.parseEnum(text)
	}
	return text, nil
}

// parseEnum takes a value in any case.
func (o Option) parseEnum(text string) (string, error) {
	for _, v := range o.Values {
		if strings.EqualFold(v, text) {
			return v, nil
		}
	}
	hint := o.want()
	if best, distance := nearest(text, o.Values); best != "" && distance <= 2 {
		hint += " (did you mean " + best + "?)"
	}
	return "", errors.New(hint)
}
