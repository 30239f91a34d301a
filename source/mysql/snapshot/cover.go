package snapshot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Tail is what the tail of the binlog had passed.
type Tail struct {
	// GTIDs is the set of the transactions, as the server writes it; MySQL with GTIDs on.
	GTIDs string
	// Place is the place up to which they lie.
	Place Place
	// Settle is how long MySQL without GTIDs is waited for at most. 0 means 10 s.
	Settle time.Duration
}

// Waits between two questions. The first one is also how old the list of open
// transactions may be that InnoDB shows (0.1 s), and some.
const (
	coverPoll  = 200 * time.Millisecond
	coverSlice = 5 // seconds that one statement waits on the server
)

// Cover waits until every transaction that the tail had passed is visible to a new
// SELECT. A transaction is in the binlog before it is visible; under semi-synchronous
// replication for as long as no replica answers.
//
//   - MySQL waits for the GTID set; a GTID is executed once its transaction is visible.
//   - MariaDB opens read views until one lies at the place or behind it.
//   - MySQL without GTIDs can't tell. It is waited until the transactions that InnoDB lists as
//     open have ended, among which those are that are being committed, but at most for
//     Settle; an account without the PROCESS privilege just waits for Settle. A commit
//     that takes longer may be missed by the snapshot: the named limit of this mode.
func (r *Reader) Cover(ctx context.Context, t Tail) error {
	return r.retry(ctx, schema.TableID{}, "wait until the rows before the snapshot are visible", func(conn *wire.Conn) error {
		switch {
		case conn.Flavor() == wire.MariaDB:
			return poll(ctx, func() (bool, error) { return viewBehind(ctx, conn, t.Place) })
		case t.GTIDs != "":
			return poll(ctx, func() (bool, error) { return executed(ctx, conn, t.GTIDs) })
		}
		return settle(ctx, conn, t)
	})
}

// poll asks again and again.
func poll(ctx context.Context, done func() (bool, error)) error {
	pause := 5 * time.Millisecond
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, coverPoll)
	}
}

// executed waits for a slice of time on the server.
func executed(ctx context.Context, conn *wire.Conn, set string) (bool, error) {
	res, err := conn.Query(ctx, fmt.Sprintf("SELECT WAIT_FOR_EXECUTED_GTID_SET(%s, %d)", wire.Literal(strings.Join(strings.Fields(set), "")), coverSlice))
	if err != nil {
		return false, err
	}
	switch text := res.Rows[0][0].String(); text {
	case "0":
		return true, nil
	case "1":
		return false, nil
	default:
		return false, fmt.Errorf("%w: WAIT_FOR_EXECUTED_GTID_SET gives %q", wire.ErrProtocol, text)
	}
}

// viewBehind opens a read view and reports whether it sees everything before p.
func viewBehind(ctx context.Context, conn *wire.Conn, p Place) (bool, error) {
	if err := conn.Exec(ctx, begin); err != nil {
		return false, err
	}
	at, err := viewPlace(ctx, conn)
	if err != nil {
		return false, err
	}
	if err := conn.Exec(ctx, "COMMIT"); err != nil {
		return false, err
	}
	n, err := at.compare(p)
	return n >= 0, err
}

// viewPlace returns the place of a read view of MariaDB: it sees exactly what lies before.
func viewPlace(ctx context.Context, conn *wire.Conn) (Place, error) {
	res, err := conn.Query(ctx, "SHOW STATUS LIKE 'binlog_snapshot_%'")
	if err != nil {
		return Place{}, err
	}
	var file, offset wire.Value
	for _, row := range res.Rows {
		switch strings.ToLower(row[0].String()) {
		case "binlog_snapshot_file":
			file = row[1]
		case "binlog_snapshot_position":
			offset = row[1]
		}
	}
	return placeOf(file, offset)
}

// settle is Cover for MySQL without GTIDs.
func settle(ctx context.Context, conn *wire.Conn, t Tail) error {
	most := t.Settle
	if most == 0 {
		most = 10 * time.Second
	}
	over := time.After(most)
	first, may := map[string]bool(nil), true
	for {
		select { // before the first look, too: it may show what was open a moment ago
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over:
			return nil
		case <-time.After(coverPoll):
		}
		if !may {
			continue
		}
		open, err := openTransactions(ctx, conn)
		if wire.Code(err) == 1227 { // no PROCESS privilege
			may = false
			continue
		}
		if err != nil {
			return err
		}
		if first == nil {
			first = open
		}
		if !anyOf(first, open) {
			return nil
		}
	}
}

func anyOf(a, b map[string]bool) bool {
	for id := range a {
		if b[id] {
			return true
		}
	}
	return false
}

// openTransactions lists the transactions that InnoDB has not ended and that have written.
func openTransactions(ctx context.Context, conn *wire.Conn) (map[string]bool, error) {
	res, err := conn.Query(ctx, "SELECT trx_id FROM information_schema.INNODB_TRX WHERE trx_rows_modified > 0")
	if err != nil {
		return nil, err
	}
	open := make(map[string]bool, len(res.Rows))
	for _, row := range res.Rows {
		open[row[0].String()] = true
	}
	return open, nil
}
