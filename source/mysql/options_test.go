package mysql

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

const password = "s3cret-Never-Shown"

// with returns options that are complete, with more.
func with(more ...string) map[string]string {
	o := map[string]string{"hostname": "db.example.org", "username": "cdc", "password": password, "tables": `shop.\.*`}
	for i := 0; i < len(more); i += 2 {
		o[more[i]] = more[i+1]
	}
	return o
}

func TestDefaults(t *testing.T) {
	c, err := newConfig(with(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.conn.Host != "db.example.org" || c.conn.Port != 3306 || c.conn.Timeout != 30*time.Second || c.conn.Retries != 3 || c.conn.TLS.Mode != wire.TLSPreferred {
		t.Errorf("connection %v", c.conn)
	}
	if c.mode != modeInitial || c.chunkSize != 100_000 || c.readers != 2 || c.heartbeat != 30*time.Second || c.firstID != 0 || c.withoutGTID || c.rereadRewritten {
		t.Errorf("%+v", c)
	}
	if want := (value.Options{TinyInt1IsBool: true, LegacyJSON: true}); c.values != want {
		t.Errorf("values %+v", c.values)
	}
}

func TestOptions(t *testing.T) {
	c, err := newConfig(with("hostname", "/run/mysqld/mysqld.sock", "server-id", "5400-6400", "connect.max-retries", "0", "zero-dates", "epoch", "time.mode", "string",
		"treat-tinyint1-as-boolean.enabled", "false", "use.legacy.json.format", "false", "scan.startup.mode", "specific-offset",
		"scan.startup.specific-offset.file", "binlog.000003", "scan.startup.specific-offset.pos", "1234", "scan.startup.specific-offset.skip-events", "2",
		"scan.startup.specific-offset.skip-rows", "3", "scan.incremental.snapshot.chunk.key-column", "shop.t:id"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.conn.Socket != "/run/mysqld/mysqld.sock" || c.conn.Host != "" || c.firstID != 5400 || c.lastID != 6400 || c.conn.Retries != 0 {
		t.Errorf("%v %d %d", c.conn, c.firstID, c.lastID)
	}
	if want := (value.Options{ZeroDates: value.ZeroDateEpoch, Time: value.TimeText}); c.values != want {
		t.Errorf("values %+v", c.values)
	}
	if o := c.offset; o.file != "binlog.000003" || o.pos != 1234 || o.skipEvents != 2 || o.skipRows != 3 {
		t.Errorf("offset %+v", o)
	}
}

func TestOptionErrors(t *testing.T) {
	for _, c := range []struct {
		options []string
		key     string
		says    string
	}{
		{[]string{"hostnme", "x"}, "hostnme", "unknown option"},
		{[]string{"port", "70000"}, "port", "no port"},
		{[]string{"port", "0"}, "port", "from 1 on"},
		{[]string{"ssl.mode", "on"}, "ssl.mode", "not one of"},
		{[]string{"ssl.mode", "verify_ca", "ssl.ca", "/nowhere/ca.pem"}, "ssl.ca", "/nowhere/ca.pem"},
		{[]string{"ssl.cert", "/nowhere/c.pem"}, "ssl.cert", "both"},
		{[]string{"ssl.cert", "/nowhere/c.pem", "ssl.key", "/nowhere/k.pem"}, "ssl.cert", "/nowhere/c.pem"},
		{[]string{"server-id", "0"}, "server-id", "no server id"},
		{[]string{"server-id", "6400-5400"}, "server-id", "no server id"},
		{[]string{"server-id", "4294967296"}, "server-id", "no server id"},
		{[]string{"connect.timeout", "30"}, "connect.timeout", "unit"},
		{[]string{"scan.startup.mode", "newest"}, "scan.startup.mode", "not one of"},
		{[]string{"scan.startup.mode", "specific-offset"}, "scan.startup.mode", "needs a place"},
		{[]string{"scan.startup.mode", "specific-offset", "scan.startup.specific-offset.pos", "4"}, "scan.startup.specific-offset.pos", "its file"},
		{[]string{"scan.startup.mode", "specific-offset", "scan.startup.specific-offset.file", "b.1", "scan.startup.specific-offset.pos", "3"}, "scan.startup.specific-offset.pos", "begins at 4"},
		{[]string{"scan.startup.mode", "specific-offset", "scan.startup.specific-offset.file", "b.1", "scan.startup.specific-offset.pos", "-4"}, "scan.startup.specific-offset.pos", "whole number"},
		{[]string{"scan.startup.mode", "timestamp"}, "scan.startup.timestamp-millis", "required"},
		{[]string{"scan.startup.timestamp-millis", "1"}, "scan.startup.timestamp-millis", "does not go with"},
		{[]string{"scan.startup.specific-offset.gtid-set", "a:1"}, "scan.startup.specific-offset.gtid-set", "does not go with"},
		{[]string{"scan.newly-added-table.enabled", "true", "scan.binlog.newly-added-table.enabled", "true"}, "scan.binlog.newly-added-table.enabled", "together"},
		{[]string{"scan.incremental.snapshot.backfill.skip", "true"}, "scan.incremental.snapshot.backfill.skip", "twice"},
		{[]string{"schema-change.enabled", "false"}, "schema-change.enabled", "schema.change.behavior"},
		{[]string{"metadata.list", "op_ts"}, "metadata.list", "not supported"},
		{[]string{"jdbc.properties.useSSL", "false"}, "jdbc.properties.useSSL", "use ssl.mode"},
		{[]string{"jdbc.properties.zeroDateTimeBehavior", "round"}, "jdbc.properties.zeroDateTimeBehavior", "use zero-dates"},
		{[]string{"debezium.snapshot.mode", "initial"}, "debezium.snapshot.mode", "use scan.startup.mode"},
		{[]string{"debezium.min.row.count.to.stream.results", "1"}, "debezium.min.row.count.to.stream.results", "leave it out"},
	} {
		_, err := newConfig(with(c.options...), nil)
		var bad *source.OptionError
		if !errors.As(err, &bad) || bad.Key != c.key || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.options, err)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%v: the password is shown", c.options)
		}
	}
	for _, key := range []string{"hostname", "username", "tables"} {
		o := with()
		delete(o, key)
		var bad *source.OptionError
		if _, err := newConfig(o, nil); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("without %s: %v", key, err)
		}
	}
}

// TestFlinkOptions: every option of Flink CDC's MySQL source is known by its name,
// with its default, except where another is stated here.
func TestFlinkOptions(t *testing.T) {
	defaults := map[string]string{
		"hostname": "", "username": "", "password": "", "tables": "", "port": "3306", "tables.exclude": "", "server-id": "", "server-time-zone": "", "schema-change.enabled": "true",
		"scan.startup.mode": "initial", "scan.startup.specific-offset.file": "", "scan.startup.specific-offset.pos": "", "scan.startup.specific-offset.gtid-set": "",
		"scan.startup.specific-offset.skip-events": "", "scan.startup.specific-offset.skip-rows": "", "scan.startup.timestamp-millis": "",
		"scan.incremental.snapshot.chunk.size": "8096", "scan.snapshot.fetch.size": "1024", "scan.incremental.snapshot.backfill.skip": "false",
		"scan.incremental.snapshot.unbounded-chunk-first.enabled": "false", "scan.incremental.close-idle-reader.enabled": "false", "scan.newly-added-table.enabled": "false",
		"scan.binlog.newly-added-table.enabled": "false", "scan.parse.online.schema.changes.enabled": "false", "connect.timeout": "30s", "connect.max-retries": "3",
		"connection.pool.size": "20", "heartbeat.interval": "30s", "jdbc.properties.*": "", "debezium.*": "", "include-comments.enabled": "false",
		"treat-tinyint1-as-boolean.enabled": "true", "use.legacy.json.format": "true", "metadata.list": "", "chunk-meta.group.size": "1000",
		"chunk-key.even-distribution.factor.upper-bound": "1000.0", "chunk-key.even-distribution.factor.lower-bound": "0.05", "scan.incremental.snapshot.chunk.key-column": "",
	}
	// Ours: larger chunks, online changes are always followed, comments always carried.
	maps.Copy(defaults, map[string]string{"scan.incremental.snapshot.chunk.size": "100000", "scan.parse.online.schema.changes.enabled": "true", "include-comments.enabled": "true"})
	specs := map[string]source.OptionSpec{}
	for _, s := range Specs() {
		if _, twice := specs[s.Key]; twice {
			t.Errorf("%s is there twice", s.Key)
		}
		specs[s.Key] = s
		if s.Doc == "" {
			t.Errorf("%s has no text", s.Key)
		}
	}
	for key, def := range defaults {
		if s, ok := specs[key]; !ok || s.Default != def {
			t.Errorf("%s: %v, default %q", key, ok, s.Default)
		}
	}
}

func TestConfigShowsNoPassword(t *testing.T) {
	c, err := newConfig(with(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(c.conn), fmt.Sprintf("%#v", c.conn), c.connectError(errors.New("x")).Error()} {
		if strings.Contains(text, password) {
			t.Error(text)
		}
	}
}
