package kafka

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	_ "modernc.org/sqlite"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// fake starts a cluster of one broker.
func fake(t testing.TB) []string {
	t.Helper()
	k, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DefaultNumPartitions(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k.ListenAddrs()
}

// brokers returns the real cluster, if there is one, else a fake.
func brokers(t testing.TB) []string {
	if url := os.Getenv("FRESHET_KAFKA_URL"); url != "" {
		return strings.Split(strings.TrimPrefix(url, "kafka://"), ",")
	}
	return fake(t)
}

// testDatabase is a database in memory whose changes go to a topic, as Debezium would write them:
// one partition, all tables in it, and each transaction of the database one of Kafka.
type testDatabase struct {
	t        testing.TB
	brokers  []string
	topic    string
	mu       sync.Mutex
	db       *sql.DB
	producer *kgo.Client
	tables   map[string]*testTable
}

// testTable is what the capturing triggers of a table know.
type testTable struct {
	columns, types, key []string
}

func openDatabase(t testing.TB, addresses []string) *testDatabase {
	t.Helper()
	topic := "db." + strings.NewReplacer("/", "_", "#", "_").Replace(t.Name())
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE changes (n INTEGER PRIMARY KEY AUTOINCREMENT, name text, op text, before text, after text)"); err != nil {
		t.Fatal(err)
	}
	producer := client(t, addresses, kgo.TransactionalID(topic), kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(64<<20), kgo.BrokerMaxWriteBytes(100<<20))
	createTopic(t, addresses, topic, 1)
	t.Cleanup(func() { db.Close() })
	return &testDatabase{t: t, brokers: addresses, topic: topic, db: db, producer: producer, tables: map[string]*testTable{}}
}

func client(t testing.TB, addresses []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addresses...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// createTopic makes a topic that ends with the test.
func createTopic(t testing.TB, addresses []string, topic string, partitions int32) {
	t.Helper()
	admin := kadm.NewClient(client(t, addresses))
	_, _ = admin.DeleteTopics(context.Background(), topic) // of a run that was killed
	if _, err := admin.CreateTopic(context.Background(), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = admin.DeleteTopics(context.Background(), topic) })
}

// Exec implements sourcetest.Database.
func (d *testDatabase) Exec(_ int, statements ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var messages []*kgo.Record
	for _, s := range statements {
		more, err := d.exec(s)
		if err != nil {
			return fmt.Errorf("%.200s: %w", s, err)
		}
		messages = append(messages, more...)
	}
	return d.send(messages)
}

// exec runs a statement and returns the messages that it makes.
func (d *testDatabase) exec(s string) ([]*kgo.Record, error) {
	words := strings.Fields(s)
	s = strings.ReplaceAll(s, " nothing", ` "nothing"`) // a word of SQLite's
	switch {
	case words[0] == "TRUNCATE":
		name := words[2]
		if _, err := d.db.Exec(`DELETE FROM "` + name + `"`); err != nil {
			return nil, err
		}
		if _, err := d.db.Exec("DELETE FROM changes"); err != nil {
			return nil, err
		}
		return []*kgo.Record{d.message(name, "t", "", "")}, nil
	case words[0] == "CREATE" || words[0] == "ALTER" || words[0] == "DROP":
		name := words[2]
		for _, op := range []string{"c", "u", "d"} {
			if _, err := d.db.Exec(fmt.Sprintf("DROP TRIGGER IF EXISTS %s_%s", name, op)); err != nil {
				return nil, err
			}
		}
		if _, err := d.db.Exec(s); err != nil || words[0] == "DROP" {
			return nil, err
		}
		return nil, d.capture(name)
	}
	if _, err := d.db.Exec(s); err != nil {
		return nil, err
	}
	return d.changes()
}

// capture writes the changes of a table into changes.
func (d *testDatabase) capture(name string) error {
	rows, err := d.db.Query("SELECT name, lower(type), pk FROM pragma_table_info(?) ORDER BY cid", name)
	if err != nil {
		return err
	}
	defer rows.Close()
	t := &testTable{}
	var olds, news []string
	for rows.Next() {
		var column, typ string
		var pk int
		if err := rows.Scan(&column, &typ, &pk); err != nil {
			return err
		}
		t.columns, t.types = append(t.columns, column), append(t.types, typ)
		if pk > 0 {
			t.key = append(t.key, column)
		}
		olds, news = append(olds, fmt.Sprintf("'%s', OLD.%s", column, column)), append(news, fmt.Sprintf("'%s', NEW.%s", column, column))
	}
	if err := rows.Close(); err != nil {
		return err
	}
	d.tables[name] = t
	before, after := "json_object("+strings.Join(olds, ", ")+")", "json_object("+strings.Join(news, ", ")+")"
	for op, trigger := range map[string][3]string{"c": {"INSERT", "NULL", after}, "u": {"UPDATE", before, after}, "d": {"DELETE", before, "NULL"}} {
		text := fmt.Sprintf(`CREATE TRIGGER %s_%s AFTER %s ON "%s" BEGIN INSERT INTO changes (name, op, before, after) VALUES ('%s', '%s', %s, %s); END`,
			name, op, trigger[0], name, name, op, trigger[1], trigger[2])
		if _, err := d.db.Exec(text); err != nil {
			return err
		}
	}
	return nil
}

// changes takes what the triggers have written.
func (d *testDatabase) changes() (out []*kgo.Record, err error) {
	rows, err := d.db.Query("SELECT name, op, coalesce(before, ''), coalesce(after, '') FROM changes ORDER BY n")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, op, before, after string
		if err := rows.Scan(&name, &op, &before, &after); err != nil {
			return nil, err
		}
		old, key := d.key(name, before), d.key(name, after)
		switch {
		case op == "u" && string(old) != string(key): // a key that changes is a delete and an insert
			out = append(out, d.keyed(old, d.message(name, "d", before, "")), d.keyed(old, d.tombstone()), d.keyed(key, d.message(name, "c", "", after)))
		case op == "d":
			out = append(out, d.keyed(old, d.message(name, op, before, "")))
			if old != nil {
				out = append(out, d.keyed(old, d.tombstone()))
			}
		default:
			out = append(out, d.keyed(key, d.message(name, op, before, after)))
		}
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	_, err = d.db.Exec("DELETE FROM changes")
	return out, err
}

func (d *testDatabase) keyed(key []byte, r *kgo.Record) *kgo.Record {
	r.Key = key
	return r
}

// key returns the message's key for a row.
func (d *testDatabase) key(name, row string) []byte {
	t := d.tables[name]
	if row == "" || len(t.key) == 0 {
		return nil
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(row), &values); err != nil {
		d.t.Fatal(err)
	}
	maps.DeleteFunc(values, func(k string, _ any) bool { return !slices.Contains(t.key, k) })
	b, err := json.Marshal(values)
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

func (d *testDatabase) tombstone() *kgo.Record { return &kgo.Record{Topic: d.topic} }

// message returns an envelope with its schema.
func (d *testDatabase) message(name, op, before, after string) *kgo.Record {
	t := d.tables[name]
	var fields []string
	for i, c := range t.columns {
		typ := "string"
		switch t.types[i] {
		case "int":
			typ = "int32"
		case "bigint":
			typ = "int64"
		}
		fields = append(fields, fmt.Sprintf(`{"type":"%s","optional":%t,"field":"%s"}`, typ, !slices.Contains(t.key, c), c))
	}
	image := func(field string) string {
		return `{"type":"struct","fields":[` + strings.Join(fields, ",") + `],"optional":true,"field":"` + field + `"}`
	}
	null := func(row string) string {
		if row == "" {
			return "null"
		}
		return row
	}
	value := fmt.Sprintf(`{"schema":{"type":"struct","fields":[%s,%s,{"type":"string","field":"op"}]},"payload":{"before":%s,"after":%s,`+
		`"source":{"connector":"mysql","db":"shop","table":"%s","ts_ms":1700000000000},"op":"%s"}}`, image("before"), image("after"), null(before), null(after), name, op)
	return &kgo.Record{Topic: d.topic, Value: []byte(value)}
}

// send writes messages in one transaction.
func (d *testDatabase) send(messages []*kgo.Record) error {
	if len(messages) == 0 {
		return nil
	}
	if err := d.producer.BeginTransaction(); err != nil {
		return err
	}
	if err := d.producer.ProduceSync(context.Background(), messages...).FirstErr(); err != nil {
		return err
	}
	return d.producer.EndTransaction(context.Background(), kgo.TryCommit)
}

// Touch implements sourcetest.Database: a heartbeat.
func (d *testDatabase) Touch() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.send([]*kgo.Record{{Topic: d.topic, Value: []byte(`{"ts_ms":0}`)}})
}

// Source implements sourcetest.Database.
func (d *testDatabase) Source(t *testing.T, _ string, options map[string]string) source.Source {
	t.Helper()
	opts := map[string]string{optServers: strings.Join(d.brokers, ","), optTopic: d.topic}
	for k, v := range options {
		if k == optStart && v == "snapshot" { // the suite's name for: read what is there, then end
			k, v = optStop, "latest-offset"
		}
		opts[k] = v
	}
	return open(t, opts)
}

func open(t testing.TB, opts map[string]string) *Source {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	src, err := New(opts, func(schema.TableID) bool { return true }, logger)
	if err != nil {
		t.Fatal(err)
	}
	return src
}
