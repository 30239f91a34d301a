package mysql

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
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

// pollInterval is how often the server is asked again while a snapshot waits for it.
const pollInterval = 10 * time.Millisecond

// tableState is what the reader knows of one captured table.
type tableState struct {
	def  *schema.Table
	enc  *schema.KeyEncoder
	win  *window.Table
	slot uint32           // number of its set in keyed state
	seen *window.StoreSet // nil without keyed state, and when done
	plan *snapshot.Plan   // nil until it is covered and was looked at
	// incarnation counts the resets: answers to an older one are dropped.
	incarnation int
	planning    bool   // its key is being looked at
	reading     int    // chunks that are with a reader
	planned     bool   // the core was told that no chunk will follow
	emptyUntil  uint64 // found empty: the log must pass this before the snapshot may end
	filling     bool   // all chunks have entered; what they did not bring is read by key
	stale       uint64 // a chunk found other columns: their statement lies before this position
	staleErr    error
	stales      int // how often the log did not have it
	dropped     bool
	adopted     bool   // its definition was read at definitionsAt
	rows        int64  // rows of the snapshot that have entered the log
	saved       []byte // def in JSON, for the state

	// Of a table without a key:
	view      *snapshot.View // the one read view that it is read in
	viewHigh  uint64         // covers what the view sees
	viewEnd   uint64         // up to it the definition may have changed since
	viewRead  bool           // all its rows have been read
	catchUp   uint64         // the tail must have passed this before the view is opened
	doubtFrom uint64         // transactions from here to viewHigh may or may not be in the view
	doubts    int
	notBefore time.Time // when the next view is tried after a doubt
	restless  time.Time // since when there is none with a certain place, zero while that is not so
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
	open   map[uint64]snapshot.Range // chunks that are being read or wait
	owner  map[uint64]*tableState    // whose they are
	read   map[uint64]*chunkRows     // chunks that were read and wait
	pool   *pool
	log    *binlog.Stream

	server   server
	byGTID   bool
	files    binlog.Files // how positions are named
	gtids    *binlog.GTIDSet
	prepared []*binlog.Prepared
	// decidedXA is the position before which an XA COMMIT of a transaction that nobody
	// has seen prepared means nothing: every snapshot shows its changes.
	decidedXA uint64
	catalog   *ddl.Catalog
	saved     savedCatalog
	// created are tables that were created since the checkpoint, whose CREATE TABLE
	// the log has.
	created []schema.TableID
	// strange are databases with tables that match, of which the catalogue knows
	// nothing: they are left out until the log has come to adoptAt, see adopt.
	strange map[string]bool
	adoptAt uint64
	// late are tables that matched at the start and are read once the log has come to
	// adoptAt, if its statements have not made them known before.
	late []schema.TableID
	// passed are matching tables that are not captured: while they have no definition,
	// their rows are passed over.
	passed map[schema.TableID]bool
	// checkLost: the definition of a table may have become unknown, see findLost.
	// lookAgain is the position behind which that is worth another look.
	checkLost bool
	lookAgain map[schema.TableID]uint64
	cascades  cascadeWatch
	// movedTo, where another server took over, is where its log ended then: it has all
	// that was read of the other one before, not necessarily before the tail's position.
	movedTo uint64
	// definitionsAt is where the definitions of adopted databases were read. A statement
	// before it may or may not be in them.
	definitionsAt uint64
	// guessed, where the log begins in the past, is where it ended at the first start:
	// the definitions were read there, and before it are a guess, which the log
	// corrects. Tables are announced when they come; beyond it all are.
	guessed   uint64
	announced bool

	nextSlot      uint32
	inTransaction bool
	asking        time.Time // since when a cover or a view is waited for, zero when none is
	coverNext     bool      // a view was waited for the last time
	askedServer   bool      // where the server stands
	serverSilent  bool      // it did not answer the last time
	warned        time.Time
	keys          schema.Keys
	txs           *source.Transactions
	placed        bool             // a row of a snapshot has gone out
	logFiles      []schema.LogFile // of the newest reads
	logFilesOf    binlog.Files
	held          []heldChunk

	shared shared
}

// shared is what other goroutines may ask for.
type shared struct {
	mu       sync.Mutex
	log      *binlog.Stream
	retained []retainedCheckpoint
	progress source.Progress
	commit   int64 // time of the newest commit that was emitted
	// lag is the bytes of log behind position lagFrom, when the server was asked last.
	lagFrom uint64
	lag     int64
}

// NewReader returns a reader; it is run once.
func (s *Source) NewReader() source.Reader {
	return &reader{cfg: s.cfg, logger: s.logger, mem: memory.DefaultAllocator}
}

var (
	// errLogEnded is returned when the log ends without an error of its own.
	errLogEnded = errors.New("the binlog connection ended")
	// errDefinitionsMoved: a table was changed while the definitions were read.
	errDefinitionsMoved = errors.New("a captured table was changed while its definition was read")
)

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
	heartbeat := time.NewTicker(time.Second)
	defer heartbeat.Stop()
	polling := true
	for {
		if err := r.newcomers(ctx); err != nil {
			return nil, err
		}
		if err := r.schedule(ctx); err != nil {
			return nil, err
		}
		if r.cfg.mode == modeSnapshot && r.core.Idle() && !r.inTransaction && !r.adopts() && len(r.late) == 0 {
			return r.state()
		}
		if busy := !r.core.Idle(); busy != polling {
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
	var pieces <-chan viewPiece
	if r.core.CanOpen() {
		pieces = r.pool.pieces
	}
	var triggers <-chan int64
	if !r.inTransaction && r.core.Position() >= r.definitionsAt {
		triggers = r.out.Triggers()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case g, ok := <-groups:
		if !ok {
			return r.logEnded()
		}
		return r.group(ctx, g)
	case id := <-triggers:
		return r.barrier(ctx, id)
	case c := <-r.pool.chunks:
		return r.chunk(ctx, c)
	case p := <-pieces:
		return r.piece(ctx, p)
	case then := <-r.pool.thens:
		return then(ctx)
	case <-poll:
		r.warnUncovered()
		return r.checkStale(ctx)
	case <-heartbeat:
		r.askServer()
		r.askCascades()
	}
	return nil
}

// paused reports whether the tail must stand still: a snapshot for a table
// without a key is being opened, and nothing may pass between that and its use.
func (r *reader) paused() bool {
	if r.core.Idle() {
		return false
	}
	for _, t := range r.tables {
		if r.opens(t) {
			return true
		}
	}
	return false
}

// opens reports whether the snapshot of a table without a key is due: the tail is
// near the end of the log, and stands between two transactions.
func (r *reader) opens(t *tableState) bool {
	return !t.win.Keyed() && t.win.Phase() == window.Covering && t.stale == 0 && t.catchUp != 0 && r.core.Position() >= t.catchUp && !r.inTransaction
}

// askServer asks where the server stands, for those who watch. That it does not
// answer ends nothing: the log itself says whether the server is gone.
func (r *reader) askServer() {
	if r.askedServer {
		return
	}
	files, from := r.files, r.core.Position()
	r.askedServer = r.pool.ask(func(ctx context.Context, c *control) func(context.Context) error {
		at, lag, err := c.lag(ctx, files, from)
		return func(context.Context) error {
			r.askedServer = false
			if err != nil && !r.serverSilent {
				r.logger.Warn("the server does not say where its binlog ends; the lag that is shown is an old one", "error", err)
			}
			if r.serverSilent = err != nil; r.serverSilent {
				return nil
			}
			r.shared.mu.Lock()
			defer r.shared.mu.Unlock()
			r.shared.progress.Server = max(r.shared.progress.Server, at)
			r.shared.lagFrom, r.shared.lag = from, lag
			return nil
		}
	})
}

// format prints a position as the server names it.
func (r *reader) format(position uint64) string { return r.files.Format(position) }

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
		c.Release()
	}
	for _, t := range r.tables {
		t.drop()
	}
}

// drop ends the view that is held.
func (t *tableState) drop() {
	if t.view != nil {
		t.view.Close()
		t.view = nil
	}
}

// point marks a named point for crash tests.
func (r *reader) point(name string) {
	if r.rc.Reached != nil {
		r.rc.Reached(name)
	}
}
