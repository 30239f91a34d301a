package format

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/cell"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// maxSchemas bounds the schemas that are kept; a topic has a few, and each new one beyond
// that makes room.
const maxSchemas = 4096

// codec reads keys or values of one encoding.
type codec struct {
	avro     bool
	schemas  bool // JSON may carry its schema
	registry Registry
	texts    map[string]*connect.Schema // schemas of JSON
	ids      map[uint32]*connect.Schema // schemas of the registry
	json     connect.JSONReader
	binary   connect.AvroReader
	scratch  [2][]byte
}

// newCodec returns a codec, nil for None.
func newCodec(o Options, kind string, schemas bool) (*codec, error) {
	switch kind {
	case None, "":
		return nil, nil
	case JSON:
		return &codec{schemas: schemas, texts: map[string]*connect.Schema{}}, nil
	case Avro:
		if o.Registry == nil {
			return nil, fmt.Errorf("%w: Avro needs a schema registry", ErrMessage)
		}
		return &codec{avro: true, registry: o.Registry, ids: map[uint32]*connect.Schema{}}, nil
	}
	return nil, fmt.Errorf("format %q is unknown", kind)
}

// datum is a value with its schema, which is nil for JSON without one.
type datum struct {
	s    *connect.Schema
	body []byte
}

func (d datum) null() bool { return d.body == nil }

// open finds the schema of a message.
func (c *codec) open(ctx context.Context, data []byte) (datum, error) {
	if c.avro {
		return c.openAvro(ctx, data)
	}
	c.json.Reset(data)
	if c.json.Peek() == '{' && c.schemas {
		d, ok, err := c.openSchema(data)
		if ok || err != nil {
			return d, err
		}
		c.json.Reset(data)
	}
	if c.json.Peek() == 'n' {
		return datum{}, c.json.Null()
	}
	return datum{body: data}, nil
}

// openSchema reads {"schema": ..., "payload": ...}; false where a message has another form.
func (c *codec) openSchema(data []byte) (d datum, ok bool, err error) {
	if err := c.json.Enter('{'); err != nil {
		return d, false, err
	}
	var text []byte
	for {
		key, more, err := c.json.NextKey()
		if err != nil {
			return d, false, err
		}
		if !more {
			break
		}
		switch string(key) {
		case "schema":
			text, err = c.json.Skip()
		case "payload":
			d.body, err = c.json.Skip()
		default:
			return datum{}, false, nil
		}
		if err != nil {
			return d, false, err
		}
	}
	if d.body == nil || text == nil {
		return datum{}, false, nil
	}
	if err := c.json.End(); err != nil {
		return d, false, err
	}
	if bytes.Equal(d.body, []byte("null")) {
		d.body = nil
	}
	d.s, ok = c.texts[string(text)]
	if !ok {
		if d.s, err = connect.ParseJSON(text); err != nil {
			return d, false, err
		}
		if len(c.texts) >= maxSchemas {
			clear(c.texts)
		}
		c.texts[string(text)] = d.s
	}
	return d, true, nil
}

// openAvro reads Confluent's header: a zero byte and the number of the schema.
func (c *codec) openAvro(ctx context.Context, data []byte) (datum, error) {
	if len(data) < 5 || data[0] != 0 {
		return datum{}, fmt.Errorf("%w: it does not begin with the number of a schema", ErrMessage)
	}
	id := binary.BigEndian.Uint32(data[1:])
	s := c.ids[id]
	if s == nil {
		var err error
		if s, err = c.fetch(ctx, int(id)); err != nil {
			return datum{}, fmt.Errorf("schema %d of the registry: %w", id, err)
		}
		if len(c.ids) >= maxSchemas {
			clear(c.ids)
		}
		c.ids[id] = s
	}
	return datum{s: s, body: data[5:]}, nil
}

func (c *codec) fetch(ctx context.Context, id int) (*connect.Schema, error) {
	s, err := c.registry.SchemaByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.Type != sr.TypeAvro {
		return nil, fmt.Errorf("%w: it is of type %s, not Avro", ErrMessage, s.Type)
	}
	references, err := c.references(ctx, s, map[string]bool{}, nil)
	if err != nil {
		return nil, err
	}
	return connect.ParseAvro(s.Schema, references...)
}

// references returns what a schema refers to, each after what it refers to itself.
func (c *codec) references(ctx context.Context, s sr.Schema, seen map[string]bool, out []string) ([]string, error) {
	for _, r := range s.References {
		if name := fmt.Sprintf("%s %d", r.Subject, r.Version); seen[name] {
			continue
		} else if seen[name] = true; len(seen) > maxSchemas {
			return nil, fmt.Errorf("%w: it refers to more than %d schemas", ErrMessage, maxSchemas)
		}
		other, err := c.registry.SchemaByVersion(ctx, r.Subject, r.Version)
		if err != nil {
			return nil, fmt.Errorf("subject %s, version %d: %w", r.Subject, r.Version, err)
		}
		if out, err = c.references(ctx, other.Schema, seen, out); err != nil {
			return nil, err
		}
		out = append(out, other.Schema.Schema)
	}
	return out, nil
}

// names returns the names of a key's fields; none for a key that is no object.
func (c *codec) names(d datum) (out []string, err error) {
	if d.s != nil {
		for _, f := range d.s.Fields {
			out = append(out, f.Name)
		}
		return out, nil
	}
	c.json.Reset(d.body)
	if c.json.Peek() != '{' {
		_, err := c.json.Skip()
		return nil, err
	}
	if err := c.json.Enter('{'); err != nil {
		return nil, err
	}
	for {
		key, ok, err := c.json.NextKey()
		if !ok || err != nil {
			return out, err
		}
		out = append(out, string(key))
		if _, err := c.json.Skip(); err != nil {
			return nil, err
		}
	}
}

// row reads a row into columns, by the names of its fields, without changing the table.
func (c *codec) row(d datum, t *table.Table, columns []*cell.Column, f *finder) error {
	f.use(t)
	if d.s == nil {
		c.json.Reset(d.body)
		return c.json.LooseRow(columns, f.column)
	}
	if !d.s.Struct() {
		return fmt.Errorf("%w: it is no struct", ErrMessage)
	}
	b := connect.Bind(d.s, func(name string) int {
		if i, ok := f.column([]byte(name), -1); ok {
			return i
		}
		return -1
	})
	return c.bound(d, b, columns)
}

// bound reads a row by a binding.
func (c *codec) bound(d datum, b *connect.Binding, columns []*cell.Column) error {
	if c.avro {
		c.binary.Reset(d.body)
		if null, err := c.binary.Null(d.s); null || err != nil {
			return fmt.Errorf("%w: there is no row: %v", ErrMessage, err)
		}
		return c.binary.Row(b, columns)
	}
	c.json.Reset(d.body)
	return c.json.Row(b, columns)
}

// into reads a row into the table's columns; the table learns its columns first.
func (c *codec) into(d datum, t *table.Table, at table.At, f *finder) error {
	if d.s != nil {
		b, err := t.Bind(d.s, at)
		if err != nil {
			return err
		}
		return c.bound(d, b, t.Columns())
	}
	if !t.Fixed() {
		s, err := c.infer(d, t, f)
		if err == nil {
			err = t.Learn(s, at)
		}
		if err != nil {
			return err
		}
	}
	f.use(t)
	c.json.Reset(d.body)
	return c.json.LooseRow(t.Columns(), f.column)
}

// infer returns the columns of a row without a schema that its table (nil for none) has not yet.
func (c *codec) infer(d datum, t *table.Table, f *finder) (*connect.Schema, error) {
	if t == nil {
		return connect.Infer(d.body, func([]byte, int, byte, []byte) (int, bool) { return -1, false })
	}
	f.use(t)
	return connect.Infer(d.body, func(name []byte, next int, first byte, value []byte) (int, bool) {
		i, ok := f.column(name, next)
		if !ok {
			return -1, false
		}
		return i, takes(t.Def.Columns[i].Type, first, value)
	})
}

// takes says that a column of an inferred type takes a value as it is.
func takes(t schema.Type, first byte, value []byte) bool {
	switch t.Kind {
	case schema.KindJSON:
		return true
	case schema.KindString:
		return first == '"'
	case schema.KindBoolean:
		return first == 't' || first == 'f'
	case schema.KindBigInt:
		return first == '0' && len(value) <= 18 && !bytes.ContainsAny(value, ".eE")
	case schema.KindDouble:
		return first == '0' && (len(value) <= 15 || bytes.ContainsAny(value, ".eE"))
	case schema.KindNumeric:
		return first == '0'
	}
	return true
}

// sameKey says whether two rows have the same values in the fields called names.
func (c *codec) sameKey(a, b datum, names []string) (bool, error) {
	var err error
	for i, d := range []datum{a, b} {
		if c.avro {
			c.binary.Reset(d.body)
			if _, err := c.binary.Null(d.s); err != nil {
				return false, err
			}
			c.scratch[i], err = c.binary.KeyHere(d.s, names, c.scratch[i][:0])
		} else {
			c.scratch[i], err = c.json.Key(d.body, names, c.scratch[i][:0])
		}
		if err != nil {
			return false, err
		}
	}
	return bytes.Equal(c.scratch[0], c.scratch[1]), nil
}

func encode64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
