package debezium

import (
	"fmt"
	"regexp"
	"strings"
)

// Router sends the messages of several tables to one topic, as Debezium's
// ByLogicalTableRouter does.
type Router struct {
	// Topic is matched against the whole name of a table's topic, which becomes
	// Replacement, with $1 for a group of Topic.
	Topic       *regexp.Regexp
	Replacement string
	// KeyField is added to keys, to tell the tables apart; empty for DefaultKeyField.
	KeyField string
	// NoKeyField leaves keys as they are (key.enforce.uniqueness=false).
	NoKeyField bool
	// Key and KeyReplacement make the field's value of the name; it is the name where Key
	// is nil or does not match.
	Key            *regexp.Regexp
	KeyReplacement string
}

// DefaultKeyField is Debezium's name of the field.
const DefaultKeyField = "__dbz__physicalTableIdentifier"

// NewRouter compiles the expressions, which are Java's as far as Go has them.
func NewRouter(topic, replacement, key, keyReplacement string) (r Router, err error) {
	r = Router{Replacement: javaReplacement(replacement), KeyReplacement: javaReplacement(keyReplacement)}
	if r.Topic, err = wholeExpression(topic); err == nil && key != "" {
		r.Key, err = wholeExpression(key)
	}
	return r, err
}

func wholeExpression(text string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(`\A(?:` + strings.ReplaceAll(text, "(?<", "(?P<") + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("debezium: expression %q: %w", text, err)
	}
	return re, nil
}

// javaReplacement turns $1 and \x into what Go's regexp takes for the same.
func javaReplacement(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			if b.WriteByte(text[i]); text[i] == '$' {
				b.WriteByte('$')
			}
		case c == '$' && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9':
			i++
			b.WriteString("${" + text[i:i+1] + "}")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Route returns the topic for messages of the one called name, and the field that their
// keys get, nil for none. Names that do not match keep their topic.
func (r *Router) Route(name string) (topic string, field *KeyField) {
	if !r.Topic.MatchString(name) {
		return name, nil
	}
	if topic = r.Topic.ReplaceAllString(name, r.Replacement); topic == "" {
		return name, nil
	}
	if r.NoKeyField {
		return topic, nil
	}
	field = &KeyField{Name: r.KeyField, Value: name}
	if field.Name == "" {
		field.Name = DefaultKeyField
	}
	if r.Key != nil && r.Key.MatchString(name) {
		field.Value = r.Key.ReplaceAllString(name, r.KeyReplacement)
	}
	return topic, field
}

// KeyField is a text that is the same in all keys of a table.
type KeyField struct{ Name, Value string }
