package topic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// maxLength is the most characters that a topic's name may have.
const maxLength = 249

// Options say how topics are named.
type Options struct {
	// Prefix begins the name of each table's topic.
	Prefix string
	// Delimiter stands between the parts; by default a dot.
	Delimiter string
	// Topic is the one topic for all tables, if set.
	Topic string
	// Mapping names the topics of some tables; the first that matches counts, and it
	// goes before Topic.
	Mapping []Rule
}

// Rule is one rule of a mapping.
type Rule struct {
	// Selector is the rule's pattern as written, Match what it means.
	Selector string
	Match    func(schema.TableID) bool
	Topic    string
}

// Namer names topics. It is safe for concurrent use.
type Namer struct{ o Options }

// New returns a namer. Names that Kafka would refuse are an error.
func New(o Options) (*Namer, error) {
	if o.Delimiter == "" {
		o.Delimiter = "."
	}
	for _, name := range append([]string{o.Topic}, topics(o.Mapping)...) {
		if name == "" {
			continue
		}
		if err := check(name); err != nil {
			return nil, err
		}
	}
	if o.Prefix != "" && Sanitise(o.Prefix) != o.Prefix {
		return nil, &NameError{Name: o.Prefix, Msg: "a prefix has letters, digits, '.', '_' and '-' only"}
	}
	if Sanitise(o.Delimiter) != o.Delimiter {
		return nil, &NameError{Name: o.Delimiter, Msg: "a delimiter has letters, digits, '.', '_' and '-' only"}
	}
	return &Namer{o: o}, nil
}

func topics(rules []Rule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.Topic
	}
	return out
}

// NameError is a name that Kafka would refuse.
type NameError struct{ Name, Msg string }

func (e *NameError) Error() string { return fmt.Sprintf("topic name %q: %s", e.Name, e.Msg) }

// check holds Kafka's rules for names.
func check(name string) error {
	switch {
	case name == "." || name == "..":
		return &NameError{Name: name, Msg: "the name is reserved"}
	case len(name) > maxLength:
		return &NameError{Name: name, Msg: fmt.Sprintf("it has %d characters, at most %d are possible", len(name), maxLength)}
	case name != Sanitise(name):
		return &NameError{Name: name, Msg: "it may have letters, digits, '.', '_' and '-' only"}
	}
	return nil
}

// Of returns the topic of a table. A name of its own is the prefix, the schema or
// database, and the table; a namespace in front of the schema, where a table's
// identifier has one, is left out, as Debezium does.
func (n *Namer) Of(id schema.TableID) string {
	for _, r := range n.o.Mapping {
		if r.Match(id) {
			return r.Topic
		}
	}
	if n.o.Topic != "" {
		return n.o.Topic
	}
	return Sanitise(n.Logical(id))
}

// Logical returns a table's own name before it is sanitised, whatever the options
// say of its topic.
func (n *Namer) Logical(id schema.TableID) string {
	var parts []string
	for _, p := range []string{n.o.Prefix, id.Schema, id.Table} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, n.o.Delimiter)
}

// named reports whether the options, and not the table's name, say which topic it has.
func (n *Namer) named(id schema.TableID) bool {
	return n.o.Topic != "" || slices.ContainsFunc(n.o.Mapping, func(r Rule) bool { return r.Match(id) })
}

// Sanitise makes each character that a topic's name can't have a '_'. One that Java
// has as two is two of them.
func Sanitise(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString("__")
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

// ClashError is one topic that several tables would share without being told to.
type ClashError struct {
	Topic  string
	Tables []schema.TableID
}

func (e *ClashError) Error() string {
	names := make([]string, len(e.Tables))
	for i, t := range e.Tables {
		names[i] = t.String()
	}
	return fmt.Sprintf("the tables %s would all go to the topic %s (give them topics of their own by sink.tableId-to-topic.mapping, or one topic on purpose)", strings.Join(names, ", "), e.Topic)
}

// Check finds what is wrong with the topics of tables: names that Kafka refuses, and
// tables whose names differ only in what a topic's name can't have.
func (n *Namer) Check(tables []schema.TableID) (errs []error) {
	shared := map[string][]schema.TableID{}
	for _, id := range tables {
		name := n.Of(id)
		if err := check(name); err != nil {
			errs = append(errs, fmt.Errorf("table %s: %w", id, err))
		}
		if !n.named(id) && !slices.Contains(shared[name], id) {
			shared[name] = append(shared[name], id)
		}
	}
	for _, id := range tables {
		name := n.Of(id)
		if len(shared[name]) > 1 {
			errs = append(errs, &ClashError{Topic: name, Tables: shared[name]})
			delete(shared, name)
		}
	}
	return errs
}
