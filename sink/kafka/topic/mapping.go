package topic

import (
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// ParseMapping reads selector:topic;selector:topic, the form of
// sink.tableId-to-topic.mapping. compile says what a selector means. A selector may
// hold colons, a topic can't.
func ParseMapping(text string, compile func(selector string) (func(schema.TableID) bool, error)) ([]Rule, error) {
	var out []Rule
	for _, part := range strings.Split(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		i := strings.LastIndexByte(part, ':')
		if i < 0 {
			return nil, fmt.Errorf("%q has no topic: each rule is selector:topic", part)
		}
		r := Rule{Selector: strings.TrimSpace(part[:i]), Topic: strings.TrimSpace(part[i+1:])}
		if r.Selector == "" {
			return nil, fmt.Errorf("%q has no selector: each rule is selector:topic", part)
		}
		if err := check(r.Topic); err != nil || r.Topic == "" {
			return nil, fmt.Errorf("%q: %q is no topic's name", part, r.Topic)
		}
		var err error
		if r.Match, err = compile(r.Selector); err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		out = append(out, r)
	}
	return out, nil
}
