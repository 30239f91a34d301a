package kafka

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/sink/kafka/registry"
)

// pairs reads n messages of a topic: key and value, nil as <nil>, in the order of their offsets.
func pairs(t *testing.T, k brokers, name string, n int) (out [][2][]byte) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addresses...), kgo.ConsumeTopics(k.topic(name)), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	must(t, err)
	defer client.Close()
	for len(out) < n {
		fetches := client.PollFetches(t.Context())
		must(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { out = append(out, [2][]byte{r.Key, r.Value}) })
	}
	return out
}

// changes are an insert, an update, and a delete of one row.
func changes(t *testing.T, mem memory.Allocator, def *schema.Table) *schema.Batch {
	return batch(t, mem, def, 1, row{schema.OpInsert, 1, 10, "a,b"}, row{schema.OpUpdate, 1, 11, ""}, row{schema.OpDelete, 1, 11, ""})
}

// TestFormats: what the formats of text look like on a topic.
func TestFormats(t *testing.T) {
	for name, c := range map[string]struct {
		opts map[string]string
		want []string
	}{
		"json":         {map[string]string{optValueFormat: "json"}, []string{`{"id":1} {"id":1,"n":10,"txt":"a,b"}`, `{"id":1} {"id":1,"n":11,"txt":null}`, `{"id":1} <nil>`}},
		"metadata":     {map[string]string{optValueFormat: "json", optMetadata: "op,table_name", optDeletes: "row", "json.encode.ignore-null-fields": "true"}, []string{`{"id":1} {"id":1,"n":10,"txt":"a,b","__op":"c","__table_name":"t"}`, `{"id":1} {"id":1,"n":11,"__op":"u","__table_name":"t"}`, `{"id":1} {"id":1,"n":11,"__op":"d","__table_name":"t"}`}},
		"csv":          {map[string]string{optValueFormat: "csv", optKeyFormat: "csv", "csv.null-literal": "null"}, []string{`s.t,1 1,10,"a,b"`, `s.t,1 1,11,null`, `s.t,1 <nil>`}},
		"columns":      {map[string]string{optValueFormat: "csv", optKeyColumns: "s.t:n,id", optTableID: "true"}, []string{`{"TableId":"s.t","n":10,"id":1} 1,10,"a,b"`, `{"TableId":"s.t","n":11,"id":1} 1,11,`, `{"TableId":"s.t","n":11,"id":1} <nil>`}},
		"debezium csv": {map[string]string{optKeyFormat: "csv"}, []string{`s.t,1 {"before":null,"after":{"id":1,"n":10,`, `s.t,1 {"before":null,"after":{"id":1,"n":11,`, `s.t,1 {"before":{"id":1,"n":11,`, `s.t,1 <nil>`}},
		"canal": {map[string]string{optValueFormat: "canal-json"}, []string{`{"TableId":"s.t","id":1} {"data":[{"id":"1","n":"10","txt":"a,b"}],"database":"s","es":0,"gtid":"","id":0,"isDdl":false,`,
			`{"TableId":"s.t","id":1} {"data":[{"id":"1","n":"11","txt":null}],"database":"s",`, `{"TableId":"s.t","id":1} {"data":[{"id":"1","n":"11","txt":null}],"database":"s",`}},
	} {
		t.Run(name, func(t *testing.T) {
			k := cluster(t)
			s := open(t, k, c.opts)
			def := table("t", "id")
			r := rig(t, s, 1, def)
			must(t, r.Writers[0].Write(t.Context(), sink.Input{Table: def.ID, Batch: changes(t, r.Mem, def)}))
			checkpoint(t, r)
			for i, pair := range pairs(t, k, "s.t", len(c.want)) {
				value := string(pair[1])
				if pair[1] == nil {
					value = "<nil>"
				}
				if got := string(pair[0]) + " " + value; !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("message %d: %s\nwant %s", i, got, c.want[i])
				}
			}
		})
	}
}

// TestAvroFormats: another library reads what the topics hold, by the schemas that the registry has
// under the numbers in the messages.
func TestAvroFormats(t *testing.T) {
	for name, c := range map[string]struct {
		opts     map[string]string
		subjects []string
		want     []string
	}{
		"avro": {map[string]string{optValueFormat: "avro"}, []string{"s.t-key", "s.t-value"}, []string{"[id:1] [id:1 n:10 txt:a,b]", "[id:1] [id:1 n:11 txt:<nil>]", "[id:1] <nil>"}},
		"json keys": {map[string]string{optValueFormat: "avro", optKeyFormat: "json", optValueName: "RecordNameStrategy"}, []string{"s.t.Value"},
			[]string{`{"id":1} [id:1 n:10 txt:a,b]`, `{"id":1} [id:1 n:11 txt:<nil>]`, `{"id":1} <nil>`}},
		"debezium": {map[string]string{optValueFormat: "debezium-avro", optKeyName: "TopicRecordNameStrategy"}, []string{"s.t-s.t.Key", "s.t-value"},
			[]string{"[id:1] [after:[id:1 n:10 txt:a,b] before:<nil> op:c ", "[id:1] [after:[id:1 n:11 txt:<nil>] before:<nil> op:u ", "[id:1] [after:<nil> before:[id:1 n:11 txt:<nil>] op:d ", "[id:1] <nil>"}},
		"unwrapped": {map[string]string{optValueFormat: "debezium-avro", "debezium.unwrap": "true", "debezium.unwrap.add.fields": "op", optKeyFormat: "json"}, []string{"s.t-value"},
			[]string{`{"id":1} [__op:c id:1 n:10 txt:a,b]`, `{"id":1} [__op:u id:1 n:11 txt:<nil>]`, `{"id":1} <nil>`}},
	} {
		t.Run(name, func(t *testing.T) {
			k, r := cluster(t), srfake.New()
			t.Cleanup(r.Close)
			c.opts[optRegistryURL] = r.URL()
			s := open(t, k, c.opts)
			def := table("t", "id")
			g := rig(t, s, 1, def)
			must(t, g.Writers[0].Write(t.Context(), sink.Input{Table: def.ID, Batch: changes(t, g.Mem, def)}))
			checkpoint(t, g)
			for _, subject := range c.subjects {
				if !r.SubjectExists(subject) {
					t.Errorf("no subject %s", subject)
				}
			}
			for i, pair := range pairs(t, k, "s.t", len(c.want)) {
				if got := readAvro(t, r, c.subjects, pair[0]) + " " + readAvro(t, r, c.subjects, pair[1]); !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("message %d: %s\nwant %s", i, got, c.want[i])
				}
			}
			if errs := s.Check(t.Context()); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
}

// TestAvroEvents: transactions and heartbeats are in Avro too, under the subjects of their topics.
func TestAvroEvents(t *testing.T) {
	for _, keys := range []string{"avro", "json"} {
		k, r := cluster(t), srfake.New()
		t.Cleanup(r.Close)
		s := open(t, k, map[string]string{optValueFormat: "debezium-avro", optKeyFormat: keys, optRegistryURL: r.URL(), optTransactions: "true", optHeartbeat: "1", optTopicPrefix: "p"})
		def := table("t", "id")
		g := rig(t, s, 1, def)
		write(t, g, def, insert(1)...)
		c := &schema.Change{Kind: schema.ChangeTransactions, Transactions: []schema.Transaction{{Tx: schema.Tx{Commit: 30, CommitTime: 4_000, Rows: 1},
			Origin: schema.TxOrigin{GTID: "a:5"}, Tables: []schema.TableRows{{Table: def.ID, Rows: 1}}}}}
		must(t, g.Writers[0].Write(t.Context(), sink.Input{Change: c}))
		checkpoint(t, g)
		for topic, want := range map[string][]string{
			"p.transaction":          {"[id:a:5] [data_collections:<nil> event_count:<nil> id:a:5 status:BEGIN ts_ms:", "[id:a:5] [data_collections:[[data_collection:s.t event_count:1]] event_count:1 id:a:5 status:END ts_ms:"},
			"__debezium-heartbeat.p": {"[serverName:p] [ts_ms:"},
			"p.s.t":                  {"[id:1] [after:[id:1 n:1 txt:<nil>] before:<nil> op:c "},
		} {
			for i, pair := range pairs(t, k, topic, len(want)) {
				w := want[i]
				if key, value, _ := strings.Cut(w, " "); keys == "json" {
					w = regexp.MustCompile(`\[(\w+):(.*)\]`).ReplaceAllString(key, `{"$1":"$2"} `) + value
					w = strings.Replace(w, `{"id":"1"}`, `{"id":1}`, 1)
				}
				subjects := []string{topic + "-key", topic + "-value"}
				if got := readAvro(t, r, subjects, pair[0]) + " " + readAvro(t, r, subjects, pair[1]); !strings.HasPrefix(got, w) {
					t.Errorf("%s, message %d: %s\nwant %s", topic, i, got, w)
				}
			}
		}
	}
}

// readAvro prints a key or a value, as it is where it is text.
func readAvro(t *testing.T, r *srfake.Registry, subjects []string, data []byte) string {
	t.Helper()
	switch {
	case data == nil:
		return "<nil>"
	case data[0] != 0:
		return string(data)
	}
	for _, subject := range subjects {
		found, ok := r.GetSchema(subject, 1)
		if !ok || !strings.HasPrefix(string(data), string(registry.Header(found.ID))) {
			continue
		}
		s, err := avro.Parse(found.Schema.Schema)
		must(t, err)
		var got any
		rest, err := s.Decode(data[5:], &got)
		must(t, err)
		if len(rest) > 0 {
			t.Errorf("%d bytes are left", len(rest))
		}
		return strings.ReplaceAll(fmt.Sprint(got), "map[", "[")
	}
	t.Fatalf("no schema for %x", data)
	return ""
}

// TestRegistryRefuses: an incompatible schema stops the pipeline for good and names the field; a
// registry that is away does not.
func TestRegistryRefuses(t *testing.T) {
	k, r := cluster(t), srfake.New()
	t.Cleanup(r.Close)
	r.Intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if req.Method != http.MethodPost {
			return false
		}
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"error_code":409,"message":"incompatible: The field 'n' at path '/fields/1' has no default value, {oldSchemaVersion: 2}"}`)
		return true
	})
	s := open(t, k, map[string]string{optValueFormat: "avro", optRegistryURL: r.URL()})
	def := table("t", "id")
	g := rig(t, s, 1)
	err := g.Writers[0].Write(t.Context(), sink.Input{Table: def.ID, Batch: batch(t, g.Mem, def, 1, insert(1)...)})
	permanent := slices.ContainsFunc(Permanent(), func(p error) bool { return errors.Is(err, p) })
	if refused := (*registry.Error)(nil); !errors.As(err, &refused) || !permanent || refused.Version != 2 || !slices.Equal(refused.Fields, []string{"n"}) || refused.Subject != "s.t-key" {
		t.Errorf("permanent %v: %v", permanent, err)
	}
}

// TestUniqueKeyInCSV: a table whose key is a unique index has it in CSV too.
func TestUniqueKeyInCSV(t *testing.T) {
	s := open(t, brokers{addresses: []string{"localhost:1"}}, map[string]string{optKeyFormat: "csv"})
	f := s.format()
	f.events.single = true
	def := table("t")
	def.UniqueKey = []string{"n", "id"}
	e, err := f.encoder(def, "s.t")
	must(t, err)
	var out output
	must(t, e.Append(&out, batch(t, memory.DefaultAllocator, def, 1, row{schema.OpInsert, 1, 10, ""}), nil, debezium.Origin{}, 0))
	if got := string(out.Key(0)); got != "s.t,10,1" {
		t.Errorf("the key is %s", got)
	}
}

// TestRegistryOptions: account and certificate reach the registry.
func TestRegistryOptions(t *testing.T) {
	server := httptest.NewUnstartedServer(srfake.NewRegistry(srfake.WithAuth("Basic dTpwOnc=")).Handler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	trust := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	file := filepath.Join(t.TempDir(), "trust.pem")
	must(t, os.WriteFile(file, []byte(trust), 0o600))
	for _, c := range []struct {
		user, key, value string
		ok               bool
	}{
		{"u:p:w", "schema.registry.ssl.truststore.certificates", trust, true},
		{"u:p:w", "schema.registry.ssl.truststore.location", file, true},
		{"u:hush", "schema.registry.ssl.truststore.location", file, false},
		{"u:p:w", optKeyFormat, "json", false},
	} {
		s := open(t, brokers{addresses: []string{"localhost:1"}}, map[string]string{optValueFormat: "avro", optRegistryURL: server.URL, optUserInfo: c.user, c.key: c.value})
		err := s.opts.format.avro.registry.Check(t.Context())
		if (err == nil) != c.ok || err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s, %s: %v", c.user, c.key, err)
		}
	}
}

// TestFormatOptions: options that fit no chosen format, and formats that don't fit each other,
// are refused.
func TestFormatOptions(t *testing.T) {
	for _, c := range []struct {
		key  string
		opts map[string]string
		text string
	}{
		{"csv.null-literal", map[string]string{"csv.null-literal": "x"}, "csv"},
		{"json.timestamp-format.standard", map[string]string{"json.timestamp-format.standard": "SQL"}, "value.format json"},
		{"debezium.unwrap", map[string]string{optValueFormat: "json", "debezium.unwrap": "true"}, "debezium-json"},
		{"debezium-json.include-schema.enabled", map[string]string{optValueFormat: "debezium-avro", optRegistryURL: "http://x", "debezium-json.include-schema.enabled": "true"}, "no effect"},
		{"debezium.decimal.format", map[string]string{optValueFormat: "debezium-avro", optRegistryURL: "http://x", "debezium.decimal.format": "NUMERIC"}, "no effect"},
		{"canal-json.time-zone", map[string]string{optValueFormat: "json", "canal-json.time-zone": "UTC"}, "canal-json"},
		{"canal-json.time-zone", map[string]string{optValueFormat: "canal-json", "canal-json.time-zone": "Berlin"}, "Europe/Berlin"},
		{optRegistryURL, map[string]string{optRegistryURL: "http://x"}, "no effect"},
		{optRegistryURL, map[string]string{optValueFormat: "avro"}, "missing"},
		{optRegistryURL, map[string]string{optValueFormat: "avro", optRegistryURL: "x:8081"}, "http://"},
		{optUserInfo, map[string]string{optValueFormat: "avro", optRegistryURL: "http://x", optUserInfo: "hush"}, "colon"},
		{optValueName, map[string]string{optValueFormat: "avro", optRegistryURL: "http://x", optValueName: "Mine"}, "RecordNameStrategy"},
		{optKeyName, map[string]string{optValueFormat: "avro", optKeyFormat: "json", optRegistryURL: "http://x", optKeyName: "TopicNameStrategy"}, "key.format avro"},
		{optKeyFormat, map[string]string{optKeyFormat: "avro"}, "debezium-avro"},
		{optKeyFormat, map[string]string{optValueFormat: "debezium-avro", optRegistryURL: "http://x", optKeyFormat: "csv"}, "avro, json"},
		{optMetadata, map[string]string{optValueFormat: "json", optMetadata: "xid"}, "op_ts"},
		{optDeletes, map[string]string{optValueFormat: "json", optDeletes: "row"}, "op"},
		{"csv.field-delimiter", map[string]string{optValueFormat: "csv", "csv.field-delimiter": "ab"}, "one character"},
		{"csv.quote-character", map[string]string{optValueFormat: "csv", "csv.quote-character": ","}, "already"},
		{"csv.field-delimiter", map[string]string{optValueFormat: "csv", "csv.field-delimiter": ""}, "empty"},
		{optLatest, map[string]string{optValueFormat: "avro", optRegistryURL: "http://x", optLatest: "true"}, "auto.register.schemas"},
		{optKeyFormat, map[string]string{optKeyFormat: "csv", optOutbox: "s.t"}, "outbox"},
		{optTableID, map[string]string{optTableID: "true"}, "no effect"},
	} {
		opts := map[string]string{optServers: "localhost:1"}
		for key, v := range c.opts {
			opts[key] = v
		}
		_, err := New(opts, nil)
		var bad *sink.OptionError
		if !errors.As(err, &bad) || bad.Key != c.key || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v: %v, want %s: %q", c.opts, err, c.key, c.text)
		}
	}
}

// TestDescribeFormats: the types that are promised are those of the format, and a table
// that can't be written is refused before anything runs.
func TestDescribeFormats(t *testing.T) {
	def := table("t", "id")
	def.Columns = append(def.Columns, column("at", schema.TimestampLTZ(6), "timestamp(6)"), column("e", schema.String(), "enum"), column("a", schema.Array(schema.Int()), ""))
	for name, c := range map[string]struct {
		opts map[string]string
		want string
		note string
	}{
		"debezium": {nil, "[json json json json json json]", ""},
		"json":     {map[string]string{optValueFormat: "json"}, "[json json json json json json]", "without a value"},
		"csv":      {map[string]string{optValueFormat: "csv", optDeletes: "skip"}, "[csv csv csv csv csv csv]", "a delete has no message"},
		"canal":    {map[string]string{optValueFormat: "canal-json"}, "[json string json string json string json string json string json string]", "truncate"},
		"avro":     {map[string]string{optValueFormat: "avro", optRegistryURL: "http://localhost:1"}, "[int int string long timestamp-micros string array of int]", "without a value"},
		"debezium avro": {map[string]string{optValueFormat: "debezium-avro", optRegistryURL: "http://localhost:1"},
			"[int int string string io.debezium.time.ZonedTimestamp string io.debezium.data.Enum array of int]", ""},
	} {
		s := open(t, brokers{addresses: []string{"localhost:1"}}, c.opts)
		d, err := s.Describe(def, def.ID)
		must(t, err)
		var types []string
		for _, column := range d.Columns {
			types = append(types, column.SinkType)
		}
		if got := fmt.Sprint(types); got != c.want || !strings.Contains(strings.Join(d.Notes, ";"), c.note) {
			t.Errorf("%s: %s %q", name, got, d.Notes)
		}
	}
	odd := table("t")
	odd.Columns[1].Name = "a-b"
	for _, c := range []struct{ format, text string }{{"json", optDeletes}, {"avro", optDeletes}, {"debezium-avro", "debezium.field.name.adjustment.mode: name"}} {
		opts := map[string]string{optValueFormat: c.format}
		if c.format != "json" {
			opts[optRegistryURL] = "http://localhost:1"
		}
		_, err := open(t, brokers{addresses: []string{"localhost:1"}}, opts).Describe(odd, odd.ID)
		if !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.format, err)
		}
	}
}
