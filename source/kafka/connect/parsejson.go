package connect

import (
	"encoding/json"
	"fmt"
)

// jsonSchema is a schema as JsonConverter writes it.
type jsonSchema struct {
	Type       string            `json:"type"`
	Optional   bool              `json:"optional"`
	Name       string            `json:"name"`
	Field      string            `json:"field"`
	Parameters map[string]string `json:"parameters"`
	Fields     []jsonSchema      `json:"fields"`
	Items      *jsonSchema       `json:"items"`
	Keys       *jsonSchema       `json:"keys"`
	Values     *jsonSchema       `json:"values"`
}

var jsonKinds = map[string]kind{
	"int8": kindInt8, "int16": kindInt16, "int32": kindInt32, "int64": kindInt64, "float": kindFloat32, "float32": kindFloat32, "double": kindFloat64,
	"float64": kindFloat64, "boolean": kindBool, "string": kindString, "bytes": kindBytes, "array": kindArray, "map": kindMap, "struct": kindStruct,
}

// ParseJSON reads the schema of a message as Connect's JsonConverter writes it. A schema
// that is null is nil.
func ParseJSON(text []byte) (*Schema, error) {
	var j *jsonSchema
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	if j == nil {
		return nil, nil
	}
	return j.compile()
}

func (j *jsonSchema) compile() (*Schema, error) {
	s := &Schema{Name: j.Name, Optional: j.Optional, kind: jsonKinds[j.Type], null: -1}
	var err error
	part := func(p *jsonSchema, what string) *Schema {
		if err != nil {
			return nil
		}
		if p == nil {
			err = fmt.Errorf("%w: %s has no %s", ErrSchema, j.Type, what)
			return nil
		}
		var out *Schema
		out, err = p.compile()
		return out
	}
	switch s.kind {
	case 0:
		return nil, fmt.Errorf("%w: type %.40q is unknown", ErrSchema, j.Type)
	case kindArray:
		s.elem = part(j.Items, "items")
	case kindMap:
		s.key, s.elem = part(j.Keys, "keys"), part(j.Values, "values")
	case kindStruct:
		err = j.fields(s)
	}
	if err != nil {
		return nil, err
	}
	return s, s.finish(j.Parameters)
}

func (j *jsonSchema) fields(s *Schema) error {
	for i := range j.Fields {
		f := &j.Fields[i]
		sub, err := f.compile()
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Field, err)
		}
		if f.Field == "" || s.Field(f.Field) != nil {
			return fmt.Errorf("%w: a struct has no name for a field, or one twice: %.80q", ErrSchema, f.Field)
		}
		s.Fields = append(s.Fields, Field{Name: f.Field, Schema: sub})
	}
	return nil
}
