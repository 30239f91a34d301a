package debezium

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// TestRouter: names, and the fields that keys get, as Debezium's router gives them.
func TestRouter(t *testing.T) {
	r, err := NewRouter(`(.*)shard_(?<n>.*)`, `$1all\$`, `(.*)shard_(.*)`, "$2")
	if err != nil {
		t.Fatal(err)
	}
	topic, field := r.Route("p.vec.shard_12")
	if topic != "p.vec.all$" || field == nil || *field != (KeyField{DefaultKeyField, "12"}) {
		t.Errorf("%s, %+v", topic, field)
	}
	if topic, field = r.Route("p.vec.other"); topic != "p.vec.other" || field != nil {
		t.Errorf("%s, %+v", topic, field)
	}
	r.Key, r.KeyField = nil, "f"
	if _, field = r.Route("shard_1"); *field != (KeyField{"f", "shard_1"}) {
		t.Errorf("%+v", field)
	}
	if r.NoKeyField = true; true {
		if _, field = r.Route("shard_1"); field != nil {
			t.Errorf("%+v", field)
		}
	}
	if _, err := NewRouter("(", "", "", ""); err == nil {
		t.Error("( is no expression")
	}
}

// TestSourceTypes: whole names count, case does not.
func TestSourceTypes(t *testing.T) {
	is, err := SourceTypes(schema.TableID{Schema: "s", Table: "t"}, []string{`s\.t\.a`}, []string{`s\.numeric`, `.*\.T\.INT`})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, typ string
		want      bool
	}{{"A", "text", true}, {"aa", "text", false}, {"b", "numeric", true}, {"b", "int", true}, {"b", "bigint", false}} {
		if got := is(schema.Column{Name: c.name, Source: schema.SourceType{Name: c.typ}}); got != c.want {
			t.Errorf("%s %s: %v", c.name, c.typ, got)
		}
	}
	if is, err := SourceTypes(schema.TableID{}, nil, nil); is != nil || err != nil {
		t.Error("nothing is propagated")
	}
	if _, err := SourceTypes(schema.TableID{}, nil, []string{"("}); err == nil {
		t.Error("( is no expression")
	}
}

// eventTable has the columns of an outbox and two times.
func eventTable() *schema.Table {
	column := func(name string, typ schema.Type, source string) schema.Column {
		return schema.Column{Name: name, Type: typ, Nullable: true, Source: schema.SourceType{Name: source, Length: -1, Scale: -1}}
	}
	t := &schema.Table{ID: schema.TableID{Schema: "s", Table: "t"}, PrimaryKey: []string{"id"}, Columns: []schema.Column{
		column("id", schema.Int(), "int"), column("aggregateid", schema.String(), "text"), column("aggregatetype", schema.String(), "text"),
		column("payload", schema.JSON(), "json"), column("local", schema.Timestamp(0), "datetime"), column("zoned", schema.TimestampLTZ(3), "timestamp"),
	}}
	t.Columns[0].Nullable = false
	return t
}

func encodeEvents(t *testing.T, o Options, ops []schema.Op, rows ...string) (out Output) {
	t.Helper()
	table := eventTable()
	b := array.NewRecordBuilder(memory.DefaultAllocator, table.ArrowSchema())
	defer b.Release()
	for _, row := range rows {
		for i, v := range strings.Split(row, "|") {
			if v == "" {
				b.Field(i).AppendNull()
			} else if err := b.Field(i).AppendValueFromString(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	batch := schema.NewBatch(table, b.NewRecordBatch())
	defer batch.Release()
	batch.Ops = ops
	o.Connector, o.Prefix = MySQL, "p"
	e, err := New(table, "p.s.t", o)
	if err == nil {
		err = e.Append(&out, batch, nil, Origin{}, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOutbox: rows that come give events, and nothing else does.
func TestOutbox(t *testing.T) {
	o := Options{Outbox: &Outbox{Tombstones: true, Headers: []OutboxHeader{{Column: "aggregateid", Name: "of"}}}}
	out := encodeEvents(t, o, []schema.Op{schema.OpInsert, schema.OpUpdate, schema.OpDelete, schema.OpRead},
		`1|a|Order|{"x": 1}||`, `1|a|Order|{"x": 1}||`, `1|a|Order|{"x": 1}||`, `2|b|Bill|||`)
	var got []string
	for i := range out.Messages {
		text := fmt.Sprintf("%s %s %s", out.Topic(i), out.Key(i), out.Value(i))
		for _, h := range out.Headers(nil, i) {
			text += fmt.Sprintf(" %s=%s", h.Key, h.Value)
		}
		got = append(got, text)
	}
	want := []string{`outbox.event.Order "a" "{\"x\":1}" id=1 of="a"`, `outbox.event.Bill "b"  id=2 of="b"`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
	if _, err := New(eventTable(), "p.s.t", Options{Connector: MySQL, Outbox: &Outbox{ID: "none"}}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("%v", err)
	}
}

// TestTimezone: local times become instants, instants are printed elsewhere.
func TestTimezone(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	out := encodeEvents(t, Options{Timezone: zone}, []schema.Op{schema.OpInsert, schema.OpInsert},
		`1||||2024-06-30T22:30:00|2024-06-30T22:30:00.5Z`, `2||||2024-01-01T00:00:00|2024-03-31T00:59:59Z`)
	for i, want := range []string{`"local":1719779400000,"zoned":"2024-07-01T00:30:00.5+02:00"`, `"local":1704063600000,"zoned":"2024-03-31T01:59:59+01:00"`} {
		if v := string(out.Value(i)); !strings.Contains(v, want) {
			t.Errorf("got %s, want %s", v, want)
		}
	}
}

// TestHeartbeats holds the message.
func TestHeartbeats(t *testing.T) {
	h, err := NewHeartbeats(Options{Connector: MySQL, Prefix: "p"})
	if err != nil {
		t.Fatal(err)
	}
	var out Output
	h.Append(&out, 7)
	if got := fmt.Sprintf("%s %s", out.Key(0), out.Value(0)); got != `{"serverName":"p"} {"ts_ms":7}` {
		t.Error(got)
	}
}

// TestExpressionDefault: what is computed for each row is no default of the schema.
func TestExpressionDefault(t *testing.T) {
	text := "uuid()"
	c := schema.Column{Type: schema.Varchar(40), Default: &text, Source: schema.SourceType{Name: "varchar", Length: 40, Scale: -1}}
	o := Options{Connector: MySQL}.withDefaults()
	m, _, err := o.describe(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.defaultOf(c, m)); got != `"uuid()"` {
		t.Errorf("a literal: %s", got)
	}
	if c.DefaultIsExpression = true; o.defaultOf(c, m) != nil {
		t.Error("an expression has become a literal")
	}
}
