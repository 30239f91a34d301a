package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Document is a pipeline document that has passed all checks that need no server.
type Document struct {
	File     string
	Source   Block
	Sink     Block
	Routes   []Route
	Pipeline Settings
	// settings are the places of what the pipeline block gives.
	settings map[string]Place
	secrets  *redactor
}

// Block is the source or the sink.
type Block struct {
	Type, Name string
	// Options are the values by key, without type and name.
	Options map[string]string
	// Place is where the block stands. Valid says that nothing is wrong with it.
	Place  Place
	Valid  bool
	places map[string]Place
	secret map[string]bool
	// raw are values that came from ${...}, as the document writes them.
	raw map[string]string
}

// PlaceOf returns where the option's value stands, or the block's own place
// where the document does not give it.
func (b Block) PlaceOf(key string) Place {
	if at, ok := b.places[key]; ok {
		return at
	}
	return b.Place
}

// Gives says whether the document gives the option.
func (b Block) Gives(key string) bool {
	_, ok := b.places[key]
	return ok
}

// RetainedPlace returns the key and place of the number of retained checkpoints;
// ok is false where the document leaves it at its default.
func (d *Document) RetainedPlace() (key string, at Place, ok bool) {
	for _, key := range []string{keyRetained, keyRetainedOld} {
		if at, ok := d.settings[key]; ok {
			return key, at, true
		}
	}
	return keyRetained, Place{}, false
}

// Part returns a part of an option's value as a message may show it: what the
// document writes where the value came from ${...}.
func (b Block) Part(key, part string) string {
	if raw, ok := b.raw[key]; ok {
		return raw
	}
	return part
}

// Detail returns what is wrong with an option's value, without the value where that
// came from ${...}.
func (b Block) Detail(key string, err error) string {
	if raw, ok := b.raw[key]; ok {
		return raw + " is no valid value; it is not shown, for it comes from outside the document"
	}
	return err.Error()
}

// Message returns a message of others about the option's value without showing the
// value, where that is secret or came from ${...}: whole parts of it are
// replaced by what the document writes.
func (b Block) Message(key, msg string) string {
	raw, substituted := b.raw[key]
	switch value := b.Options[key]; {
	case value == "":
		return msg
	case b.secret[key]:
		return hideValue(msg, value, Mask)
	case substituted:
		return hideValue(msg, value, raw)
	}
	return msg
}

// Route is one rule of the route block.
type Route struct {
	SourceTable, SinkTable, ReplaceSymbol, Description string
	// Substituted says that a part of it came from ${...}.
	Substituted bool
	// Place is where the rule stands, SourcePlace and SinkPlace its values.
	Place, SourcePlace, SinkPlace Place
}

// Kinds are the types of source and sink that a document may name, with their options.
type Kinds struct {
	Sources, Sinks map[string][]Option
}

// Problem returns a problem with an option of the block, at its place. Its value is
// hidden as Message does.
func (b Block) Problem(key, msg, hint string) Problem {
	return Problem{Place: b.PlaceOf(key), Msg: b.Message(key, msg), Hint: b.Message(key, hint)}
}

// Sorted returns problems from several steps as one error, each once, in the
// order of their places; nil for none.
func Sorted(problems ...Problem) error { return Problems(problems).sorted() }

// Load reads and parses the file as Parse does. The error may also be a failure
// to read the file.
func Load(file string, kinds Kinds, env Environment) (*Document, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the pipeline document: %w", err)
	}
	return Parse(file, data, kinds, env)
}

// Parse parses a document. file is its name in problems; relative paths start
// from its folder. The error is a [Problems] that holds everything found; beside
// it the document may be there, as far as it could be read, to look for more.
func Parse(file string, data []byte, kinds Kinds, env Environment) (*Document, error) {
	r := &reader{file: file, env: env.orDefaults()}
	root, ok := r.root(data)
	if !ok {
		return nil, r.problems.sorted()
	}
	d := &Document{File: file}
	blocks := map[string]entry{}
	valid := []string{"source", "sink", "route", "pipeline"}
	if follow(root).Kind != yaml.MappingNode {
		r.mapping(root, "the document")
		return nil, r.problems.sorted()
	}
	for _, e := range r.mapping(root, "the document") {
		best, distance := nearest(e.key, valid)
		switch {
		case slices.Contains(valid, e.key):
			blocks[e.key] = e
		case e.key == "transform":
			r.report(e.place, "leave it out; renaming tables works with route", "transform is not there yet")
		case distance <= 2 && blocks[best].value == nil:
			r.report(e.place, didYouMean(e.key, valid), "unknown block %q", e.key)
			blocks[best] = e // so that its options are checked too
		default:
			hint := didYouMean(e.key, valid)
			if _, ok := find(PipelineOptions(), e.key); ok {
				hint = "it goes under pipeline:"
			}
			r.report(e.place, hint, "unknown block %q", e.key)
		}
	}
	found := len(r.problems)
	d.Source = r.block(blocks["source"], "source", kinds.Sources)
	d.Source.Valid, found = len(r.problems) == found, len(r.problems)
	d.Sink = r.block(blocks["sink"], "sink", kinds.Sinks)
	d.Sink.Valid = len(r.problems) == found
	if e, ok := blocks["route"]; ok {
		d.Routes = r.routes(e)
	}
	r.pipeline(d, blocks["pipeline"])
	r.pairs(d)
	d.setSecrets(r.secrets)
	return d, r.problems.sorted()
}

// root returns the root node of the only YAML document in data.
func (r *reader) root(data []byte) (*yaml.Node, bool) {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	start := Place{File: r.file, Line: 1, Column: 1}
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		r.report(start, "it needs the blocks source and sink", "the document is empty")
		return nil, false
	} else if err != nil {
		r.syntax(err)
		return nil, false
	}
	if err := dec.Decode(&more); err == nil {
		r.report(r.place(&more), "one file holds one pipeline", "a second YAML document begins here")
		return nil, false
	} else if !errors.Is(err, io.EOF) {
		r.syntax(err)
		return nil, false
	}
	return doc.Content[0], true
}

// block reads the source or the sink.
func (r *reader) block(e entry, what string, kinds map[string][]Option) Block {
	if e.value == nil {
		r.report(Place{File: r.file, Line: 1, Column: 1}, "", "the document has no block %q", what)
		return Block{}
	}
	b := Block{Place: e.place, Options: map[string]string{}, places: map[string]Place{}, secret: map[string]bool{}, raw: map[string]string{}}
	b.Place.File = r.file
	skip := map[string]bool{}
	if what == "sink" {
		skip = map[string]bool{"include.schema.changes": true, "exclude.schema.changes": true}
		if n := follow(e.value); n.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if skip[n.Content[i].Value] {
					r.report(r.place(n.Content[i]), "leave it out: every schema change is applied", "%q is not there yet", n.Content[i].Value)
				}
			}
		}
	}
	fields := r.fields(e.value, what, skip)
	shownType := ""
	var rest []field
	for _, f := range fields {
		switch f.key {
		case "type":
			b.Type, shownType = f.text, f.shown()
			b.places[f.key] = f.place
		case "name":
			b.Name = f.text
		default:
			rest = append(rest, f)
		}
	}
	options, known := kinds[b.Type]
	types := slices.Sorted(maps.Keys(kinds))
	switch {
	case b.Type == "" && !slices.ContainsFunc(fields, func(f field) bool { return f.key == "type" }):
		r.report(e.place, "one of "+strings.Join(types, ", "), "%s has no type", what)
		return b
	case !known:
		r.report(b.places["type"], didYouMean(b.Type, types), "unknown %s type %s", what, shownType)
		return b
	}
	b.Options = r.check(rest, options, what+" "+b.Type, e.place)
	for _, f := range rest {
		b.places[f.key] = f.place
		if o, ok := find(options, f.key); ok {
			b.secret[f.key] = isSecret(o, f)
		}
		if f.env || f.file {
			b.raw[f.key] = f.raw
		}
	}
	return b
}

var routeOptions = []Option{
	{Key: "source-table", Type: "string", Required: true, Doc: "a pattern of source tables"},
	{Key: "sink-table", Type: "string", Required: true, Doc: "the table that they go to"},
	{Key: "replace-symbol", Type: "string"},
	{Key: "description", Type: "string"},
}

// routes reads the list of rules.
func (r *reader) routes(e entry) []Route {
	list := follow(e.value)
	if list.Kind != yaml.SequenceNode {
		hint := "leave route: out, or give it rules"
		if list.Kind == yaml.MappingNode {
			hint = "begin each rule with a dash: \"- source-table: ...\""
		}
		r.report(r.place(list), hint, "route must be a list of rules, but is %s", describe(list))
		return nil
	}
	var out []Route
	for _, item := range list.Content {
		at := r.place(item)
		if follow(item).Kind != yaml.MappingNode {
			r.mapping(item, "a rule of route")
			continue
		}
		fields := r.fields(item, "a rule of route", nil)
		v := r.check(fields, routeOptions, "a rule of route", at)
		route := Route{SourceTable: v["source-table"], SinkTable: v["sink-table"], ReplaceSymbol: v["replace-symbol"], Description: v["description"], Place: at, SourcePlace: at, SinkPlace: at}
		for _, f := range fields {
			route.Substituted = route.Substituted || f.env || f.file
			switch f.key {
			case "source-table":
				route.SourcePlace = f.place
			case "sink-table":
				route.SinkPlace = f.place
			}
		}
		out = append(out, route)
	}
	return out
}

// notYet are keys of Flink CDC's pipeline block that are not options.
var notYet = map[string]bool{"user-defined-function": true, "model": true, "transform.decimal.precision.mode": true}

// pipeline reads the pipeline block, which may be missing.
func (r *reader) pipeline(d *Document, e entry) {
	s := settings{reader: r, values: map[string]string{}}
	if e.value != nil && follow(e.value).Tag != "!!null" {
		if n := follow(e.value); n.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if key := n.Content[i].Value; notYet[key] {
					r.report(r.place(n.Content[i]), "leave it out", "%q is not there yet, as transform", key)
				}
			}
		}
		s.fields = r.fields(e.value, "pipeline", notYet)
		s.values = r.check(s.fields, PipelineOptions(), "pipeline", e.place)
	}
	d.Pipeline, d.settings = s.decode(), map[string]Place{}
	for _, f := range s.fields {
		d.settings[f.key] = f.place
	}
	if mode, ok := d.Source.Options["scan.startup.mode"]; d.Pipeline.Batch && (!ok || mode != "snapshot") {
		r.report(s.at(keyMode), "BATCH ends with the snapshot: set scan.startup.mode: snapshot in source, or leave it out", "%q: BATCH does not go with this source", keyMode)
	}
}

// pairs reports rules that give nothing.
func (r *reader) pairs(d *Document) {
	for i, a := range d.Routes {
		for _, b := range d.Routes[:i] {
			same := a.SourceTable == b.SourceTable && a.SinkTable == b.SinkTable && a.ReplaceSymbol == b.ReplaceSymbol
			if same && a.SourceTable != "" {
				r.report(a.Place, "remove one of them", "this rule is the same as the one in line %d", b.Place.Line)
			}
		}
	}
}

// String prints the document with its defaults, secrets masked.
func (d *Document) String() string {
	var out strings.Builder
	for _, b := range []struct {
		name  string
		block Block
	}{{"source", d.Source}, {"sink", d.Sink}} {
		fmt.Fprintf(&out, "%s:\n  type: %s\n", b.name, b.block.Type)
		for _, key := range slices.Sorted(maps.Keys(b.block.Options)) {
			fmt.Fprintf(&out, "  %s: %s\n", key, d.shown(b.block, key))
		}
	}
	for i, route := range d.Routes {
		if i == 0 {
			out.WriteString("route:\n")
		}
		fmt.Fprintf(&out, "  - source-table: %s\n    sink-table: %s\n", route.SourceTable, route.SinkTable)
	}
	fmt.Fprintf(&out, "pipeline:\n  name: %s\n  parallelism: %d\n  %s: %s\n  %s: file://%s\n  %s: %s\n",
		d.Pipeline.Name, d.Pipeline.Parallelism, keyInterval, d.Pipeline.CheckpointInterval, keyDir, filepath.ToSlash(d.Pipeline.CheckpointDir), keyBackend, d.Pipeline.StateBackend)
	return out.String()
}
