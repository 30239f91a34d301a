package pebble

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// TestDeletedRangesStayDeleted: what a range deletion hid must not come back when
// the tables are compacted, whatever bounds it had.
func TestDeletedRangesStayDeleted(t *testing.T) {
	for _, c := range []struct {
		name         string
		lower, upper []byte
	}{
		{"open below", nil, []byte{0, 6}},
		{"empty below", []byte{}, []byte{0, 6}},
		{"first group", []byte{0, 0}, []byte{0, 6}},
		{"open below, all above", nil, []byte{0xff}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			b := NewBackend(Options{Stores: 1})
			defer b.Close()
			opened, err := b.Open(ctx, state.Options{Dir: filepath.Join(t.TempDir(), "db"), Operator: "op", KeyGroups: keygroup.Range{First: 0, Last: 15}})
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			s := opened.(*store)
			if err := s.BulkLoad(ctx, func(yield func(k, v []byte) bool) {
				for i := range 1600 {
					if !yield(fmt.Appendf([]byte{0, byte(i / 100)}, "%04d", i), []byte("v")) {
						return
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			compact := func() {
				if err := s.db.Flush(); err != nil {
					t.Fatal(err)
				}
				if err := s.db.Compact(ctx, []byte{}, []byte{0xff, 0xff, 0xff}, false); err != nil {
					t.Fatal(err)
				}
			}
			var batch state.Batch
			batch.Set([]byte{0, 7, 1}, []byte("v"))
			if err := s.Apply(&batch); err != nil {
				t.Fatal(err)
			}
			compact() // the lowest level has sequence numbers of 0 from here on
			batch.DeleteRange(c.lower, c.upper)
			batch.DeleteRange([]byte{0, 12}, []byte{0xff, 0xff})
			if err := s.Apply(&batch); err != nil {
				t.Fatal(err)
			}
			batch.Set([]byte{0, 8, 1}, []byte("v"))
			if err := s.Apply(&batch); err != nil {
				t.Fatal(err)
			}
			want := count(t, s)
			compact()
			if got := count(t, s); got != want || want > 602 {
				t.Errorf("%d entries after the compaction, %d before", got, want)
			}
		})
	}
}

func count(t *testing.T, s *store) (n int) {
	t.Helper()
	it, err := s.Iterate(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}
