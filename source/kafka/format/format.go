package format

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// ErrMessage is wrapped by every message that is not of its format.
var ErrMessage = errors.New("the message is not of the format")

// Names of formats.
const (
	DebeziumJSON = "debezium-json"
	DebeziumAvro = "debezium-avro"
	CanalJSON    = "canal-json"
	JSON         = "json"
	Avro         = "avro"
	None         = "none"
)

// Registry holds schemas by their numbers; a *sr.Client is one.
type Registry interface {
	SchemaByID(ctx context.Context, id int) (sr.Schema, error)
	SchemaByVersion(ctx context.Context, subject string, version int) (sr.SubjectSchema, error)
}

// Options say how messages are read.
type Options struct {
	// Value is the format of values, Key that of keys: JSON, Avro, or None for keys that say nothing.
	Value, Key string
	Registry   Registry
	// Schema says that the values of JSON carry schemas; Debezium's are looked at each.
	Schema bool
	// Precise says that decimals without a schema are Connect's bytes.
	Precise bool
	// Namespace puts the database in front of schema and table.
	Namespace bool
	// PassTombstones passes over tombstones whose table is not known; otherwise they are errors.
	PassTombstones bool
	// Placeholder is what Debezium writes for a value that it does not know.
	Placeholder string
}

// Message is one record of a topic.
type Message struct {
	Topic     string
	Partition int32
	// Time is the record's, in microseconds since 1970; Position its log position.
	Time     int64
	Position uint64
	// Key and Value are nil where there are none.
	Key, Value []byte
}

// Decoder decodes the messages of one format. It belongs to one goroutine.
type Decoder interface {
	// Decode puts the rows of a message into the set of tables.
	Decode(ctx context.Context, m *Message) error
}

// New returns the decoder of a format into set.
func New(o Options, set *table.Set) (Decoder, error) {
	keys, err := newCodec(o, o.Key, true)
	if err != nil {
		return nil, err
	}
	shared := base{o: o, set: set, keys: keys, topics: map[string]*topicState{}}
	switch o.Value {
	case DebeziumJSON, DebeziumAvro:
		kind := JSON
		if o.Value == DebeziumAvro {
			kind = Avro
		}
		values, err := newCodec(o, kind, true)
		if err != nil {
			return nil, err
		}
		values.json.Documents, values.json.Precise, values.json.Omitted = true, o.Precise, omittedArrays(o.Placeholder)
		return &debezium{base: shared, values: values, ids: map[string]schema.TableID{}}, nil
	case CanalJSON:
		return newCanal(shared), nil
	case JSON, Avro:
		values, err := newCodec(o, o.Value, o.Schema)
		if err != nil {
			return nil, err
		}
		values.json.Precise = o.Precise
		return &plain{base: shared, values: values}, nil
	}
	return nil, fmt.Errorf("format %q is unknown", o.Value)
}

// omittedArrays are what Debezium writes for an array that it does not know: the
// placeholder as its element, that in base64, or its bytes as numbers.
func omittedArrays(placeholder string) [][]byte {
	if placeholder == "" {
		return nil
	}
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint([]byte(placeholder)), " ", ","), "[]")
	return [][]byte{[]byte(`["` + placeholder + `"]`), []byte(`["` + encode64(placeholder) + `"]`), []byte("[" + numbers + "]")}
}

// base is what the decoders share.
type base struct {
	o      Options
	set    *table.Set
	keys   *codec
	topics map[string]*topicState
	find   finder
}

// topicState is what is known of a topic.
type topicState struct {
	// id is the table that the topic is named for.
	id schema.TableID
	// table is the first table that the topic has had rows of; several says that there are
	// more, captured or not.
	table   *table.Table
	several bool
	// deleted is the key of each partition's last message, if that was a delete.
	deleted map[int32]string
}

func (b *base) topic(name string) *topicState {
	t := b.topics[name]
	if t == nil {
		t = &topicState{id: topicID(name), deleted: map[int32]string{}}
		b.topics[name] = t
	}
	return t
}

// topicID is the table that a topic is named for: its parts between dots, if there are at
// most three.
func topicID(name string) schema.TableID {
	id, err := schema.ParseTableID(name)
	if err != nil {
		return schema.TableID{Table: name}
	}
	return id
}

// saw notes that the topic has rows of a table.
func (t *topicState) saw(of *table.Table) {
	if t.table == nil {
		t.table = of
	}
	t.several = t.several || t.table != of
}

// keyNames returns the names of the message's key; nil where it has none.
func (b *base) keyNames(ctx context.Context, m *Message) ([]string, error) {
	if b.keys == nil || m.Key == nil {
		return nil, nil
	}
	d, err := b.keys.open(ctx, m.Key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if d.null() {
		return nil, nil
	}
	names, err := b.keys.names(d)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	return names, nil
}

// keyRow reads the message's key as a row; what else the table has is NULL.
func (b *base) keyRow(ctx context.Context, m *Message, t *table.Table) error {
	if b.keys == nil || m.Key == nil {
		return fmt.Errorf("%w: it tells no row: neither the key nor what was before is there", ErrMessage)
	}
	d, err := b.keys.open(ctx, m.Key)
	if err == nil && d.null() {
		err = fmt.Errorf("%w: it is null", ErrMessage)
	}
	if err == nil {
		err = b.keys.row(d, t, t.Columns(), &b.find)
	}
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	for i, c := range t.Def.KeyIndexes() {
		if col := t.Columns()[c]; col.NullLast() {
			return fmt.Errorf("key: %w: it has no %s", ErrMessage, t.Def.PrimaryKey[i])
		}
	}
	return nil
}

// finder finds columns by name, as LooseRow wants it.
type finder struct {
	t     *table.Table
	def   *schema.Table
	names map[string]int
}

func (f *finder) use(t *table.Table) {
	if f.t == t && f.def == t.Def {
		return
	}
	f.t, f.def, f.names = t, t.Def, make(map[string]int, len(t.Def.Columns))
	for i, c := range t.Def.Columns {
		f.names[c.Name] = i
	}
}

func (f *finder) column(name []byte, next int) (int, bool) {
	if next >= 0 && next < len(f.def.Columns) && f.def.Columns[next].Name == string(name) {
		return next, true
	}
	i, ok := f.names[string(name)]
	return i, ok
}

var _ connect.Find = (*finder)(nil).column
