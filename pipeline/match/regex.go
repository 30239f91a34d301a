package match

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// javaOnly are the openings of Java's syntax that Go's regexp does not have.
var javaOnly = []struct{ text, name string }{
	{"(?=", "look-ahead (?=...)"},
	{"(?!", "negative look-ahead (?!...)"},
	{"(?<=", "look-behind (?<=...)"},
	{"(?<!", "negative look-behind (?<!...)"},
	{"(?>", "an atomic group (?>...)"},
	{"&&", "the intersection of classes (&&)"},
	{"*+", "a possessive quantifier (*+)"},
	{"++", "a possessive quantifier (++)"},
	{"?+", "a possessive quantifier (?+)"},
	{"}+", "a possessive quantifier (}+)"},
}

// compile compiles a pattern that must match a whole text.
func compile(pattern string, ignoreCase bool) (*regexp.Regexp, error) {
	if err := unsupported(pattern); err != nil {
		return nil, err
	}
	flags := "(?s)"
	if ignoreCase {
		flags = "(?is)"
	}
	// The pattern alone first, so that ")(" is not saved by the group around it.
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, explain(pattern, err)
	}
	re, err := regexp.Compile(flags + `^(?:` + pattern + `)$`)
	if err != nil {
		return nil, explain(pattern, err)
	}
	return re, nil
}

// unsupported names what Java's regular expressions have and Go's do not.
func unsupported(pattern string) error {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' {
			if i+1 < len(pattern) && (pattern[i+1] >= '1' && pattern[i+1] <= '9' || pattern[i+1] == 'k') {
				return fmt.Errorf("the pattern %q holds a back reference (\\%c), which is not supported", pattern, pattern[i+1])
			}
			i++
			continue
		}
		for _, j := range javaOnly {
			if strings.HasPrefix(pattern[i:], j.text) {
				return fmt.Errorf("the pattern %q holds %s, which is not supported; name the tables as alternatives, or use tables.exclude", pattern, j.name)
			}
		}
	}
	return nil
}

// explain says what is wrong with a pattern, in words for people.
func explain(pattern string, err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return fmt.Errorf("the pattern %q is no regular expression: %w", pattern, err)
	}
	switch bad.Code {
	case syntax.ErrMissingRepeatArgument:
		return fmt.Errorf("the pattern %q: %s repeats nothing; every text is \\.* here, with the dot escaped", pattern, bad.Expr)
	case syntax.ErrMissingParen:
		return fmt.Errorf("the pattern %q: a ( has no )", pattern)
	case syntax.ErrUnexpectedParen:
		return fmt.Errorf("the pattern %q: a ) has no (", pattern)
	case syntax.ErrMissingBracket:
		return fmt.Errorf("the pattern %q: a [ has no ]", pattern)
	}
	return fmt.Errorf("the pattern %q is no regular expression: %s: %q", pattern, bad.Code, bad.Expr)
}
