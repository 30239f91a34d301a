package debezium

import (
	"fmt"
	"testing"
)

// TestTransactions holds the messages, and Java's order of the tables.
func TestTransactions(t *testing.T) {
	w, err := NewTransactions(Options{Connector: MySQL, Prefix: "p", Context: &Context{Task: "0", Run: "r"}})
	if err != nil {
		t.Fatal(err)
	}
	var out Output
	w.Begin(&out, "a:1", 7)
	counts := []Count{{"vec.other", 3}, {"vec.customers", 2}}
	w.End(&out, "a:1", counts, 8)
	w.End(&out, "b", nil, 9)
	want := []string{
		`{"id":"a:1"} {"status":"BEGIN","id":"a:1","event_count":null,"data_collections":null,"ts_ms":7}`,
		`{"id":"a:1"} {"status":"END","id":"a:1","event_count":5,"data_collections":[{"data_collection":"vec.customers","event_count":2},{"data_collection":"vec.other","event_count":3}],"ts_ms":8}`,
		`{"id":"b"} {"status":"END","id":"b","event_count":0,"data_collections":[],"ts_ms":9}`,
	}
	for i, w := range want {
		if got := fmt.Sprintf("%s %s", out.Key(i), out.Value(i)); got != w {
			t.Errorf("got %s, want %s", got, w)
		}
		if n := len(out.Headers(nil, i)); n != 4 {
			t.Errorf("%d headers", n)
		}
	}
	if counts[0].Collection != "vec.other" {
		t.Error("the caller's counts have changed")
	}
	counts = []Count{{"public.customers", 1}, {"public.other", 1}}
	if javaOrder(counts); counts[0].Collection != "public.other" {
		t.Error(counts)
	}
}
