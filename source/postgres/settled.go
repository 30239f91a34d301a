package postgres

import (
	"sync"
	"sync/atomic"

	"github.com/freshet-cdc/freshet/schema"
)

// settled says which tables have no snapshot running any more, to those who decode ahead.
// A sink that keeps no rows may be sent a row without the values that the log left out
// when it was sent all of the row once. During the snapshot it was perhaps not: the row of
// the chunk is dropped where the log has touched it. The decoders are ahead of the reader, so
// what is marked here holds for everything that they decode later.
type settled struct {
	mu     sync.Mutex
	tables map[uint64]*atomic.Bool // by oid, which a rename leaves alone
}

// of returns the mark of a table.
func (s *settled) of(t *schema.Table) *atomic.Bool {
	id := t.SourceID
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables == nil {
		s.tables = map[uint64]*atomic.Bool{}
	}
	mark := s.tables[id]
	if mark == nil {
		mark = &atomic.Bool{}
		s.tables[id] = mark
	}
	return mark
}
