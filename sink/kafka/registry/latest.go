package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freshet-cdc/freshet/sink/kafka/avro"
)

// maxReferences bounds how many schemas one schema takes in, directly or not.
const maxReferences = 100

// Latest returns the number of the newest schema of a subject, and what stands between the header
// and data of schema s, whose record has that full name. The newest schema must be the same as s,
// or a union that has it as a branch, whose number that is then. Each may take named types
// from other subjects. The error is as of [Client.ID].
func (c *Client) Latest(ctx context.Context, subject string, s Schema, record string) (id int, branch []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	types := map[string]located{}
	found, err := c.fetch(ctx, subject, -1, types)
	if err != nil {
		return 0, nil, err
	}
	latest, err := parse(found.Schema.Schema)
	if err != nil {
		return 0, nil, &Error{Subject: subject, Version: found.Version, Msg: "its schema is not JSON: " + err.Error()}
	}
	ours, err := parse(s.Text)
	if err != nil {
		return 0, nil, fmt.Errorf("schema registry: the schema of %s: %w", record, err)
	}
	want := (&expander{}).expand(ours, "")
	differs := &Error{Subject: subject, Version: found.Version, Msg: "the newest schema is not that of " + record, Hint: "register the table's schema, or leave use.latest.version out"}
	branches, union := latest.([]any)
	if !union {
		if !reflect.DeepEqual((&expander{types: types}).expand(latest, ""), want) {
			return 0, nil, differs
		}
		return found.ID, nil, nil
	}
	for i, b := range branches { // each by itself, so that names of the others are expanded in it
		e := &expander{types: types}
		for _, other := range branches[:i] {
			e.note(other, "")
		}
		if reflect.DeepEqual(e.expand(b, ""), want) {
			return found.ID, avro.AppendLong(nil, int64(i)), nil
		}
	}
	return 0, nil, differs
}

// fetch asks for a version of a subject and, into types, what it takes from others.
func (c *Client) fetch(ctx context.Context, subject string, version int, types map[string]located) (found sr.SubjectSchema, err error) {
	err = c.try(ctx, func(ctx context.Context) (err error) {
		found, err = c.sr.SchemaByVersion(ctx, subject, version)
		return err
	})
	switch {
	case err != nil && statusOf(err) == http.StatusNotFound:
		return found, &Error{Subject: subject, Msg: "it has no schema", Hint: "register one, or leave use.latest.version out"}
	case err != nil && c.refused(err):
		return found, c.problem(subject, err)
	case err != nil:
		return found, err
	}
	for _, r := range found.References {
		if _, ok := types[r.Name]; ok {
			continue
		}
		if len(types) >= maxReferences {
			return found, &Error{Subject: subject, Version: found.Version, Msg: fmt.Sprintf("it refers to more than %d schemas", maxReferences)}
		}
		types[r.Name] = located{} // so that a ring of references ends
		inner, err := c.fetch(ctx, r.Subject, r.Version, types)
		if err != nil {
			return found, err
		}
		text, err := parse(inner.Schema.Schema)
		if err != nil {
			return found, &Error{Subject: r.Subject, Version: r.Version, Msg: "its schema is not JSON: " + err.Error()}
		}
		types[r.Name] = located{text, ""}
	}
	return found, nil
}

func parse(text string) (v any, err error) {
	err = json.Unmarshal([]byte(text), &v)
	return v, err
}

// located is a schema and the namespace that it stands in.
type located struct {
	schema    any
	namespace string
}

// expander brings schemas into one form: names are full, each named type stands where it is
// first used, and of attributes there are those that say how data lies.
type expander struct {
	types map[string]located // that may be named before they stand there
	seen  map[string]bool
}

// layout are the attributes that say how data lies and what it means.
var layout = []string{"symbols", "size", "logicalType", "precision", "scale"}

var primitives = map[string]bool{"null": true, "boolean": true, "int": true, "long": true, "float": true, "double": true, "bytes": true, "string": true}

func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") || primitives[name] {
		return name
	}
	return namespace + "." + name
}

func (e *expander) expand(v any, namespace string) any {
	switch v := v.(type) {
	case string:
		name := fullName(v, namespace)
		if l, ok := e.types[name]; ok && l.schema != nil && !e.seen[name] {
			return e.expand(l.schema, l.namespace)
		}
		return name
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = e.expand(v[i], namespace)
		}
		return out
	case map[string]any:
		return e.object(v, namespace)
	}
	return v
}

func (e *expander) object(v map[string]any, namespace string) any {
	out := map[string]any{"type": v["type"]}
	if inner, ok := v["type"].(string); !ok || !primitives[inner] && v["name"] == nil && v["items"] == nil && v["values"] == nil {
		out["type"] = e.expand(v["type"], namespace)
	}
	if name, ok := v["name"].(string); ok {
		if ns, ok := v["namespace"].(string); ok {
			namespace = ns
		}
		name = fullName(name, namespace)
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			namespace = name[:i]
		}
		if e.seen == nil {
			e.seen = map[string]bool{}
		}
		if e.seen[name] = true; len(name) > 0 {
			out["name"] = name
		}
	}
	for _, key := range layout {
		if a, ok := v[key]; ok {
			out[key] = a
		}
	}
	for _, key := range []string{"items", "values"} {
		if inner, ok := v[key]; ok {
			out[key] = e.expand(inner, namespace)
		}
	}
	if fields, ok := v["fields"].([]any); ok {
		list := make([]any, 0, len(fields))
		for _, f := range fields {
			if f, ok := f.(map[string]any); ok {
				list = append(list, map[string]any{"name": f["name"], "type": e.expand(f["type"], namespace)})
			}
		}
		out["fields"] = list
	}
	if len(out) == 1 { // {"type":"int"} is "int"
		return out["type"]
	}
	return out
}

// note makes the named types of a schema known, as those of the branches before.
func (e *expander) note(v any, namespace string) {
	switch v := v.(type) {
	case string:
		if l, ok := e.types[fullName(v, namespace)]; ok {
			e.note(l.schema, l.namespace)
		}
	case []any:
		for _, inner := range v {
			e.note(inner, namespace)
		}
	case map[string]any:
		outer := namespace
		if name, ok := v["name"].(string); ok {
			if ns, ok := v["namespace"].(string); ok {
				namespace = ns
			}
			name = fullName(name, namespace)
			if i := strings.LastIndexByte(name, '.'); i >= 0 {
				namespace = name[:i]
			}
			types := map[string]located{name: {v, outer}}
			for n, l := range e.types {
				types[n] = l
			}
			e.types = types
		}
		for _, key := range []string{"type", "items", "values"} {
			if _, primitive := v[key].(string); !primitive {
				e.note(v[key], namespace)
			}
		}
		fields, _ := v["fields"].([]any)
		for _, f := range fields {
			if f, ok := f.(map[string]any); ok {
				e.note(f["type"], namespace)
			}
		}
	}
}
