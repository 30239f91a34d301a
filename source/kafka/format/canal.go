package format

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// canal decodes the flat messages of Canal: all values are texts, and each message tells
// the types of its columns as MySQL has them.
type canal struct {
	base
	json  connect.JSONReader
	e     flat
	types map[string][]schema.Column // by the text of mysqlType
	told  map[*schema.Table]string   // the text that a definition was merged with
	keys  map[string][]string        // by the text of pkNames
}

// flat is a message, taken apart. Its texts are those of the message.
type flat struct {
	database, table, kind string
	ddl                   bool
	data, old             []byte
	types, keys           []byte
	millis                int64
}

func newCanal(b base) *canal {
	c := &canal{base: b, types: map[string][]schema.Column{}, told: map[*schema.Table]string{}, keys: map[string][]string{}}
	c.json.Documents, c.json.Latin1 = true, true
	return c
}

// Decode implements Decoder.
func (c *canal) Decode(_ context.Context, m *Message) error {
	if m.Value == nil {
		return fmt.Errorf("%w: it has no value", ErrMessage)
	}
	if err := c.read(m.Value); err != nil {
		return err
	}
	topic := c.topic(m.Topic)
	id := schema.TableID{Schema: c.e.database, Table: c.e.table}
	if id.Table == "" {
		id = topic.id
	}
	at := table.At{Position: m.Position, Time: c.e.millis * 1000, Bytes: len(m.Value)}
	if at.Time == 0 {
		at.Time = m.Time
	}
	if !c.set.Captured(id) {
		return nil
	}
	switch c.e.kind {
	case "INSERT", "UPDATE", "DELETE":
		if !c.e.ddl {
			return c.rows(id, at)
		}
	case "TRUNCATE":
		if t := c.set.Get(id); t != nil {
			return t.Truncate(at.Position)
		}
		return nil
	}
	if c.e.ddl { // the next rows tell what has changed
		return nil
	}
	switch c.e.kind {
	case "QUERY", "CREATE", "ALTER", "ERASE", "RENAME", "CINDEX", "DINDEX", "GTID", "XACOMMIT", "XAROLLBACK", "MHEARTBEAT":
		return nil
	}
	return fmt.Errorf("%w: type %.40q is unknown", ErrMessage, c.e.kind)
}

// read takes a message apart.
func (c *canal) read(value []byte) error {
	c.e = flat{}
	r := &c.json
	r.Reset(value)
	if err := r.Enter('{'); err != nil {
		return err
	}
	for {
		key, ok, err := r.NextKey()
		if err != nil {
			return err
		}
		if !ok {
			return r.End()
		}
		name := string(key)
		raw, err := r.Skip()
		if err != nil {
			return err
		}
		if bytes.Equal(raw, []byte("null")) {
			continue
		}
		switch name {
		case "database":
			c.e.database, err = text(raw)
		case "table":
			c.e.table, err = text(raw)
		case "type":
			c.e.kind, err = text(raw)
		case "isDdl":
			c.e.ddl = string(raw) == "true"
		case "data":
			c.e.data = raw
		case "old":
			c.e.old = raw
		case "mysqlType":
			c.e.types = raw
		case "pkNames":
			c.e.keys = raw
		case "es":
			c.e.millis, err = number(raw)
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
	}
}

func text(raw []byte) (string, error) {
	var r connect.JSONReader
	r.Reset(raw)
	b, err := r.Text()
	return string(b), err
}

func number(raw []byte) (int64, error) {
	var r connect.JSONReader
	r.Reset(raw)
	return optionalInt(&r.Scanner)
}

// objects splits an array of objects.
func objects(raw []byte) (out [][]byte, err error) {
	if raw == nil {
		return nil, nil
	}
	var r connect.JSONReader
	r.Reset(raw)
	if err := r.Enter('['); err != nil {
		return nil, err
	}
	for {
		ok, err := r.NextElem()
		if !ok || err != nil {
			return out, err
		}
		if r.Peek() != '{' && r.Peek() != 'n' {
			return nil, fmt.Errorf("%w: a row is no object", ErrMessage)
		}
		o, err := r.Skip()
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
}

// rows appends the rows of a message.
func (c *canal) rows(id schema.TableID, at table.At) error {
	t, err := c.open(id, at)
	if err != nil {
		return err
	}
	data, err := objects(c.e.data)
	if err != nil {
		return fmt.Errorf("field data: %w", err)
	}
	old, err := objects(c.e.old)
	if err != nil {
		return fmt.Errorf("field old: %w", err)
	}
	for i, row := range data {
		var before []byte
		if c.e.kind == "UPDATE" && i < len(old) && old[i][0] == '{' {
			before = old[i]
		}
		if err := c.row(t, row, before, at); err != nil {
			return fmt.Errorf("table %s, row %d of the message: %w", t.Def.ID, i, err)
		}
	}
	return t.Full()
}

// open returns the table with the columns that the message tells.
func (c *canal) open(id schema.TableID, at table.At) (*table.Table, error) {
	t := c.set.Get(id)
	if t != nil && (t.Fixed() || c.told[t.Def] == string(c.e.types) && c.e.types != nil) {
		return t, nil
	}
	columns, err := c.columns()
	if err != nil {
		return nil, err
	}
	keys, err := c.primaryKey()
	if err != nil {
		return nil, err
	}
	if t == nil {
		if t, err = c.set.OpenColumns(id, keys, columns, at); err != nil {
			return nil, err
		}
	} else if err := t.CheckKey(keys); err != nil {
		return nil, err
	}
	if err := t.Adopt(columns, at); err != nil {
		return nil, err
	}
	if len(c.told) >= maxSchemas {
		clear(c.told)
	}
	c.told[t.Def] = string(c.e.types)
	return t, nil
}

// primaryKey reads pkNames.
func (c *canal) primaryKey() ([]string, error) {
	if c.e.keys == nil {
		return nil, nil
	}
	if keys, ok := c.keys[string(c.e.keys)]; ok {
		return keys, nil
	}
	var r connect.JSONReader
	r.Reset(c.e.keys)
	if err := r.Enter('['); err != nil {
		return nil, fmt.Errorf("field pkNames: %w", err)
	}
	var out []string
	for {
		ok, err := r.NextElem()
		if err != nil {
			return nil, fmt.Errorf("field pkNames: %w", err)
		}
		if !ok {
			if len(c.keys) >= maxSchemas {
				clear(c.keys)
			}
			c.keys[string(c.e.keys)] = out
			return out, nil
		}
		name, err := r.Text()
		if err != nil {
			return nil, fmt.Errorf("field pkNames: %w", err)
		}
		out = append(out, string(name))
	}
}

// row appends one row; before has what the columns that an update changed were.
func (c *canal) row(t *table.Table, row, before []byte, at table.At) error {
	c.find.use(t)
	find := c.find.column
	op := map[string]schema.Op{"INSERT": schema.OpInsert, "UPDATE": schema.OpUpdate, "DELETE": schema.OpDelete}[c.e.kind]
	if op == schema.OpUpdate {
		moved, err := c.moved(t, before)
		if err != nil {
			return fmt.Errorf("old: %w", err)
		}
		if before == nil && !t.Def.HasKey() {
			return fmt.Errorf("%w: an update of a table without a key tells no row before it", ErrMessage)
		}
		if moved {
			if err := c.remove(t, before, row, at); err != nil {
				return err
			}
			op = schema.OpInsert
		}
	}
	if op == schema.OpDelete {
		return c.remove(t, []byte("{}"), row, at)
	}
	c.json.Reset(row)
	if err := c.json.LooseRow(t.Columns(), find); err != nil {
		return err
	}
	if op == schema.OpUpdate && t.WantsBefore() && before != nil {
		if err := c.json.LooseOver(t.Before(), before, row, find); err != nil {
			return fmt.Errorf("old: %w", err)
		}
	}
	return t.Append(op, at)
}

// remove deletes a row that is made of two objects: what upper has, and of lower the rest.
func (c *canal) remove(t *table.Table, upper, lower []byte, at table.At) error {
	if err := c.json.LooseOver(t.Columns(), upper, lower, c.find.column); err != nil {
		return err
	}
	if t.WantsBefore() {
		if err := c.json.LooseOver(t.Before(), upper, lower, c.find.column); err != nil {
			return err
		}
	}
	return t.Append(schema.OpDelete, at)
}

// moved says that an update changes the key.
func (c *canal) moved(t *table.Table, before []byte) (bool, error) {
	if before == nil {
		return false, nil
	}
	c.json.Reset(before)
	if err := c.json.Enter('{'); err != nil {
		return false, err
	}
	moved := false
	for {
		key, ok, err := c.json.NextKey()
		if !ok || err != nil {
			return moved, err
		}
		moved = moved || slices.Index(t.Def.PrimaryKey, string(key)) >= 0
		if _, err := c.json.Skip(); err != nil {
			return false, err
		}
	}
}
