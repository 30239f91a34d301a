package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// Bounds of one reader. Chunks that wait for their HIGH hold memory, so there
// are only as many as keep the connections busy; a table's seen keys stay in
// memory up to their limit and are asked from keyed state beyond it.
const (
	openPerReader = 2
	waitingBytes  = 48 << 20
	seenBytes     = 64 << 20
)

// pollInterval is how often the server is asked again while a snapshot waits
// for it: for what is visible, and for the log's position.
const pollInterval = 10 * time.Millisecond

// tableState is what the reader knows of one captured table.
type tableState struct {
	def  *schema.Table
	enc  *schema.KeyEncoder
	win  *window.Table
	slot uint32           // number of its set in keyed state
	seen *window.StoreSet // nil without keyed state, and when done
	plan *plan            // nil until it is covered and was looked at
	held *heldSnapshot    // the one snapshot of a table without a key
	// incarnation counts the resets: answers to an older one are dropped.
	incarnation int
	reading     int  // chunks that are with a reader
	planned     bool // the core was told that no chunk will follow
	filling     bool // all chunks have entered; what they did not bring is read by key
	stale       *chunkRows
	rows        int64 // rows of the snapshot that have entered the log
	chunksTotal int
	saved       []byte // def in JSON, for the state
	// widened is how a restored definition must change before the first row.
	widened *schema.Change
	// settled is set once no snapshot runs; see the type.
	settled *atomic.Bool
	partitions
}

// reader makes the log of one execution. All fields but shared are used by the
// goroutine of Run alone.
type reader struct {
	cfg    *config
	logger *slog.Logger
	mem    memory.Allocator

	rc    source.Context
	out   source.Output
	store state.Store // nil without keyed state

	core   *window.Core
	tables map[schema.TableID]*tableState
	open   map[uint64]tidRange    // chunks that are being read or wait
	owner  map[uint64]*tableState // whose they are
	read   map[uint64]*chunkRows  // chunks that were read and wait
	pool   *pool
	log    *logStream

	history       history
	commit        uint64 // end of the last transaction that the tail has passed
	rereading     int    // tables that are going to be read again
	nextSlot      uint32
	nearXID       uint64 // a recent transaction number, for the epoch of others
	hold          uint64 // no barrier before the log has passed this
	inTransaction bool
	asked         time.Time
	asking        bool // the control connection was asked what is visible
	nudged        time.Time
	waitingSince  time.Time
	warned        time.Time
	keys          schema.Keys
	txs           *source.Transactions
	placed        bool // a row of a snapshot has gone out
	waiting       []heldChunk

	shared shared
}

// shared is what other goroutines may ask for.
type shared struct {
	mu       sync.Mutex
	log      *logStream
	retained []retainedCheckpoint
	progress source.Progress
	commit   int64 // time of the newest commit that was emitted
}

// NewReader returns a reader; it is run once.
func (s *Source) NewReader() source.Reader {
	return &reader{cfg: s.cfg, logger: s.logger, mem: memory.DefaultAllocator}
}

// errLogEnded is returned when the log ends without an error of its own.
var errLogEnded = errors.New("the replication connection ended")

// Run implements source.Reader.
func (r *reader) Run(ctx context.Context, rc source.Context, out source.Output) ([]byte, error) {
	r.rc, r.out, r.txs = rc, out, source.NewTransactions(rc.Needs)
	if rc.Logger != nil {
		r.logger = rc.Logger
	}
	defer r.close()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	return r.loop(ctx)
}

// loop is the goroutine that decides the order of the log.
func (r *reader) loop(ctx context.Context) ([]byte, error) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	heartbeat := time.NewTicker(r.cfg.heartbeat)
	defer heartbeat.Stop()
	polling := true
	for {
		if err := r.schedule(ctx); err != nil {
			return nil, err
		}
		if r.cfg.mode == modeSnapshot && r.core.Idle() && r.rereading == 0 && r.between() {
			return r.state()
		}
		if busy := r.busy(); busy != polling {
			if polling = busy; busy {
				poll.Reset(pollInterval)
			} else {
				poll.Stop()
			}
		}
		if err := r.step(ctx, poll.C, heartbeat.C); err != nil {
			return nil, err
		}
	}
}

// step waits for one input and handles it.
func (r *reader) step(ctx context.Context, poll, heartbeat <-chan time.Time) error {
	groups := r.log.Groups()
	if r.paused() {
		groups = nil
	}
	var triggers <-chan int64
	if r.between() {
		triggers = r.out.Triggers()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case g, ok := <-groups:
		if !ok {
			if err := r.log.Err(); err != nil {
				return err
			}
			return errLogEnded
		}
		return r.group(ctx, g)
	case id := <-triggers:
		return r.barrier(ctx, id)
	case c := <-r.pool.chunks:
		return r.chunk(ctx, c)
	case then := <-r.pool.thens:
		return then(ctx)
	case <-poll:
		return r.poll(ctx)
	case <-heartbeat:
		r.log.RequestKeepalive()
	}
	return nil
}

// between reports whether a barrier may lie here.
func (r *reader) between() bool { return !r.inTransaction && r.core.Position() >= r.hold }

// paused reports whether the tail must stand still: a snapshot for a table
// without a key is being opened, and nothing may pass between that and its use.
func (r *reader) paused() bool {
	if r.core.Idle() {
		return false
	}
	for _, t := range r.tables {
		if !t.win.Keyed() && t.win.Phase() == window.Covering {
			return true
		}
	}
	return false
}

// busy reports whether the server has to be asked again and again.
func (r *reader) busy() bool {
	return !r.core.Idle() || r.rereading > 0 || r.core.Position() < max(r.hold, r.startPosition())
}

func (r *reader) startPosition() uint64 {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	return r.shared.progress.Start
}

// poll asks the server for what the snapshot waits for.
func (r *reader) poll(ctx context.Context) error {
	for _, t := range r.core.Tables() {
		if !t.Keyed() && t.Phase() == window.Covering {
			if err := r.openHeld(ctx, r.tables[t.ID]); err != nil {
				return err
			}
		}
	}
	if high, waits := r.core.High(); waits && high > r.core.Position() {
		r.await(high)
	} else if target := max(r.hold, r.startPosition(), r.treePosition()); target > r.core.Position() {
		r.await(target)
	} else {
		r.waitingSince = time.Time{}
	}
	return r.checkStale(ctx)
}

// await asks for the log's position, and writes a commit record when the server
// is so idle that it does not flush up to position.
func (r *reader) await(position uint64) {
	const patience = 100 * time.Millisecond
	r.log.RequestKeepalive()
	now := time.Now()
	if r.waitingSince.IsZero() {
		r.waitingSince = now
	}
	if r.log.Server() < position && now.Sub(r.waitingSince) > patience && now.Sub(r.nudged) > 2*patience {
		r.nudged = now
		r.pool.ask(func(ctx context.Context, conn *pgx.Conn) func(context.Context) error {
			err := nudge(ctx, conn)
			return func(context.Context) error { return err }
		})
	}
}

// askVisible asks what a new SELECT sees.
func (r *reader) askVisible() {
	r.asked = time.Now()
	r.asking = r.pool.ask(func(ctx context.Context, conn *pgx.Conn) func(context.Context) error {
		s, err := visibleNow(ctx, conn)
		return func(ctx context.Context) error {
			r.asking = false
			if err != nil {
				return err
			}
			r.nearXID = max(r.nearXID, s.Xmax)
			actions := r.core.Visible(s)
			r.warnUncovered()
			return r.do(ctx, actions)
		}
	})
}

// warnUncovered tells people when a snapshot waits long for transactions.
func (r *reader) warnUncovered() {
	const patience = 10 * time.Second
	if r.warned.IsZero() || !r.core.NeedsVisible() {
		r.warned = time.Now()
	}
	if time.Since(r.warned) > patience {
		r.warned = time.Now()
		r.logger.Warn("snapshot waits until transactions are visible: a standby of synchronous replication is behind, or an old transaction is open (pg_stat_activity)")
	}
}

// openHeld tries to open the one snapshot of a table without a key.
func (r *reader) openHeld(ctx context.Context, t *tableState) error {
	if t.held == nil {
		conn, err := r.cfg.connect(ctx)
		if err != nil {
			return err
		}
		t.held = &heldSnapshot{conn: conn}
	}
	held, err := openSnapshot(ctx, t.held.conn)
	if err != nil {
		return err
	}
	t.held = held
	r.nearXID = max(r.nearXID, held.sees.Xmax)
	return r.do(ctx, r.core.Opened(t.win, held.sees))
}

// drop ends the snapshot that is held.
func (t *tableState) drop() {
	if t.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	t.held.conn.Close(ctx)
	t.held = nil
}

// emit hands an element on.
func (r *reader) emit(ctx context.Context, e source.Element) error { return r.out.Emit(ctx, e) }

// change emits a change that leaves the definition alone.
func (r *reader) change(ctx context.Context, kind schema.ChangeKind, t *tableState) error {
	c := &schema.Change{Kind: kind, Table: t.def.ID, After: t.def, Position: r.core.Position()}
	switch kind {
	case schema.ChangeCreateTable:
	case schema.ChangeSnapshotStart, schema.ChangeSnapshotDone, schema.ChangeReset:
		c.Before, c.Staged = t.def, !t.win.Keyed()
	default:
		c.Before = t.def
	}
	return r.emit(ctx, source.Element{Change: c})
}

// close ends everything that Run has begun.
func (r *reader) close() {
	r.shared.mu.Lock()
	r.shared.log = nil
	r.shared.mu.Unlock()
	if r.pool != nil {
		r.pool.close()
	}
	if r.log != nil {
		r.log.Close()
	}
	for _, c := range r.read {
		c.release()
	}
	for _, t := range r.tables {
		t.drop()
	}
}

// point marks a named point for crash tests.
func (r *reader) point(name string) {
	if r.rc.Reached != nil {
		r.rc.Reached(name)
	}
}

// wrapTable names the table in an error.
func wrapTable(t *tableState, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %s: %w", t.def.ID, err)
}
