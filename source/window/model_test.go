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

// version is one state of a key: a row at a place, or its deletion.
type version struct {
	xid, n  uint64
	deleted bool
	place   int
	// big is the version that has set the row's large value. Where it is not n, the
	// event has left the value out.
	big uint64
}

// leftOut reports whether the event of v leaves out the large value.
func (v version) leftOut() bool { return !v.deleted && v.big != v.n }

// txn is a committed transaction as the log holds it.
type txn struct {
	xid, lsn uint64
	keys     []string
	versions []version
	truncate bool
}

// database is a server whose commits reach the log before they are visible, in
// any order, and are flushed after they are visible (asynchronous commit).
type database struct {
	history  map[string][]version
	log      []txn
	visible  map[uint64]bool
	nextXID  uint64
	insert   uint64 // end of the log
	flushed  uint64
	versions uint64
	places   int
	filenode int
}

func (d *database) snapshot() Snapshot {
	s := Snapshot{Xmax: 1}
	for x := range d.visible {
		s.Xmax = max(s.Xmax, x+1)
	}
	s.Xmin = s.Xmax
	for x := uint64(1); x < s.Xmax; x++ {
		if !d.visible[x] {
			s.InProgress = append(s.InProgress, x)
			s.Xmin = min(s.Xmin, x)
		}
	}
	return s
}

// locked reports whether the last writer of key has not ended.
func (d *database) locked(key string) bool {
	h := d.history[key]
	return len(h) > 0 && !d.visible[h[len(h)-1].xid]
}

func (d *database) alive(key string) bool {
	h := d.history[key]
	return len(h) > 0 && !h[len(h)-1].deleted
}

// commit writes a transaction over keys into the log; keep says which updates leave
// the large value as it is.
func (d *database) commit(keys []string, delete, keep func(string) bool) {
	tx := txn{xid: d.nextXID}
	d.nextXID++
	for _, k := range keys {
		if d.locked(k) {
			continue
		}
		del := d.alive(k) && delete(k)
		d.versions++
		v := version{xid: tx.xid, n: d.versions, deleted: del, place: d.places, big: d.versions}
		if h := d.history[k]; !del && d.alive(k) && keep(k) {
			v.big = h[len(h)-1].big
		}
		d.places++
		d.history[k] = append(d.history[k], v)
		tx.keys, tx.versions = append(tx.keys, k), append(tx.versions, v)
	}
	d.insert += 10
	tx.lsn = d.insert
	d.log = append(d.log, tx)
}

// truncate removes every row, which needs that nobody writes.
func (d *database) truncate() {
	for k := range d.history {
		if d.locked(k) {
			return
		}
	}
	tx := txn{xid: d.nextXID, truncate: true}
	d.nextXID++
	for k := range d.history {
		if d.alive(k) {
			d.versions++
			d.history[k] = append(d.history[k], version{xid: tx.xid, n: d.versions, deleted: true})
		}
	}
	d.insert += 10
	tx.lsn = d.insert
	d.log = append(d.log, tx)
	d.filenode++
}

// read returns the rows that s sees at places from lo to hi.
func (d *database) read(s Snapshot, lo, hi int) map[string]version {
	rows := make(map[string]version)
	for k := range d.history {
		if v, ok := d.row(s, k); ok && v.place >= lo && v.place < hi {
			rows[k] = v
		}
	}
	return rows
}

// row returns the row of a key that s sees.
func (d *database) row(s Snapshot, key string) (version, bool) {
	h := d.history[key]
	for i := len(h) - 1; i >= 0; i-- {
		if s.Sees(h[i].xid) {
			return h[i], !h[i].deleted
		}
	}
	return version{}, false
}

// vacuumFull moves every row.
func (d *database) vacuumFull(shuffle func([]string) []string) {
	keys := shuffle(slices.Sorted(maps.Keys(d.history)))
	d.places, d.filenode = 0, d.filenode+1
	for _, k := range keys {
		for i := range d.history[k] {
			d.history[k][i].place = d.places
			d.places++
		}
	}
}

// entry is one entry of the resulting log.
type entry struct {
	key  string
	n    uint64 // version; 0 empties the table
	big  uint64 // its large value, 0 where it was left out
	del  bool
	read bool
	fill bool // of a row that is in the log already
}

// reader is what a source does around a Core.
type reader struct {
	db       *database
	core     *Core
	id       schema.TableID
	out      []entry
	tailed   int // transactions of db.log that were given in
	filenode int
	next     int // first place not handed out
	size     int
	again    [][2]int // ranges to read again after a restart
	ranges   map[uint64][2]int
	fills    map[uint64][]string // chunks that are read by key
	filling  bool
	rows     map[uint64]map[string]version
	saved    *savedReader
}

type savedReader struct {
	state    []byte
	seen     map[string]string
	out      int
	filenode int
	next     int
	size     int
	again    [][2]int
}

func (r *reader) fresh() {
	r.core = New(Options{MaxOpen: 3})
	r.ranges, r.fills, r.rows = make(map[uint64][2]int), make(map[uint64][]string), make(map[uint64]map[string]version)
	r.filling = false
}

func (r *reader) do(t *rapid.T, actions []Action) {
	for _, a := range actions {
		switch a.Kind {
		case ActRead:
			if r.filenode == 0 {
				r.filenode, r.next, r.size = r.db.filenode, 0, r.db.places
			}
		case ActClose:
			r.enter(t, a.Table, a.Chunk)
		case ActDiscard:
			delete(r.ranges, a.Chunk)
			delete(r.fills, a.Chunk)
		case ActReset:
			r.out, r.filenode, r.again, r.filling = append(r.out, entry{}), 0, nil, false
		case ActDone:
			if err := a.Table.Finish(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// enter puts the rows of a chunk into the log, as the table's filter says.
func (r *reader) enter(t *rapid.T, tab *Table, chunk uint64) {
	for _, k := range slices.Sorted(maps.Keys(r.rows[chunk])) {
		v, row := Pass, r.rows[chunk][k]
		if tab.FiltersRows() {
			v, _ = tab.Filter([]byte(k))
		}
		switch v {
		case Pass:
			r.out = append(r.out, entry{key: k, n: row.n, big: row.big, read: true})
		case Fill:
			r.out = append(r.out, entry{key: k, n: row.n, big: row.big, fill: true})
		}
		if v == Pass && r.fills[chunk] != nil {
			t.Fatalf("a row that was read by key, %s, enters as if it were new", k)
		}
	}
	for _, k := range r.fills[chunk] {
		if err := tab.Filled([]byte(k)); err != nil {
			t.Fatal(err)
		}
	}
	delete(r.ranges, chunk)
	delete(r.fills, chunk)
}

func (r *reader) table() *Table { return r.core.Table(r.id) }

// tail gives in the next flushed transaction.
func (r *reader) tail(t *rapid.T) bool {
	if r.tailed == len(r.db.log) || r.db.log[r.tailed].lsn > r.db.flushed {
		return false
	}
	tx := r.db.log[r.tailed]
	r.tailed++
	tab := r.table()
	v := r.core.Event(tab, tx.xid)
	switch {
	case v == Drop:
	case tx.truncate:
		actions, err := r.core.Reset(tab)
		if err != nil {
			t.Fatal(err)
		}
		if actions == nil {
			r.out = append(r.out, entry{})
		}
		r.do(t, actions)
	default:
		for i, k := range tx.keys {
			ver := tx.versions[i]
			e := entry{key: k, n: ver.n, big: ver.big, del: ver.deleted}
			var partial []byte
			if ver.leftOut() {
				if e.big = 0; !r.filling {
					partial = []byte("the key of " + k)
				}
			}
			if v == PassNoted {
				_ = tab.Note([]byte(k), partial)
			}
			r.out = append(r.out, e)
		}
	}
	r.do(t, r.core.Advance(tx.lsn))
	return true
}

// open reads a chunk; its result is given in at once or later.
func (r *reader) open(width int) {
	if r.table().Phase() != Reading || !r.core.CanOpen() || (len(r.again) == 0 && r.next >= r.size) {
		return
	}
	var c [2]int
	if len(r.again) > 0 {
		c, r.again = r.again[0], r.again[1:]
	} else {
		c = [2]int{r.next, min(r.next+width, r.size)}
		r.next = c[1]
	}
	r.ranges[r.core.Open(r.table())] = c
}

// finish gives in the result of an open chunk, read now.
func (r *reader) finish(t *rapid.T, id uint64) {
	c, ranged := r.ranges[id]
	keys, keyed := r.fills[id]
	if !ranged && !keyed || r.rows[id] != nil {
		return
	}
	if ranged && r.filenode != r.db.filenode {
		actions, err := r.core.Reset(r.table())
		if err != nil {
			t.Fatal(err)
		}
		r.do(t, actions)
		return
	}
	s := r.db.snapshot()
	if ranged {
		r.rows[id] = r.db.read(s, c[0], c[1])
	} else {
		r.rows[id] = make(map[string]version)
		for _, k := range keys {
			if v, ok := r.db.row(s, k); ok {
				r.rows[id][k] = v
			}
		}
	}
	r.do(t, r.core.Read(r.table(), id, r.db.insert, 1))
}

// plan reads by key what the chunks did not bring, some keys at a time, and then
// ends the table.
func (r *reader) plan(t *rapid.T) {
	tab := r.table()
	if tab.Phase() != Reading || r.next < r.size || len(r.again) > 0 || tab.planned || tab.Open() > 0 {
		return
	}
	r.filling = true
	if tab.Partial() == 0 {
		r.do(t, r.core.Planned(tab))
		return
	}
	const atATime = 2
	var keys []string
	_ = tab.Partials(func(key, partial []byte) bool {
		if want := "the key of " + string(key); string(partial) != want {
			t.Fatalf("key %s has %q, not %q", key, partial, want)
		}
		keys = append(keys, string(key))
		return len(keys) < atATime
	})
	r.fills[r.core.Open(tab)] = keys
}

func (r *reader) checkpoint() {
	s := &savedReader{out: len(r.out), filenode: r.filenode, next: r.next, size: r.size, again: slices.Clone(r.again), seen: make(map[string]string)}
	s.state, _ = json.Marshal(r.core.State())
	for _, c := range r.ranges {
		s.again = append(s.again, c)
	}
	if set, ok := r.table().seen.(*MemSet); ok && set != nil {
		set.all(func(k, v string) bool { s.seen[k] = v; return true })
	}
	r.saved = s
}

func (r *reader) crash(t *rapid.T) {
	if r.saved == nil {
		return
	}
	s := r.saved
	r.fresh()
	r.out, r.filenode, r.next, r.size, r.again = r.out[:s.out], s.filenode, s.next, s.size, slices.Clone(s.again)
	var st State
	if err := json.Unmarshal(s.state, &st); err != nil {
		t.Fatal(err)
	}
	r.tailed = 0
	for r.tailed < len(r.db.log) && r.db.log[r.tailed].lsn <= st.Position {
		r.tailed++
	}
	actions, err := r.core.Restore(st, func(schema.TableID) (Set, error) {
		set := NewMemSet()
		for k, v := range s.seen {
			set.put([]byte(k), v)
		}
		return set, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.do(t, actions)
}

// check compares the resulting log with the history of every key.
func (r *reader) check() error {
	rows := make(map[string][]entry)
	large := make(map[string]uint64) // as a sink has them, 0 for what is left to be filled
	for _, e := range r.out {
		switch {
		case e.n == 0:
			rows, large = make(map[string][]entry), make(map[string]uint64)
			continue
		case e.fill && len(rows[e.key]) == 0:
			return fmt.Errorf("key %s is filled before it came", e.key)
		case e.fill:
			if large[e.key] == 0 {
				large[e.key] = e.big
			}
			continue
		case e.big != 0 || e.del:
			large[e.key] = e.big
		}
		rows[e.key] = append(rows[e.key], e)
	}
	for k, h := range r.db.history {
		if err := checkKey(k, h, rows[k]); err != nil {
			return err
		}
		if last := h[len(h)-1]; !last.deleted && large[k] != last.big {
			return fmt.Errorf("key %s: its large value is that of version %d, not %d: log %+v, history %+v", k, large[k], last.big, rows[k], h)
		}
		delete(rows, k)
	}
	if len(rows) > 0 {
		return fmt.Errorf("keys that never were: %v", rows)
	}
	return nil
}

// checkKey wants the entries to be the end of the history: one read, or none,
// then each later version once.
func checkKey(k string, h []version, got []entry) error {
	if len(got) == 0 {
		if h[len(h)-1].deleted {
			return nil
		}
		return fmt.Errorf("key %s is lost: %v", k, h)
	}
	at := slices.IndexFunc(h, func(v version) bool { return v.n == got[0].n })
	want := h[max(at, 0):]
	for i, e := range got {
		if at < 0 || i >= len(want) || want[i].n != e.n || want[i].deleted != e.del || (e.read && i > 0) {
			// Rows that a TRUNCATE removed end without an entry of their own.
			return fmt.Errorf("key %s: log %+v, history %+v", k, got, h)
		}
	}
	if len(want) > len(got) {
		return fmt.Errorf("key %s: log %+v ends before history %+v", k, got, h)
	}
	return nil
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db := &database{history: make(map[string][]version), visible: map[uint64]bool{}, nextXID: 1, filenode: 1}
		r := &reader{db: db, id: schema.TableID{Table: "t"}}
		r.fresh()
		tab := r.core.Add(r.id, true, NewMemSet())
		_ = tab
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 1, 3)
		show := func(x uint64) { db.visible[x] = true }
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				list := slices.Compact(slices.Sorted(slices.Values(keys.Draw(t, "keys"))))
				db.commit(list, func(string) bool { return rapid.Bool().Draw(t, "delete") }, func(string) bool { return rapid.Bool().Draw(t, "keep") })
			},
			"visible": func(t *rapid.T) { show(rapid.Uint64Range(1, db.nextXID).Draw(t, "xid") % db.nextXID) },
			"flush":   func(t *rapid.T) { db.flushed = rapid.Uint64Range(db.flushed, db.insert).Draw(t, "to") },
			"tail":    func(t *rapid.T) { r.tail(t) },
			"start": func(t *rapid.T) {
				if r.table().Phase() == Waiting {
					r.do(t, r.core.Start(r.table()))
				}
			},
			"ask":    func(t *rapid.T) { r.do(t, r.core.Visible(db.snapshot())) },
			"open":   func(t *rapid.T) { r.open(rapid.IntRange(1, 4).Draw(t, "width")) },
			"finish": func(t *rapid.T) { r.finish(t, rapid.Uint64Range(1, r.core.nextChunk+1).Draw(t, "chunk")) },
			"plan":   r.plan,
			"vacuum": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "rare") == 0 {
					db.vacuumFull(func(k []string) []string { return rapid.Permutation(k).Draw(t, "order") })
				}
			},
			"truncate": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "rare") == 0 {
					db.truncate()
				}
			},
			"checkpoint": func(t *rapid.T) { r.checkpoint() },
			"crash":      r.crash,
			"again": func(t *rapid.T) { // rows changed without events, or somebody asks for it
				if r.table().Phase() == Done && rapid.IntRange(0, 3).Draw(t, "rare") == 0 {
					r.core.Require(Cover{Before: db.nextXID})
					r.do(t, r.core.Again(r.table(), NewMemSet()))
				}
			},
		})
		r.drain(t, show)
		if err := r.check(); err != nil {
			t.Fatal(err)
		}
	})
}

// drain lets everything come to its end.
func (r *reader) drain(t *rapid.T, show func(uint64)) {
	if r.table().Phase() == Waiting {
		r.do(t, r.core.Start(r.table()))
	}
	for x := range r.db.nextXID {
		show(x)
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
		r.open(3)
		for id := range r.core.nextChunk + 1 {
			r.finish(t, id)
		}
		r.plan(t)
	}
	t.Fatalf("the snapshot does not end: %s", r.table().Phase())
}
