package sourcetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// workload changes the suite's tables over several connections until it is stopped.
type workload struct {
	db    Database
	rows  int
	ver   atomic.Int64
	stop  chan struct{}
	wg    sync.WaitGroup
	count atomic.Int64
	err   atomic.Pointer[error]
	pace  time.Duration // pause after each transaction
	whole bool          // Harness.WholeKeyChanges
}

// clients of a workload; keys are dealt out to them, so that ver grows in the
// order of the log.
const clients = 3

func (h Harness) startWorkload(t *testing.T, db Database, rows int, pace time.Duration) *workload {
	w := &workload{db: db, rows: rows, stop: make(chan struct{}), pace: pace, whole: h.WholeKeyChanges}
	for c := range clients {
		w.wg.Add(1)
		go w.client(c)
	}
	t.Cleanup(func() { w.end() })
	return w
}

func (w *workload) client(c int) {
	defer w.wg.Done()
	r := rand.New(rand.NewPCG(seed, uint64(c)))
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		if err := w.db.Exec(c+1, w.transaction(r, c)...); err != nil {
			w.err.CompareAndSwap(nil, &err)
			return
		}
		w.count.Add(1)
		time.Sleep(w.pace)
	}
}

// transaction moves money between two accounts of one client, and changes a few things.
func (w *workload) transaction(r *rand.Rand, c int) []string {
	mine := func() int { return r.IntN(w.rows/clients)*clients + c }
	ver := w.ver.Add(1)
	n := r.IntN(20)
	sql := []string{
		fmt.Sprintf("UPDATE acct_a SET n = n - %d, ver = %d WHERE id = %d", n, ver, mine()),
		fmt.Sprintf("UPDATE acct_b SET n = n + %d, ver = %d WHERE id = %d", n, ver, mine()),
	}
	for range r.IntN(3) {
		sql = append(sql, w.thing(r, mine()))
	}
	if r.IntN(3) == 0 {
		sql = append(sql, bag(r, c))
	}
	return sql
}

func (w *workload) thing(r *rand.Rand, id int) string {
	ver := w.ver.Add(1)
	switch r.IntN(8) {
	case 0:
		return fmt.Sprintf("DELETE FROM things WHERE id = %d", id)
	case 1:
		return fmt.Sprintf("DELETE FROM things WHERE id = %d AND sub = 's%d'", id, id%3)
	case 2:
		return fmt.Sprintf("INSERT INTO things (id, sub, v, big, ver) SELECT %d, 'n%d', 'new', NULL, %d", id, ver, ver)
	case 3: // one row of the client gets a key that nobody has had
		if w.whole {
			return fmt.Sprintf("UPDATE things SET sub = 'k%d', v = 'k%d', big = '%s', ver = %d WHERE id = %d AND sub = 's%d'", ver, ver, bigText(int(ver)), ver, id, id%3)
		}
		return fmt.Sprintf("UPDATE things SET sub = 'k%d', ver = %d WHERE id = %d AND sub = 's%d'", ver, ver, id, id%3)
	case 4:
		return fmt.Sprintf("UPDATE things SET big = '%s', ver = %d WHERE id = %d AND sub = 's%d'", bigText(int(ver)), ver, id, id%3)
	}
	return fmt.Sprintf("UPDATE things SET v = 'u%d', ver = %d WHERE id = %d", ver, ver, id)
}

// bag changes rows of the table without a key; a belongs to a client.
func bag(r *rand.Rand, c int) string {
	a := r.IntN(50/clients)*clients + c
	switch r.IntN(4) {
	case 0:
		return fmt.Sprintf("DELETE FROM bag WHERE a = %d AND v = 'b%d'", a, r.IntN(7))
	case 1:
		return fmt.Sprintf("UPDATE bag SET v = 'b%d' WHERE a = %d AND v = 'b%d'", r.IntN(7), a, r.IntN(7))
	}
	return fmt.Sprintf("INSERT INTO bag (a, v) VALUES (%d, 'b%d')", a, r.IntN(7))
}

// end stops the workload and waits for its last transactions.
func (w *workload) end() error {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.wg.Wait()
	if err := w.err.Load(); err != nil {
		return *err
	}
	return nil
}
