package document_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/pipeline/document"
)

// kinds are a source and a sink with options of every type.
var kinds = document.Kinds{
	Sources: map[string][]document.Option{"postgres": {
		{Key: "hostname", Type: "string", Required: true, Doc: "the server's name or address"},
		{Key: "port", Type: "int", Default: "5432"},
		{Key: "username", Type: "string"},
		{Key: "password", Type: "string", Secret: true},
		{Key: "url", Type: "string"},
		{Key: "tables", Type: "string", Required: true, Doc: "the tables to capture, for instance shop.public.\\.*"},
		{Key: "tables.exclude", Type: "string"},
		{Key: "slot.name", Type: "string"},
		{Key: "schema-change.enabled", Type: "bool"},
		{Key: "heartbeat.interval", Type: "duration"},
		{Key: "chunk.bytes", Type: "bytes"},
		{Key: "scan.startup.mode", Type: "enum", Values: []string{"initial", "latest-offset", "snapshot"}},
	}},
	Sinks: map[string][]document.Option{"iceberg": {
		{Key: "catalog.properties.warehouse", Type: "string", Required: true, Doc: "file:///path"},
		{Key: "catalog.properties.*", Type: "string"},
		{Key: "write.mode", Type: "enum", Values: []string{"upsert", "append"}},
	}},
}

var env = document.Environment{
	LookupEnv: func(name string) (string, bool) {
		v, ok := map[string]string{"PGHOST": "db.example", "PGPASSWORD": "hunter2secret", "EMPTY": "", "PGPORT": "54x32"}[name]
		return v, ok
	},
	ReadFile: func(path string) ([]byte, error) {
		if path == "/run/secrets/pg" {
			return []byte("from-a-file\n"), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	},
}

// TestScripts: a document goes in; the document with its defaults, or all its
// problems, come out.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			doc, err := document.Parse("/etc/freshet/shop.yaml", []byte(td.Input), kinds, env)
			var out string
			if err != nil {
				out = strings.ReplaceAll(err.Error(), "/etc/freshet/", "") + "\n"
			} else {
				out = doc.String()
			}
			for _, secret := range []string{"hunter2secret", "from-a-file", "54x32"} {
				if strings.Contains(out, secret) {
					t.Errorf("%s: %q was printed", td.Pos, secret)
				}
			}
			return out
		})
	})
}

const minimal = `
source: {type: postgres, hostname: h, tables: s.t, username: app, password: "${PGPASSWORD}"}
sink: {type: iceberg, catalog.properties.warehouse: "file:///w", catalog.properties.s3.secret-access-key: abcdEfgh}
`

func parse(t *testing.T, text string) *document.Document {
	t.Helper()
	doc, err := document.Parse("/etc/freshet/shop.yaml", []byte(text), kinds, env)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDefaults(t *testing.T) {
	p := parse(t, minimal).Pipeline
	want := document.Settings{
		Name: "shop", Parallelism: 1, CheckpointInterval: 10 * time.Second, CheckpointTimeout: 10 * time.Minute,
		CheckpointDir: "/etc/freshet/checkpoints/shop", RetainedCheckpoints: 3, StateBackend: "pebble",
		Restart:        document.Restart{Initial: time.Second, Max: time.Minute, Multiplier: 1.5, Jitter: 0.1, ResetAfter: time.Hour},
		MetricsAddress: "127.0.0.1:9249", MetricsDefault: true,
	}
	if p != want {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

func TestSettings(t *testing.T) {
	p := parse(t, minimal+`
pipeline:
  name: my shop
  parallelism: 4
  pipeline.max-parallelism: 256
  execution.checkpointing.interval: 3 min
  execution.checkpointing.timeout: 500
  execution.checkpointing.min-pause: 250 ms
  state.checkpoints.dir: file:///data/cp
  execution.checkpointing.num-retained: 5
  execution.checkpointing.tolerable-failed-checkpoints: 2
  state.backend.type: HashMap
  restart-strategy.type: fixed-delay
  restart-strategy.fixed-delay.attempts: 7
  restart-strategy.fixed-delay.delay: 2 s
  route-mode: first_match
  local-time-zone: GMT+08:00
  schema.change.behavior: EVOLVE
  metrics.address: off
`).Pipeline
	if p.LocalTimeZone == nil || p.LocalTimeZone.String() != "GMT+08:00" {
		t.Errorf("zone %v", p.LocalTimeZone)
	}
	p.LocalTimeZone = nil
	want := document.Settings{
		Name: "my shop", Parallelism: 4, MaxParallelism: 256, CheckpointInterval: 3 * time.Minute, CheckpointTimeout: 500 * time.Millisecond,
		CheckpointPause: 250 * time.Millisecond, CheckpointDir: "/data/cp", RetainedCheckpoints: 5, TolerableCheckpoints: 2, StateBackend: "hashmap",
		Restart:    document.Restart{Initial: 2 * time.Second, Max: 2 * time.Second, Multiplier: 1, Jitter: -1, ResetAfter: 100 * 365 * 24 * time.Hour, Attempts: 7},
		FirstMatch: true, SchemaChangeBehavior: "evolve",
	}
	if p != want {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

// TestSecretsAreRedacted: no text keeps a secret, and no harmless word is taken for one.
func TestSecretsAreRedacted(t *testing.T) {
	doc := parse(t, minimal)
	got := doc.Redact(`password "hunter2secret" of app, key abcdEfgh, url postgres://app:pw@h/db, dsn user=app password='x y' host=h`)
	want := `password "******" of app, key ******, url postgres://app:******@h/db, dsn user=app password=****** host=h`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	same := parse(t, strings.Replace(minimal, `"${PGPASSWORD}"`, "shop, slot.name: shop", 1))
	if got := same.Redact("table shop.public.orders"); got != "table shop.public.orders" {
		t.Errorf("a word that is public elsewhere was masked: %s", got)
	}
}

func TestDurationsAndSizes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "3 min": 3 * time.Minute, "500": 500 * time.Millisecond, "1 d": 24 * time.Hour, "2 Hours": 2 * time.Hour, "5m": 5 * time.Minute, "7 µs": 7 * time.Microsecond, "1.5s": 1500 * time.Millisecond, "1m30s": 90 * time.Second,
	} {
		if got, err := document.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]int64{"12": 12, "64mb": 64 << 20, "1 g": 1 << 30, "3 KiB": 3072} {
		if got, err := document.ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "s", "-1s", "1.5x", "10 fortnights", "99999999999999 d"} {
		if d, err := document.ParseDuration(text); err == nil {
			t.Errorf("%q was taken as %v", text, d)
		}
	}
}

// FuzzParse: whatever comes in, problems or a document come out.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("a: &x [*x]\nsource: *x"))
	f.Add([]byte("source: &a {b: *a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := document.Parse("f.yaml", data, kinds, env)
		if p := (document.Problems{}); err != nil && !errors.As(err, &p) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

// TestURLsHideTheirPasswordAlone: the rest of a secret URL helps people.
func TestURLsHideTheirPasswordAlone(t *testing.T) {
	doc := parse(t, `
source: {type: postgres, hostname: h, tables: s.t, password: "postgres://app:hunt%20er22@db/shop"}
sink: {type: iceberg, catalog.properties.warehouse: "file:///w", catalog.properties.token: "user=x password=abc4ef host=y"}
`)
	if got := doc.Redact("postgres://app:x@db: hunt er22, hunt%20er22, abc4ef, host=y"); got != "postgres://app:******@db: ******, ******, ******, host=y" {
		t.Error(got)
	}
	if text := doc.String(); strings.Contains(text, "hunt") || !strings.Contains(text, "postgres://app:******@db/shop") {
		t.Error(text)
	}
}
