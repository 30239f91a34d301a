package connect

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// avroDepth is how deep Avro schemas may be nested.
const avroDepth = 128

// avroSchema is a schema in the form of an object. What is told of a decimal stands at
// the type or, as Connect does it, in parameters.
type avroSchema struct {
	Type        json.RawMessage   `json:"type"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Fields      []avroField       `json:"fields"`
	Items       json.RawMessage   `json:"items"`
	Values      json.RawMessage   `json:"values"`
	Symbols     []string          `json:"symbols"`
	Size        int               `json:"size"`
	LogicalType string            `json:"logicalType"`
	Precision   *int              `json:"precision"`
	Scale       *int              `json:"scale"`
	ConnectName string            `json:"connect.name"`
	ConnectType string            `json:"connect.type"`
	Parameters  map[string]string `json:"connect.parameters"`
}

type avroField struct {
	Name string          `json:"name"`
	Type json.RawMessage `json:"type"`
}

var avroKinds = map[string]kind{"null": kindNull, "boolean": kindBool, "int": kindInt32, "long": kindInt64, "float": kindFloat32, "double": kindFloat64, "bytes": kindBytes, "string": kindString}

// avroParser resolves names within one schema and those it refers to.
type avroParser struct {
	named map[string]*Schema // nil while the type itself is parsed
	depth int
}

// ParseAvro reads an Avro schema; references are schemas that it names, those that are
// referred to by others first.
func ParseAvro(text string, references ...string) (*Schema, error) {
	p := &avroParser{named: map[string]*Schema{}}
	for _, r := range references {
		if _, err := p.parse([]byte(r), ""); err != nil {
			return nil, fmt.Errorf("a schema that it refers to: %w", err)
		}
	}
	return p.parse([]byte(text), "")
}

func (p *avroParser) parse(text []byte, namespace string) (*Schema, error) {
	if p.depth++; p.depth > avroDepth {
		return nil, fmt.Errorf("%w: it is nested deeper than %d", ErrSchema, avroDepth)
	}
	defer func() { p.depth-- }()
	switch first := strings.TrimSpace(string(text)); {
	case strings.HasPrefix(first, `"`):
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSchema, err)
		}
		return p.byName(name, namespace)
	case strings.HasPrefix(first, "["):
		return p.union(text, namespace)
	}
	var a avroSchema
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return p.object(&a, namespace)
}

func (p *avroParser) byName(name, namespace string) (*Schema, error) {
	if k := avroKinds[name]; k != 0 {
		return &Schema{kind: k, null: -1, Optional: k == kindNull}, nil
	}
	full := fullName(name, namespace)
	s, ok := p.named[full]
	if !ok {
		s, ok = p.named[name]
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: nothing is called %.80q", ErrSchema, name)
	case s == nil:
		return nil, fmt.Errorf("%w: %.80q contains itself", ErrSchema, name)
	}
	return s, nil
}

func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

// union takes unions of null and one type: others have no column.
func (p *avroParser) union(text []byte, namespace string) (*Schema, error) {
	var branches []json.RawMessage
	if err := json.Unmarshal(text, &branches); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	var other *Schema
	null := -1
	for i, b := range branches {
		s, err := p.parse(b, namespace)
		if err != nil {
			return nil, err
		}
		if s.kind == kindNull {
			null = i
			continue
		}
		if other != nil || s.null >= 0 {
			return nil, fmt.Errorf("%w: a union of several types has no column", ErrSchema)
		}
		other = s
	}
	if other == nil || null < 0 || len(branches) != 2 {
		return nil, fmt.Errorf("%w: a union must be of null and one type", ErrSchema)
	}
	out := *other
	out.null, out.Optional = null, true
	return &out, nil
}

func (p *avroParser) object(a *avroSchema, namespace string) (*Schema, error) {
	var name string
	if err := json.Unmarshal(a.Type, &name); err != nil { // the type is a schema of its own
		return p.parse(a.Type, namespace)
	}
	s := &Schema{Name: a.ConnectName, null: -1}
	var err error
	switch name {
	case "record", "error":
		return p.record(a, s, namespace)
	case "fixed":
		if a.Size < 1 || a.Size > 1<<20 {
			return nil, fmt.Errorf("%w: a fixed of %d bytes", ErrSchema, a.Size)
		}
		s.kind, s.size = kindBytes, a.Size
	case "enum":
		s.kind, s.symbols = kindEnum, a.Symbols
	case "array":
		s.kind = kindArray
		if s.elem, err = p.parse(a.Items, namespace); err == nil {
			s.pairs()
		}
	case "map":
		s.kind, s.key = kindMap, &Schema{kind: kindString, null: -1}
		s.elem, err = p.parse(a.Values, namespace)
	default:
		bare, err := p.byName(name, namespace)
		if err != nil {
			return nil, err
		}
		copied := *bare
		copied.Name = a.ConnectName
		s = &copied
	}
	if err == nil {
		err = s.logical(a)
	}
	if err == nil && a.Name != "" {
		p.define(a, namespace, s)
	}
	return s, err
}

// define keeps a type under its name and returns the namespace inside it.
func (p *avroParser) define(a *avroSchema, namespace string, s *Schema) string {
	if a.Namespace != "" {
		namespace = a.Namespace
	}
	full := fullName(a.Name, namespace)
	p.named[full] = s
	if at := strings.LastIndexByte(full, '.'); at >= 0 {
		return full[:at]
	}
	return ""
}

func (p *avroParser) record(a *avroSchema, s *Schema, namespace string) (*Schema, error) {
	inside := p.define(a, namespace, nil)
	s.kind = kindStruct
	for _, f := range a.Fields {
		sub, err := p.parse(f.Type, inside)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if f.Name == "" || s.Field(f.Name) != nil {
			return nil, fmt.Errorf("%w: a record has no name for a field, or one twice: %.80q", ErrSchema, f.Name)
		}
		s.Fields = append(s.Fields, Field{Name: f.Name, Schema: sub})
	}
	if err := s.logical(a); err != nil {
		return nil, err
	}
	p.define(a, namespace, s)
	return s, nil
}

// connectKinds are the types that Connect has and Avro does not.
var connectKinds = map[string]kind{"int8": kindInt8, "int16": kindInt16}

// logicals are Avro's own meanings. A timestamp of Avro is an instant.
var logicals = map[string]meaning{
	"decimal": decimal, "date": date, "time-millis": timeMillis, "time-micros": timeMicros, "timestamp-millis": instantMillis, "timestamp-micros": instantMicros,
	"timestamp-nanos": instantNanos, "local-timestamp-millis": timestampMillis, "local-timestamp-micros": timestampMicros, "local-timestamp-nanos": timestampNanos, "uuid": uuid,
}

// logical sets what Connect or Avro add to the type.
func (s *Schema) logical(a *avroSchema) error {
	if k := connectKinds[a.ConnectType]; k != 0 && s.kind == kindInt32 {
		s.kind = k
	}
	parameters := maps.Clone(a.Parameters)
	if m := logicals[a.LogicalType]; m != plain && meanings[s.Name] == plain && m.fits(s.kind) {
		s.meaning = m
		if parameters == nil {
			parameters = map[string]string{}
		}
	}
	if a.LogicalType == "decimal" && parameters != nil {
		for name, v := range map[string]*int{"scale": a.Scale, "connect.decimal.precision": a.Precision} {
			// Connect writes 64 where it knows no precision.
			if v != nil && (name == "scale" || s.Name == "" || *v != 64) {
				parameters[name] = fmt.Sprint(*v)
			}
		}
	}
	return s.finish(parameters)
}

// pairs makes a map of an array of records of key and value: Connect's form of a map whose
// keys are no strings.
func (s *Schema) pairs() {
	e := s.elem
	if e.kind == kindStruct && len(e.Fields) == 2 && e.Fields[0].Name == "key" && e.Fields[1].Name == "value" && strings.HasSuffix(e.Name, "MapEntry") && e.null < 0 {
		s.kind, s.key, s.elem, s.size = kindMap, e.Fields[0].Schema, e.Fields[1].Schema, -1
	}
}
