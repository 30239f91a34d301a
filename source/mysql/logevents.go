package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// codeCommandFailed is ER_ERROR_WHEN_EXECUTING_COMMAND.
const codeCommandFailed = 1220

// maxLogEvents bounds what is asked for of the log at a time.
const maxLogEvents = 10_000

// logEvent is an event as SHOW BINLOG EVENTS prints it.
type logEvent struct {
	offset     uint64
	end        uint32 // the lower bits of where the next one begins
	kind, info string
}

// errHalfEvent: at the end of the log stood the first half of an event that was being
// written. MySQL 9.7 lets SHOW BINLOG EVENTS see it.
var errHalfEvent = errors.New("the last event of the binlog is being written")

// logEvents returns the events of a binlog file of MySQL from a place on, at most
// maxLogEvents of them, or errHalfEvent: ask again.
func logEvents(ctx context.Context, conn *wire.Conn, p binlog.Place) ([]logEvent, error) {
	r, err := conn.Query(ctx, fmt.Sprintf("SHOW BINLOG EVENTS IN %s FROM %d LIMIT %d", wire.Literal(p.File), p.Offset, maxLogEvents))
	if wire.Code(err) == codeCommandFailed && strings.Contains(err.Error(), "Error reading Log_event") {
		return nil, fmt.Errorf("read the binlog behind %s: %w", p, errHalfEvent)
	}
	if err != nil {
		return nil, fmt.Errorf("read the binlog behind %s: %w", p, err)
	}
	out := make([]logEvent, len(r.Rows))
	for i, row := range r.Rows {
		offset, err := row[1].Uint()
		if err != nil {
			return nil, fmt.Errorf("read the binlog behind %s: %w", p, err)
		}
		end, err := row[4].Uint()
		if err != nil {
			return nil, fmt.Errorf("read the binlog behind %s: %w", p, err)
		}
		out[i] = logEvent{offset, uint32(end), row[2].String(), row[5].String()}
	}
	return out, nil
}

// changedBefore reports whether a transaction that is not in done, and begins before high,
// may change a table; also where the events do not come up to there. Everything before
// seen is in done.
func changedBefore(events []logEvent, done *binlog.GTIDSet, table schema.TableID, high uint64) (changed bool, seen uint64) {
	skip, all, whole := false, true, false
	suffix := fmt.Sprintf(" (%s.%s)", table.Schema, table.Table)
	for _, e := range events {
		if e.offset >= high {
			break
		}
		whole = e.end == uint32(high)
		if strings.HasPrefix(e.kind, "Gtid") {
			skip = hasGTID(done, e.info)
			if !skip && all {
				all, seen = false, e.offset
			}
			continue
		}
		if !skip && e.mayChange(suffix) {
			changed = true
		}
	}
	switch {
	case !whole:
		return true, seen
	case all:
		return changed, high
	}
	return changed, seen
}

// hasGTID reports whether a set has the transaction that SET @@SESSION.GTID_NEXT= '...' begins.
func hasGTID(set *binlog.GTIDSet, info string) bool {
	_, rest, ok := strings.Cut(info, "'")
	text, _, closed := strings.Cut(rest, "'")
	if !ok || !closed {
		return false
	}
	one, err := binlog.ParseGTIDSet(text)
	return err == nil && set.Contains(one)
}

// mayChange reports whether an event inside a transaction may be one that changes the
// table whose name TABLE_MAPs end with. Compressed transactions and statements may.
func (e logEvent) mayChange(suffix string) bool {
	switch e.kind {
	case "Table_map":
		return strings.HasSuffix(e.info, suffix)
	case "Query":
		return e.info != "BEGIN" && e.info != "COMMIT" && !strings.HasPrefix(e.info, "SAVEPOINT ")
	case "Transaction_payload", "Anonymous_Gtid":
		return true
	}
	return false
}
