package binlog

import (
	"slices"

	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// rawGroup is a stretch of events on its way through the decoders.
type rawGroup struct {
	rows      []rowsEvent
	txs       []transaction // with rows in the group, in order
	segments  []*segment    // that rows lie in
	files     Files         // behind the group
	continues bool          // the first of txs has rows in earlier groups
	endInTx   bool
	effects   []ddl.Effect
	effectsOf transaction // whose effects they are
	catalog   *ddl.Catalog
	position  uint64 // where the log stands behind the group, 0: nowhere new
	time      int64
	gtids     []GTID
	executed  *GTIDSet
	prepared  []*Prepared
	bytes     int64 // on the wire
	memory    int   // unpacked
	weight    int   // about how many rows there are
	// openRows: the last of txs is not over yet. openBefore: the transaction that
	// is not over has rows in earlier groups.
	openRows, openBefore bool
	done                 chan decoded
}

// rowsEvent is an event with rows of a captured table.
type rowsEvent struct {
	kind   event.Type
	tx     int32  // index into the group's transactions
	skip   uint64 // leave out so many rows at the beginning
	format *event.Format
	layout *layout
	body   []byte
	pos    uint64
	sql    *string // the statement, where it is known and asked for
}

// transaction is what the rows of one have in common.
type transaction struct {
	id, start uint64
	time      int64
	origin    *txOrigin // nil where nobody asks for it
}

func (g *rawGroup) empty() bool {
	return len(g.rows) == 0 && len(g.effects) == 0 && g.position == 0 && len(g.gtids) == 0 && g.executed == nil
}

// use notes that rows lie in seg.
func (g *rawGroup) use(seg *segment) {
	if n := len(g.segments); n > 0 && g.segments[n-1] == seg {
		return
	}
	seg.refs.Add(1)
	g.segments = append(g.segments, seg)
}

// mark is how far a group goes up to the last place outside a transaction.
type mark struct {
	set      bool
	rows     int
	txs      int
	gtids    int
	weight   int
	memory   int
	bytes    int64
	files    Files
	position uint64
	prepared []*Prepared
}

// boundary notes that the scanner stands outside a transaction.
func (s *scanner) boundary() {
	s.position = s.files.at(s.offset)
	g := &s.group
	s.mark = mark{set: true, rows: len(g.rows), txs: len(g.txs), gtids: len(g.gtids), weight: g.weight, memory: g.memory, bytes: g.bytes, files: s.files, position: s.position,
		prepared: s.prepared}
}

// full reports whether the group is large enough to be handed on: at a boundary a
// little earlier than inside a transaction.
func (s *scanner) full() bool {
	g := &s.group
	if !s.inTx {
		return g.weight >= maxGroupRows*3/4 || g.memory >= maxGroupBytes*3/4
	}
	return g.weight >= maxGroupRows || g.memory >= maxGroupBytes
}

// takeMarked ends the group at the last boundary, nil when there is none. What was
// scanned behind it is the beginning of the next group.
func (s *scanner) takeMarked() *rawGroup {
	m := s.mark
	if !m.set {
		return nil
	}
	if !s.inTx { // the boundary is here
		return s.take()
	}
	g := s.group
	next := rawGroup{weight: g.weight - m.weight, memory: g.memory - m.memory, bytes: g.bytes - m.bytes}
	if len(g.rows) > m.rows {
		next.rows = append(s.spareRows(), g.rows[m.rows:]...)
		next.txs = slices.Clone(g.txs[m.txs:]) // the open transaction
		for i := range next.rows {
			next.rows[i].tx -= int32(m.txs)
		}
		for _, seg := range g.segments {
			next.use(seg)
		}
	}
	g.rows, g.txs, g.gtids, g.weight, g.bytes = g.rows[:m.rows], g.txs[:m.txs], g.gtids[:m.gtids], m.weight, m.bytes
	s.finish(&g, m.files, m.position, m.prepared)
	s.txFirst = 0
	if s.txIndex >= 0 {
		s.txIndex = 0
	}
	s.shiftSavepoints(m.rows)
	s.group = next
	return &g
}

// take ends the group where the scanner stands.
func (s *scanner) take() *rawGroup {
	g := s.group
	g.endInTx = s.inTx
	g.openRows, g.openBefore = s.inTx && s.txIndex >= 0, s.inTx && s.txOut
	s.finish(&g, s.files, s.mark.position, s.prepared)
	s.txOut = s.inTx && (s.txOut || s.txRows() > 0)
	s.group = rawGroup{continues: s.txOut}
	if s.inTx {
		s.txIndex, s.txFirst = -1, 0
		s.shiftSavepoints(len(g.rows) + 1)
	}
	return &g
}

// finish completes a group that is taken.
func (s *scanner) finish(g *rawGroup, files Files, position uint64, prepared []*Prepared) {
	g.catalog, g.files, g.prepared = s.catalog, files, prepared
	g.position = 0
	if s.mark.set && position > s.reported {
		g.position, s.reported = position, position
	}
	s.mark = mark{}
}

// spareRows returns an empty slice for rows events.
func (s *scanner) spareRows() []rowsEvent {
	select {
	case r := <-s.spare:
		return r[:0]
	default:
		return make([]rowsEvent, 0, 1024)
	}
}
