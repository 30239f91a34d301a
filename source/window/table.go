package window

import (
	"fmt"
	"maps"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// Phase is how far the snapshot of a table is.
type Phase uint8

// The phases, in order.
const (
	// Waiting: the table has not started; its events are dropped.
	Waiting Phase = iota
	// Covering: its events are in the log; what was dropped may not be visible yet.
	Covering
	// Reading: chunks are being read.
	Reading
	// Done: the snapshot is in the log; events just pass.
	Done
)

var phaseNames = [...]string{"waiting", "covering", "reading", "done"}

// String returns the name of the phase.
func (p Phase) String() string { return phaseNames[p] }

// Table is the window state of one table.
type Table struct {
	ID      schema.TableID
	keyed   bool
	phase   Phase
	seen    Set
	cover   Cover
	filter  *Snapshot // a table without a key: the snapshot that it is read in
	chunks  map[uint64]*chunk
	planned bool // all chunks have been opened
}

type chunk struct {
	read  bool
	high  uint64
	bytes int64
}

// Phase returns how far the table is.
func (t *Table) Phase() Phase { return t.phase }

// Keyed reports whether the table has a key.
func (t *Table) Keyed() bool { return t.keyed }

// openChunks returns the numbers of the chunks that are being read or wait, ascending.
func (t *Table) openChunks() []uint64 { return slices.Sorted(maps.Keys(t.chunks)) }

// must panics when the table is in another phase: a caller's mistake.
func (t *Table) must(p Phase) {
	if t.phase != p {
		panic(fmt.Sprintf("window: table %s is %s, not %s", t.ID, t.phase, p))
	}
}

// Verdict says what becomes of an event or of a row.
type Verdict uint8

// The verdicts.
const (
	// Drop: it does not enter the log.
	Drop Verdict = iota
	// Pass: it enters the log.
	Pass
	// PassNoted: an event that enters the log; its keys go to Table.Note first.
	PassNoted
	// Fill: a row that is dropped, but whose values complete an earlier event
	// of its key that left out cells.
	Fill
)

// String returns the name of the verdict.
func (v Verdict) String() string { return [...]string{"drop", "pass", "pass, noted", "fill"}[v] }

// Event takes an event of the tail and says what becomes of it. xid is the
// transaction's number with its epoch (0 where the source notes none). For a
// table that is done it costs nothing.
func (c *Core) Event(t *Table, xid uint64) Verdict {
	if t.phase == Done {
		return Pass
	}
	c.note(xid)
	switch {
	case t.phase == Waiting:
		return Drop
	case t.keyed:
		return PassNoted
	case t.filter == nil || t.filter.Sees(xid):
		// Without a filter yet, the snapshot to come must see it: Opened asks so.
		return Drop
	}
	return Pass
}

// note remembers a transaction that the tail has passed.
func (c *Core) note(xid uint64) {
	if xid != 0 && xid != c.lastNoted {
		c.passed.XIDs = append(c.passed.XIDs, xid)
		c.lastNoted = xid
	}
}

// Note puts the key of an event into seen. A change of the key is two events,
// with the old and with the new key. partial, where it is not nil, says that the
// event left out cells; see [Set.Add]. Once every chunk has entered it may be
// nil always: whoever takes the log then has the row that the event belongs to,
// or a fill of it is on its way.
func (t *Table) Note(key, partial []byte) error { return t.seen.Add(key, partial) }

// Partial returns the number of keys whose events left out cells and whose row no
// chunk has brought: it moved to where no chunk looked, or is gone. Before the
// table ends they are read by key, in one more chunk whose rows are all seen.
func (t *Table) Partial() int {
	if t.seen == nil {
		return 0
	}
	return t.seen.Waiting()
}

// Partials calls fn for those keys until it returns false.
func (t *Table) Partials(fn func(key, partial []byte) bool) error { return t.seen.Partials(fn) }

// Filled says that a key waits for no fill any more: it was read by key, and if
// there was no row its deletion is in the log.
func (t *Table) Filled(key []byte) error { return t.seen.Filled(key) }

// Open returns the number of chunks that are being read or wait.
func (t *Table) Open() int { return len(t.chunks) }

// FiltersRows reports whether rows of a chunk have to be asked about at all: as
// long as no event has touched the table, their keys need not even be encoded.
func (t *Table) FiltersRows() bool { return t.seen != nil && t.seen.Len() > 0 }

// Filter says what becomes of a row of a chunk that closes.
func (t *Table) Filter(key []byte) (Verdict, error) {
	ok, partial, err := t.seen.Has(key)
	switch {
	case err != nil:
		return Drop, err
	case !ok:
		return Pass, nil
	case partial:
		return Fill, t.seen.Filled(key)
	}
	return Drop, nil
}

// Finish is called once ActDone has been carried out: seen is given up.
func (t *Table) Finish() error {
	t.must(Done)
	if t.seen == nil {
		return nil
	}
	err := t.seen.Clear()
	t.seen = nil
	return err
}

// Reset starts the snapshot of a table anew at the tail's position: it was
// truncated, its definition changed, or its rows moved (relfilenode). A table
// that has not started, or is done, is left alone.
func (c *Core) Reset(t *Table) ([]Action, error) {
	if t.phase != Covering && t.phase != Reading {
		return nil, nil
	}
	for _, id := range t.openChunks() {
		c.drop(t, id)
		c.emit(ActDiscard, t, id)
	}
	if t.seen != nil {
		if err := t.seen.Clear(); err != nil {
			c.take()
			return nil, err
		}
	}
	t.phase, t.planned, t.filter = Covering, false, nil
	t.cover = c.passed.clone()
	c.emit(ActReset, t, 0)
	c.covered(t)
	return c.take(), nil
}

// Again starts the snapshot of a table that is done, or never had one, anew:
// a user asked for it, or rows changed without events. As with [Core.Add], the
// caller first tells [Core.Require] of the transactions that nobody noted.
func (c *Core) Again(t *Table, seen Set) []Action {
	t.must(Done)
	t.phase, t.planned, t.filter, t.seen = Covering, false, nil, seen
	c.undone++
	t.cover = c.passed.clone()
	c.emit(ActReset, t, 0)
	c.covered(t)
	return c.take()
}

// Remove forgets a table that is no longer captured.
func (c *Core) Remove(t *Table) error {
	for _, id := range t.openChunks() {
		c.drop(t, id)
	}
	if t.phase != Done {
		c.undone--
	}
	delete(c.tables, t.ID)
	c.order = slices.DeleteFunc(c.order, func(o *Table) bool { return o == t })
	if t.seen == nil {
		return nil
	}
	return t.seen.Clear()
}

// Note remembers a transaction that the tail has passed without an event that
// was given in, such as one with a TRUNCATE.
func (c *Core) Note(xid uint64) { c.note(xid) }
