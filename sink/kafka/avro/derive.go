package avro

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// Names of the records for what has no name in Kafka Connect.
const (
	converterNamespace = "io.confluent.connect.avro"
	defaultRecord      = converterNamespace + ".ConnectDefault"
	entryRecord        = converterNamespace + ".MapEntry"
)

// Derive makes the codec of a schema of Kafka Connect, which comes as the JSON that
// JsonConverter writes. A name that Avro does not allow is a [*NameError], what has no form
// there an [ErrSchema].
func Derive(connectSchema []byte) (*Codec, error) {
	var c connect
	if err := json.Unmarshal(connectSchema, &c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	d := &deriver{records: map[string]record{}}
	n, err := d.node(&c)
	if err != nil {
		return nil, err
	}
	codec := &Codec{root: n, schema: string(d.dst), name: c.Name}
	if c.Type != "struct" {
		codec.name = ""
	}
	return codec, nil
}

// record is a named type that the schema has already.
type record struct {
	fields []connect
	node   *node
}

// deriver prints a schema, and makes the nodes that encode its values.
type deriver struct {
	dst       []byte
	namespace string // of the record around
	records   map[string]record
	nameless  int
}

// text appends a text in quotes as Avro's printer writes it, with all characters beyond
// ASCII as they are.
func (d *deriver) text(s string) {
	var wide bool
	for _, r := range s {
		wide = wide || r > 0xffff
	}
	if !wide {
		d.dst = javatext.Jackson.Append(d.dst, s)
		return
	}
	b, err := json.Marshal(s)
	if err != nil { // of a string it can't fail
		b = []byte(`""`)
	}
	d.dst = append(d.dst, b...)
}

func (d *deriver) raw(s string) { d.dst = append(d.dst, s...) }

// node appends the schema of c, a union with null where it is optional.
func (d *deriver) node(c *connect) (*node, error) {
	n := &node{}
	switch {
	case !c.Optional:
		return n, d.base(n, c)
	case c.Default != nil: // a union's default is of its first branch
		n.optional, n.nullBranch, n.branch = true, branchValue, branchNull
		d.raw("[")
		err := d.base(n, c)
		d.raw(`,"null"]`)
		return n, err
	}
	n.optional, n.nullBranch, n.branch = true, branchNull, branchValue
	d.raw(`["null",`)
	err := d.base(n, c)
	d.raw("]")
	return n, err
}

// primitives are the types of Kafka Connect that are Avro's own.
var primitives = map[string]struct {
	avro string
	kind kind
}{
	"boolean": {"boolean", kindBoolean}, "int8": {"int", kindInt}, "int16": {"int", kindInt}, "int32": {"int", kindInt}, "int64": {"long", kindLong},
	"float": {"float", kindFloat}, "double": {"double", kindDouble}, "string": {"string", kindString}, "bytes": {"bytes", kindBytes},
}

// base appends the schema of c itself.
func (d *deriver) base(n *node, c *connect) error {
	switch c.Type {
	case "struct":
		return d.record(n, c)
	case "array":
		d.raw(`{"type":"array","items":`)
		items, err := d.node(c.Items)
		if err != nil {
			return err
		}
		n.kind, n.items = kindArray, items
	case "map":
		if err := d.mapping(n, c); err != nil {
			return err
		}
	default:
		p, ok := primitives[c.Type]
		if !ok {
			return fmt.Errorf("%w: type %q", ErrSchema, c.Type)
		}
		n.kind = p.kind
		start := len(d.dst)
		d.raw(`{"type":"` + p.avro + `"`)
		body := len(d.dst)
		if err := d.properties(c); err != nil {
			return err
		}
		if len(d.dst) == body {
			d.dst = append(d.dst[:start], `"`+p.avro+`"`...)
			return nil
		}
		d.raw("}")
		return nil
	}
	if err := d.properties(c); err != nil {
		return err
	}
	d.raw("}")
	return nil
}

// mapping appends a map up to its properties: one whose keys are no texts, or may be
// missing, is an array of entries.
func (d *deriver) mapping(n *node, c *connect) (err error) {
	if c.Keys.Type == "string" && !c.Keys.Optional {
		n.kind = kindMap
		d.raw(`{"type":"map","values":`)
		n.items, err = d.node(c.Values)
		return err
	}
	if d.records[entryRecord].node != nil {
		return fmt.Errorf("%w: two maps whose keys are no texts", ErrSchema)
	}
	n.kind = kindEntries
	d.records[entryRecord] = record{node: n}
	d.raw(`{"type":"array","items":{"type":"record","name":"MapEntry"`)
	outer := d.namespace
	if d.namespace = converterNamespace; outer != d.namespace {
		d.raw(`,"namespace":"` + converterNamespace + `"`)
	}
	d.raw(`,"fields":[`)
	key, value := *c.Keys, *c.Values
	key.Field, value.Field = "key", "value"
	if n.key, err = d.field(&key); err != nil {
		return err
	}
	d.raw(",")
	if n.items, err = d.field(&value); err != nil {
		return err
	}
	d.namespace = outer
	d.raw(`],"connect.internal.type":"MapEntry"}`)
	return nil
}

// field appends a field of a record, with its default.
func (d *deriver) field(c *connect) (*node, error) {
	if !validName(c.Field) {
		return nil, &NameError{c.Field}
	}
	d.raw(`{"name":"` + c.Field + `","type":`)
	n, err := d.node(c)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Default != nil:
		d.raw(`,"default":`)
		if err := d.value(c); err != nil {
			return nil, err
		}
	case c.Optional:
		d.raw(`,"default":null`)
	}
	d.raw("}")
	return n, nil
}

// record appends a record, or the name of one that is there already.
func (d *deriver) record(n *node, c *connect) error {
	name := c.Name
	if name == "" {
		d.nameless++
		name = defaultRecord
		if d.nameless > 1 {
			name += strconv.Itoa(d.nameless)
		}
	}
	namespace, short, err := splitName(name)
	if err != nil {
		return err
	}
	n.kind = kindRecord
	if known, ok := d.records[name]; ok {
		if !reflect.DeepEqual(known.fields, c.Fields) {
			return fmt.Errorf("%w: two records are called %s, and differ", ErrSchema, name)
		}
		n.fields, n.names = known.node.fields, known.node.names
		if namespace == d.namespace {
			name = short
		}
		d.raw(`"` + name + `"`)
		return nil
	}
	outer := d.namespace
	d.raw(`{"type":"record","name":"` + short + `"`)
	if namespace != outer {
		d.raw(`,"namespace":"` + namespace + `"`)
	}
	d.namespace = namespace
	d.raw(`,"fields":[`)
	for i := range c.Fields {
		if i > 0 {
			d.raw(",")
		}
		f, err := d.field(&c.Fields[i])
		if err != nil {
			return err
		}
		n.fields = append(n.fields, f)
		before := []byte{"{,"[min(i, 1)]}
		n.names = append(n.names, append(javatext.Jackson.Append(before, c.Fields[i].Field), ':'))
	}
	d.namespace = outer
	d.records[name] = record{c.Fields, n}
	d.raw("]")
	if err := d.properties(c); err != nil {
		return err
	}
	d.raw("}")
	return nil
}

// properties appends what AvroData keeps of a schema beside its type.
func (d *deriver) properties(c *connect) error {
	if c.Name == connectDecimal {
		precision := c.Parameters.get("connect.decimal.precision")
		if precision == "" {
			precision = defaultPrecision
		}
		d.raw(`,"scale":` + c.Parameters.get("scale") + `,"precision":` + precision)
	}
	if c.Doc != "" {
		d.raw(`,"connect.doc":`)
		d.text(c.Doc)
	}
	if c.Version != 0 {
		d.raw(`,"connect.version":` + strconv.Itoa(c.Version))
	}
	for i, p := range c.Parameters {
		d.raw([]string{`,"connect.parameters":{`, ","}[min(i, 1)])
		d.text(p[0])
		d.raw(":")
		d.text(p[1])
	}
	if len(c.Parameters) > 0 {
		d.raw("}")
	}
	if c.Default != nil {
		d.raw(`,"connect.default":`)
		if err := d.value(c); err != nil {
			return err
		}
	}
	if c.Name != "" {
		d.raw(`,"connect.name":`)
		d.text(c.Name)
	}
	if c.Type == "int8" || c.Type == "int16" {
		d.raw(`,"connect.type":"` + c.Type + `"`)
	}
	logical := map[string]string{connectDecimal: "decimal", connectDate: "date", connectTime: "time-millis", connectTimestamp: "timestamp-millis"}
	if l := logical[c.Name]; l != "" {
		d.raw(`,"logicalType":"` + l + `"`)
	}
	return nil
}

// value appends the default of c: bytes are a text of their characters.
func (d *deriver) value(c *connect) error {
	var text string
	switch c.Type {
	case "bytes":
		var encoded string
		if err := json.Unmarshal(c.Default, &encoded); err != nil {
			return fmt.Errorf("%w: a default of bytes: %w", ErrSchema, err)
		}
		b, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return fmt.Errorf("%w: a default of bytes: %w", ErrSchema, err)
		}
		latin := make([]rune, len(b))
		for i, v := range b {
			latin[i] = rune(v)
		}
		d.text(string(latin))
	case "string":
		if err := json.Unmarshal(c.Default, &text); err != nil {
			return fmt.Errorf("%w: a default: %w", ErrSchema, err)
		}
		d.text(text)
	case "struct", "array", "map":
		return fmt.Errorf("%w: a default of type %s", ErrSchema, c.Type)
	default:
		d.dst = append(d.dst, c.Default...)
	}
	return nil
}
