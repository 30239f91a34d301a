package format

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
	"github.com/freshet-cdc/freshet/source/kafka/definition"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

const placeholder = "__debezium_unavailable_value"

// event is a message of a test: its partition, key and value, "" for none.
type event struct {
	partition  int32
	key, value string
}

// decodeText decodes messages of one topic; an error is the last line.
func decodeText(t *testing.T, o Options, definitions string, needs source.Needs, topic string, events ...event) []string {
	t.Helper()
	given, err := definition.Parse(definitions)
	if err != nil {
		t.Fatal(err)
	}
	if o.Placeholder == "" {
		o.Placeholder = placeholder
	}
	l := newLog(t, needs, o.Placeholder, given.For)
	d, err := New(o, l.set)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		m := &Message{Topic: topic, Partition: e.partition, Position: uint64(i), Time: 1}
		if e.key != "" {
			m.Key = []byte(e.key)
		}
		if e.value != "" {
			m.Value = []byte(e.value)
		}
		if err = d.Decode(t.Context(), m); err != nil {
			l.set.Release()
			l.mem.AssertSize(t, 0)
			return append(l.lines, "error: "+err.Error())
		}
		if err := l.set.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return l.end()
}

// envelope is an envelope without a schema.
func envelopeText(op, before, after string) string {
	return fmt.Sprintf(`{"before":%s,"after":%s,"source":{"connector":"postgresql","db":"d","schema":"public","table":"t","ts_ms":5,"txId":7},"op":"%s"}`, before, after, op)
}

// check compares lines; a wanted line that ends in ... is a beginning.
func checkLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if head, cut := strings.CutSuffix(w, "..."); g != w && (!cut || !strings.HasPrefix(g, head)) {
			t.Fatalf("line %d:\ngot  %s\nwant %s\nall:\n%s", i, g, w, strings.Join(got, "\n"))
		}
	}
}

var loose = Options{Value: DebeziumJSON, Key: JSON}

var all = source.Needs{KeylessUpdates: true, ResolvesUnchanged: true}

func TestInference(t *testing.T) {
	checkLines(t, decodeText(t, loose, "", all, "x",
		event{0, `{"id":1}`, envelopeText("c", "null", `{"id":1,"n":null,"a":"x"}`)},
		event{0, `{"id":2}`, envelopeText("c", "null", `{"id":2,"n":5,"a":"\u00e9","d":{"k":[1]}}`)},
		event{0, `{"id":2}`, envelopeText("u", "null", `{"id":2,"n":1.5,"a":null,"d":[]}`)},
		event{0, `{"id":3}`, envelopeText("c", "null", `{"id":3,"big":12345678901234567890,"t":true}`)},
		event{0, `{"id":2}`, envelopeText("d", `{"id":2,"a":""}`, "null")},
		event{0, `{"id":4}`, envelopeText("c", "null", `{"id":4,"t":"no"}`)}),
		"create.table public.t id BIGINT null=false a STRING null=true key=[id]",
		"c public.t id=1 a=x",
		"add.column public.t n BIGINT null=true d JSON null=true",
		`c public.t id=2 a=é n=5 d={"k":[1]}`,
		"alter.column.type public.t n DOUBLE null=true",
		"u public.t id=2 a=(null) n=1.5 d=[]",
		"add.column public.t big NUMERIC null=true t BOOLEAN null=true",
		"c public.t id=3 a=(null) n=(null) d=(null) big=12345678901234567890 t=true",
		"d public.t id=2 a= n=(null) d=(null) big=(null) t=(null)",
		"error: table public.t: table public.t, column t: the table's definition can't follow the messages: it was BOOLEAN and is STRING now (give the column's type in the option schema)")
}

func TestGivenSchema(t *testing.T) {
	definitions := "public.t (id INT, p DECIMAL(6, 2), d DATE, ts TIMESTAMP(3), tz TIMESTAMP_LTZ(6), b BYTES, u UUID, tags ARRAY<INT>, j JSON, r ROW<x INT, y STRING>, PRIMARY KEY (id))"
	row := `{"id":1,"p":"12.5","d":19000,"ts":1700000000123,"tz":"2024-02-29T12:00:00.5+02:00","b":"AQI=","u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","tags":[1,null],"j":"{\"a\":1}","r":{"y":"z","x":3},"other":9}`
	checkLines(t, decodeText(t, loose, definitions, all, "x", event{0, `{"id":1}`, envelopeText("r", "null", row)},
		event{0, `{"id":1}`, envelopeText("u", "null", `{"id":1,"p":"1.234"}`)}),
		"create.table public.t id INT null=false p DECIMAL(6, 2) null=true d DATE null=true ts TIMESTAMP(3) null=true tz TIMESTAMP_LTZ(6) null=true b BYTES null=true u UUID null=true tags ARRAY<INT> null=true j JSON null=true r ROW<x INT, y STRING> null=true key=[id]",
		`c public.t id=1 p=12.5 d=2022-01-08 ts=2023-11-14T22:13:20.123 tz=2024-02-29T10:00:00.5Z b=AQI= u=oO68mZwLTvi7bWu5vTgKEQ== tags=[1,null] j={"a":1} r={"x":3,"y":"z"}`,
		"error: table public.t: field p: value does not fit the column of type DECIMAL(6, 2): it has more digits")
	precise := loose
	precise.Precise = true
	checkLines(t, decodeText(t, precise, "(id INT, p DECIMAL(6, 2), PRIMARY KEY (id))", all, "x", event{0, `{"id":1}`, envelopeText("c", "null", `{"id":1,"p":"BOI="}`)}),
		"create.table public.t id INT null=false p DECIMAL(6, 2) null=true key=[id]", "c public.t id=1 p=12.5")
}

func TestUnchanged(t *testing.T) {
	row := `{"id":1,"v":"` + placeholder + `","n":2}`
	events := []event{{0, `{"id":1}`, envelopeText("c", "null", `{"id":1,"v":"x","n":1}`)}, {0, `{"id":1}`, envelopeText("u", "null", row)}}
	checkLines(t, decodeText(t, loose, "", all, "x", events...),
		"create.table public.t id BIGINT null=false v STRING null=true n BIGINT null=true key=[id]", "c public.t id=1 v=x n=1", "u public.t id=1 v=(null)(unchanged) n=2")
	checkLines(t, decodeText(t, loose, "", source.Needs{}, "x", events...),
		"create.table ...", "c public.t id=1 v=x n=1", "error: table public.t: the message does not fit its schema: a value that did not change was left out, and the sink can't find it")
}

func TestKeyChange(t *testing.T) {
	checkLines(t, decodeText(t, loose, "", source.Needs{Before: true}, "x",
		event{0, `{"id":1}`, envelopeText("c", "null", `{"id":1,"v":"x"}`)},
		event{0, `{"id":2}`, envelopeText("u", `{"id":1,"v":"x"}`, `{"id":2,"v":"y"}`)},
		event{0, `{"id":2}`, envelopeText("u", `{"id":2,"v":"y"}`, `{"id":2,"v":"z"}`)}),
		"create.table ...", "c public.t id=1 v=x", "d public.t id=1 v=x <- id=1 v=x", "c public.t id=2 v=y", "u public.t id=2 v=z <- id=2 v=y")
}

func TestTombstones(t *testing.T) {
	other := strings.Replace(envelopeText("c", "null", `{"id":9}`), `"table":"t"`, `"table":"o"`, 1)
	create, del := event{0, `{"id":1}`, envelopeText("c", "null", `{"id":1,"v":"x"}`)}, event{0, `{"id":1}`, envelopeText("d", `{"id":1,"v":"x"}`, "null")}
	begin := []string{"create.table public.t id BIGINT null=false v STRING null=true key=[id]", "c public.t id=1 v=x"}
	// Behind its delete it says nothing, alone it deletes, before any row it has nothing to delete.
	checkLines(t, decodeText(t, loose, "", all, "x", event{0, `{"id":5}`, ""}, create, del, event{0, `{"id":1}`, ""}, event{0, `{"id":7}`, "null"}, event{0, `{"id":8}`, ""}),
		append(begin, "d public.t id=1 v=x", "d public.t id=7 v=(null)", "d public.t id=8 v=(null)")...)
	// One of another key is no echo of the delete, nor is one of another partition.
	checkLines(t, decodeText(t, loose, "", all, "x", create, del, event{0, `{"id":2}`, ""}), append(begin, "d public.t id=1 v=x", "d public.t id=2 v=(null)")...)
	checkLines(t, decodeText(t, loose, "", all, "x", create, del, event{1, `{"id":1}`, ""}), append(begin, "d public.t id=1 v=x", "d public.t id=1 v=(null)")...)
	several := []event{create, {0, `{"id":9}`, other}, {0, `{"id":1}`, ""}}
	lines := decodeText(t, loose, "", all, "x", several...)
	if last := lines[len(lines)-1]; !strings.Contains(last, "which table it means is not known") {
		t.Errorf("in a topic of several tables: %s", last)
	}
	pass := loose
	pass.PassTombstones = true
	checkLines(t, decodeText(t, pass, "", all, "x", several...), "create.table public.t ...", "c public.t id=1 v=x", "create.table public.o ...", "c public.o id=9")
	checkLines(t, decodeText(t, loose, "", all, "x", create, event{0, `{"x":1}`, ""}), append(begin, "error: key: the message is not of the format: it has no id")...)
	checkLines(t, decodeText(t, loose, "", all, "x", create, event{0, `{"id":1}`, envelopeText("d", "null", "null")}), append(begin, "d public.t id=1 v=(null)")...)
}

func TestKeyless(t *testing.T) {
	create := event{0, "", envelopeText("c", "null", `{"a":1}`)}
	checkLines(t, decodeText(t, loose, "", all, "x", create, event{0, "", envelopeText("u", `{"a":1}`, `{"a":2}`)}, event{0, "", envelopeText("d", `{"a":2}`, "null")}),
		"create.table public.t a BIGINT null=true key=[]", "c public.t a=1", "u public.t a=2 <- a=1", "d public.t a=2 <- a=2")
	for _, bad := range []string{envelopeText("u", "null", `{"a":2}`), envelopeText("d", "null", "null")} {
		lines := decodeText(t, loose, "", all, "x", create, event{0, "", bad})
		if last := lines[len(lines)-1]; !strings.Contains(last, "REPLICA IDENTITY FULL") {
			t.Errorf("%s: %s", bad, last)
		}
	}
}

// schemaText is an envelope with a schema; fields are those of the row.
func schemaText(fields, after string) string {
	return `{"schema":{"type":"struct","fields":[{"type":"struct","fields":[` + fields + `],"optional":true,"field":"after"},{"type":"string","field":"op"}]},"payload":{"after":` + after + `,"op":"c"}}`
}

func TestSchemaChanges(t *testing.T) {
	id := `{"type":"int32","optional":false,"field":"id"}`
	field := func(typ, name string, optional bool) string {
		return fmt.Sprintf(`,{"type":"%s","optional":%t,"field":"%s"}`, typ, optional, name)
	}
	old := event{0, `{"id":1}`, schemaText(id+field("int32", "n", false)+field("string", "gone", false), `{"id":1,"n":1,"gone":"g"}`)}
	checkLines(t, decodeText(t, loose, "", all, "shop.orders", old,
		event{0, `{"id":2}`, schemaText(id+field("int64", "n", true)+field("double", "x", false), `{"id":2,"n":null,"x":0.5}`)},
		old, // of another partition, which is behind
		event{0, `{"id":3}`, schemaText(id+field("string", "n", true), `{"id":3,"n":"a"}`)}),
		"create.table shop.orders id INT null=false n INT null=false gone STRING null=false key=[id]",
		"c shop.orders id=1 n=1 gone=g",
		"alter.column.type shop.orders n BIGINT null=true gone STRING null=true",
		"add.column shop.orders x DOUBLE null=true",
		"c shop.orders id=2 n=(null) gone=(null) x=0.5",
		"c shop.orders id=1 n=1 gone=g x=(null)",
		"error: table shop.orders: table shop.orders, column n: the table's definition can't follow the messages: it was BIGINT and is STRING now (give the column's type in the option schema)")
}

func TestPlain(t *testing.T) {
	o := Options{Value: JSON, Key: JSON}
	checkLines(t, decodeText(t, o, "", all, "a.b.c.d", event{0, `{"id":1}`, ""}, event{0, `{"id":1}`, `{"id":1,"v":"x"}`}, event{0, `{"id":1}`, `{"id":1,"v":"y"}`}, event{0, `{"id":1}`, ""}),
		"create.table a.b.c.d id BIGINT null=false v STRING null=true key=[id]", "u a.b.c.d id=1 v=x", "u a.b.c.d id=1 v=y", "d a.b.c.d id=1 v=(null)")
	o.Key = None
	checkLines(t, decodeText(t, o, "", all, "x", event{0, "k", `{"id":1}`}, event{0, "k", `{"id":1}`}, event{0, "k", ""}),
		"create.table x id BIGINT null=true key=[]", "c x id=1", "c x id=1", "error: table x: the message is not of the format: a message without a value deletes a row, but the table has no key")
	o.Key = JSON
	checkLines(t, decodeText(t, o, "", all, "x", event{0, `{"k":1}`, `{"id":1}`}), "error: the message is not of the format: the key has the fields...")
	o.Schema = true
	checkLines(t, decodeText(t, o, "", all, "x", event{0, "", `{"schema":{"type":"struct","fields":[{"type":"int8","field":"a"}]},"payload":{"a":5}}`}, event{0, "", `{"schema":null,"payload":{"a":6}}`}),
		"create.table x a TINYINT null=false key=[]", "c x a=5", "c x a=6")
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		o     Options
		value string
		want  error
	}{
		{loose, `{"a":1}`, ErrMessage}, {loose, `[]`, nil}, {loose, `{"op":"c"`, nil}, {loose, `{"op":"c"} x`, nil}, {loose, `{"op":"zz"}`, ErrMessage},
		{loose, `{"op":"x","after":{"a":1}}`, ErrMessage}, {loose, `{"op":"c","after":5}`, ErrMessage}, {loose, `{"op":"c"}`, ErrMessage},
		{loose, schemaText(`{"type":"int32","field":"a"}`, `{"a":5000000000}`), nil}, {loose, schemaText(`{"type":"int32","field":"a"}`, `{"b":5}`), connect.ErrMessage},
		{loose, schemaText(`{"type":"int32","field":"a"}`, `{"a":1,"a":2}`), connect.ErrMessage}, {loose, schemaText(`{"type":"odd","field":"a"}`, `{"a":1}`), connect.ErrSchema},
		{Options{Value: CanalJSON}, `{"type":"ODD"}`, ErrMessage}, {Options{Value: CanalJSON}, `{"type":"INSERT","data":[5]}`, ErrMessage}, {Options{Value: JSON}, `5`, nil},
	} {
		given, _ := definition.Parse("")
		l := newLog(t, all, placeholder, given.For)
		d, err := New(c.o, l.set)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Decode(t.Context(), &Message{Topic: "x", Value: []byte(c.value)})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.value, err)
		}
		l.set.Release()
		l.mem.AssertSize(t, 0)
	}
}

func TestFieldErrors(t *testing.T) {
	lines := decodeText(t, loose, "", all, "x", event{0, "", schemaText(`{"type":"struct","field":"s","fields":[{"type":"array","items":{"type":"int32"},"field":"list"}]}`, `{"s":{"list":[1,"x"]}}`)})
	if last := lines[len(lines)-1]; !strings.Contains(last, "field s.list.1: there is no number at byte") {
		t.Error(last)
	}
}

// flat is a message of Canal.
func canalText(kind, data, old string) string {
	return fmt.Sprintf(`{"data":%s,"old":%s,"database":"shop","table":"orders","es":1700000000000,"id":3,"isDdl":false,"pkNames":["id"],"type":"%s","ts":1,"sqlType":{"id":-5},"sql":"",`+
		`"mysqlType":{"id":"bigint(20)","name":"varchar(20)","price":"decimal(6,2)","b":"blob","t":"datetime(3)","n":"int(10) unsigned","u":"bigint(20) unsigned","f":"tinyint(1)"}}`, data, old, kind)
}

func TestCanal(t *testing.T) {
	o := Options{Value: CanalJSON, Key: None}
	row := `{"id":"1","name":"a","price":"1.5","b":"\u0001ÿ","t":"2024-01-01 10:00:00.123","n":"4294967295","u":"18446744073709551615","f":"1"}`
	const text = `name=a price=1.5 b=Af8= t=2024-01-01T10:00:00.123 n=4294967295 u=18446744073709551615 f=1`
	checkLines(t, decodeText(t, o, "", source.Needs{Before: true}, "topic",
		event{0, "", canalText("INSERT", "["+row+","+strings.Replace(row, `"1"`, `"2"`, 1)+"]", "null")},
		event{0, "", canalText("UPDATE", "["+row+"]", `[{"name":"o","price":null}]`)},
		event{0, "", canalText("UPDATE", "["+strings.Replace(row, `"1"`, `"3"`, 1)+"]", `[{"id":"1"}]`)},
		event{0, "", canalText("DELETE", "["+row+"]", "null")},
		event{0, "", `{"type":"ALTER","isDdl":true,"database":"shop","table":"orders","sql":"ALTER TABLE orders ADD x INT","data":null}`},
		event{0, "", `{"type":"TRUNCATE","isDdl":true,"database":"shop","table":"orders","sql":"TRUNCATE orders","data":null}`},
		event{0, "", strings.Replace(strings.Replace(canalText("INSERT", `[{"id":"9","x":"5"}]`, "null"), `"price":"decimal(6,2)"`, `"price":"decimal(8,3)","x":"int"`, 1), `"f":"tinyint(1)"`, `"f":"int"`, 1)}),
		"create.table shop.orders id BIGINT null=false name STRING null=true price DECIMAL(6, 2) null=true b BYTES null=true t TIMESTAMP(3) null=true n BIGINT null=true u BIGINT UNSIGNED null=true f TINYINT null=true key=[id]",
		"c shop.orders id=1 "+text, "c shop.orders id=2 "+text,
		"u shop.orders id=1 "+text+" <- id=1 "+strings.Replace(strings.Replace(text, "name=a", "name=o", 1), "price=1.5", "price=(null)", 1),
		"d shop.orders id=1 "+text+" <- id=1 "+text, "c shop.orders id=3 "+text,
		"d shop.orders id=1 "+text+" <- id=1 "+text,
		"truncate.table shop.orders",
		"alter.column.type shop.orders price DECIMAL(8, 3) null=true f INT null=true", "add.column shop.orders x INT null=true",
		"c shop.orders id=9 name=(null) price=(null) b=(null) t=(null) n=(null) u=(null) f=(null) x=5")
	lines := decodeText(t, o, "", all, "topic", event{0, "", canalText("INSERT", `[{"id":"1","n":"x"}]`, "null")})
	if last := lines[len(lines)-1]; !strings.Contains(last, "row 0 of the message: field n: value does not fit") {
		t.Error(last)
	}
}

// TestPositions: rows carry the position, time and transaction of their message.
func TestPositions(t *testing.T) {
	var batches []*schema.Batch
	set := table.NewSet(table.Config{Needs: all, Match: func(schema.TableID) bool { return true }, Given: func(schema.TableID) *schema.Table { return nil },
		MaxRows: 2, MaxBytes: 1 << 20, Memory: newLog(t, all, "", nil).mem, Emit: func(e source.Element) error {
			if e.Batch != nil {
				batches = append(batches, e.Batch)
			}
			return nil
		}})
	defer set.Release()
	d, err := New(loose, set)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := d.Decode(t.Context(), &Message{Topic: "x", Position: uint64(10 + i), Value: []byte(envelopeText("c", "null", `{"id":1}`))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := set.Flush(); err != nil {
		t.Fatal(err)
	}
	if len(batches) != 2 || batches[0].Rows() != 2 || batches[1].Rows() != 1 {
		t.Fatalf("%d batches", len(batches))
	}
	for i, b := range batches {
		if got, want := b.Txs[0], (schema.Tx{ID: 7, Commit: uint64(10 + 2*i), CommitTime: 5000, Rows: 1}); got != want {
			t.Errorf("batch %d: %+v, want %+v", i, got, want)
		}
		b.Release()
	}
}
