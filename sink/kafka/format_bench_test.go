package kafka

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
)

// benchFormats are the formats, each with its usual keys.
var benchFormats = []string{formatDebezium, formatDebeziumAvro, formatCanal, formatJSON, formatCSV, formatAvro}

// benchEncoder returns a format's encoder for a table, and rows of it.
func benchEncoder(t testing.TB, format string) (encoder, *schema.Batch) {
	opts := map[string]string{optServers: "localhost:1", optValueFormat: format}
	if format == formatAvro || format == formatDebeziumAvro {
		opts[optRegistryURL] = "http://localhost:1"
	}
	s, err := New(opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.SetSource("mysql", "")
	def := table("t", "id")
	e, err := s.format().encoder(def, "s.t")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for i := range 1000 {
		rows = append(rows, row{schema.OpInsert, i, i, fmt.Sprintf("a text of row %d", i)})
	}
	return e, batch(t, memory.DefaultAllocator, def, 7, rows...)
}

// BenchmarkFormats encodes rows of three columns with their keys.
func BenchmarkFormats(b *testing.B) {
	for _, name := range benchFormats {
		b.Run(name, func(b *testing.B) {
			e, rows := benchEncoder(b, name)
			var out output
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := e.Append(&out, rows, nil, debezium.Origin{}, 1_700_000_000_000_000_000); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
			b.ReportMetric(float64(out.size())/1000, "B/row")
		})
	}
}

// TestFormatsAllocate holds that no format costs an allocation for each row.
func TestFormatsAllocate(t *testing.T) {
	for _, name := range benchFormats {
		e, rows := benchEncoder(t, name)
		var out output
		n := testing.AllocsPerRun(20, func() {
			out.Reset()
			if err := e.Append(&out, rows, nil, debezium.Origin{}, 0); err != nil {
				t.Fatal(err)
			}
		})
		if n > 100 || out.Len() != 1000 { // what is left is for the batch
			t.Errorf("%s: %v allocations for %d messages", name, n, out.Len())
		}
	}
}
