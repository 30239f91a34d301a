package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// slotRow is a slot as pg_replication_slots has it.
type slotRow struct {
	plugin, kind, database, walStatus, invalid string
	active                                     bool
	activePID                                  int
	confirmed                                  pglogrepl.LSN
	temporary                                  bool
	failover                                   bool // standbys keep a copy of it (PostgreSQL 17)
}

// readSlot looks a slot up, nil if there is none.
func readSlot(ctx context.Context, conn *pgx.Conn, name string) (*slotRow, error) {
	invalid, failover := "''", "false"
	switch v := serverVersion(conn.PgConn()); {
	case v >= failoverVersion:
		invalid, failover = "coalesce(invalidation_reason, '')", "failover"
	case v >= 160000:
		invalid = "CASE WHEN conflicting THEN 'conflict with recovery' ELSE '' END"
	}
	var s slotRow
	var confirmed string
	err := conn.QueryRow(ctx, `SELECT coalesce(plugin, ''), slot_type, coalesce(database, ''), coalesce(wal_status, ''), `+invalid+`, active, coalesce(active_pid, 0),
		coalesce(confirmed_flush_lsn, '0/0')::text, temporary, `+failover+` FROM pg_catalog.pg_replication_slots WHERE slot_name = $1`, name).
		Scan(&s.plugin, &s.kind, &s.database, &s.walStatus, &s.invalid, &s.active, &s.activePID, &confirmed, &s.temporary, &s.failover)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		s.confirmed, err = pglogrepl.ParseLSN(confirmed)
	}
	if err != nil {
		return nil, fmt.Errorf("look up replication slot %q: %w", name, err)
	}
	return &s, nil
}

// slotPatience is how long a slot may stay in use after its reader is gone: the
// server notices a killed client within a moment.
const slotPatience = 10 * time.Second

// waitInactive reads the slot and gives the reader before us time to go away.
func waitInactive(ctx context.Context, conn *pgx.Conn, name string) (*slotRow, error) {
	deadline := time.Now().Add(slotPatience)
	for {
		s, err := readSlot(ctx, conn, name)
		if err != nil || s == nil || !s.active || time.Now().After(deadline) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checkSlot decides whether the slot (nil: there is none) can carry on from restored.
func (c *config) checkSlot(s *slotRow, restored uint64) error {
	bad := func(kind error, hint, format string, args ...any) error {
		return &SlotError{Slot: c.slot, Problem: fmt.Sprintf(format, args...), Hint: hint, Err: kind}
	}
	startOver := "the changes since then can't be had any more: drop the slot, empty the checkpoint directory and the target tables, and start with a new snapshot"
	if s == nil {
		if restored == 0 {
			return nil
		}
		return bad(ErrSlotMissing, startOver, "it does not exist, but the checkpoint goes on from %s", formatLSN(restored))
	}
	switch {
	case s.kind != "logical" || s.plugin != "pgoutput":
		return bad(ErrSlotForeign, "choose another slot.name", "it is a %s slot with plugin %q, not a logical one with pgoutput", s.kind, s.plugin)
	case s.database != c.database:
		return bad(ErrSlotForeign, "choose another slot.name", "it belongs to database %q, not %q", s.database, c.database)
	case s.temporary:
		return bad(ErrSlotForeign, "choose another slot.name", "it is the temporary slot of another session")
	case s.walStatus == "lost" || s.invalid != "":
		return bad(ErrSlotLost, startOver, "the server has invalidated it (%s %s); look at max_slot_wal_keep_size", s.walStatus, s.invalid)
	case s.active:
		return bad(ErrSlotActive, "stop the other reader, or choose another slot.name", "process %d of the server reads from it", s.activePID)
	case restored != 0 && uint64(s.confirmed) > restored:
		return bad(ErrSlotAhead, "another reader used the slot, or an old checkpoint was restored; "+startOver,
			"it has released the log up to %s, but the checkpoint goes on from %s", s.confirmed, formatLSN(restored))
	}
	return nil
}

// streamError gives an error of the running stream its meaning.
func (c *config) streamError(err error) error {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return err
	}
	slot := func(kind error, hint string) error {
		return &SlotError{Slot: c.slot, Problem: pe.Message, Hint: hint, Err: kind}
	}
	switch pe.Code {
	case "55006": // object_in_use
		return slot(ErrSlotActive, "stop the other reader, or choose another slot.name")
	case "55000", "58P01": // "can no longer get changes from replication slot", "requested WAL segment has already been removed"
		return slot(ErrSlotLost, "raise max_slot_wal_keep_size; drop the slot, empty the checkpoint directory and the target tables, and start with a new snapshot")
	case "42704":
		return &PublicationError{Publication: c.publication, Problem: pe.Message, Hint: "it was dropped, or created after the slot; create it again and start with a new slot and snapshot"}
	case "57P01":
		return fmt.Errorf("%w: %w", ErrServerShutdown, pe)
	}
	return fmt.Errorf("read the log: %w", pe)
}

// checkFailover says whether the server knows failover slots, where they are wanted.
func (c *config) checkFailover(version int) error {
	if !c.failover || version >= failoverVersion {
		return nil
	}
	return withHint(fmt.Errorf("%w: slot.failover needs PostgreSQL 17, this is %d", ErrServerUnsuitable, version/10000), "leave slot.failover out, or upgrade the server")
}

// failoverVersion is the first server whose standbys keep copies of logical slots.
const failoverVersion = 170000

// slotLeftBehind is the error for a slot that the new primary does not have.
func (c *config) slotLeftBehind(position uint64, now history, version int) error {
	hint := "before PostgreSQL 17 a slot stays behind on the old primary, so what was committed since can't be had"
	if version >= failoverVersion {
		hint = "set slot.failover, and sync_replication_slots on the standby, so that the next failover keeps it; what was committed since can't be had"
	}
	return &SlotError{Slot: c.slot, Err: ErrSlotMissing, Hint: hint + ": empty the checkpoint directory and the target tables, and start with a new snapshot",
		Problem: fmt.Sprintf("the checkpoint goes on from %s, but the server, which a failover or a recovery put on timeline %d, does not have it", formatLSN(position), now.Timeline)}
}
