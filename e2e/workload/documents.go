package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// documents is a worker's view of its documents: ids that are equal to its number
// modulo the number of workers. A worker alone writes them, so it knows which
// exist and at which version.
type documents struct {
	queries  *queries
	step     int64
	next     int64           // the next id that was never used
	live     []int64         // ids that exist
	dead     []int64         // ids that were deleted
	versions map[int64]int64 // the last version of every id that was ever used
}

func newDocuments(config Config, dialect *dialect, worker int) documents {
	d := documents{queries: &dialect.queries, step: int64(config.Workers), versions: map[int64]int64{}}
	for id := int64(1); id <= int64(config.Documents); id++ {
		if id%d.step == int64(worker) {
			d.live = append(d.live, id)
			d.versions[id] = 1
		}
	}
	d.next = int64(config.Documents) + 1
	for d.next%d.step != int64(worker) {
		d.next++
	}
	return d
}

// edit is what one transaction does to the documents; it counts only once committed.
type edit struct {
	docs       *documents
	next       int64
	live, dead []int64
	versions   map[int64]int64
}

func (d *documents) begin() *edit {
	return &edit{docs: d, next: d.next, live: append([]int64(nil), d.live...), dead: append([]int64(nil), d.dead...), versions: map[int64]int64{}}
}

func (e *edit) commit() {
	e.docs.next, e.docs.live, e.docs.dead = e.next, e.live, e.dead
	for id, v := range e.versions {
		e.docs.versions[id] = v
	}
}

// bump returns the next version of the id.
func (e *edit) bump(id int64) int64 {
	v, ok := e.versions[id]
	if !ok {
		v = e.docs.versions[id]
	}
	e.versions[id] = v + 1
	return v + 1
}

// fresh returns an id that was never used.
func (e *edit) fresh() int64 {
	id := e.next
	e.next += e.docs.step
	return id
}

// take removes a random id from ids.
func take(rng *rand.Rand, ids *[]int64) int64 {
	i := rng.IntN(len(*ids))
	id := (*ids)[i]
	last := len(*ids) - 1
	(*ids)[i] = (*ids)[last]
	*ids = (*ids)[:last]
	return id
}

// statement queues one change of a document and returns the number of row changes, 1.
func (e *edit) statement(rng *rand.Rand, t *transaction) int {
	p := rng.IntN(100)
	switch {
	case len(e.live) < 2 || p < 25:
		id := int64(0)
		if len(e.dead) > 0 && rng.IntN(3) == 0 {
			id = take(rng, &e.dead) // a key that existed once
		} else {
			id = e.fresh()
		}
		e.insert(rng, t, id)
	case p < 45:
		id := take(rng, &e.live)
		e.dead = append(e.dead, id)
		t.queue(e.docs.queries.remove, id)
	case p < 52: // the key changes, the wide column is left alone
		old, id := take(rng, &e.live), e.fresh()
		e.dead = append(e.dead, old)
		e.live = append(e.live, id)
		t.queue(e.docs.queries.rekey, old, id, e.bump(id))
	default:
		e.update(rng, t, e.live[rng.IntN(len(e.live))])
	}
	return 1
}

func (e *edit) insert(rng *rand.Rand, t *transaction, id int64) {
	e.live = append(e.live, id)
	t.queue(e.docs.queries.insert, id, e.bump(id), fmt.Sprintf("title %d", rng.Int32()), body(rng), []string{"x", "y,\"z\\"},
		fmt.Sprintf(`{"n": %d, "s": "é\t"}`, rng.Int32N(1000)), rng.NormFloat64(), rng.Float32(), rng.IntN(2) == 0,
		[]byte{0, byte(rng.IntN(256)), 255}, rng.IntN(40_000)-20_000, int16(rng.IntN(60_000)-30_000))
}

// update changes a document: with its wide column, without it, or to NULLs.
func (e *edit) update(rng *rand.Rand, t *transaction, id int64) {
	version := e.bump(id)
	switch rng.IntN(4) {
	case 0:
		t.queue(e.docs.queries.setBody, id, version, body(rng))
	case 1:
		t.queue(e.docs.queries.setNull, id, version)
	default:
		t.queue(e.docs.queries.setSome, id, version, fmt.Sprintf("new title %d", rng.Int32()), rng.ExpFloat64(), []string{fmt.Sprint(rng.Int32N(100))})
	}
}

// body is a text that mostly is wide enough to be stored out of line.
func body(rng *rand.Rand) string {
	var s strings.Builder
	for range 1 + rng.IntN(400) {
		fmt.Fprintf(&s, "%016x", rng.Uint64())
	}
	return s.String()
}
