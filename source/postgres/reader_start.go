package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// start connects, brings back the state, and opens the log.
func (r *reader) start(ctx context.Context) error {
	conn, err := r.cfg.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := isPrimary(conn); err != nil {
		return err
	}
	report, infos, err := readCatalogue(ctx, conn, r.cfg, true)
	if err != nil {
		return err
	}
	for i := range infos {
		if err := infos[i].checkLeaves(); err != nil {
			return err
		}
	}
	if r.rc.Store != nil {
		if r.store, err = r.rc.Store(); err != nil {
			return err
		}
	}
	r.tables = make(map[schema.TableID]*tableState, len(infos))
	r.open, r.read, r.owner = make(map[uint64]tidRange), make(map[uint64]*chunkRows), make(map[uint64]*tableState)
	r.core = window.New(window.Options{MaxOpen: openPerReader * r.cfg.readers, MaxBytes: waitingBytes})
	restored, err := r.restoreState(infos)
	if err != nil {
		return err
	}
	return r.attach(ctx, conn, report, infos, restored)
}

// attach takes the slot, sets the cover of the tables that begin, and opens the log.
func (r *reader) attach(ctx context.Context, conn *pgx.Conn, report *catalogueReport, infos []tableInfo, restored *readerState) error {
	var from checkpointPlace
	if restored != nil {
		from = checkpointPlace{Position: restored.Windows.Position, Commit: restored.Commit, History: restored.History}
	}
	a, err := attach(ctx, r.cfg, infos, from, r.logger)
	if err != nil {
		return err
	}
	a.LastCommit = from.Commit
	r.history, r.commit = a.History, max(from.Commit, a.Consistent)
	if restored != nil {
		r.goBack(restored, a.Start)
	}
	defer func() {
		if r.log == nil { // OpenLog has taken it over otherwise
			a.Close()
		}
	}()
	if err := r.serverPosition(ctx, conn); err != nil {
		return err
	}
	actions, err := r.restoreWindows(restored)
	if err != nil {
		return err
	}
	if err := r.comparePartitions(ctx, conn, report); err != nil {
		return err
	}
	waiting, err := r.begin(report, infos, restored != nil)
	if err != nil {
		return err
	}
	if len(waiting) > 0 {
		if err := r.cover(ctx, conn, a, restored != nil); err != nil {
			return err
		}
	}
	defs := make([]*schema.Table, 0, len(r.tables))
	for _, win := range r.core.Tables() {
		defs = append(defs, r.tables[win.ID].widen(report, a.Start))
	}
	a.settled = &settled{}
	for _, t := range r.tables {
		t.settled = a.settled.of(t.def)
		t.settled.Store(t.win.Phase() == window.Done && t.reread == nil)
	}
	a.Known = report.sees
	if r.log, err = a.OpenLog(ctx, defs, r.rc.Needs, r.mem); err != nil {
		return err
	}
	r.shared.mu.Lock()
	r.shared.log = r.log
	r.shared.progress.Position = a.Start
	r.shared.progress.Committed = min(from.Position, a.Start)
	r.shared.mu.Unlock()
	r.pool = newPool(ctx, r.cfg, r.mem, openPerReader*r.cfg.readers)
	r.log.RequestKeepalive()
	return r.announce(ctx, append(actions, r.core.Advance(a.Start)...))
}

// goBack takes positions back to where a failover left the log. Nothing was
// captured behind it, and other transactions have those numbers now.
func (r *reader) goBack(s *readerState, start uint64) {
	s.Windows.Position = min(s.Windows.Position, start)
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	for i := range r.shared.retained {
		r.shared.retained[i].Position = min(r.shared.retained[i].Position, start)
	}
}

// announce emits every table's definition, then what the restored windows ask for.
func (r *reader) announce(ctx context.Context, actions []window.Action) error {
	for _, win := range r.core.Tables() {
		t := r.tables[win.ID]
		if err := r.change(ctx, schema.ChangeCreateTable, t); err != nil {
			return err
		}
		if c := t.widened; c != nil {
			if err := r.emit(ctx, source.Element{Change: c}); err != nil {
				return err
			}
			t.define(c.After)
		}
		r.progressTable(t)
	}
	return r.do(ctx, actions)
}

// restoreState decodes the restored state, nil for a fresh start, and fills in
// the tables that are still captured.
func (r *reader) restoreState(infos []tableInfo) (*readerState, error) {
	if !r.rc.Restored || len(r.rc.State) == 0 {
		return nil, nil
	}
	s, defs, err := decodeState(r.rc.State)
	if err != nil {
		return nil, err
	}
	captured := make(map[schema.TableID]*schema.Table, len(infos))
	for _, info := range infos {
		captured[info.Schema.ID] = info.Schema
	}
	kept := s.Windows.Tables[:0]
	for i, def := range defs {
		now := captured[def.ID]
		if now == nil || now.SourceID != def.SourceID { // left the pattern, or is another table of that name
			if err := r.forget(s.Tables[i]); err != nil {
				return nil, err
			}
			r.logger.Info("table is no longer captured", "table", def.ID.String())
			continue
		}
		saved := s.Tables[i]
		t := &tableState{slot: saved.Slot, plan: saved.Plan, rows: saved.Rows, chunksTotal: saved.ChunksTotal}
		if err := t.restoreTree(saved.Tree); err != nil {
			return nil, err
		}
		if saved.Reread != "" {
			t.reread = &reread{why: saved.Reread}
			r.rereading++
		}
		t.define(def)
		r.tables[def.ID] = t
		kept = append(kept, s.Windows.Tables[i])
	}
	s.Windows.Tables = kept
	r.nextSlot = s.NextSlot
	r.shared.mu.Lock()
	r.shared.retained = s.Retained
	r.shared.mu.Unlock()
	return s, nil
}

// forget clears what keyed state holds of a table.
func (r *reader) forget(t savedTable) error {
	if r.store == nil || t.Slot == 0 {
		return nil
	}
	set, err := window.OpenStoreSet(r.store, t.Slot, seenBytes)
	if err != nil {
		return err
	}
	return set.Clear()
}

// restoreWindows brings the window core back.
func (r *reader) restoreWindows(s *readerState) ([]window.Action, error) {
	if s == nil {
		return nil, nil
	}
	actions, err := r.core.Restore(s.Windows, func(id schema.TableID) (window.Set, error) { return r.openSet(r.tables[id]) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	for _, win := range r.core.Tables() {
		r.tables[win.ID].win = win
	}
	return actions, nil
}

// widen returns the definition with which the log begins. Columns that take NULL by
// now do so from the start: the log may show the first at any time.
func (t *tableState) widen(report *catalogueReport, position uint64) *schema.Table {
	info := report.tables[uint32(t.def.SourceID)]
	if info == nil {
		return t.def
	}
	nullable := map[int]bool{}
	for _, c := range info.Schema.Columns {
		nullable[c.Ordinal] = c.Nullable
	}
	if t.widened = alterColumns(t.def, position, func(c *schema.Column) { c.Nullable = c.Nullable || nullable[c.Ordinal] }); t.widened == nil {
		return t.def
	}
	return t.widened.After
}

// openSet opens the set of a table's seen keys.
func (r *reader) openSet(t *tableState) (window.Set, error) {
	if r.store == nil {
		return window.NewMemSet(), nil
	}
	if t.slot == 0 {
		r.nextSlot++
		t.slot = r.nextSlot
	}
	set, err := window.OpenStoreSet(r.store, t.slot, seenBytes)
	if err != nil {
		return nil, wrapTable(t, err)
	}
	t.seen = set
	return set, nil
}

// begin adds the tables that the state does not know; it returns those whose
// snapshot waits.
func (r *reader) begin(report *catalogueReport, infos []tableInfo, restored bool) (waiting []*tableState, err error) {
	for i := range infos {
		def := infos[i].Schema
		if r.tables[def.ID] != nil {
			continue
		}
		t := &tableState{}
		t.define(def)
		r.tables[def.ID] = t
		if r.cfg.mode == modeLatest {
			t.win = r.core.AddDone(def.ID, def.HasKey())
			continue
		}
		var set window.Set
		if def.HasKey() {
			if set, err = r.openSet(t); err != nil {
				return nil, err
			}
		}
		t.win = r.core.Add(def.ID, def.HasKey(), set)
		t.setTree(treeOf(&infos[i], report.sees.Xmin), report.high)
		waiting = append(waiting, t)
		if restored {
			r.logger.Info("new table", "table", def.ID.String())
		}
	}
	return waiting, nil
}

// cover says what must be visible before the tables that begin may be read.
func (r *reader) cover(ctx context.Context, conn *pgx.Conn, a *attachment, restored bool) error {
	if a.Created && !restored {
		s, err := importedSnapshot(ctx, conn, a.Snapshot)
		if err != nil {
			return err
		}
		r.nearXID = s.Xmax
		r.core.Require(window.Cover{Initial: &s})
		return nil
	}
	// A slot that was there, or tables that were not published until now:
	// whatever wrote to them until this moment must have ended.
	xid, err := nextXID(ctx, conn)
	if err != nil {
		return err
	}
	r.core.Require(window.Cover{Before: max(xid, a.AddedXmax)})
	return nil
}

// nextXID returns the number of a new transaction: whatever was in the log before
// has a lower one.
func nextXID(ctx context.Context, conn *pgx.Conn) (uint64, error) {
	var text string
	if err := conn.QueryRow(ctx, "SELECT pg_current_xact_id()::text", pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		return 0, fmt.Errorf("asking for a transaction number: %w", err)
	}
	xid, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("asking for a transaction number: %w", err)
	}
	return xid, nil
}

// serverPosition notes where the server stands, and a recent transaction number.
func (r *reader) serverPosition(ctx context.Context, conn *pgx.Conn) error {
	var lsn, xmax string
	err := conn.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text, pg_snapshot_xmax(pg_current_snapshot())::text", pgx.QueryExecModeSimpleProtocol).Scan(&lsn, &xmax)
	if err != nil {
		return fmt.Errorf("asking for the server's position: %w", err)
	}
	at, err := pglogrepl.ParseLSN(lsn)
	near, err2 := strconv.ParseUint(xmax, 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("asking for the server's position: %w", err)
	}
	r.nearXID = max(r.nearXID, near)
	r.shared.mu.Lock()
	r.shared.progress.Start = uint64(at)
	r.shared.progress.Server = uint64(at)
	r.shared.mu.Unlock()
	return nil
}
