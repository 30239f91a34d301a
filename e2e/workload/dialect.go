package workload

import (
	"context"
	"time"
)

// dialect is what differs between the databases.
type dialect struct {
	// connect opens a connection for one worker or for [Workload.Create].
	connect func(ctx context.Context, url string, config Config) (session, error)
	// create returns the statements that make and fill the tables.
	create  func(config Config) []string
	queries queries
}

// queries are the statements of the workload with the arguments of each.
type queries struct {
	transfer                 string // account, amount in hundredths
	ledger                   string // worker, number, debit, credit, amount in hundredths
	progress                 string // worker, transfers, events, transactions
	touch                    string // account
	event                    string // worker, number, kind, payload
	strayAccount, strayEvent string // account; worker
	// documents:
	insert  string // id, version, title, body, tags, JSON, score, ratio, flag, raw, days since 1970, small
	remove  string // id
	rekey   string // id, new id, version
	setBody string // id, version, body
	setNull string // id, version
	setSome string // id, version, title, score, tags
}

// session is a connection of a worker.
type session interface {
	// run runs a transaction, up to its commit or rollback.
	run(ctx context.Context, t *transaction) error
	// script runs statements one after the other.
	script(ctx context.Context, statements []string) error
	// transactions returns what the worker's row of progress counts. A transaction in
	// two phases that is prepared there is finished first.
	transactions(ctx context.Context, worker int) (int64, error)
	// temporary reports whether an error passes: the server went away, or it chose
	// the transaction as the victim of a deadlock.
	temporary(err error) bool
	close()
}

// awayTimeout is how long a worker waits for a server that went away.
const awayTimeout = 2 * time.Minute

// line is a worker's connection, which is made again when it is lost.
type line struct {
	dialect *dialect
	url     string
	config  Config
	worker  int
	session session
}

func (l *line) close() {
	if l.session != nil {
		l.session.close()
		l.session = nil
	}
}

// run runs a transaction until it is certain that it was committed, once; one that
// is to be rolled back is tried once.
func (l *line) run(ctx context.Context, t *transaction) error {
	deadline := time.Now().Add(awayTimeout)
	for {
		err := l.attempt(ctx, t)
		if err == nil || ctx.Err() != nil {
			return err
		}
		passes := l.session == nil || l.session.temporary(err)
		l.close()
		if !passes || time.Now().After(deadline) {
			return err
		}
		if t.rollback {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// attempt runs the transaction once. On a new connection it first asks whether an
// attempt on the one before was committed after all.
func (l *line) attempt(ctx context.Context, t *transaction) error {
	if l.session == nil {
		s, err := l.dialect.connect(ctx, l.url, l.config)
		if err != nil {
			return err
		}
		l.session = s
		n, err := s.transactions(ctx, l.worker)
		if err != nil || n >= t.number {
			return err
		}
	}
	return l.session.run(ctx, t)
}
