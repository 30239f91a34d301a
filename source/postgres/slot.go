package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/window"
)

// attachment is a pipeline's hold on the server: publications and slot exist and
// fit, and the one replication connection is open and idle.
type attachment struct {
	// Created says that the slot is new. Then Consistent is its consistent point and
	// Snapshot the exported snapshot of that moment, valid until OpenLog or Close.
	Created    bool
	Consistent uint64
	Snapshot   string
	// Start is where the log begins: the restored position, else the consistent
	// point of the new slot or the confirmed position of an existing one.
	Start uint64
	// Added are tables that were put into a publication just now. What a
	// transaction wrote to them before that is not in the log, even if it commits
	// later: their snapshot must wait until every transaction below AddedXmax has ended.
	Added     map[schema.TableID]bool
	AddedXmax uint64
	// LastCommit is the end of the last transaction before Start, 0 where it is not known.
	LastCommit uint64
	// History is the server's place in the life of its cluster.
	History history
	// Known is what the look at the catalogue saw that the tables' definitions come from.
	Known window.Snapshot

	// settled is told by the reader which tables have no snapshot running.
	settled *settled

	cfg     *config
	infos   []tableInfo
	conn    *pgconn.PgConn
	timeout time.Duration // the server's wal_sender_timeout, 0 for none
	logger  *slog.Logger
}

// checkpointPlace is where a checkpoint lies: its position, the end of the last
// transaction that it knows of, and the server's place in history. The zero value
// stands for a fresh start.
type checkpointPlace struct {
	Position, Commit uint64
	History          history
}

// attach creates what is missing and checks what is there. restored is the
// checkpoint to go on from.
func attach(ctx context.Context, cfg *config, infos []tableInfo, restored checkpointPlace, logger *slog.Logger) (_ *attachment, err error) {
	a := &attachment{cfg: cfg, infos: infos, logger: logger}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	sql, err := cfg.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer sql.Close(context.WithoutCancel(ctx))
	if err := errors.Join(isPrimary(sql), cfg.checkFailover(serverVersion(sql.PgConn()))); err != nil {
		return nil, err
	}
	// Another server is left as it is, so its history comes first.
	if a.conn, err = cfg.connectReplication(ctx); err != nil {
		return nil, err
	}
	if err := a.begin(ctx, restored); err != nil {
		return nil, err
	}
	// The publication must be there before the slot's first transaction, since the
	// log is decoded with the catalogue of its own time.
	if a.Added, a.AddedXmax, err = cfg.ensurePublications(ctx, sql, infos); err != nil {
		return nil, err
	}
	slot, err := waitInactive(ctx, sql, cfg.slot)
	if err != nil {
		return nil, err
	}
	if slot == nil && restored.Position != 0 && a.History != restored.History && restored.History.System != "" {
		return nil, cfg.slotLeftBehind(restored.Position, a.History, serverVersion(sql.PgConn()))
	}
	if err := cfg.checkSlot(slot, a.Start); err != nil {
		return nil, err
	}
	return a, a.takeSlot(ctx, slot)
}

// begin looks at the server over the replication connection.
func (a *attachment) begin(ctx context.Context, restored checkpointPlace) error {
	result, err := a.conn.Exec(ctx, "SHOW wal_sender_timeout").ReadAll()
	if err != nil {
		return fmt.Errorf("read wal_sender_timeout: %w", err)
	}
	a.timeout = parseGUCTime(string(result[0].Rows[0][0]))
	var switches []timelineSwitch
	if a.History, switches, err = readHistory(ctx, a.conn); err != nil {
		return err
	}
	a.Start, err = resume(restored.History, restored.Position, restored.Commit, a.History, switches)
	if a.Start != restored.Position && err == nil {
		a.logger.Warn("a failover left the log before the checkpoint's position, behind all that was captured", "position", formatLSN(restored.Position), "from", formatLSN(a.Start))
	}
	return err
}

// takeSlot makes the slot ready.
func (a *attachment) takeSlot(ctx context.Context, slot *slotRow) error {
	if slot == nil {
		return a.createSlot(ctx)
	}
	if a.Start == 0 {
		a.Start = uint64(slot.confirmed)
	}
	if !a.cfg.failover || slot.failover {
		return nil
	}
	if _, err := a.conn.Exec(ctx, fmt.Sprintf("ALTER_REPLICATION_SLOT %s (FAILOVER true)", quoteIdent(a.cfg.slot))).ReadAll(); err != nil {
		return fmt.Errorf("replication slot %q: slot.failover: %w", a.cfg.slot, err)
	}
	return nil
}

// createSlot makes the slot and exports its snapshot. The server waits for the
// transactions that are running at this moment.
func (a *attachment) createSlot(ctx context.Context) error {
	slow := time.AfterFunc(10*time.Second, func() {
		a.logger.Warn("creating the replication slot waits for running transactions to end", "slot", a.cfg.slot)
	})
	defer slow.Stop()
	options := "EXPORT_SNAPSHOT"
	if a.cfg.failover {
		options = "(SNAPSHOT 'export', FAILOVER true)"
	}
	r, err := pglogrepl.ParseCreateReplicationSlot(a.conn.Exec(ctx, fmt.Sprintf("CREATE_REPLICATION_SLOT %s LOGICAL pgoutput %s", quoteIdent(a.cfg.slot), options)))
	if err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code == "53400" {
			return withHint(fmt.Errorf("create replication slot %q: %w: %s", a.cfg.slot, ErrServerUnsuitable, pe.Message), "drop unused slots or raise max_replication_slots")
		}
		return fmt.Errorf("create replication slot %q: %w", a.cfg.slot, err)
	}
	point, err := pglogrepl.ParseLSN(r.ConsistentPoint)
	if err != nil {
		return fmt.Errorf("create replication slot %q: %w", a.cfg.slot, err)
	}
	a.Created, a.Consistent, a.Snapshot, a.Start = true, uint64(point), r.SnapshotName, uint64(point)
	return nil
}

// Close ends the replication connection, and with it the exported snapshot.
func (a *attachment) Close() {
	if a.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = a.conn.Close(ctx)
	a.conn = nil
}

// statusInterval is how often the server hears from us at least.
func (a *attachment) statusInterval() time.Duration {
	every := 10 * time.Second
	if a.timeout > 0 {
		every = min(every, a.timeout/4)
	}
	return max(every, 10*time.Millisecond)
}

// parseGUCTime parses a time as SHOW prints it: a number and ms, s, min, h or d.
func parseGUCTime(text string) time.Duration {
	var n int64
	var unit string
	if _, err := fmt.Sscanf(text, "%d%s", &n, &unit); err != nil {
		return 0
	}
	units := map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	return time.Duration(n) * units[unit]
}
