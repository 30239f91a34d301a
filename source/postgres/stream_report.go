package postgres

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/source/window"
)

// catalogueReport is what the catalogue held at one moment. It takes effect where
// the log has passed everything that it could see.
type catalogueReport struct {
	// ticket is that of the newest request before the moment.
	ticket uint64
	// high covers everything that was visible, sees says what was.
	high uint64
	sees window.Snapshot
	// version of the server, as serverVersion has it.
	version int
	// tables are the captured tables by oid.
	tables map[uint32]*tableInfo
	// relations are all tables of a server whose log does not follow partitions.
	relations map[uint32]bool
}

// inSnapshot runs fn, which asks questions over conn, in one transaction, so that all
// it sees is of one moment.
func inSnapshot(ctx context.Context, conn *pgx.Conn, fn func() error) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("look at the catalogue: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // nothing was written
	return fn()
}

// readCatalogue looks at the captured tables.
func readCatalogue(ctx context.Context, conn *pgx.Conn, cfg *config, sizes bool) (r *catalogueReport, infos []tableInfo, err error) {
	err = inSnapshot(ctx, conn, func() error {
		r, infos, err = lookAtCatalogue(ctx, conn, cfg, sizes)
		return err
	})
	return r, infos, err
}

func lookAtCatalogue(ctx context.Context, conn *pgx.Conn, cfg *config, sizes bool) (*catalogueReport, []tableInfo, error) {
	var high, snapshot string
	// The first statement opens the snapshot, so that the position lies behind it.
	err := conn.QueryRow(ctx, "SELECT pg_current_wal_insert_lsn()::text, pg_current_snapshot()::text").Scan(&high, &snapshot)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the catalogue: %w", err)
	}
	r := &catalogueReport{version: serverVersion(conn.PgConn()), tables: map[uint32]*tableInfo{}}
	lsn, err := pglogrepl.ParseLSN(high)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the catalogue: %w", err)
	}
	if r.sees, err = window.ParseSnapshot(snapshot); err != nil {
		return nil, nil, fmt.Errorf("look at the catalogue: %w", err)
	}
	r.high = uint64(lsn)
	infos, err := inspect(ctx, conn, cfg, sizes)
	if err != nil {
		return nil, nil, err
	}
	for i := range infos {
		r.tables[uint32(infos[i].Schema.SourceID)] = &infos[i]
	}
	if r.version < partitionsFollowed {
		if r.relations, err = listRelations(ctx, conn); err != nil {
			return nil, nil, err
		}
	}
	return r, infos, nil
}

func listRelations(ctx context.Context, conn *pgx.Conn) (map[uint32]bool, error) {
	rows, err := conn.Query(ctx, `SELECT oid FROM pg_catalog.pg_class WHERE relkind = 'r'`)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	out := map[uint32]bool{}
	var oid uint32
	if _, err := pgx.ForEachRow(rows, []any{&oid}, func() error { out[oid] = true; return nil }); err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	return out, nil
}

// reports hands catalogue reports from the session beside the stream to the goroutine
// that reads the log, in which they take effect in order.
type reports struct {
	wanted atomic.Uint64 // the newest ticket
	look   chan struct{} // wakes the session
	next   atomic.Uint64 // high of the oldest report that waits
	mu     sync.Mutex
	queue  []*catalogueReport
}

// noReport is the value of reports.next while none waits.
const noReport = math.MaxUint64

func newReports() *reports {
	r := &reports{look: make(chan struct{}, 1)}
	r.next.Store(noReport)
	return r
}

// request asks for a report of a moment from now on; the one that has the ticket,
// or a higher one, answers it.
func (r *reports) request() (ticket uint64) {
	ticket = r.wanted.Add(1)
	select {
	case r.look <- struct{}{}:
	default:
	}
	return ticket
}

// put adds a report. One that nobody asked for is left out while another waits, so
// that a tail far behind is not always waiting for the newest.
func (r *reports) put(report *catalogueReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.queue); n > 0 && r.queue[n-1].ticket == report.ticket {
		return
	}
	r.queue = append(r.queue, report)
	r.next.Store(r.queue[0].high)
}

// take returns the oldest report if the log has passed its moment, else nil.
func (r *reports) take(position uint64) *catalogueReport {
	if position < r.next.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.queue[0]
	r.queue = r.queue[1:]
	r.next.Store(noReport)
	if len(r.queue) > 0 {
		r.next.Store(r.queue[0].high)
	}
	return report
}
