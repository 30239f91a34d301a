package schema

import (
	"reflect"
	"testing"
)

// TestOriginSlice: a slice has what belongs to its rows, and counts on where it begins.
func TestOriginSlice(t *testing.T) {
	txs := []Tx{{ID: 1, Rows: 3}, {ID: 2, Rows: 2}}
	o := &Origin{
		Txs: []TxOrigin{{Before: 4, GTID: "a"}, {GTID: "b"}}, Files: []LogFile{{Start: 10, Name: "f"}}, Rows: []int32{0, 1, 2, 0, 1},
		Queries: []QueryRun{{"x", 2}, {"y", 3}}, First: SnapshotFirst, Last: SnapshotLast,
	}
	for _, c := range []struct {
		start, end int
		txs        []Tx
		want       Origin
	}{
		{1, 4, []Tx{{ID: 1, Rows: 2}, {ID: 2, Rows: 1}}, Origin{Txs: []TxOrigin{{Before: 5, GTID: "a"}, {GTID: "b"}}, Rows: []int32{1, 2, 0}, Queries: []QueryRun{{"x", 1}, {"y", 2}}}},
		{4, 5, []Tx{{ID: 2, Rows: 1}}, Origin{Txs: []TxOrigin{{Before: 1, GTID: "b"}}, Rows: []int32{1}, Queries: []QueryRun{{"y", 1}}, First: SnapshotLast, Last: SnapshotLast}},
		{0, 2, []Tx{{ID: 1, Rows: 2}}, Origin{Txs: []TxOrigin{{Before: 4, GTID: "a"}}, Rows: []int32{0, 1}, Queries: []QueryRun{{"x", 2}}, First: SnapshotFirst}},
	} {
		c.want.Files = o.Files
		if got := o.slice(c.start, c.end, 5, txs, c.txs); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("rows %d to %d: got %+v, want %+v", c.start, c.end, *got, c.want)
		}
	}
}

// TestOriginPlaces: a single row has the place that says more, and rows between the ends none.
func TestOriginPlaces(t *testing.T) {
	for _, c := range []struct{ first, last, want SnapshotPlace }{
		{SnapshotFirst, SnapshotLastInTable, SnapshotFirst}, {SnapshotFirst, SnapshotLast, SnapshotLast}, {SnapshotFirstInTable, SnapshotLastInTable, SnapshotLastInTable},
		{SnapshotFirstInTable, SnapshotTrue, SnapshotFirstInTable}, {SnapshotTrue, SnapshotLast, SnapshotLast}, {SnapshotTrue, SnapshotTrue, SnapshotTrue},
	} {
		o := &Origin{First: c.first, Last: c.last}
		if o.Join(1); o.At(0, 1) != c.want {
			t.Errorf("first %d, last %d: got %d, want %d", c.first, c.last, o.At(0, 1), c.want)
		}
	}
	o := &Origin{First: SnapshotFirst, Last: SnapshotLast}
	if o.Join(3); o.At(0, 3) != SnapshotFirst || o.At(1, 3) != SnapshotTrue || o.At(2, 3) != SnapshotLast {
		t.Errorf("three rows: %+v", o)
	}
}

// TestOriginFile: a position lies in the last file that begins before it.
func TestOriginFile(t *testing.T) {
	o := &Origin{Files: []LogFile{{Start: 100, Name: "a"}, {Start: 200, Name: "b"}}}
	for position, want := range map[uint64]string{99: "", 100: "a", 150: "a", 205: "b"} {
		name, offset := o.File(position)
		if name != want || name == "b" && offset != 5 {
			t.Errorf("%d: %q, %d", position, name, offset)
		}
	}
}
