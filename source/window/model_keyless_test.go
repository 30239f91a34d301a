package window

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// bagReader is what a source does around a Core for a table without a key: it is
// read in one snapshot, and the tail is filtered by what that sees. The keys of
// the database stand for nothing here but the order of its locks; the log has
// versions of rows, which come and go.
type bagReader struct {
	db       *database
	core     *Core
	id       schema.TableID
	out      []bagEntry
	tailed   int
	held     Snapshot // the one snapshot
	filenode int
	next     int
	size     int
	ranges   map[uint64][2]int
	rows     map[uint64][]uint64
	saved    *savedBag
}

// bagEntry is one entry of the resulting log: a row that comes or goes; n is its
// version, 0 empties the table.
type bagEntry struct {
	n    uint64
	gone bool
	read bool
}

type savedBag struct {
	state []byte
	out   int
}

func (r *bagReader) fresh() {
	r.core = New(Options{MaxOpen: 3})
	r.ranges, r.rows, r.filenode = make(map[uint64][2]int), make(map[uint64][]uint64), 0
}

func (r *bagReader) table() *Table { return r.core.Table(r.id) }

func (r *bagReader) do(t *rapid.T, actions []Action) {
	for _, a := range actions {
		switch a.Kind {
		case ActRead:
			r.filenode, r.next, r.size = r.db.filenode, 0, r.db.places
		case ActClose:
			if a.Table.FiltersRows() {
				t.Fatal("rows of a table without a key are filtered by key")
			}
			for _, n := range r.rows[a.Chunk] {
				r.out = append(r.out, bagEntry{n: n, read: true})
			}
			delete(r.ranges, a.Chunk)
		case ActDiscard:
			delete(r.ranges, a.Chunk)
		case ActReset:
			r.out, r.filenode = append(r.out, bagEntry{}), 0
		case ActDone:
			if err := a.Table.Finish(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// openSnapshot tries to open the one snapshot, between two events.
func (r *bagReader) openSnapshot(t *rapid.T) {
	if r.table().Phase() == Covering {
		r.held = r.db.snapshot()
		r.do(t, r.core.Opened(r.table(), r.held))
	}
}

// tail gives in the next flushed transaction.
func (r *bagReader) tail(t *rapid.T) bool {
	if r.tailed == len(r.db.log) || r.db.log[r.tailed].lsn > r.db.flushed {
		return false
	}
	tx := r.db.log[r.tailed]
	r.tailed++
	tab := r.table()
	switch {
	case tx.truncate:
		r.truncate(t, tx)
	case r.core.Event(tab, tx.xid) == Pass:
		for i, k := range tx.keys {
			v := tx.versions[i]
			if old := r.db.before(k, v.n); old != 0 {
				r.out = append(r.out, bagEntry{n: old, gone: true})
			}
			if !v.deleted {
				r.out = append(r.out, bagEntry{n: v.n})
			}
		}
	}
	r.do(t, r.core.Advance(tx.lsn))
	return true
}

func (r *bagReader) truncate(t *rapid.T, tx txn) {
	if !r.core.Idle() {
		r.core.Note(tx.xid)
	}
	switch r.table().Phase() {
	case Waiting:
	case Done:
		r.out = append(r.out, bagEntry{})
	default:
		r.reset(t)
	}
}

func (r *bagReader) reset(t *rapid.T) {
	actions, err := r.core.Reset(r.table())
	if err != nil {
		t.Fatal(err)
	}
	r.do(t, actions)
}

// before returns the version of a key's row before version n, 0 for none.
func (d *database) before(key string, n uint64) uint64 {
	h := d.history[key]
	i := slices.IndexFunc(h, func(v version) bool { return v.n == n })
	if i <= 0 || h[i-1].deleted {
		return 0
	}
	return h[i-1].n
}

func (r *bagReader) open(width int) {
	if r.table().Phase() != Reading || !r.core.CanOpen() || r.next >= r.size {
		return
	}
	c := [2]int{r.next, min(r.next+width, r.size)}
	r.next = c[1]
	r.ranges[r.core.Open(r.table())] = c
}

// finish gives in the result of an open chunk. The rows are those of the snapshot,
// but the place of each is that of now.
func (r *bagReader) finish(t *rapid.T, id uint64) {
	c, ok := r.ranges[id]
	if !ok || r.rows[id] != nil {
		return
	}
	if r.filenode != r.db.filenode {
		r.reset(t)
		return
	}
	r.rows[id] = []uint64{}
	for _, v := range r.db.read(r.held, c[0], c[1]) {
		r.rows[id] = append(r.rows[id], v.n)
	}
	r.do(t, r.core.Read(r.table(), id, r.db.insert, 1))
}

func (r *bagReader) plan(t *rapid.T) {
	if tab := r.table(); tab.Phase() == Reading && r.next >= r.size && !tab.planned {
		r.do(t, r.core.Planned(tab))
	}
}

func (r *bagReader) checkpoint() {
	r.saved = &savedBag{out: len(r.out)}
	r.saved.state, _ = json.Marshal(r.core.State())
}

// crash goes on from the last checkpoint: the one snapshot is gone, so a table that
// was being read starts anew.
func (r *bagReader) crash(t *rapid.T) {
	if r.saved == nil {
		return
	}
	r.fresh()
	r.out = r.out[:r.saved.out]
	var st State
	if err := json.Unmarshal(r.saved.state, &st); err != nil {
		t.Fatal(err)
	}
	r.tailed = 0
	for r.tailed < len(r.db.log) && r.db.log[r.tailed].lsn <= st.Position {
		r.tailed++
	}
	actions, err := r.core.Restore(st, func(schema.TableID) (Set, error) {
		return nil, fmt.Errorf("a table without a key has no set")
	})
	if err != nil {
		t.Fatal(err)
	}
	r.do(t, actions)
}

// again reads a table that is done once more, as when rows changed without events.
func (r *bagReader) again(t *rapid.T) {
	if r.table().Phase() == Done {
		r.core.Require(Cover{Before: r.db.nextXID})
		r.do(t, r.core.Again(r.table(), nil))
	}
}

// check wants the log to make the rows that the database holds, and each version to
// come and go once at most.
func (r *bagReader) check() error {
	rows, came := make(map[uint64]int), make(map[uint64]int)
	for _, e := range r.out {
		switch {
		case e.n == 0:
			rows, came = make(map[uint64]int), make(map[uint64]int)
		case e.gone:
			rows[e.n]--
		default:
			rows[e.n]++
			if came[e.n]++; came[e.n] > 1 {
				return fmt.Errorf("version %d came twice: %+v", e.n, r.out)
			}
		}
	}
	for k, h := range r.db.history {
		if last := h[len(h)-1]; !last.deleted {
			if rows[last.n] != 1 {
				return fmt.Errorf("row %s, version %d, is there %d times: %+v", k, last.n, rows[last.n], r.out)
			}
			delete(rows, last.n)
		}
	}
	for n, count := range rows {
		if count != 0 {
			return fmt.Errorf("version %d is there %d times and should not be: %+v", n, count, r.out)
		}
	}
	return nil
}

// TestModelKeyless is TestModel for a table without a key.
func TestModelKeyless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db := &database{history: make(map[string][]version), visible: map[uint64]bool{}, nextXID: 1, filenode: 1}
		r := &bagReader{db: db, id: schema.TableID{Table: "t"}}
		r.fresh()
		r.core.Add(r.id, false, nil)
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 1, 3)
		rare := func(t *rapid.T) bool { return rapid.IntRange(0, 3).Draw(t, "rare") == 0 }
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				list := slices.Compact(slices.Sorted(slices.Values(keys.Draw(t, "keys"))))
				db.commit(list, func(string) bool { return rapid.Bool().Draw(t, "delete") }, func(string) bool { return false })
			},
			"visible": func(t *rapid.T) { db.visible[rapid.Uint64Range(1, db.nextXID).Draw(t, "xid")%db.nextXID] = true },
			"flush":   func(t *rapid.T) { db.flushed = rapid.Uint64Range(db.flushed, db.insert).Draw(t, "to") },
			"tail":    func(t *rapid.T) { r.tail(t) },
			"start": func(t *rapid.T) {
				if r.table().Phase() == Waiting {
					r.do(t, r.core.Start(r.table()))
				}
			},
			"snapshot": r.openSnapshot,
			"ask":      func(t *rapid.T) { r.do(t, r.core.Visible(db.snapshot())) },
			"open":     func(t *rapid.T) { r.open(rapid.IntRange(1, 4).Draw(t, "width")) },
			"finish":   func(t *rapid.T) { r.finish(t, rapid.Uint64Range(1, r.core.nextChunk+1).Draw(t, "chunk")) },
			"plan":     r.plan,
			"vacuum": func(t *rapid.T) {
				if rare(t) {
					db.vacuumFull(func(k []string) []string { return rapid.Permutation(k).Draw(t, "order") })
				}
			},
			"truncate": func(t *rapid.T) {
				if rare(t) {
					db.truncate()
				}
			},
			"checkpoint": func(*rapid.T) { r.checkpoint() },
			"crash":      r.crash,
			"again": func(t *rapid.T) {
				if rare(t) {
					r.again(t)
				}
			},
		})
		r.drain(t)
		if err := r.check(); err != nil {
			t.Fatal(err)
		}
	})
}

// drain lets everything come to its end.
func (r *bagReader) drain(t *rapid.T) {
	if r.table().Phase() == Waiting {
		r.do(t, r.core.Start(r.table()))
	}
	for x := range r.db.nextXID {
		r.db.visible[x] = true
	}
	r.db.flushed = r.db.insert
	for r.tail(t) {
	}
	for range 1000 {
		r.do(t, r.core.Advance(r.db.flushed))
		if r.core.Idle() {
			return
		}
		r.do(t, r.core.Visible(r.db.snapshot()))
		r.openSnapshot(t)
		r.open(3)
		for _, id := range slices.Sorted(maps.Keys(r.ranges)) {
			r.finish(t, id)
		}
		r.plan(t)
	}
	t.Fatalf("the snapshot does not end: %s", r.table().Phase())
}
