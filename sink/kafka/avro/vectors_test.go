package avro_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet-cdc/freshet/sink/kafka/avro"
)

// vectorsDir is where the messages of a real Debezium lie.
func vectorsDir(t *testing.T) string {
	dir := os.Getenv("FRESHET_DEBEZIUM_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "conformance", "debezium")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no conformance vectors of Debezium in %s (set FRESHET_DEBEZIUM_CASES)", dir)
	}
	return dir
}

// lines reads a file of JSON, an object a line.
func lines[T any](t *testing.T, path string) (out []T) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 1<<26)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, v)
	}
	return out
}

// datum is a key or a value in an expected file.
type datum struct {
	Schema int    `json:"schema"`
	Hex    string `json:"hex"`
}

// avroLine introduces a schema, or is a record.
type avroLine struct {
	Schema int             `json:"schema"`
	Text   json.RawMessage `json:"avsc"`
	Topic  string          `json:"topic"`
	Key    *datum          `json:"key"`
	Value  *datum          `json:"value"`
}

// jsonLine is a record with JSON; its parts have a schema where the case has.
type jsonLine struct {
	Key, Value *struct {
		Schema  json.RawMessage `json:"schema"`
		Payload json.RawMessage `json:"payload"`
	}
}

// otherJSON are the cases whose JSON is made by options of the JsonConverter that Avro's
// does not have.
var otherJSON = map[string]string{
	"mysql/columns-defaults-keep-null":   "Avro's converter always writes the default for NULL",
	"mysql/types-decimal-numeric-format": "decimals are numbers in JSON",
}

// TestVectors: of what a real Debezium wrote, schemas and data in Avro follow from the JSON with
// schemas, byte for byte.
func TestVectors(t *testing.T) {
	dir := vectorsDir(t)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "expected.avro.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	passed, elsewhere := 0, 0
	for _, file := range files {
		name, _ := filepath.Rel(dir, filepath.Dir(file))
		if otherJSON[filepath.ToSlash(name)] != "" {
			elsewhere++
			continue
		}
		t.Run(name, func(t *testing.T) {
			if vector(t, filepath.Dir(file)) {
				passed++
			}
		})
	}
	fmt.Printf("avro from schemas: passed %d of %d; %d have JSON by other options\n", passed, len(files), elsewhere)
}

func vector(t *testing.T, dir string) bool {
	schemas := map[int]string{}
	var records []avroLine
	for _, l := range lines[avroLine](t, filepath.Join(dir, "expected.avro.jsonl")) {
		if l.Text != nil {
			schemas[l.Schema] = string(l.Text)
		} else {
			records = append(records, l)
		}
	}
	from := lines[jsonLine](t, filepath.Join(dir, "expected.schemas.jsonl"))
	if len(from) != len(records) {
		t.Fatalf("%d records in JSON, %d in Avro", len(from), len(records))
	}
	for i, r := range records {
		for n, part := range []*datum{r.Key, r.Value} {
			in := from[i].Key
			if n == 1 {
				in = from[i].Value
			}
			if in != nil && string(in.Payload) == "null" { // JsonConverter writes the schema of what is not there
				in = nil
			}
			if (in == nil) != (part == nil) {
				t.Errorf("record %d: one of JSON and Avro is null", i)
				return false
			}
			if in == nil {
				continue
			}
			codec, err := avro.Derive(in.Schema)
			if err != nil {
				t.Errorf("record %d: %v", i, err)
				return false
			}
			if got, want := codec.Schema(), schemas[part.Schema]; got != want {
				t.Errorf("record %d: schema\n got %s\nwant %s", i, got, want)
				return false
			}
			got, err := codec.Append(nil, in.Payload)
			if err != nil || hex.EncodeToString(got) != part.Hex {
				t.Errorf("record %d: %v\n got %x\nwant %s", i, err, got, part.Hex)
				return false
			}
		}
	}
	return true
}
