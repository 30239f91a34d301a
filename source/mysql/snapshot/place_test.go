package snapshot

import (
	"errors"
	"testing"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

func TestComparePlaces(t *testing.T) {
	for _, tc := range []struct {
		p, q Place
		want int
	}{
		{Place{"binlog.000001", 4}, Place{"binlog.000001", 4}, 0},
		{Place{"binlog.000001", 99}, Place{"binlog.000001", 100}, -1},
		{Place{"binlog.000010", 4}, Place{"binlog.000009", 1 << 40}, 1},
		{Place{"binlog.999999", 4}, Place{"binlog.1000000", 4}, -1},
		{Place{"my.log.000002", 4}, Place{"my.log.000001", 4}, 1},
	} {
		if got, err := tc.p.compare(tc.q); got != tc.want || err != nil {
			t.Errorf("%v and %v: %d, %v", tc.p, tc.q, got, err)
		}
		if got, err := tc.q.compare(tc.p); got != -tc.want || err != nil {
			t.Errorf("%v and %v: %d, %v", tc.q, tc.p, got, err)
		}
	}
	if _, err := (Place{"binlog.000001", 4}).compare(Place{"mysql-bin.000001", 4}); !errors.Is(err, errOtherLog) {
		t.Errorf("another name: %v", err)
	}
}

func TestStatusPlace(t *testing.T) {
	p, err := statusPlace(&wire.Result{Columns: []string{"File", "Position", "Binlog_Do_DB"}, Rows: [][]wire.Value{{wire.Value("binlog.000003"), wire.Value("5000000000"), nil}}})
	if err != nil || p != (Place{"binlog.000003", 5_000_000_000}) {
		t.Error(p, err)
	}
	for _, bad := range []*wire.Result{{Columns: []string{"File", "Position"}}, {Columns: []string{"File", "Position"}, Rows: [][]wire.Value{{nil, wire.Value("4")}}},
		{Columns: []string{"File", "Position"}, Rows: [][]wire.Value{{wire.Value("b.1"), wire.Value("x")}}}} {
		if _, err := statusPlace(bad); !errors.Is(err, errNoLog) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
