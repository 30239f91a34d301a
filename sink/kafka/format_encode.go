package kafka

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/avro"
	"github.com/freshet-cdc/freshet/sink/kafka/canal"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// encoder returns the encoder of a table; logical is the name that schemas have. What it
// says of options are [*sink.OptionError].
func (f format) encoder(t *schema.Table, logical string) (encoder, error) {
	e, err := f.chosen(t, logical)
	debeziumOption, plainOption := (*debezium.OptionError)(nil), (*plain.OptionError)(nil)
	switch {
	case errors.As(err, &debeziumOption):
		return nil, &sink.OptionError{Key: "debezium." + debeziumOption.Key, Msg: fmt.Sprintf("%q is unknown", debeziumOption.Value), Hint: "there is " + strings.Join(debeziumOption.Allowed, ", ")}
	case errors.As(err, &plainOption):
		return nil, &sink.OptionError{Key: plainOption.Key, Msg: fmt.Sprintf("%q can't be used", plainOption.Value), Hint: plainOption.Hint}
	}
	return e, err
}

func (f format) chosen(t *schema.Table, logical string) (encoder, error) {
	if f.envelopes() {
		return f.envelope(t, logical)
	}
	key := f.plain.Key
	key.Columns, key.Name = f.keyColumns(t.ID), avro.Name(logical+".Key")
	if f.value == formatCanal {
		o := f.canal
		o.Key = key
		e, err := canal.New(t, o)
		return &canalEncoder{e: e}, err
	}
	o := f.plain
	o.Key, o.Name = key, avro.Name(logical+".Value")
	if o.Deletes == plain.DeleteTombstone && !f.keyed(t) && len(t.Columns) > 0 {
		return nil, &plain.TableError{Table: t.ID.String(), Msg: "it has no key, so a delete has no message that removes its row", Hint: "give it a key by " + optKeyColumns + ", or set " + optDeletes + " to row or skip"}
	}
	e, err := plain.New(t, o)
	if err != nil {
		return nil, err
	}
	if _, _, err := e.Schemas(); err != nil {
		return nil, err
	}
	return &plainEncoder{e: e, key: key.Name, value: o.Name}, nil
}

// envelope returns the encoder of Debezium's formats.
func (f format) envelope(t *schema.Table, logical string) (encoder, error) {
	o := f.debezium
	if o.Connector == "" {
		return nil, ErrSource
	}
	o.KeyColumns = f.keyColumns(t.ID)
	logical, err := f.events.apply(&o, t.ID, logical)
	if err != nil {
		return nil, err
	}
	e, err := debezium.New(t, logical, o)
	if err != nil {
		return nil, err
	}
	if f.value == formatDebezium && f.key == formatJSON {
		return &debeziumEncoder{e: e}, nil
	}
	out := &translatedEncoder{debeziumEncoder: debeziumEncoder{e: e}}
	if f.key == formatCSV {
		key := f.plain.Key
		if key.Columns = o.KeyColumns; key.Columns == nil && o.UniqueKeys && !t.HasKey() {
			key.Columns = t.UniqueKey
		}
		for _, k := range []**plain.Key{&out.csv, &out.csvBefore} {
			if *k, err = plain.NewKey(t, key); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	key, value, err := connectSchemas(t, logical, o)
	if err != nil {
		return nil, err
	}
	if out.value, err = avro.Derive(value); err == nil && key != nil && f.key == formatAvro {
		out.key, err = avro.Derive(key)
	}
	if bad := (*avro.NameError)(nil); errors.As(err, &bad) {
		key := "debezium.schema.name.adjustment.mode"
		if _, i := t.Column(bad.Name); i >= 0 {
			key = "debezium.field.name.adjustment.mode"
		}
		return nil, &sink.OptionError{Key: key, Msg: err.Error(), Hint: "set it to avro"}
	}
	return out, err
}

// connectSchemas returns the schemas of keys and values in Kafka Connect, nil for no key.
// They are those of a message: that of a row without any values.
func connectSchemas(t *schema.Table, logical string, o debezium.Options) (key, value []byte, err error) {
	o.Schemas, o.Skipped = true, []debezium.Operation{}
	e, err := debezium.New(t, logical, o)
	if err != nil {
		return nil, nil, err
	}
	var columns []arrow.Array
	for _, c := range t.Columns {
		col := array.MakeArrayOfNull(memory.DefaultAllocator, c.Type.Arrow(), 1)
		defer col.Release()
		columns = append(columns, col)
	}
	row := schema.NewBatch(t, array.NewRecordBatch(t.ArrowSchema(), columns, 1))
	defer row.Release()
	row.Ops, row.Txs = []schema.Op{schema.OpInsert}, []schema.Tx{{Rows: 1}}
	var out debezium.Output
	if err := e.Append(&out, row, nil, debezium.Origin{}, 0); err != nil {
		return nil, nil, err
	}
	if key, err = schemaOf(out.Key(0)); err == nil {
		value, err = schemaOf(out.Value(0))
	}
	return key, value, err
}

// schemaOf returns the schema in a message of JsonConverter, nil of none.
func schemaOf(message []byte) ([]byte, error) {
	if message == nil {
		return nil, nil
	}
	var parts struct{ Schema json.RawMessage }
	if err := json.Unmarshal(message, &parts); err != nil {
		return nil, fmt.Errorf("kafka: a message's schema: %w", err)
	}
	return parts.Schema, nil
}

// debeziumEncoder writes Debezium's envelopes, or flat rows.
type debeziumEncoder struct{ e *debezium.Encoder }

func (d *debeziumEncoder) Append(out *output, b *schema.Batch, rows []int32, origin debezium.Origin, now int64) error {
	return d.e.Append(&out.debezium, b, rows, origin, now)
}

func (d *debeziumEncoder) AppendTruncate(out *output, position uint64, tx schema.Tx, origin debezium.Origin, now int64) error {
	d.e.AppendTruncate(&out.debezium, position, tx, origin, now)
	return nil
}

func (d *debeziumEncoder) LeftOut() []string { return d.e.LeftOut() }

// canalEncoder writes Canal's messages.
type canalEncoder struct {
	e     *canal.Encoder
	gtids []string
}

func (c *canalEncoder) Append(out *output, b *schema.Batch, rows []int32, origin debezium.Origin, now int64) error {
	c.gtids = c.gtids[:0]
	for _, tx := range origin.Txs {
		c.gtids = append(c.gtids, tx.GTID)
	}
	return c.e.Append(&out.plain, b, rows, canal.Origin{GTIDs: c.gtids}, now)
}

// AppendTruncate appends nothing: see [format.truncates].
func (c *canalEncoder) AppendTruncate(*output, uint64, schema.Tx, debezium.Origin, int64) error {
	return nil
}

func (c *canalEncoder) LeftOut() []string { return nil }

// plainEncoder writes rows alone. key and value are the names of Avro's records.
type plainEncoder struct {
	e          *plain.Encoder
	key, value string
}

func (p *plainEncoder) Append(out *output, b *schema.Batch, rows []int32, _ debezium.Origin, now int64) error {
	return p.e.Append(&out.plain, b, rows, now)
}

// AppendTruncate appends nothing: no row can say it.
func (p *plainEncoder) AppendTruncate(*output, uint64, schema.Tx, debezium.Origin, int64) error {
	return nil
}

func (p *plainEncoder) LeftOut() []string { return nil }
