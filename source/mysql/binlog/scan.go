package binlog

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// verdict is what an event means for the reader of the stream.
type verdict uint8

const (
	goOn verdict = iota
	// cutAfter: the group must end behind the event.
	cutAfter
	// unpack: scanner.payload holds events that come next.
	unpack
)

// scanner walks over events without decoding rows: it follows transactions,
// positions and table definitions, and knows where groups may be cut. It is a pure
// state machine; what needs the definitions is behind resolve and statement.
type scanner struct {
	// resolve returns how the rows of a table are decoded, and what was learned about
	// it on the way.
	resolve func(c *ddl.Catalog, t *event.TableMap, body []byte, pos uint64, at Place) (resolved, error)
	// statement returns what a statement does to the definitions.
	statement func(c *ddl.Catalog, q *event.Query, pos uint64, at Place) (*ddl.Catalog, []ddl.Effect, error)
	// unknownXA, if not nil, is asked about an XA COMMIT of a transaction that was
	// prepared before the log began.
	unknownXA func(id string, pos uint64) error
	// mayJump: the server leaves out events, so offsets may jump.
	mayJump bool
	// firstTime, until the first file is known: the server's numbers are ours.
	// following, until then: files come behind the position after.
	firstTime, following bool
	// after is the newest position that was given out before the start; no
	// transaction begins before it, unless it is passed over.
	after uint64
	// startPlace is where from is, until the first file is known; from is the
	// position before which everything is passed over.
	startPlace Place
	from       uint64
	// since, skipEvents and skipRows are those of Options.
	since                int64
	skipEvents, skipRows uint64
	// origins: what is known of transactions and statements is kept for an Origin.
	origins bool
	skipped bool // the present event is one to skip

	files    Files
	format   *event.Format // of the events in the file
	nested   *event.Format // of events inside another one
	inside   bool          // such events are being scanned
	offset   uint64        // behind the event
	begin    uint64        // where the event begins
	place    uint64        // the position of the event, or of the one it is inside of
	reported uint64        // position of the last group
	position uint64        // of the last boundary
	received uint64        // newest position seen

	catalog *ddl.Catalog
	tables  map[uint64]*mapped
	last    *mapped

	inTx     bool
	explicit bool // COMMIT or the like ends it, else its one statement
	gtid     GTID
	tx       transaction
	txIndex  int  // in the group, -1 while it has no rows there
	txFirst  int  // where its rows begin in the group
	txOut    bool // it has rows in earlier groups
	alter    event.MariaExtraFlags
	// sqlOfRows is the statement that makes the rows to come, nil where it is not known.
	sqlOfRows *string

	gather      bool // only XA transactions are of interest, up to gatherUntil
	gatherUntil Place
	hold        *holder // takes the rows of an XA transaction until it is decided
	prepared    []*Prepared
	maxHeld     int
	finishing   bool // the rows of an XA transaction come from its payload
	payload     event.Payload
	savepoints  []savepoint

	group rawGroup
	mark  mark
	spare chan []rowsEvent

	table   event.TableMap
	query   event.Query
	myGTID  event.GTID
	maria   event.MariaGTID
	rotate  event.Rotate
	beat    event.Heartbeat
	inflate event.Inflater
	sql     []byte
}

// mapped is a table as a TABLE_MAP has announced it.
type mapped struct {
	id     uint64
	raw    []byte
	layout *layout // nil: not captured
}

// maxMapped bounds the tables that are remembered; a server gives a table a new id
// whenever it opens it anew.
const maxMapped = 10_000

// event takes the next event, which lies in seg.
func (s *scanner) event(p []byte, seg *segment) (verdict, error) {
	h, err := event.ParseHeader(p)
	if err != nil {
		return goOn, s.fail(err)
	}
	format := s.format
	if s.inside {
		format = s.nested
	}
	body, err := format.Body(h, p)
	if err != nil {
		return goOn, s.fail(fmt.Errorf("%s: %w", h.Type, err))
	}
	if !s.inside {
		if err := s.advance(h); err != nil {
			return goOn, err
		}
		s.group.bytes += int64(len(p))
		s.countSkipped(h)
	}
	s.group.memory += len(p)
	var v verdict
	switch {
	case h.Type == event.TableMapType:
		v, err = s.tableMap(h, body)
	case h.Type.IsRows():
		err = s.rows(h, body, seg)
	default:
		v, err = s.other(h, body)
	}
	if err != nil {
		return goOn, s.fail(err)
	}
	return v, nil
}

// fail names the place of an error.
func (s *scanner) fail(err error) error {
	var table *TableError
	if errors.As(err, &table) || s.files.Base == "" {
		return err
	}
	return fmt.Errorf("at %s: %w", s.at(), err)
}

// at returns the place of the present event.
func (s *scanner) at() Place { return s.files.Place(s.place) }

// advance follows the offsets in the file. The header has the lower 32 bits of the
// event's end.
func (s *scanner) advance(h event.Header) error {
	const back = 1 << 31 // a jump of more is one back
	s.begin = s.offset
	// Since MariaDB 11.4 only the last event of a transaction tells its end.
	if h.LogPos == 0 && s.inTx && !h.Artificial() && s.format != nil && s.format.MariaDB {
		s.offset += uint64(h.Size)
	} else if inFile(h) {
		end := s.offset + uint64(h.Size)
		if jump := h.LogPos - uint32(end); jump != 0 {
			if !s.mayJump || jump >= back || end+uint64(jump) > maxOffset {
				s.place = s.files.at(s.begin)
				return s.fail(fmt.Errorf("%w: %s, which ends at %d, does not follow the event before", ErrStream, h.Type, h.LogPos))
			}
			end += uint64(jump)
		}
		s.begin, s.offset = end-uint64(h.Size), end
	}
	s.place = s.files.at(s.begin)
	s.received = max(s.received, s.files.at(s.offset))
	return nil
}

// inFile reports whether an event is part of the file, and not made for us.
func inFile(h event.Header) bool {
	return h.LogPos != 0 && !h.Artificial() && h.Type != event.HeartbeatType && h.Type != event.HeartbeatV2Type
}

// countSkipped counts the events that are to be skipped.
func (s *scanner) countSkipped(h event.Header) {
	s.skipped = false
	if s.skipEvents > 0 && inFile(h) && h.Type != event.FormatType && h.Type != event.AnnotateRowsType {
		s.skipEvents--
		s.skipped = true
	}
}

// tableMap takes a TABLE_MAP. A server repeats it with every statement; the same
// bytes mean the same table as long as no definition has changed.
func (s *scanner) tableMap(h event.Header, body []byte) (verdict, error) {
	if !s.inTx {
		return goOn, fmt.Errorf("%w: a TABLE_MAP outside a transaction", ErrStream)
	}
	id, err := event.TableID(s.format, h.Type, body)
	if err != nil {
		return goOn, err
	}
	if m := s.mapped(id); m != nil && bytes.Equal(m.raw, body) {
		return goOn, s.holdMap(m, h, body)
	}
	if err := s.table.Parse(s.format, body); err != nil {
		return goOn, err
	}
	r, err := s.resolve(s.catalog, &s.table, body, s.place, s.at())
	if err != nil {
		return goOn, err
	}
	v := goOn
	if r.learned != nil {
		s.catalog = r.catalog
		s.forget()
		s.group.effects, v = []ddl.Effect{*r.learned}, cutAfter
	}
	if s.tables == nil || len(s.tables) >= maxMapped {
		s.tables = map[uint64]*mapped{}
	}
	s.last = &mapped{id: id, raw: bytes.Clone(body), layout: r.layout}
	s.tables[id] = s.last
	return v, s.holdMap(s.last, h, body)
}

// resolved is what a TABLE_MAP means.
type resolved struct {
	layout *layout // nil: the table is not captured
	// learned, if not nil, is a definition that the event itself has told, and catalog
	// the one in force with it.
	learned *ddl.Effect
	catalog *ddl.Catalog
}

// holdMap keeps a TABLE_MAP whose rows are kept.
func (s *scanner) holdMap(m *mapped, h event.Header, body []byte) error {
	if s.hold == nil || m.layout == nil {
		return nil
	}
	return s.hold.add(h, body)
}

// mapped returns the table of an id, nil for none.
func (s *scanner) mapped(id uint64) *mapped {
	if s.last == nil || s.last.id != id {
		s.last = s.tables[id]
	}
	return s.last
}

// forget drops what TABLE_MAPs have said.
func (s *scanner) forget() { s.tables, s.last = nil, nil }

// rows takes an event with rows.
func (s *scanner) rows(h event.Header, body []byte, seg *segment) error {
	id, err := event.TableID(s.format, h.Type, body)
	if err != nil {
		return err
	}
	if !s.inTx {
		return fmt.Errorf("%w: rows outside a transaction", ErrStream)
	}
	m := s.mapped(id)
	if m == nil {
		if dummy(s.format, h.Type, body) {
			return nil
		}
		return fmt.Errorf("%w: rows of a table with the id %d, which was not announced", ErrStream, id)
	}
	if m.layout == nil || s.skipped || s.passing() || s.tx.time < s.since*1e6 {
		return nil
	}
	if s.hold != nil {
		return s.hold.add(h, body)
	}
	if s.gather {
		return nil
	}
	g := &s.group
	if s.txIndex < 0 {
		s.txIndex, s.txFirst = len(g.txs), len(g.rows)
		g.txs = append(g.txs, s.tx)
	}
	if g.rows == nil {
		g.rows = s.spareRows()
	}
	g.use(seg)
	e := rowsEvent{kind: h.Type, tx: int32(s.txIndex), format: s.format, layout: m.layout, body: body, pos: s.place, sql: s.sqlOfRows}
	if s.skipRows > 0 && s.skipEvents == 0 {
		e.skip, s.skipRows = s.skipRows, 0
	}
	g.rows = append(g.rows, e)
	if s.sqlOfRows != nil && endsStatement(body) {
		s.sqlOfRows = nil
	}
	g.weight += m.layout.weigh(len(body))
	return nil
}

// dummy reports a rows event without rows that only ends a statement.
func dummy(f *event.Format, t event.Type, body []byte) bool {
	var r event.Rows
	return r.Parse(f, t, body) == nil && r.Dummy()
}

// passing reports whether the present transaction lies before the start, or behind the
// place up to which Gather looks.
func (s *scanner) passing() bool {
	return s.tx.start < s.from || s.gather && s.beyondGather(s.tx.start)
}
