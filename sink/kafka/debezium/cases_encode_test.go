package debezium_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
)

// caseEncoder makes the messages of a case out of the log of a source.
type caseEncoder struct {
	c        debeziumCase
	s        server
	schemas  bool
	encoders map[*schema.Table]*debezium.Encoder
	out      []record
	tx       *debezium.Transactions
}

// now is when all messages are made; times are masked.
const now = 1_700_000_000_123_456_789

var outside = regexp.MustCompile(`[^A-Za-z0-9._-]`)

func (e *caseEncoder) property(key, def string) string {
	if v, ok := e.c.properties[key]; ok {
		return v
	}
	return def
}

func (e *caseEncoder) delimiter() string { return e.property("topic.delimiter", ".") }

// topic is the name that a table's topic has before it is sanitised.
func (e *caseEncoder) topic(id schema.TableID) string {
	id = e.s.id(id)
	return strings.Join([]string{e.c.properties["topic.prefix"], id.Schema, id.Table}, e.delimiter())
}

// routed is the topic that a table's messages go to.
func (e *caseEncoder) routed(id schema.TableID) string {
	topic := outside.ReplaceAllString(e.topic(id), "_")
	if r := e.c.router(); r != nil {
		topic, _ = r.Route(topic)
	}
	return topic
}

func (e *caseEncoder) encoder(t *schema.Table) (*debezium.Encoder, error) {
	if enc := e.encoders[t]; enc != nil {
		return enc, nil
	}
	o := e.c.options(e.schemas)
	e.c.tableOptions(&o, e.s.id(t.ID))
	topic := outside.ReplaceAllString(e.topic(t.ID), "_")
	if r := e.c.router(); r != nil {
		topic, o.KeyField = r.Route(topic)
	}
	enc, err := debezium.New(t.WithID(e.s.id(t.ID)), topic, o)
	if err == nil {
		e.encoders[t] = enc
	}
	return enc, err
}

// encode makes the messages of a log, in its order.
func encode(c debeziumCase, s server, l *log, schemas bool) ([]record, error) {
	e := &caseEncoder{c: c, s: s, schemas: schemas, encoders: map[*schema.Table]*debezium.Encoder{}}
	var err error
	if e.tx, err = debezium.NewTransactions(c.options(schemas)); err != nil {
		return nil, err
	}
	for _, el := range l.elements {
		if el.Batch != nil {
			err = e.batch(el.Batch)
		} else {
			err = e.change(el.Change)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.properties["heartbeat.interval.ms"] != "" { // of which the cases keep one
		h, err := debezium.NewHeartbeats(c.options(schemas))
		if err != nil {
			return nil, err
		}
		var out debezium.Output
		h.Append(&out, now/1_000_000)
		e.take(e.property("topic.heartbeat.prefix", "__debezium-heartbeat")+e.delimiter()+c.properties["topic.prefix"], &out)
	}
	return e.out, nil
}

func (e *caseEncoder) batch(b *schema.Batch) error {
	enc, err := e.encoder(b.Table)
	if err != nil {
		return err
	}
	var out debezium.Output
	if err := enc.Append(&out, b, nil, debezium.Origin{}, now); err != nil {
		return err
	}
	e.take(e.routed(b.Table.ID), &out)
	return nil
}

func (e *caseEncoder) change(c *schema.Change) error {
	var out debezium.Output
	switch c.Kind {
	case schema.ChangeTransactions:
		renamed := *c
		renamed.Transactions = slices.Clone(c.Transactions)
		for i, tx := range c.Transactions {
			renamed.Transactions[i].Tables = slices.Clone(tx.Tables)
			for n := range tx.Tables {
				renamed.Transactions[i].Tables[n].Table = e.s.id(tx.Tables[n].Table)
			}
		}
		e.tx.Append(&out, &renamed)
		e.take(e.c.properties["topic.prefix"]+e.delimiter()+e.property("topic.transaction", "transaction"), &out)
	case schema.ChangeTruncate:
		enc, err := e.encoder(c.Before)
		if err != nil {
			return err
		}
		enc.AppendTruncate(&out, c.Position, c.Tx, *c.Origin, now)
		e.take(e.routed(c.Before.ID), &out)
	}
	return nil
}

func (e *caseEncoder) take(topic string, out *debezium.Output) {
	for i := range out.Messages {
		if own := out.Topic(i); own != "" {
			topic = own
		}
		r := record{Topic: outside.ReplaceAllString(topic, "_"), Key: "null", Value: "null"}
		if k := out.Key(i); k != nil {
			r.Key = rawText(mask(r.Topic, k))
		}
		if v := out.Value(i); v != nil {
			r.Value = rawText(mask(r.Topic, v))
		}
		for _, h := range out.Headers(nil, i) {
			r.Headers = append(r.Headers, map[string]rawText{h.Key: rawText(maskHeader(h.Key, h.Value))})
		}
		e.out = append(e.out, r)
	}
}
