package format

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

// BenchmarkDecode decodes updates of a table of six columns.
func BenchmarkDecode(b *testing.B) {
	const row = `{"id":%d,"first_name":"Anne Marie","last_name":"Kretchmar","email":"annek@noanswer.org","n":5,"ts":1700000000123}`
	const origin = `"source":{"version":"3.6.1.Final","connector":"mysql","name":"dbz","ts_ms":1700000000000,"snapshot":"false","db":"vec","sequence":null,"ts_us":1700000000000000,"ts_ns":1700000000000000000,"table":"customers","server_id":1,"gtid":"3e11fa47-71ca-11e1-9e33-c80aa9429562:23","file":"binlog.000003","pos":4711,"row":0,"thread":12,"query":null}`
	fields := `{"type":"int64","field":"id"},{"type":"string","optional":true,"field":"first_name"},{"type":"string","optional":true,"field":"last_name"},{"type":"string","optional":true,"field":"email"},{"type":"int32","optional":true,"field":"n"},{"type":"int64","optional":true,"name":"io.debezium.time.Timestamp","field":"ts"}`
	payload := func(i int) string {
		r := fmt.Sprintf(row, i)
		return `{"before":` + r + `,"after":` + r + `,` + origin + `,"transaction":null,"op":"u","ts_ms":1700000000001,"ts_us":1,"ts_ns":1}`
	}
	envelope := `{"type":"struct","fields":[` + strings.Repeat(`{"type":"struct","fields":[`+fields+`],"optional":true,"field":"before"},`, 1) + `{"type":"struct","fields":[` + fields + `],"optional":true,"field":"after"},{"type":"string","field":"op"}]}`
	for name, value := range map[string]func(int) string{"plain": payload, "schemas": func(i int) string { return `{"schema":` + envelope + `,"payload":` + payload(i) + `}` }} {
		b.Run(name, func(b *testing.B) {
			set := table.NewSet(table.Config{Match: func(schema.TableID) bool { return true }, Given: func(schema.TableID) *schema.Table { return nil }, MaxRows: 8192, MaxBytes: 4 << 20, Memory: memory.DefaultAllocator,
				Emit: func(e source.Element) error {
					if e.Batch != nil {
						e.Batch.Release()
					}
					return nil
				}})
			defer set.Release()
			d, err := New(loose, set)
			if err != nil {
				b.Fatal(err)
			}
			var messages []*Message
			for i := range 1000 {
				messages = append(messages, &Message{Topic: "x", Key: fmt.Appendf(nil, `{"id":%d}`, i), Value: []byte(value(i))})
			}
			b.SetBytes(int64(len(messages[0].Value)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m := messages[i%len(messages)]
				m.Position = uint64(i)
				if err := d.Decode(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
