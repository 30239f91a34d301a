package avro_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	theirs "github.com/twmb/avro"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/sink/kafka/avro"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// read decodes with another library.
func read(t interface{ Fatalf(string, ...any) }, schema string, data []byte) any {
	s, err := theirs.Parse(schema)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	var got any
	if rest, err := s.Decode(data, &got); err != nil || len(rest) > 0 {
		t.Fatalf("%s: %x: %v, %d bytes are left", schema, data, err, len(rest))
	}
	return got
}

// TestCodec: shapes that no case of Debezium's has.
func TestCodec(t *testing.T) {
	field := func(name, typ string) string { return typ[:len(typ)-1] + `,"field":"` + name + `"}` }
	structOf := func(name string, fields ...string) string {
		return `{"type":"struct","fields":[` + strings.Join(fields, ",") + `],"optional":false,"name":"` + name + `"}`
	}
	text, number := `{"type":"string","optional":false}`, `{"type":"int16","optional":false}`
	for _, c := range []struct{ name, schema, payload, want string }{
		{"map", structOf("a.b.R", field("m", `{"type":"map","keys":`+text+`,"values":{"type":"string","optional":true},"optional":true}`)), `{"m":{"k":"v","n":null,"é":""}}`, "map[m:map[k:v n:<nil> é:]]"},
		{"no map", structOf("R", field("m", `{"type":"map","keys":`+text+`,"values":`+text+`,"optional":true}`)), `{"m":null}`, "map[m:<nil>]"},
		{"entries", structOf("R", field("m", `{"type":"map","keys":`+number+`,"values":{"type":"double","optional":false},"optional":false}`)), `{"m":{"7":1.5,"-2":0.0}}`, "map[m:[map[key:7 value:1.5] map[key:-2 value:0]]]"},
		{"nameless", structOf("a.R", field("x", `{"type":"struct","fields":[`+field("n", number)+`],"optional":true}`), field("y", `{"type":"struct","fields":[],"optional":false}`)), `{"x":{"n":3},"y":{}}`, "map[x:map[n:3] y:map[]]"},
		{"twice", structOf("a.R", field("x", structOf("b.P", field("n", number))), field("y", `{"type":"array","items":`+structOf("b.P", field("n", number))+`,"optional":false}`)), `{"x":{"n":3},"y":[{"n":4}]}`, "map[x:map[n:3] y:[map[n:4]]]"},
		{"many", `{"type":"array","items":` + number + `,"optional":false}`, "[" + strings.Repeat("1,", 199) + "2]", fmt.Sprint([]any{}) + ""},
		{"escapes", text, `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83d"`, "\"\\/\b\f\n\r\té😀\ufffd"},
		{"limits", structOf("R", field("i", `{"type":"int32","optional":false}`), field("l", `{"type":"int64","optional":false}`)), `{"i":-2147483648,"l":-9223372036854775808}`, "map[i:-2147483648 l:-9223372036854775808]"},
		{"floats", structOf("R", field("f", `{"type":"float","optional":false}`), field("d", `{"type":"double","optional":false}`)), `{"f":"-Infinity","d":"NaN"}`, "map[d:NaN f:-Inf]"},
		{"defaults", structOf("R", field("b", `{"type":"bytes","optional":true,"default":"AP8="}`)), `{"b":"AP8="}`, "map[b:[0 255]]"},
	} {
		codec, err := avro.Derive([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		data, err := codec.Append(nil, []byte(c.payload))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := read(t, codec.Schema(), data)
		if c.name == "many" {
			if list := got.([]any); len(list) != 200 || list[199] != int32(2) || list[0] != int32(1) {
				t.Errorf("%d elements: %v", len(list), list)
			}
		} else if text := fmt.Sprint(got); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

// TestDeriveErrors: what Avro can't have says so.
func TestDeriveErrors(t *testing.T) {
	p := func(fields string) string {
		return `{"type":"struct","name":"b.P","optional":false,"field":"x","fields":[` + fields + `]}`
	}
	for schema, want := range map[string]error{
		`{"type":"struct","name":"a-b.R","fields":[]}`:                          avro.ErrName,
		`{"type":"struct","name":"R","fields":[{"type":"string","field":"ü"}]}`: avro.ErrName,
		`{"type":"decimal"}`: avro.ErrSchema,
		`{`:                  avro.ErrSchema,
		`{"type":"struct","name":"R","fields":[` + p(``) + `,` + strings.Replace(p(`{"type":"string","field":"s"}`), `"x"`, `"y"`, 1) + `]}`: avro.ErrSchema,
		`{"type":"bytes","default":"%"}`: avro.ErrSchema,
	} {
		if _, err := avro.Derive([]byte(schema)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", schema, err, want)
		}
	}
}

// TestPayloadErrors: JSON that is not of the schema is an error wherever it is cut or changed,
// never a panic or other data.
func TestPayloadErrors(t *testing.T) {
	schema := `{"type":"struct","name":"R","fields":[{"type":"string","field":"s"},{"type":"int64","field":"n"},{"type":"bytes","field":"b"},{"type":"array","items":{"type":"boolean"},"field":"a"},{"type":"map","keys":{"type":"string"},"values":{"type":"float"},"field":"m"}]}`
	payload := `{"s":"a\n\u00e9","n":-12,"b":"AP8=","a":[true,false],"m":{"k":1.5}}`
	codec, err := avro.Derive([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := codec.Append(nil, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(payload) {
		if _, err := codec.Append(nil, []byte(payload[:n])); !errors.Is(err, avro.ErrPayload) {
			t.Errorf("%s: %v", payload[:n], err)
		}
	}
	for _, bad := range []string{payload + "1", strings.Replace(payload, "-12", "9223372036854775808", 1), strings.Replace(payload, "-12", "null", 1), strings.Replace(payload, "AP8=", "A", 1), strings.Replace(payload, "true", "1", 1), strings.Replace(payload, `\n`, `\x`, 1)} {
		if _, err := codec.Append(nil, []byte(bad)); !errors.Is(err, avro.ErrPayload) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(payload)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		if got, err := codec.Append(nil, b); err == nil && !bytes.Equal(got, whole) {
			read(t, codec.Schema(), got)
		}
	})
}

// TestCodecReadsBack: whatever texts, bytes and numbers there are, another library reads them.
func TestCodecReadsBack(t *testing.T) {
	schema := `{"type":"struct","name":"a.R","fields":[{"type":"string","optional":true,"field":"s"},{"type":"bytes","optional":true,"default":"","field":"b"},{"type":"array","items":{"type":"int64","optional":true},"field":"l"},{"type":"double","field":"d"}]}`
	codec, err := avro.Derive([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, b := rapid.String().Draw(t, "s"), rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		list := rapid.SliceOfN(rapid.Ptr(rapid.Int64(), true), 0, 150).Draw(t, "l")
		d := rapid.Float64().Draw(t, "d")
		numbers, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if list == nil {
			numbers = []byte("[]")
		}
		payload := javatext.Jackson.Append([]byte(`{"s":`), s)
		payload = append(payload, `,"b":"`+base64.StdEncoding.EncodeToString(b)+`","l":`+string(numbers)+`,"d":`...)
		payload = append(javatext.AppendFloat(payload, d, 64), '}')
		data, err := codec.Append(nil, payload)
		if err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		got := read(t, codec.Schema(), data).(map[string]any)
		if got["s"] != s || !bytes.Equal(got["b"].([]byte), b) || got["d"] != d || len(got["l"].([]any)) != len(list) {
			t.Fatalf("%s: %v", payload, got)
		}
		for i, v := range list {
			if g := got["l"].([]any)[i]; v == nil && g != nil || v != nil && g != *v {
				t.Fatalf("element %d: %v", i, g)
			}
		}
	})
}

// benchPayload is an envelope of a row with eight columns.
func benchPayload() (schema, payload string) {
	var fields []string
	for i, typ := range []string{"int64", "int32", "string", "bytes", "int64", "string", "boolean", "double"} {
		fields = append(fields, fmt.Sprintf(`{"type":%q,"optional":true,"field":"c%d"}`, typ, i))
	}
	row := `{"type":"struct","name":"a.Value","optional":true,"fields":[` + strings.Join(fields, ",") + `]`
	values := `{"c0":123456,"c1":-7,"c2":"a note about order 17, \"quoted\"","c3":"AP8BAg==","c4":1700000000000000,"c5":"2024-02-29T12:34:56.789012Z","c6":true,"c7":1234567.5}`
	return `{"type":"struct","name":"a.Envelope","fields":[` + row + `,"field":"before"},` + row + `,"field":"after"},{"type":"string","field":"op"}]}`, `{"before":` + values + `,"after":` + values + `,"op":"u"}`
}

// BenchmarkCodec turns an envelope with two rows of eight columns.
func BenchmarkCodec(b *testing.B) {
	schema, payload := benchPayload()
	codec, err := avro.Derive([]byte(schema))
	if err != nil {
		b.Fatal(err)
	}
	in, dst := []byte(payload), []byte(nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if dst, err = codec.Append(dst[:0], in); err != nil {
			b.Fatal(err)
		}
	}
}

// TestNoAllocation holds that a message costs no allocation once the output has grown.
func TestNoAllocation(t *testing.T) {
	schema, payload := benchPayload()
	codec, err := avro.Derive([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	in, dst := []byte(payload), []byte(nil)
	if n := testing.AllocsPerRun(100, func() {
		if dst, err = codec.Append(dst[:0], in); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
