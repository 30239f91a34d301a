package debezium_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// casesDir is where the messages of a real Debezium lie; see DebeziumCases.
func casesDir(t *testing.T) string {
	dir := os.Getenv("FRESHET_DEBEZIUM_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "conformance", "debezium")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no conformance vectors of Debezium in %s (set FRESHET_DEBEZIUM_CASES)", dir)
	}
	if os.Getenv("FRESHET_E2E") == "" {
		t.Skip("the cases need servers: run it by e2e/run.sh")
	}
	return dir
}

// otherParts are options of cases that are about something else than the encoder.
var otherParts = regexp.MustCompile(`(?m)^(signal\.|include\.schema\.changes=true|transforms\.\w+\.type=.*ExtractSchemaToNewRecord)`)

// record is a line of an expected file, and what is compared.
type record struct {
	Topic   string               `json:"topic"`
	Headers []map[string]rawText `json:"headers"`
	Key     rawText              `json:"key"`
	Value   rawText              `json:"value"`
}

// rawText keeps the bytes of a value, also of null.
type rawText string

func (r *rawText) UnmarshalJSON(b []byte) error { *r = rawText(b); return nil }

func (r record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Topic)
	for _, h := range r.Headers {
		for name, value := range h {
			fmt.Fprintf(&b, " [%s %s]", name, value)
		}
	}
	fmt.Fprintf(&b, " %s %s", r.Key, r.Value)
	return b.String()
}

func readExpected(t *testing.T, path string) []record {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []record
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, r)
	}
	return out
}

// A debeziumCase is one directory.
type debeziumCase struct {
	dir, name, server string
	properties        map[string]string
	setup, changes    []string
}

func loadCase(t *testing.T, dir, name string) debeziumCase {
	c := debeziumCase{dir: filepath.Join(dir, name), name: name, properties: map[string]string{}}
	c.server, _, _ = strings.Cut(name, "/")
	text, err := os.ReadFile(filepath.Join(c.dir, "config.properties"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			c.properties[key] = value
		}
	}
	c.setup = statements(t, filepath.Join(c.dir, "setup.sql"))
	c.changes = statements(t, filepath.Join(c.dir, "changes.sql"))
	return c
}

// statements reads a file of SQL: a statement ends with a semicolon at the end of a line.
func statements(t *testing.T, path string) (out []string) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, "--") || b.Len() == 0 && strings.TrimSpace(line) == "" {
			continue
		}
		b.WriteString(line + "\n")
		if s := strings.TrimSpace(line); strings.HasSuffix(s, ";") {
			out = append(out, strings.TrimSuffix(strings.TrimSpace(b.String()), ";"))
			b.Reset()
		}
	}
	return out
}

// TestDebeziumCases runs the SQL of each case on the real server through our source,
// and compares the messages with those of the real Debezium, byte for byte but for
// what both sides mask.
func TestDebeziumCases(t *testing.T) {
	dir := casesDir(t)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "config.properties"))
	if err != nil {
		t.Fatal(err)
	}
	passed, total, elsewhere := 0, 0, 0
	for _, file := range files {
		rel, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.ToSlash(rel)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if total++; otherParts.Match(text) {
			elsewhere++
			continue
		}
		t.Run(name, func(t *testing.T) {
			ok, report := runCase(t, loadCase(t, dir, name))
			switch reason := different[name]; {
			case ok:
				if passed++; reason+open[name] != "" {
					t.Errorf("is the same, so it does not belong on the list: %s%s", reason, open[name])
				}
			case reason != "" || open[name] != "":
				t.Logf("differs (%s%s): %s", reason, open[name], report)
			default:
				t.Error(report)
			}
		})
	}
	fmt.Printf("passed %d of %d; %d are about other parts than the encoder\n", passed, total, elsewhere)
}

// runCase reports whether all messages are the same, and the first that is not.
func runCase(t *testing.T, c debeziumCase) (bool, string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, err := play(ctx, t, c)
	if err != nil {
		return false, err.Error()
	}
	for i, file := range []string{"expected.plain.jsonl", "expected.schemas.jsonl"} {
		want := readExpected(t, filepath.Join(c.dir, file))
		if ok, report := compare(got[i], want); !ok {
			return false, file + ": " + report
		}
	}
	return true, ""
}

// compare looks at each topic for itself: between topics Kafka knows no order.
func compare(got, want []record) (bool, string) {
	for _, records := range [][]record{got, want} {
		slices.SortStableFunc(records, func(a, b record) int { return strings.Compare(a.Topic, b.Topic) })
	}
	for i, w := range want {
		if i >= len(got) {
			return false, fmt.Sprintf("message %d is missing\nwant %s", i, w)
		}
		if g, w := got[i].String(), w.String(); g != w {
			at := 0
			for at < min(len(g), len(w)) && g[at] == w[at] {
				at++
			}
			from := max(at-60, 0)
			return false, fmt.Sprintf("message %d differs at %d\n got %s\nwant %s", i, at, g[from:min(at+160, len(g))], w[from:min(at+160, len(w))])
		}
	}
	if len(got) > len(want) {
		return false, fmt.Sprintf("message %d is too many: %s", len(want), got[len(want)])
	}
	return true, ""
}

// These are made zero, for no two runs have them alike, and no others: those that the
// README of the cases lists. What is null stays null.
var (
	maskedNumbers = regexp.MustCompile(`"(ts_ms|ts_us|ts_ns|pos|thread|lsn|xmin|txId)":-?\d+`)
	maskedTexts   = regexp.MustCompile(`"(file|gtid|sequence)":"(?:[^"\\]|\\.)*"`)
	maskedID      = regexp.MustCompile(`"id":"(?:[^"\\]|\\.)*"`)
	maskedCopies  = regexp.MustCompile(`"(__(?:source_)?(?:ts_ms|ts_us|ts_ns|pos|thread|lsn|xmin|txId))":-?\d+`)
	maskedStrings = regexp.MustCompile(`"(__(?:source_)?(?:file|gtid|sequence))":"(?:[^"\\]|\\.)*"`)
)

func mask(topic string, value []byte) string {
	text := string(value)
	if strings.HasSuffix(topic, "transaction") || strings.HasSuffix(topic, "_tx") || strings.Contains(topic, "heartbeat") || strings.HasPrefix(topic, "beat") {
		return maskedID.ReplaceAllString(maskedNumbers.ReplaceAllString(text, `"$1":0`), `"id":"0"`)
	}
	i := strings.LastIndex(text, `"source":{`)
	if i < 0 {
		return maskedStrings.ReplaceAllString(maskedCopies.ReplaceAllString(text, `"$1":0`), `"$1":"0"`)
	}
	head, tail := text[:i], text[i:]
	tail = maskedTexts.ReplaceAllString(maskedNumbers.ReplaceAllString(tail, `"$1":0`), `"$1":"0"`)
	if block, rest, ok := strings.Cut(tail, `"transaction":{`); ok {
		tail = block + `"transaction":{` + maskedID.ReplaceAllString(rest, `"id":"0"`)
	}
	return head + tail
}

// maskHeader masks copies of what is masked in values.
func maskHeader(key string, value []byte) string {
	if key == "__debezium.context.runId" {
		return `"0"`
	}
	text := mask("", fmt.Appendf(nil, "%q:%s", key, value))
	return strings.TrimPrefix(text, fmt.Sprintf("%q:", key))
}
