package format

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/definition"
)

// decodeTwice decodes a message two times with each of some definitions, and checks that no memory is left.
func decodeTwice(t *testing.T, o Options, key, value []byte) {
	for _, text := range []string{"", "(id INT, d DECIMAL(5, 2), s STRING, b BYTES, t TIMESTAMP(3), l ARRAY<INT>, r ROW<x INT>, j JSON, m MAP<STRING, INT>, PRIMARY KEY (id))"} {
		given, err := definition.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(t, source.Needs{Before: true, KeylessUpdates: true, ResolvesUnchanged: true}, placeholder, given.For)
		d, err := New(o, l.set)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if err = d.Decode(t.Context(), &Message{Topic: "shop.orders", Position: uint64(i), Key: key, Value: value}); err != nil {
				break
			}
		}
		if err == nil {
			err = l.set.Flush()
		}
		if err != nil && err.Error() == "" {
			t.Fatal("an error without a text")
		}
		l.set.Release()
		l.mem.AssertSize(t, 0)
	}
}

func FuzzDebeziumJSON(f *testing.F) {
	f.Add([]byte(`{"id":1}`), []byte(envelopeText("u", `{"id":1,"v":null}`, `{"id":1,"v":1.5,"l":[1],"r":{"x":1},"b":"AQI="}`)))
	f.Add([]byte(`{"id":1}`), []byte(schemaText(`{"type":"int32","field":"id"},{"type":"array","items":{"type":"string"},"field":"l"},{"type":"map","keys":{"type":"int32"},"values":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}},"field":"m"}`,
		`{"id":1,"l":["`+placeholder+`"],"m":[[1,"AQ=="]]}`)))
	f.Fuzz(func(t *testing.T, key, value []byte) { decodeTwice(t, loose, key, value) })
}

func FuzzPlainJSON(f *testing.F) {
	f.Add([]byte(`{"id":1}`), []byte(`{"id":1,"d":"1.5","s":"x","b":"AQI=","t":"2024-01-01T00:00:00.123","l":[1,null],"r":{"x":1},"j":{"a":[]},"m":{"k":1}}`))
	f.Fuzz(func(t *testing.T, key, value []byte) { decodeTwice(t, Options{Value: JSON, Key: JSON}, key, value) })
}

func FuzzCanal(f *testing.F) {
	f.Add([]byte(canalText("UPDATE", `[{"id":"1","price":"2.5","t":"2024-01-01 00:00:00"}]`, `[{"id":"2"}]`)))
	f.Fuzz(func(t *testing.T, value []byte) { decodeTwice(t, Options{Value: CanalJSON, Key: None}, nil, value) })
}

// oneSchema is a registry with one schema.
type oneSchema string

func (s oneSchema) SchemaByID(context.Context, int) (sr.Schema, error) {
	return sr.Schema{Schema: string(s)}, nil
}

func (s oneSchema) SchemaByVersion(context.Context, string, int) (sr.SubjectSchema, error) {
	return sr.SubjectSchema{Schema: sr.Schema{Schema: string(s)}}, nil
}

const avroRow = `{"type":"record","name":"Row","fields":[{"name":"id","type":"int"},{"name":"s","type":["null","string"]},{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}},` +
	`{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"l","type":{"type":"array","items":["null","long"]}},{"name":"m","type":{"type":"map","values":"double"}},{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},` +
	`{"name":"r","type":{"type":"record","name":"In","fields":[{"name":"x","type":"float"},{"name":"f","type":{"type":"fixed","name":"F","size":2}}]}},{"name":"o","type":"boolean"}]}`

const avroEnvelope = `{"type":"record","name":"Envelope","fields":[{"name":"before","type":["null",` + avroRow + `]},{"name":"after","type":["null","Row"]},{"name":"op","type":"string"},` +
	`{"name":"source","type":{"type":"record","name":"Source","fields":[{"name":"connector","type":"string"},{"name":"table","type":["null","string"]},{"name":"ts_ms","type":"long"}]}}]}`

// avroBody is a row of avroRow.
var avroBody = bytes.Join([][]byte{binary.AppendVarint(nil, 7), {2, 2, 'x'}, {2, 0x64}, binary.AppendVarint(nil, 1700000000123), {2, 2, 10, 0}, {2, 2, 'k', 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0}, {2},
	{0, 0, 0xc0, 0x3f}, {1, 2}, {1}}, nil)

func FuzzAvro(f *testing.F) {
	f.Add(avroRow, append([]byte{0, 0, 0, 0, 1}, avroBody...), false)
	f.Add(avroEnvelope, bytes.Join([][]byte{{0, 0, 0, 0, 1, 0, 2}, avroBody, {2, 'c', 2, 'm', 2, 2, 't', 10}}, nil), true)
	f.Fuzz(func(t *testing.T, text string, value []byte, debezium bool) {
		o := Options{Value: Avro, Key: None, Registry: oneSchema(text)}
		if debezium {
			o.Value = DebeziumAvro
		}
		decodeTwice(t, o, nil, value)
	})
}

func TestAvro(t *testing.T) {
	const row = `id=7 s=x d=1 t=2023-11-14T22:13:20.123Z l=[5] m=[{"key":"k","value":1.5}] e=B r={"f":"AQI=","x":1.5} o=true`
	const create = "id INT null=false s STRING null=true d DECIMAL(5, 2) null=false t TIMESTAMP_LTZ(3) null=false l ARRAY<BIGINT> null=false m MAP<STRING, DOUBLE> null=false e STRING null=false r ROW<x FLOAT, f BYTES> null=false o BOOLEAN null=false key=[]"
	o := Options{Value: Avro, Key: None, Registry: oneSchema(avroRow)}
	checkLines(t, decodeText(t, o, "", all, "x", event{0, "", "\x00\x00\x00\x00\x01" + string(avroBody)}, event{0, "", "\x00\x00\x00\x00\x01" + string(avroBody[:9])}, event{}),
		"create.table x "+create, "c x "+row, "error: table x: field t: the message does not fit its schema: it ends too early")
	o = Options{Value: DebeziumAvro, Key: None, Registry: oneSchema(avroEnvelope)}
	checkLines(t, decodeText(t, o, "", all, "x", event{0, "", "\x00\x00\x00\x00\x01\x00\x02" + string(avroBody) + "\x02c\x02m\x02\x02t\x0a"}, event{0, "", "{}"}),
		"create.table t "+create, "c t "+row, "error: the message is not of the format: it does not begin with the number of a schema")
}

// TestReferences: a schema that refers to others is read with them.
func TestReferences(t *testing.T) {
	registry := referring{"root": {Schema: `{"type":"record","name":"R","fields":[{"name":"a","type":"ns.A"}]}`, References: []sr.SchemaReference{{Name: "ns.A", Subject: "a", Version: 1}}},
		"a": {Schema: `{"type":"record","name":"A","namespace":"ns","fields":[{"name":"b","type":"B"}]}`, References: []sr.SchemaReference{{Name: "ns.B", Subject: "b", Version: 1}}},
		"b": {Schema: `{"type":"record","name":"B","namespace":"ns","fields":[{"name":"x","type":"int"}]}`}}
	o := Options{Value: Avro, Key: None, Registry: registry}
	checkLines(t, decodeText(t, o, "", all, "x", event{0, "", "\x00\x00\x00\x00\x01\x0a"}), "create.table x a ROW<b ROW<x INT>> null=false key=[]", `c x a={"b":{"x":5}}`)
}

type referring map[string]sr.Schema

func (r referring) SchemaByID(context.Context, int) (sr.Schema, error) { return r["root"], nil }

func (r referring) SchemaByVersion(_ context.Context, subject string, _ int) (sr.SubjectSchema, error) {
	return sr.SubjectSchema{Schema: r[subject]}, nil
}
