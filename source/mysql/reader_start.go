package mysql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
	"github.com/freshet-cdc/freshet/source/window"
)

// start connects, brings back the state, and opens the log.
func (r *reader) start(ctx context.Context) error {
	conn, err := r.cfg.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if r.server, err = readServer(ctx, conn); err != nil {
		return err
	}
	if r.rc.Store != nil {
		if r.store, err = r.rc.Store(); err != nil {
			return err
		}
	}
	r.strange, r.passed, r.lookAgain = make(map[string]bool), make(map[schema.TableID]bool), make(map[schema.TableID]uint64)
	r.tables = make(map[schema.TableID]*tableState)
	r.open, r.read, r.owner = make(map[uint64]snapshot.Range), make(map[uint64]*chunkRows), make(map[uint64]*tableState)
	r.core = window.New(window.Options{MaxOpen: openPerReader * r.cfg.readers, MaxBytes: waitingBytes})
	var b beginning
	var actions []window.Action
	if r.rc.Restored && len(r.rc.State) > 0 {
		b, actions, err = r.resume(ctx, conn)
	} else {
		b, err = r.begin(ctx, conn)
	}
	if err != nil {
		return err
	}
	if err := r.warnCascades(ctx, conn); err != nil {
		return err
	}
	return r.openLog(ctx, conn, b, actions)
}

// begin starts without a checkpoint.
func (r *reader) begin(ctx context.Context, conn *wire.Conn) (b beginning, err error) {
	var now *catalogue
	for again := true; again; {
		if b, now, err = r.cfg.begin(ctx, conn, r.server); err != nil {
			return b, err
		}
		if r.files.Base, _, err = binlog.ParseFile(b.Place.File); err != nil {
			return b, err
		}
		r.catalog = ddl.NewCatalog(r.cfg.catalogOptions(r.server), now.Databases, now.Definitions)
		if again, err = r.beginXA(ctx, conn, b.Place); err != nil {
			return b, err
		}
	}
	r.gtids = b.GTIDs
	position, err := r.files.Position(b.Place)
	if err != nil {
		return b, err
	}
	r.core.Advance(position)
	if !r.cfg.snapshotsAtStart() && r.cfg.mode != modeLatest {
		r.guessed, err = r.endOfLog(ctx, conn)
		return b, err
	}
	for _, info := range now.Captured {
		if err := r.addTable(info.ID, r.cfg.snapshotsAtStart()); err != nil {
			return b, err
		}
	}
	return b, nil
}

// addTable makes a table of the catalogue captured: its snapshot waits, or it has none.
func (r *reader) addTable(id schema.TableID, snapshot bool) error {
	d, ok := r.catalog.Definition(id)
	if !ok {
		return fmt.Errorf("table %s is not in the catalogue", id)
	}
	def, err := d.Table()
	if err != nil {
		return withHint(err, "leave the table out with tables.exclude")
	}
	t := &tableState{}
	t.define(def)
	r.tables[def.ID] = t
	r.capture(def.ID)
	if !snapshot {
		t.win = r.core.AddDone(def.ID, def.HasKey())
		return nil
	}
	var set window.Set
	if def.HasKey() {
		if set, err = r.openSet(t); err != nil {
			return err
		}
	}
	t.win = r.core.Add(def.ID, def.HasKey(), set)
	return nil
}

// resume goes on from the checkpoint.
func (r *reader) resume(ctx context.Context, conn *wire.Conn) (beginning, []window.Action, error) {
	s, err := decodeState(r.rc.State, r.cfg.catalogOptions(r.server))
	if err != nil {
		return beginning{}, nil, err
	}
	r.files, r.gtids, r.catalog, r.prepared, r.nextSlot = s.Files, s.GTIDs, s.catalog, s.Prepared, s.NextSlot
	r.decidedXA = s.DecidedXA
	r.created, r.guessed, r.checkLost = s.Created, s.Guessed, true
	saved := beginning{Server: s.Server, ByGTID: s.ByGTID, GTIDs: s.GTIDs, Place: s.Files.Place(s.Windows.Position)}
	b, err := r.cfg.resumePlace(ctx, conn, r.server, saved, s.Files.Born)
	if err != nil {
		return b, nil, err
	}
	r.shared.mu.Lock()
	r.shared.retained = s.Retained
	r.shared.progress.Committed = s.Windows.Position
	r.shared.mu.Unlock()
	if b.Moved {
		if r.files, err = binlog.Follow(b.Place.File, s.Windows.Position); err != nil {
			return b, nil, err
		}
		r.logger.Info("the binlog of another server goes on", "server", b.Server, "before", s.Server, "place", b.Place.String())
	}
	actions, err := r.restoreWindows(s)
	if err != nil {
		return b, nil, err
	}
	before := len(r.tables)
	if err := r.addNew(ctx, conn); err != nil || len(r.tables) == before {
		return b, actions, err
	}
	return b, actions, r.widenXA(ctx, conn, b.Moved)
}

// restoreWindows brings back the tables that are still captured.
func (r *reader) restoreWindows(s *restored) ([]window.Action, error) {
	kept := s.Windows.Tables[:0]
	for i, def := range s.defs {
		saved := s.Tables[i]
		if !r.cfg.match(def.ID) {
			if err := r.forget(saved); err != nil {
				return nil, err
			}
			r.logger.Info("table is no longer captured", "table", def.ID.String())
			continue
		}
		t := &tableState{slot: saved.Slot, plan: saved.Plan, rows: saved.Rows, dropped: saved.Dropped}
		t.define(def)
		r.tables[def.ID] = t
		kept = append(kept, s.Windows.Tables[i])
	}
	s.Windows.Tables = kept
	actions, err := r.core.Restore(s.Windows, func(id schema.TableID) (window.Set, error) { return r.openSet(r.tables[id]) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	for _, win := range r.core.Tables() {
		r.tables[win.ID].win = win
	}
	return actions, nil
}

// addNew adds the tables that match since the checkpoint. Their definitions are
// those at the checkpoint's place; what was created since comes with the log, and what
// the log does not bring is added late. Other databases are strange at first.
func (r *reader) addNew(ctx context.Context, conn *wire.Conn) error {
	now, err := r.cfg.loadCatalogue(ctx, conn, r.server)
	if err != nil {
		return err
	}
	for _, info := range now.Captured {
		if r.tables[info.ID] != nil || r.core.Position() < r.guessed {
			continue
		}
		d, known := r.catalog.Definition(info.ID)
		switch {
		case !known && r.knows(info.ID.Schema):
			r.passed[info.ID] = true // up to its CREATE TABLE
		case !known && r.guessed == 0:
			r.strange[info.ID.Schema] = true
		}
		if !r.cfg.addOnRestart {
			r.logger.Info("a table that matches is not captured, for it came after the first start; set scan.newly-added-table.enabled", "table", info.ID.String())
			continue
		}
		switch {
		case known && d.Lost == "":
			r.logger.Info("new table", "table", info.ID.String())
			if err := r.addTable(info.ID, r.cfg.snapshotsAtStart()); err != nil {
				return err
			}
		case known:
			r.late = append(r.late, info.ID)
		case r.knows(info.ID.Schema):
			r.late = append(r.late, info.ID)
			if !slices.Contains(r.created, info.ID) {
				r.created = append(r.created, info.ID)
			}
		}
	}
	return nil
}

// knows reports whether the catalogue has the tables of a database that could be seen.
func (r *reader) knows(database string) bool {
	return len(r.catalog.Tables(database)) > 0 || slices.ContainsFunc(r.catalog.Databases(), func(d ddl.Database) bool { return d.Name == database && (d.Complete || d.Partial) })
}

// openLog opens the stream and the connections beside it, and announces the tables.
func (r *reader) openLog(ctx context.Context, conn *wire.Conn, b beginning, actions []window.Action) error {
	r.byGTID = b.ByGTID
	r.cfg.names.set(r.files)
	end, err := r.endOfLog(ctx, conn)
	if err != nil {
		return err
	}
	r.adoptAt = end
	if b.Moved {
		r.movedTo = end
	}
	if err := r.openStream(ctx, conn, b); err != nil {
		return err
	}
	r.shared.mu.Lock()
	r.shared.progress.Position, r.shared.progress.Start, r.shared.progress.Server = r.core.Position(), end, end
	r.shared.mu.Unlock()
	r.pool = newPool(ctx, r.connect, snapshot.Settings{Values: r.cfg.valueOptions(r.server), Memory: r.mem}, r.cfg.readers, openPerReader*r.cfg.readers)
	for _, win := range r.core.Tables() {
		t := r.tables[win.ID]
		if err := r.change(ctx, schema.ChangeCreateTable, t); err != nil {
			return err
		}
		r.progressTable(t)
	}
	r.noteAllUnlogged(nil, r.catalog)
	return r.do(ctx, actions)
}

// openStream opens the stream of the log behind what was emitted.
func (r *reader) openStream(ctx context.Context, conn *wire.Conn, b beginning) error {
	o, err := r.streamOptions(ctx, conn, b)
	if err != nil {
		return err
	}
	if r.log, err = binlog.Open(ctx, o); err != nil {
		return r.cfg.dumpError(err, b.Place.String())
	}
	r.shared.mu.Lock()
	r.shared.log = r.log
	r.shared.mu.Unlock()
	return nil
}

// streamOptions are those of a stream that begins behind what was emitted, with a
// connection of its own.
func (r *reader) streamOptions(ctx context.Context, conn *wire.Conn, b beginning) (binlog.Options, error) {
	own := dumpUUID(r.rc.Lineage)
	id, err := r.cfg.chooseServerID(ctx, conn, r.server, own)
	if err != nil {
		return binlog.Options{}, err
	}
	dump, err := r.connect(ctx)
	if err != nil {
		return binlog.Options{}, err
	}
	passed := maps.Clone(r.passed)
	return binlog.Options{Conn: dump, ServerID: id, UUID: own, Heartbeat: r.cfg.heartbeat,
		ByGTID: b.ByGTID, GTIDs: r.gtids, Start: b.Place, Files: r.files, After: r.core.Position(), Prepared: r.prepared, UnknownXA: r.unknownXA(),
		LearnBefore: r.learnBefore(), Since: b.Since, SkipEvents: b.SkipEvents, SkipRows: b.SkipRows, Catalog: r.catalog, Captured: r.captures(),
		Passed: func(id schema.TableID) bool { return passed[id] },
		Before: r.rc.Needs.Before, KeylessUpdates: r.rc.Needs.KeylessUpdates, ResolvesUnchanged: r.rc.Needs.ResolvesUnchanged, Origin: r.rc.Needs.Origin,
		Values: r.cfg.valueOptions(r.server), Allocator: r.mem, Logger: r.logger}, nil
}

// learnBefore is the position up to which the log itself tells definitions.
func (r *reader) learnBefore() uint64 {
	if r.guessed == 0 {
		return 0
	}
	return math.MaxUint64
}

// endOfLog returns where the server's log ends now.
func (r *reader) endOfLog(ctx context.Context, conn *wire.Conn) (uint64, error) {
	status, err := readStatus(ctx, conn)
	if err != nil {
		return 0, err
	}
	return r.files.Position(binlog.Place{File: status.File, Offset: status.Pos})
}

// errOtherServer: connections of one run have reached two servers.
var errOtherServer = errors.New("a connection has reached another server than the one whose binlog is read")

// connect opens a connection to the server whose log is read.
func (r *reader) connect(ctx context.Context) (*wire.Conn, error) {
	conn, err := r.cfg.connect(ctx)
	if err != nil {
		return nil, err
	}
	s, err := readServer(ctx, conn)
	if err == nil && s.identity() != r.server.identity() {
		err = fmt.Errorf("%w: %s, not %s", errOtherServer, s.identity(), r.server.identity())
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// dumpUUID is who we are among the replicas: the server ends what an earlier
// attempt of the same pipeline has left running.
func dumpUUID(lineage string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("freshet "+lineage)).String()
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
