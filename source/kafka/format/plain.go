package format

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// plain decodes rows without an envelope: where the key is known a message replaces the row,
// one without a value deletes it; without a key each message is a row of its own.
type plain struct {
	base
	values *codec
}

// Decode implements Decoder.
func (p *plain) Decode(ctx context.Context, m *Message) error {
	topic := p.topic(m.Topic)
	if !p.set.Captured(topic.id) {
		return nil
	}
	if m.Value == nil {
		topic.table = p.set.Get(topic.id)
		return p.tombstone(ctx, m, topic)
	}
	value, err := p.values.open(ctx, m.Value)
	if err != nil {
		return err
	}
	if value.null() {
		topic.table = p.set.Get(topic.id)
		return p.tombstone(ctx, m, topic)
	}
	if value.s != nil && !value.s.Struct() {
		return fmt.Errorf("%w: the value is no row", ErrMessage)
	}
	at := table.At{Position: m.Position, Time: m.Time, Bytes: len(m.Value)}
	t, err := p.open(ctx, m, topic.id, value, at)
	if err != nil {
		return err
	}
	topic.saw(t)
	if err := p.values.into(value, t, at, &p.find); err != nil {
		return fmt.Errorf("table %s: %w", t.Def.ID, err)
	}
	op := schema.OpInsert
	if t.Def.HasKey() {
		op = schema.OpUpdate
	}
	if err := t.Append(op, at); err != nil {
		return err
	}
	return t.Full()
}

func (p *plain) open(ctx context.Context, m *Message, id schema.TableID, row datum, at table.At) (*table.Table, error) {
	if t := p.set.Get(id); t != nil {
		return t, nil
	}
	names, err := p.keyNames(ctx, m)
	if err != nil {
		return nil, err
	}
	s := row.s
	if s == nil {
		if s, err = p.values.infer(row, nil, &p.find); err != nil {
			return nil, err
		}
	}
	if !inRow(s, names) && p.set.Get(id) == nil {
		return nil, fmt.Errorf("%w: the key has the fields %q, which the row has not all (set key.format to none, or give the PRIMARY KEY in the option schema)", ErrMessage, names)
	}
	return p.set.Open(id, names, s, false, at)
}

// inRow says that a row has all of these fields.
func inRow(s *connect.Schema, names []string) bool {
	for _, name := range names {
		if s.Field(name) == nil {
			return false
		}
	}
	return true
}
