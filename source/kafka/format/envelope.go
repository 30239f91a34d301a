package format

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/freshet-cdc/freshet/source/kafka/connect"
	"github.com/freshet-cdc/freshet/source/kafka/jsontext"
)

// envelope is Debezium's, taken apart.
type envelope struct {
	before, after datum
	op            byte // 0 where there is none
	origin        origin
	hasSource     bool
	ddl           bool // a message of the schema-change topic
	fields        int
}

// origin is the source block. Its texts are good until the next message.
type origin struct {
	connector, db, schema, table, snapshot []byte
	micros, tx                             int64
}

// envelope reads the envelope of a datum.
func (c *codec) envelope(d datum, e *envelope) error {
	*e = envelope{origin: origin{connector: e.origin.connector[:0], db: e.origin.db[:0], schema: e.origin.schema[:0], table: e.origin.table[:0], snapshot: e.origin.snapshot[:0]}}
	if c.avro {
		return c.avroEnvelope(d, e)
	}
	c.json.Reset(d.body)
	if err := c.json.Enter('{'); err != nil {
		return err
	}
	for {
		key, ok, err := c.json.NextKey()
		if err != nil {
			return err
		}
		if !ok {
			return c.json.End()
		}
		e.fields++
		switch string(key) {
		case "before":
			e.before, err = c.image(d.s.Field("before"))
		case "after":
			e.after, err = c.image(d.s.Field("after"))
		case "source":
			err = c.source(e)
		case "op":
			var op []byte
			if op, err = c.json.Text(); err == nil {
				err = e.setOp(op)
			}
		case "ddl":
			e.ddl = true
			_, err = c.json.Skip()
		default:
			_, err = c.json.Skip()
		}
		if err != nil {
			return err
		}
	}
}

func (e *envelope) setOp(op []byte) error {
	if len(op) != 1 {
		return fmt.Errorf("%w: operation %.20q", ErrMessage, op)
	}
	e.op = op[0]
	return nil
}

// image notes where a row stands in the message; null is none.
func (c *codec) image(s *connect.Schema) (datum, error) {
	first := c.json.Peek()
	body, err := c.json.Skip()
	if first == 'n' || err != nil {
		return datum{}, err
	}
	if first != '{' {
		return datum{}, fmt.Errorf("%w: before or after is no object", ErrMessage)
	}
	return datum{s, body}, nil
}

// source reads the source block.
func (c *codec) source(e *envelope) error {
	if c.json.Peek() == 'n' {
		return c.json.Null()
	}
	if err := c.json.Enter('{'); err != nil {
		return err
	}
	e.hasSource = true
	var millis, micros int64
	for {
		key, ok, err := c.json.NextKey()
		if err != nil {
			return err
		}
		if !ok {
			e.origin.setTime(millis, micros)
			return nil
		}
		switch string(key) {
		case "connector":
			err = optionalText(&c.json.Scanner, &e.origin.connector)
		case "db":
			err = optionalText(&c.json.Scanner, &e.origin.db)
		case "schema":
			err = optionalText(&c.json.Scanner, &e.origin.schema)
		case "table":
			err = optionalText(&c.json.Scanner, &e.origin.table)
		case "snapshot":
			_, err = c.json.Skip() // a text, or true
		case "ts_ms":
			millis, err = optionalInt(&c.json.Scanner)
		case "ts_us":
			micros, err = optionalInt(&c.json.Scanner)
		case "txId":
			e.origin.tx, err = optionalInt(&c.json.Scanner)
		default:
			_, err = c.json.Skip()
		}
		if err != nil {
			return err
		}
	}
}

func (o *origin) setTime(millis, micros int64) {
	if o.micros = micros; micros == 0 {
		o.micros = millis * 1000
	}
}

func optionalText(s *jsontext.Scanner, to *[]byte) error {
	if s.Peek() == 'n' {
		return s.Null()
	}
	text, err := s.Text()
	*to = append((*to)[:0], text...)
	return err
}

// optionalInt reads a number, or a string of one (Debezium writes Oracle's transactions so).
// What is no number counts as none.
func optionalInt(s *jsontext.Scanner) (int64, error) {
	text, err := s.Skip()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(string(bytes.Trim(text, `"`)), 10, 64)
	if err != nil {
		return 0, nil
	}
	return v, nil
}

// avroEnvelope is envelope for Avro.
func (c *codec) avroEnvelope(d datum, e *envelope) error {
	r := &c.binary
	r.Reset(d.body)
	if null, err := r.Null(d.s); null || err != nil {
		return fmt.Errorf("%w: there is no envelope: %v", ErrMessage, err)
	}
	for _, f := range d.s.Fields {
		var err error
		e.fields++
		switch f.Name {
		case "before":
			e.before, err = c.avroImage(f.Schema)
		case "after":
			e.after, err = c.avroImage(f.Schema)
		case "source":
			err = c.avroSource(f.Schema, e)
		case "op":
			var op []byte
			if op, err = r.String(f.Schema); err == nil {
				err = e.setOp(op)
			}
		case "ddl":
			e.ddl = true
			_, err = r.Skip(f.Schema)
		default:
			_, err = r.Skip(f.Schema)
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return r.End()
}

func (c *codec) avroImage(s *connect.Schema) (datum, error) {
	if !s.Struct() {
		return datum{}, fmt.Errorf("%w: it is no record", ErrMessage)
	}
	body, err := c.binary.Skip(s)
	if err != nil {
		return datum{}, err
	}
	var probe connect.AvroReader
	probe.Reset(body)
	if null, err := probe.Null(s); null || err != nil {
		return datum{}, err
	}
	return datum{s, body}, nil
}

func (c *codec) avroSource(s *connect.Schema, e *envelope) error {
	if !s.Struct() {
		return fmt.Errorf("%w: it is no record", ErrMessage)
	}
	if null, err := c.binary.Null(s); null || err != nil {
		return err
	}
	e.hasSource = true
	var millis, micros int64
	for _, f := range s.Fields {
		var err error
		switch f.Name {
		case "connector":
			e.origin.connector, err = c.binary.String(f.Schema)
		case "db":
			e.origin.db, err = c.binary.String(f.Schema)
		case "schema":
			e.origin.schema, err = c.binary.String(f.Schema)
		case "table":
			e.origin.table, err = c.binary.String(f.Schema)
		case "ts_ms":
			millis, err = c.binary.Long(f.Schema)
		case "ts_us":
			micros, err = c.binary.Long(f.Schema)
		case "txId":
			if e.origin.tx, err = c.avroTx(f.Schema); err != nil {
				return err
			}
		default:
			_, err = c.binary.Skip(f.Schema)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	e.origin.setTime(millis, micros)
	return nil
}

// avroTx reads the transaction's number, which is a text for some databases.
func (c *codec) avroTx(s *connect.Schema) (int64, error) {
	if s.Integer() {
		return c.binary.Long(s)
	}
	_, err := c.binary.Skip(s)
	return 0, err
}
