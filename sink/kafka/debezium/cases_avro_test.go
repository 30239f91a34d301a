package debezium_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/sink/kafka/avro"
)

// sameInAvro are the cases of the lists whose difference is in JSON alone.
var sameInAvro = []string{"mysql/smt-flatten", "postgres/smt-flatten"}

// onlyInAvro are the cases that differ in Avro alone.
var onlyInAvro = map[string]string{
	"mysql/types-decimal-numeric-format": "decimals in JSON are numbers by an option, which Avro does not have",
}

// TestDebeziumCasesAvro runs the cases as TestDebeziumCases does, and compares schemas and data in
// Avro with those of the real Debezium, byte for byte.
func TestDebeziumCasesAvro(t *testing.T) {
	dir := casesDir(t)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "expected.avro.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	passed, elsewhere := 0, 0
	for _, file := range files {
		rel, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.ToSlash(rel)
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "config.properties"))
		if err != nil {
			t.Fatal(err)
		}
		if otherParts.Match(text) {
			elsewhere++
			continue
		}
		reason := different[name] + open[name] + onlyInAvro[name]
		if slices.Contains(sameInAvro, name) {
			reason = ""
		}
		t.Run(name, func(t *testing.T) {
			ok, report := runAvroCase(t, loadCase(t, dir, name))
			switch {
			case ok:
				if passed++; reason != "" {
					t.Logf("is the same in Avro: %s", reason)
				}
			case reason != "":
				t.Logf("differs (%s): %s", reason, report)
			default:
				t.Error(report)
			}
		})
	}
	fmt.Printf("avro: passed %d of %d; %d are about other parts than the encoder\n", passed, len(files), elsewhere)
}

func runAvroCase(t *testing.T, c debeziumCase) (bool, string) {
	got, err := play(t.Context(), t, c)
	if err != nil {
		return false, err.Error()
	}
	for i, r := range got[1] {
		for _, part := range []*rawText{&r.Key, &r.Value} {
			if *part, err = inAvro(*part); err != nil {
				return false, err.Error()
			}
		}
		r.Headers = nil // they are JSON in each format
		got[1][i] = r
	}
	return compare(got[1], readAvroExpected(t, filepath.Join(c.dir, "expected.avro.jsonl")))
}

// inAvro turns a key or a value with its schema into Avro's schema and data.
func inAvro(text rawText) (rawText, error) {
	var in struct{ Schema, Payload json.RawMessage }
	if err := json.Unmarshal([]byte(text), &in); err != nil || string(in.Payload) == "null" || text == "null" {
		return "null", err
	}
	codec, err := avro.Derive(in.Schema)
	if err != nil {
		return "", err
	}
	data, err := codec.Append(nil, in.Payload)
	return rawText(fmt.Sprintf("%s %x", codec.Schema(), data)), err
}

// readAvroExpected reads records with their schemas in the place of their numbers.
func readAvroExpected(t *testing.T, path string) (out []record) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[int]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		type datum struct {
			Schema int
			Hex    string
		}
		var l struct {
			Schema     int
			Avsc       json.RawMessage
			Topic      string
			Key, Value *datum
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if l.Avsc != nil {
			schemas[l.Schema] = string(l.Avsc)
			continue
		}
		print := func(d *datum) rawText {
			if d == nil {
				return "null"
			}
			return rawText(strings.Join([]string{schemas[d.Schema], d.Hex}, " "))
		}
		out = append(out, record{Topic: l.Topic, Key: print(l.Key), Value: print(l.Value)})
	}
	return out
}
