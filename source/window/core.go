package window

import (
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// Options bound a Core.
type Options struct {
	// MaxOpen is the number of chunks, over all tables, that may be read or wait
	// for their HIGH at one time. At least 1.
	MaxOpen int
	// MaxBytes bounds the rows that were read and wait; a chunk is opened only
	// while less than this waits. 0 means no bound.
	MaxBytes int64
}

// ActionKind tells the kinds of [Action] apart.
type ActionKind uint8

// What a Core asks for. The source carries actions out in their order, at once:
// no event of the tail and no barrier may come between an input and its actions.
const (
	// ActStart: from here on the events of the table are in the log.
	ActStart ActionKind = iota + 1
	// ActRead: the table is covered; its chunks may be opened.
	ActRead
	// ActClose: the rows of the chunk enter the log, as Table.Filter says.
	ActClose
	// ActDiscard: the rows of the chunk, or the read that is under way, are given up.
	ActDiscard
	// ActReset: everything that was sent of the table is void; it starts anew.
	ActReset
	// ActDone: the table is complete.
	ActDone
	// ActRetry: the snapshot that was opened for a table without a key does not
	// see all that the tail has passed; a new one is needed.
	ActRetry
)

var actionNames = map[ActionKind]string{ActStart: "start", ActRead: "read", ActClose: "close",
	ActDiscard: "discard", ActReset: "reset", ActDone: "done", ActRetry: "retry"}

// String returns the name of the kind.
func (k ActionKind) String() string { return actionNames[k] }

// Action is one thing to do.
type Action struct {
	Kind  ActionKind
	Table *Table
	Chunk uint64 // of ActClose and ActDiscard
}

// Core is the state of the snapshot windows of all tables of one source. It is
// used by one goroutine, the one that decides the order of the log.
type Core struct {
	opts     Options
	tables   map[schema.TableID]*Table
	order    []*Table
	position uint64
	// passed is what the tail has passed and no SELECT was seen to see yet: of
	// the transactions, those with an event of a table that is not done.
	passed    Cover
	lastNoted uint64
	nextChunk uint64
	open      int
	waiting   int64 // bytes of chunks that were read and wait for HIGH
	undone    int   // tables that are not done
	actions   []Action
}

// New returns a Core without tables.
func New(opts Options) *Core {
	opts.MaxOpen = max(opts.MaxOpen, 1)
	return &Core{opts: opts, tables: make(map[schema.TableID]*Table)}
}

// Require adds to what must be visible before any table may be read that starts
// from now on: what the source knows of transactions that the tail will not show.
func (c *Core) Require(cover Cover) { c.passed.add(cover) }

// Add makes a table known, waiting for its start; its events are dropped until
// then. seen must be empty and is nil for a table without a key. Transactions
// that wrote to the table before it was known are the caller's to [Core.Require].
func (c *Core) Add(id schema.TableID, keyed bool, seen Set) *Table {
	t := &Table{ID: id, keyed: keyed, seen: seen, phase: Waiting}
	c.insert(t)
	c.undone++
	return t
}

// AddDone makes a table known whose events all go to the log.
func (c *Core) AddDone(id schema.TableID, keyed bool) *Table {
	t := &Table{ID: id, keyed: keyed, phase: Done}
	c.insert(t)
	return t
}

// insert panics when the table is known: a caller's mistake.
func (c *Core) insert(t *Table) {
	if c.tables[t.ID] != nil {
		panic(fmt.Sprintf("window: table %s was added twice", t.ID))
	}
	t.chunks = make(map[uint64]*chunk)
	c.tables[t.ID] = t
	c.order = append(c.order, t)
}

// Table returns a known table, or nil.
func (c *Core) Table(id schema.TableID) *Table { return c.tables[id] }

// Tables returns the tables in the order in which they were added.
func (c *Core) Tables() []*Table { return c.order }

// Position returns the tail's position.
func (c *Core) Position() uint64 { return c.position }

// Idle reports whether every table is done: then no input but events is needed.
func (c *Core) Idle() bool { return c.undone == 0 }

// Bytes is the memory held: rows that wait for HIGH, and seen of all tables.
func (c *Core) Bytes() int64 {
	n := c.waiting
	for _, t := range c.order {
		if t.seen != nil {
			n += t.seen.Bytes()
		}
	}
	return n
}

// Start begins the snapshot of a waiting table at the tail's position.
func (c *Core) Start(t *Table) []Action {
	t.must(Waiting)
	t.phase = Covering
	t.cover = c.passed.clone()
	c.emit(ActStart, t, 0)
	c.covered(t)
	return c.take()
}

// NeedsVisible reports whether the next [Core.Visible] would be of use: a table
// waits for its cover, or so many passed transactions are noted that they should
// be weeded out.
func (c *Core) NeedsVisible() bool {
	const many = 10_000
	if len(c.passed.XIDs) >= many {
		return true
	}
	return slices.ContainsFunc(c.order, func(t *Table) bool { return t.phase == Covering && t.keyed })
}

// Visible says what a new SELECT sees. It may have begun some events ago: what is
// visible once stays visible.
func (c *Core) Visible(s Snapshot) []Action {
	c.passed = c.passed.Rest(s)
	c.lastNoted = 0
	for _, t := range c.order {
		if t.phase != Covering {
			continue
		}
		t.cover = t.cover.Rest(s)
		c.covered(t)
	}
	return c.take()
}

// covered moves a table on whose cover is met. A table without a key waits for
// [Core.Opened] instead.
func (c *Core) covered(t *Table) {
	if t.keyed && t.cover.Empty() {
		t.phase = Reading
		c.emit(ActRead, t, 0)
	}
}

// Opened says that the one snapshot for a table without a key was opened after
// the last event was given in. Either it sees all that the tail has passed, and
// decides from here on which events are in the log; or it must be opened again.
func (c *Core) Opened(t *Table, s Snapshot) []Action {
	t.must(Covering)
	if !c.passed.Rest(s).Empty() {
		c.emit(ActRetry, t, 0)
		return c.take()
	}
	t.filter = &s
	t.cover = Cover{}
	t.phase = Reading
	c.emit(ActRead, t, 0)
	return c.take()
}

// CanOpen reports whether the bounds allow another chunk.
func (c *Core) CanOpen() bool {
	return c.open < c.opts.MaxOpen && (c.opts.MaxBytes == 0 || c.waiting < c.opts.MaxBytes)
}

// Open says that a chunk is going to be read and returns its number.
func (c *Core) Open(t *Table) uint64 {
	t.must(Reading)
	c.nextChunk++
	t.chunks[c.nextChunk] = &chunk{}
	c.open++
	return c.nextChunk
}

// Read says that a chunk was read and that nothing it saw lies beyond high;
// bytes are the memory of its rows. A chunk that was discarded meanwhile is
// discarded again, so the caller needs no bookkeeping of its own.
func (c *Core) Read(t *Table, id, high uint64, bytes int64) []Action {
	ch := t.chunks[id]
	if ch == nil {
		c.emit(ActDiscard, t, id)
		return c.take()
	}
	ch.read, ch.high, ch.bytes = true, high, bytes
	c.waiting += bytes
	c.close(t)
	return c.take()
}

// Planned says that no further chunk of the table will be opened.
func (c *Core) Planned(t *Table) []Action {
	t.must(Reading)
	t.planned = true
	c.close(t)
	return c.take()
}

// Advance says that every event up to position was given in.
func (c *Core) Advance(position uint64) []Action {
	c.position = max(c.position, position)
	if c.open > 0 {
		for _, t := range c.order {
			if len(t.chunks) > 0 {
				c.close(t)
			}
		}
	}
	return c.take()
}

// High returns the lowest HIGH that a chunk waits for, and false when none waits.
func (c *Core) High() (uint64, bool) {
	low, found := uint64(0), false
	if c.open == 0 {
		return 0, false
	}
	for _, t := range c.order {
		for _, ch := range t.chunks {
			if ch.read && (!found || ch.high < low) {
				low, found = ch.high, true
			}
		}
	}
	return low, found
}

// close lets the chunks enter whose HIGH the tail has reached, in the order in
// which they were opened, and ends a table that has no more of them.
func (c *Core) close(t *Table) {
	if t.phase != Reading {
		return
	}
	for _, id := range t.openChunks() {
		if ch := t.chunks[id]; ch.read && c.position >= ch.high {
			c.drop(t, id)
			c.emit(ActClose, t, id)
		}
	}
	if t.planned && len(t.chunks) == 0 {
		t.phase = Done
		c.undone--
		if c.undone == 0 {
			c.passed = Cover{}
		}
		c.emit(ActDone, t, 0)
	}
}

// drop forgets a chunk.
func (c *Core) drop(t *Table, id uint64) {
	c.waiting -= t.chunks[id].bytes
	c.open--
	delete(t.chunks, id)
}

func (c *Core) emit(kind ActionKind, t *Table, chunk uint64) {
	c.actions = append(c.actions, Action{kind, t, chunk})
}

// take returns the actions gathered. The slice is valid until the next input.
func (c *Core) take() []Action {
	out := c.actions
	c.actions = nil
	return out
}
