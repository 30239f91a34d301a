package iceberg

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/freshet-cdc/freshet/schema"
)

// loads counts the tables that are loaded.
type loads struct {
	store
	n atomic.Int64
}

func (l *loads) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	l.n.Add(1)
	return l.store.LoadTable(ctx, id)
}

// TestPositionOfQuietTables: a table without changes is as new as the checkpoint before
// the newest, which other tables show; and to know that for every table
// does not take a look at all tables each time.
func TestPositionOfQuietTables(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	var ids []schema.TableID
	for i := range 30 {
		id := schema.TableID{Schema: "shop", Table: "t" + strconv.Itoa(i)}
		ids = append(ids, id)
		l.announce(id, l.def.WithID(id))
		l.write(id, l.def.WithID(id), schema.OpInsert, i)
	}
	l.checkpoint()
	first := l.rig.Position
	l.insert(1)
	l.checkpoint()
	second := l.rig.Position
	l.insert(2)
	l.checkpoint()
	third := l.rig.Position
	if first == second || second == third {
		t.Fatal("the positions do not differ")
	}
	count := &loads{}
	l.sink.wrap = func(s store) store { count.store = s; return count }
	for _, id := range append(ids, l.id) {
		want := second // certain to be in every table, since checkpoint 3 has begun to be committed
		if id == l.id {
			want = third
		}
		if _, pos, err := l.rig.Read(l.ctx, l.def.WithID(id), id); err != nil || pos != want {
			t.Errorf("%s is at %d, want %d (%v)", id, pos, want, err)
		}
	}
	if n := count.n.Load(); n > 8*31 {
		t.Errorf("%d tables were loaded to read 31", n)
	}
}
