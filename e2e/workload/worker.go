package workload

import (
	"context"
	"math/rand/v2"
)

// worker makes the transactions of one connection.
type worker struct {
	id      int
	config  Config
	queries *queries
	rng     *rand.Rand
	// transfers and events count the committed rows of ledger and events,
	// transactions the committed transactions; all are in the worker's row of progress.
	transfers, events, transactions int64
	docs                            documents
}

func newWorker(config Config, d *dialect, id int) *worker {
	return &worker{
		id: id, config: config, queries: &d.queries,
		rng:  rand.New(rand.NewPCG(config.Seed, uint64(id))),
		docs: newDocuments(config, d, id),
	}
}

// statement is one SQL statement; $1, $2 ... stand for its arguments.
type statement struct {
	sql  string
	args []any
}

// transaction is the statements of one transaction.
type transaction struct {
	statements []statement
	// rollback: it is meant to leave nothing behind.
	rollback bool
	// twoPhases: it is prepared before it is committed.
	twoPhases bool
	worker    int
	// number is what the worker's row of progress counts once it is committed.
	number int64
}

func (t *transaction) queue(sql string, args ...any) {
	t.statements = append(t.statements, statement{sql, args})
}

// transaction runs one transaction and returns the number of row changes that it committed.
func (w *worker) transaction(ctx context.Context, line *line) (int, error) {
	work := &transaction{worker: w.id, number: w.transactions + 1}
	kind, roll := w.rng.IntN(1000), w.rng.IntN(100)
	if roll >= 97 { // a savepoint whose work disappears, then the real work
		work.queue("SAVEPOINT s")
		work.queue(w.queries.strayAccount, 1+w.rng.Int64N(int64(w.config.Accounts)))
		work.queue(w.queries.strayEvent, w.id)
		work.queue("ROLLBACK TO SAVEPOINT s")
	} else if w.config.XA && roll >= 92 {
		work.twoPhases = true
	}
	work.rollback = roll < 3
	changes, done := 0, func() {}
	switch {
	case kind < 5:
		changes = w.large(work)
	case kind < 500:
		changes, done = w.transfer(work)
	default:
		changes, done = w.edit(work)
	}
	if err := line.run(ctx, work); err != nil {
		return 0, err
	}
	if work.rollback {
		return 0, nil
	}
	w.transactions++
	done()
	return changes, nil
}

// transfer moves money between two accounts.
func (w *worker) transfer(t *transaction) (int, func()) {
	from := 1 + w.rng.Int64N(int64(w.config.Accounts))
	to := 1 + (from+w.rng.Int64N(int64(w.config.Accounts)-1))%int64(w.config.Accounts)
	amount := 1 + w.rng.Int64N(100_000) // hundredths
	// Always in the order of the ids, so that workers can't deadlock.
	if from < to {
		t.queue(w.queries.transfer, from, -amount)
		t.queue(w.queries.transfer, to, amount)
	} else {
		t.queue(w.queries.transfer, to, amount)
		t.queue(w.queries.transfer, from, -amount)
	}
	t.queue(w.queries.ledger, w.id, w.transfers+1, from, to, amount)
	t.queue(w.queries.progress, w.id, w.transfers+1, w.events, t.number)
	return 4, func() { w.transfers++ }
}

// large touches many accounts in one transaction without moving money.
func (w *worker) large(t *transaction) int {
	n := min(200, w.config.Accounts)
	first := 1 + w.rng.IntN(w.config.Accounts-n+1)
	for id := first; id < first+n; id++ {
		t.queue(w.queries.touch, id)
	}
	t.queue(w.queries.progress, w.id, w.transfers, w.events, t.number)
	return n + 1
}

// edit changes a few documents and writes an event for each.
func (w *worker) edit(t *transaction) (int, func()) {
	changes, events := 0, w.events
	edit := w.docs.begin()
	for range 1 + w.rng.IntN(4) {
		changes += edit.statement(w.rng, t)
		events++
		t.queue(w.queries.event, w.id, events, [...]string{"edit", "é", ""}[w.rng.IntN(3)], nil)
	}
	t.queue(w.queries.progress, w.id, w.transfers, events, t.number)
	changes += int(events-w.events) + 1
	return changes, func() {
		edit.commit()
		w.events = events
	}
}
