package format

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/cell"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// debezium decodes Debezium's envelopes.
type debezium struct {
	base
	values  *codec
	e       envelope
	ids     map[string]schema.TableID
	scratch []byte
}

// identityHint is the way out where rows can't be told apart.
const identityHint = "PostgreSQL: ALTER TABLE ... REPLICA IDENTITY FULL makes the connector send it"

// Decode implements Decoder.
func (d *debezium) Decode(ctx context.Context, m *Message) error {
	topic := d.topic(m.Topic)
	if m.Value == nil {
		return d.tombstone(ctx, m, topic)
	}
	delete(topic.deleted, m.Partition)
	value, err := d.values.open(ctx, m.Value)
	if err != nil {
		return err
	}
	if value.null() {
		return d.tombstone(ctx, m, topic)
	}
	if value.s != nil && !value.s.Struct() {
		return fmt.Errorf("%w: the value is no envelope", ErrMessage)
	}
	if err := d.values.envelope(value, &d.e); err != nil {
		return err
	}
	if d.passed(value) {
		return nil
	}
	if d.e.op == 0 {
		return fmt.Errorf("%w: the value has no operation, so it is no envelope (rows that ExtractNewRecordState has flattened are of the format json or avro)", ErrMessage)
	}
	id := d.id(topic)
	if !d.set.Captured(id) {
		topic.several = true
		if d.e.op == 'd' {
			topic.deleted[m.Partition] = string(m.Key)
		}
		return nil
	}
	at := table.At{Position: m.Position, Tx: uint64(d.e.origin.tx), Time: d.e.origin.micros, Bytes: len(m.Value)}
	if at.Time == 0 {
		at.Time = m.Time
	}
	return d.change(ctx, m, topic, id, at)
}

// passed says that a message is none of a row: a heartbeat, the boundary of a
// transaction, a change of schema, a logical message.
func (d *debezium) passed(value datum) bool {
	e := &d.e
	if e.op == 'm' {
		return true
	}
	if e.op != 0 {
		return false
	}
	if value.s != nil {
		switch value.s.Name {
		case "io.debezium.connector.common.Heartbeat", "io.debezium.connector.common.TransactionMetadataValue":
			return true
		}
	}
	if e.ddl && e.hasSource {
		return true
	}
	if value.s != nil {
		return false
	}
	return e.fields == 1 && d.has(value, "ts_ms") || d.has(value, "status", "id", "event_count")
}

// has says that an object has all of these fields.
func (d *debezium) has(value datum, names ...string) bool {
	all, err := d.values.names(value)
	if err != nil {
		return false
	}
	n := 0
	for _, name := range all {
		for _, want := range names {
			if name == want {
				n++
			}
		}
	}
	return n == len(names)
}

// id is the table that the source block names, else the topic.
func (d *debezium) id(topic *topicState) schema.TableID {
	o := &d.e.origin
	if len(o.table) == 0 {
		return topic.id
	}
	d.scratch = append(append(append(append(append(d.scratch[:0], o.db...), 0), o.schema...), 0), o.table...)
	id, ok := d.ids[string(d.scratch)]
	if !ok {
		id = schema.TableID{Schema: string(o.schema), Table: string(o.table)}
		switch {
		case len(o.schema) == 0:
			id.Schema = string(o.db)
		case d.o.Namespace:
			id.Namespace = string(o.db)
		}
		d.ids[string(d.scratch)] = id
	}
	return id
}

// omits says that updates of the connector may leave out values that did not change.
func (o *origin) omits() bool {
	return string(o.connector) == "postgresql" || string(o.connector) == "oracle"
}

func (d *debezium) change(ctx context.Context, m *Message, topic *topicState, id schema.TableID, at table.At) error {
	e := &d.e
	row := e.after
	if row.null() {
		row = e.before
	}
	if e.op == 't' {
		return d.truncate(topic, id, at)
	}
	t, err := d.open(ctx, m, id, row, at)
	if err != nil {
		return err
	}
	topic.saw(t)
	switch e.op {
	case 'r', 'c':
		err = d.image(e.after, t, schema.OpInsert, at)
	case 'u':
		err = d.update(t, at)
	case 'd':
		topic.deleted[m.Partition] = string(m.Key)
		err = d.delete(ctx, m, t, at)
	default:
		err = fmt.Errorf("%w: operation %q is unknown", ErrMessage, e.op)
	}
	if err != nil {
		return err
	}
	return t.Full()
}

// open returns the table; row is one of its rows, if there is any.
func (d *debezium) open(ctx context.Context, m *Message, id schema.TableID, row datum, at table.At) (*table.Table, error) {
	if t := d.set.Get(id); t != nil {
		return t, nil
	}
	names, err := d.keyNames(ctx, m)
	if err != nil {
		return nil, err
	}
	codec, s := d.values, row.s
	if row.null() {
		if d.keys == nil || m.Key == nil {
			return nil, fmt.Errorf("%w: it has neither a row nor a key", ErrMessage)
		}
		if row, err = d.keys.open(ctx, m.Key); err != nil {
			return nil, fmt.Errorf("key: %w", err)
		}
		if row.null() {
			return nil, fmt.Errorf("%w: it has neither a row nor a key", ErrMessage)
		}
		codec, s = d.keys, row.s
	}
	if s == nil {
		if s, err = codec.infer(row, nil, &d.find); err != nil {
			return nil, err
		}
	}
	return d.set.Open(id, ofRow(names, s), s, d.e.origin.omits(), at)
}

// ofRow leaves out the fields of a key that the row does not have, if others are left: ByLogicalTableRouter
// adds one that tells the tables of a topic apart, as the source block does too.
func ofRow(names []string, row *connect.Schema) (out []string) {
	for _, name := range names {
		if row.Field(name) != nil {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return names
	}
	return out
}

// truncate empties the table, if it has any rows.
func (d *debezium) truncate(topic *topicState, id schema.TableID, at table.At) error {
	t := d.set.Get(id)
	if t == nil {
		return nil
	}
	topic.saw(t)
	return t.Truncate(at.Position)
}

// image appends a row.
func (d *debezium) image(row datum, t *table.Table, op schema.Op, at table.At) error {
	if row.null() {
		return fmt.Errorf("%w: there is no row after the change", ErrMessage)
	}
	if err := d.values.into(row, t, at, &d.find); err != nil {
		return fmt.Errorf("table %s: %w", t.Def.ID, err)
	}
	return t.Append(op, at)
}

// old reads the row before the change into columns. The table knows its columns.
func (d *debezium) old(t *table.Table, columns []*cell.Column) error {
	if err := d.values.row(d.e.before, t, columns, &d.find); err != nil {
		return fmt.Errorf("table %s: before: %w", t.Def.ID, err)
	}
	return nil
}

func (d *debezium) update(t *table.Table, at table.At) error {
	e := &d.e
	if e.before.null() {
		if !t.Def.HasKey() {
			return fmt.Errorf("table %s: %w: an update of a table without a key tells no row before it (%s)", t.Def.ID, ErrMessage, identityHint)
		}
		return d.image(e.after, t, schema.OpUpdate, at)
	}
	if e.after.null() {
		return fmt.Errorf("%w: there is no row after the update", ErrMessage)
	}
	if t.Def.HasKey() {
		same, err := d.values.sameKey(e.before, e.after, t.Def.PrimaryKey)
		if err != nil {
			return err
		}
		if !same { // another row from now on
			if err := d.remove(t, at); err != nil {
				return err
			}
			return d.image(e.after, t, schema.OpInsert, at)
		}
	}
	if err := d.values.into(e.after, t, at, &d.find); err != nil {
		return fmt.Errorf("table %s: %w", t.Def.ID, err)
	}
	if t.WantsBefore() {
		if err := d.old(t, t.Before()); err != nil {
			return err
		}
	}
	return t.Append(schema.OpUpdate, at)
}

// delete takes the row from before, or its key from the message's.
func (d *debezium) delete(ctx context.Context, m *Message, t *table.Table, at table.At) error {
	if !d.e.before.null() {
		return d.remove(t, at)
	}
	if !t.Def.HasKey() {
		return fmt.Errorf("table %s: %w: a delete from a table without a key tells no row (%s)", t.Def.ID, ErrMessage, identityHint)
	}
	if err := d.keyRow(ctx, m, t); err != nil {
		return err
	}
	return t.Append(schema.OpDelete, at)
}

// remove deletes the row that was before.
func (d *debezium) remove(t *table.Table, at table.At) error {
	if err := d.values.into(d.e.before, t, at, &d.find); err != nil {
		return fmt.Errorf("table %s: before: %w", t.Def.ID, err)
	}
	if t.WantsBefore() {
		if err := d.old(t, t.Before()); err != nil {
			return err
		}
	}
	return t.Append(schema.OpDelete, at)
}

// tombstone is a message without a value.
func (d *debezium) tombstone(ctx context.Context, m *Message, topic *topicState) error {
	if key, ok := topic.deleted[m.Partition]; ok && key == string(m.Key) {
		delete(topic.deleted, m.Partition)
		return nil
	}
	delete(topic.deleted, m.Partition)
	return d.base.tombstone(ctx, m, topic)
}

// tombstone deletes the row of the message's key from the only table that the topic has.
func (b *base) tombstone(ctx context.Context, m *Message, topic *topicState) error {
	switch {
	case topic.several && b.o.PassTombstones:
		return nil
	case topic.several:
		return fmt.Errorf("%w: a tombstone whose delete is not in front of it, in a topic of several tables: which table it means is not known (set tombstone.unknown-table to ignore if these rows may stay)", ErrMessage)
	case topic.table == nil: // nothing has come that it could delete
		return nil
	}
	t := topic.table
	if !t.Def.HasKey() {
		return fmt.Errorf("table %s: %w: a message without a value deletes a row, but the table has no key", t.Def.ID, ErrMessage)
	}
	if err := b.keyRow(ctx, m, t); err != nil {
		return err
	}
	if err := t.Append(schema.OpDelete, table.At{Position: m.Position, Time: m.Time, Bytes: len(m.Key)}); err != nil {
		return err
	}
	return t.Full()
}
