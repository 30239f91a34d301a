package format

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// casesDir is where the messages of a real Debezium lie.
func casesDir(t *testing.T) string {
	dir := os.Getenv("FRESHET_DEBEZIUM_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "conformance", "debezium")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no conformance vectors of Debezium in %s (set FRESHET_DEBEZIUM_CASES)", dir)
	}
	return dir
}

// log takes what a decoder emits as lines.
type log struct {
	t     testing.TB
	lines []string
	mem   *memory.CheckedAllocator
	set   *table.Set
}

// newLog returns a log and a set of tables that writes to it.
func newLog(t testing.TB, needs source.Needs, placeholder string, given func(schema.TableID) *schema.Table) *log {
	l := &log{t: t, mem: memory.NewCheckedAllocator(memory.DefaultAllocator)}
	if given == nil {
		given = func(schema.TableID) *schema.Table { return nil }
	}
	l.set = table.NewSet(table.Config{Needs: needs, Match: func(schema.TableID) bool { return true }, Given: given, Placeholder: placeholder,
		MaxRows: 100, MaxBytes: 1 << 20, Emit: l.emit, Memory: l.mem})
	return l
}

func (l *log) emit(e source.Element) error {
	if c := e.Change; c != nil {
		line := fmt.Sprintf("%s %s", c.Kind, c.Table)
		for _, col := range c.Columns {
			line += fmt.Sprintf(" %s %s null=%t", col.Name, col.Type, col.Nullable)
		}
		if c.Kind == schema.ChangeCreateTable {
			for _, col := range c.After.Columns {
				line += fmt.Sprintf(" %s %s null=%t", col.Name, col.Type, col.Nullable)
			}
			line += fmt.Sprint(" key=", c.After.PrimaryKey)
		}
		l.lines = append(l.lines, line)
		return nil
	}
	defer e.Batch.Release()
	b := e.Batch
	rows := 0
	for _, tx := range b.Txs {
		rows += tx.Rows
	}
	if rows != b.Rows() || len(b.Positions) != rows || len(b.Ordinals) != rows {
		return fmt.Errorf("%d rows in transactions, %d in the batch", rows, b.Rows())
	}
	for i := range b.Rows() {
		line := fmt.Sprintf("%c %s", b.Op(i), b.Table.ID)
		for c, col := range b.Table.Columns {
			line += fmt.Sprintf(" %s=%s", col.Name, b.Record.Column(c).ValueStr(i))
			if slices.Contains(b.Unchanged, schema.Cell{Row: int32(i), Column: int32(c)}) {
				line += "(unchanged)"
			}
		}
		if b.Before != nil && (b.Op(i) == schema.OpUpdate || b.Op(i) == schema.OpDelete) {
			line += " <-"
			for c, col := range b.Table.Columns {
				line += fmt.Sprintf(" %s=%s", col.Name, b.Before.Column(c).ValueStr(i))
			}
		}
		l.lines = append(l.lines, line)
	}
	return nil
}

// end flushes and checks that no memory is left.
func (l *log) end() []string {
	l.t.Helper()
	if err := l.set.Flush(); err != nil {
		l.t.Fatal(err)
	}
	l.set.Release()
	l.mem.AssertSize(l.t, 0)
	return l.lines
}

// record is a line of an expected file.
type record struct {
	topic      string
	key, value []byte
}

// schemas is a registry.
type schemas map[int]string

func (s schemas) SchemaByID(_ context.Context, id int) (sr.Schema, error) {
	return sr.Schema{Schema: s[id]}, nil
}

func (s schemas) SchemaByVersion(context.Context, string, int) (sr.SubjectSchema, error) {
	return sr.SubjectSchema{}, os.ErrNotExist
}

func readRecords(t *testing.T, path string, registry schemas) (out []record) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var l struct {
			Topic      string
			Key, Value json.RawMessage
			Schema     int
			Avsc       json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Avsc != nil {
			registry[l.Schema] = string(l.Avsc)
			continue
		}
		out = append(out, record{l.Topic, datumOf(t, l.Key, registry != nil), datumOf(t, l.Value, registry != nil)})
	}
	return out
}

// datumOf returns the bytes of a key or value, nil for none.
func datumOf(t *testing.T, raw json.RawMessage, avro bool) []byte {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	if !avro {
		return raw
	}
	var d struct {
		Schema uint32
		Hex    string
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(d.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, d.Schema), b...)
}

// decodeAll decodes records and returns the lines; an error is the last line.
func decodeAll(t *testing.T, o Options, records []record) []string {
	t.Helper()
	l := newLog(t, source.Needs{Before: true, KeylessUpdates: true, ResolvesUnchanged: true}, o.Placeholder, nil)
	d, err := New(o, l.set)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if err := d.Decode(t.Context(), &Message{Topic: r.topic, Position: uint64(i), Key: r.key, Value: r.value}); err != nil {
			return append(l.lines, fmt.Sprintf("record %d: error: %v", i, err))
		}
		if err := l.set.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return l.end()
}

// TestDebeziumCases reads what a real Debezium wrote: JSON with schemas and Avro have to
// give the same rows, and JSON without schemas the same operations.
func TestDebeziumCases(t *testing.T) {
	dir := casesDir(t)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "expected.schemas.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s, %v", dir, err)
	}
	for _, file := range files {
		rel, _ := filepath.Rel(dir, filepath.Dir(file))
		t.Run(filepath.ToSlash(rel), func(t *testing.T) { debeziumCase(t, filepath.Dir(file), filepath.ToSlash(rel)) })
	}
}

func debeziumCase(t *testing.T, dir, name string) {
	config, err := os.ReadFile(filepath.Join(dir, "config.properties"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Value: DebeziumJSON, Key: JSON, Placeholder: "__debezium_unavailable_value", Schema: true, Precise: true}
	for line := range strings.Lines(string(config)) {
		if v, ok := strings.CutPrefix(line, "unavailable.value.placeholder="); ok {
			o.Placeholder = strings.TrimSpace(v)
		}
	}
	if strings.HasPrefix(filepath.Base(dir), "smt-flatten") || strings.HasSuffix(dir, "smt-outbox") {
		o.Value = JSON
	}
	withSchemas := decodeAll(t, o, readRecords(t, filepath.Join(dir, "expected.schemas.jsonl"), nil))
	if os.Getenv("TEST_LOG") != "" {
		t.Log("\n" + strings.Join(withSchemas, "\n"))
	}
	withSchemas = append([]string{""}, withSchemas...)
	if want := refused[name]; want != "" || strings.Contains(withSchemas[len(withSchemas)-1], "error:") {
		if want == "" || !strings.Contains(withSchemas[len(withSchemas)-1], want) {
			t.Fatalf("the last line is %.300s", withSchemas[len(withSchemas)-1])
		}
	}
	registry := schemas{}
	if file := filepath.Join(dir, "expected.avro.jsonl"); exists(file) && name != "mysql/columns-defaults-keep-null" { // in Avro its nulls are defaults
		a := o
		a.Registry, a.Key, a.Value = registry, Avro, DebeziumAvro
		if o.Value == JSON {
			a.Value = Avro
		}
		compareLines(t, "Avro", decodeAll(t, a, readRecords(t, file, registry)), withSchemas[1:])
	}
	o.Schema = false
	plain := decodeAll(t, o, readRecords(t, filepath.Join(dir, "expected.plain.jsonl"), nil))
	if os.Getenv("TEST_LOG") != "" {
		t.Log("\n" + strings.Join(plain, "\n"))
	}
	if refused[name] == "" && name != "postgres/types-float-nan-infinity" { // "NaN" is a text like others
		compareLines(t, "without schemas", operations(plain), operations(withSchemas))
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// operations keeps of lines that are rows the operation and the table.
func operations(lines []string) (out []string) {
	for _, l := range lines {
		if len(l) > 2 && l[1] == ' ' {
			parts := strings.SplitN(l, " ", 3)
			out = append(out, parts[0]+" "+parts[1])
		}
	}
	return out
}

func compareLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("%s, line %d:\ngot  %.2000s\nwant %.2000s", what, i, g, w)
		}
	}
}

// refused are the cases that end with an error, with a part of it.
var refused = map[string]string{
	"mysql/smt-outbox": "the value is no row", "postgres/smt-outbox": "the value is no row", // a payload
}
