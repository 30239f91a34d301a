package debezium

import "strconv"

// connectType is a schema of Kafka Connect.
type connectType struct {
	typ      string // int32, string, struct, ...
	items    *connectType
	keys     *connectType
	values   *connectType
	fields   []connectField
	optional bool
	name     string
	version  int
	doc      string
	params   []param
	def      []byte // the default's JSON, nil for none
}

type connectField struct {
	name string
	connectType
}

type param struct{ key, value string }

// appendSchema appends the schema as JsonConverter writes it; field is its name in
// the struct around it, or empty.
func (c *connectType) appendSchema(dst []byte, field string) []byte {
	dst = appendString(append(dst, `{"type":`...), c.typ)
	switch c.typ {
	case "array":
		dst = c.items.appendSchema(append(dst, `,"items":`...), "")
	case "map":
		dst = c.keys.appendSchema(append(dst, `,"keys":`...), "")
		dst = c.values.appendSchema(append(dst, `,"values":`...), "")
	case "struct":
		dst = append(dst, `,"fields":[`...)
		for i := range c.fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c.fields[i].appendSchema(dst, c.fields[i].name)
		}
		dst = append(dst, ']')
	}
	dst = strconv.AppendBool(append(dst, `,"optional":`...), c.optional)
	if c.name != "" {
		dst = appendString(append(dst, `,"name":`...), c.name)
	}
	if c.version != 0 {
		dst = strconv.AppendInt(append(dst, `,"version":`...), int64(c.version), 10)
	}
	if c.doc != "" {
		dst = appendString(append(dst, `,"doc":`...), c.doc)
	}
	if len(c.params) > 0 {
		dst = append(dst, `,"parameters":`...)
		for i, p := range c.params {
			dst = append(dst, "{,"[min(i, 1)])
			dst = appendString(append(appendString(dst, p.key), ':'), p.value)
		}
		dst = append(dst, '}')
	}
	if c.def != nil {
		dst = append(append(dst, `,"default":`...), c.def...)
	}
	if field != "" {
		dst = appendString(append(dst, `,"field":`...), field)
	}
	return append(dst, '}')
}

// plain is a type without a name, named one with a logical name of version 1.
func plain(typ string) connectType { return connectType{typ: typ} }

func named(typ, name string, params ...param) connectType {
	return connectType{typ: typ, name: name, version: 1, params: params}
}
