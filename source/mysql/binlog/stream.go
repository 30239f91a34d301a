package binlog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Stream follows the binlog. One goroutine reads packets and cuts what they hold
// into groups, an ordered pool decodes the groups, and one goroutine hands them on.
// A slow receiver makes the server wait; nothing piles up.
type Stream struct {
	o    Options
	mem  memory.Allocator
	conn connection
	scan *scanner

	out      chan *Group
	tickets  chan *rawGroup
	work     chan *rawGroup
	segments *segments
	received atomic.Uint64
	closing  atomic.Bool
	orphan   *rawGroup // whose decoding nobody waited for

	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	err    error
}

// connection is what a stream needs of wire.Conn.
type connection interface {
	ReadRaw(p []byte) (int, error)
	ReadRawWithin(p []byte, wait time.Duration) (int, error)
	Close() error
}

// maxGroupRows and maxGroupBytes cut a group; a single event may be larger.
const (
	maxGroupRows  = 8192
	maxGroupBytes = 2 << 20
)

// Open asks the server for its binlog. The stream runs until Close, or until it
// fails; ctx is for the start alone.
func Open(ctx context.Context, o Options) (*Stream, error) {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	// The dump lives as long as the context that it is given.
	stop := context.AfterFunc(ctx, cancel)
	err := o.Conn.Dump(run, o.request())
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		_ = o.Conn.Close()
		return nil, Explain(err)
	}
	if o.Logger != nil {
		o.Logger.Debug("reading the binlog", "by GTID", o.ByGTID, "GTIDs", o.GTIDs, "place", o.Start.String(), "server id", o.ServerID)
	}
	return start(run, cancel, o.Conn, o), nil
}

// request says where the dump begins.
func (o Options) request() wire.DumpRequest {
	r := wire.DumpRequest{Hidden: o.gather, ServerID: o.ServerID, UUID: o.UUID, Heartbeat: o.Heartbeat, Statements: o.Origin, File: o.Start.File, Position: o.Start.Offset}
	if o.ByGTID {
		r.ByGTID, r.GTIDSet, r.Strict = true, o.GTIDs.String(), true
	} else if r.Position > maxRequest {
		r.Position = FirstOffset
	}
	return r
}

// maxRequest is the highest offset that can be asked for: behind it the stream
// begins at the head of the file and passes over what was read before.
const maxRequest = 1<<32 - 1

// start runs a stream over a connection that sends the binlog.
func start(ctx context.Context, cancel context.CancelFunc, conn connection, o Options) *Stream {
	workers := o.Decoders
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), 4)
	}
	s := &Stream{o: o, mem: o.Allocator, conn: conn, cancel: cancel, out: make(chan *Group, 2), tickets: make(chan *rawGroup, workers+1),
		work: make(chan *rawGroup, workers+1), segments: newSegments(4*workers + 8)}
	if s.mem == nil {
		s.mem = memory.DefaultAllocator
	}
	s.scan = o.scanner()
	s.scan.spare = make(chan []rowsEvent, 2*workers+4)
	s.received.Store(o.After)
	s.wg.Add(2 + workers)
	go s.read(ctx)
	for range workers {
		go s.decode(ctx)
	}
	go s.deliver(ctx)
	return s
}

// scanner returns a scanner at the start.
func (o Options) scanner() *scanner {
	s := &scanner{files: o.Files, catalog: o.Catalog, prepared: o.Prepared, reported: o.After, received: o.After, mayJump: o.ByGTID || o.Values.MariaDB,
		maxHeld: o.MaxPrepared, unknownXA: o.UnknownXA, origins: o.Origin, since: o.Since, skipEvents: o.SkipEvents, skipRows: o.SkipRows}
	s.following, s.firstTime, s.after = o.Follow, o.Files.Base == "", o.After
	if !o.ByGTID && o.Start.Offset > maxRequest {
		s.startPlace = o.Start
	}
	if s.maxHeld <= 0 {
		s.maxHeld = DefaultMaxPrepared
	}
	if s.unknownXA == nil {
		s.unknownXA = refuseUnknownXA
	}
	l := &layouts{o: o, known: map[layoutKey]*layout{}}
	s.resolve, s.statement = l.resolve, l.statement
	if o.gather {
		s.gathers(o.Captured, o.gatherUntil)
	}
	return s
}

func refuseUnknownXA(id string, _ uint64) error { return UnknownXA(id) }

// UnknownXA is the error for an XA COMMIT of a transaction whose rows are not known.
func UnknownXA(id string) error {
	return withHint(fmt.Errorf("%w: XA COMMIT %s", ErrUnknownXA, id),
		"its changes are not in this part of the log: start the pipeline anew with an empty checkpoint directory; on MySQL the account needs XA_RECOVER_ADMIN to find such transactions at the start")
}

// Groups delivers the log; it is closed when the stream has ended, see Err.
func (s *Stream) Groups() <-chan *Group { return s.out }

// Err returns why the stream ended, nil while it runs and after Close.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// noteEnd keeps why the stream ends; the first cause stays.
func (s *Stream) noteEnd(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.closing.Load() && !errors.Is(err, context.Canceled) {
		s.err = err
	}
}

// Server returns the newest position of the server's log that was seen.
func (s *Stream) Server() uint64 { return s.received.Load() }

// Close ends the stream and waits for its goroutines. Groups that nobody took are
// released.
func (s *Stream) Close() error {
	s.closing.Store(true)
	err := s.conn.Close()
	s.cancel()
	for g := range s.out {
		g.Release()
	}
	s.wg.Wait()
	s.dropDecoded()
	if err != nil && s.Err() == nil {
		return fmt.Errorf("close the connection of the binlog: %w", err)
	}
	return nil
}

// dropDecoded releases what the decoders made for nobody.
func (s *Stream) dropDecoded() {
	drop := func(g *rawGroup) {
		select {
		case d := <-g.done:
			if d.group != nil {
				d.group.Release()
			}
		default:
		}
	}
	for g := range s.tickets {
		drop(g)
	}
	if s.orphan != nil {
		drop(s.orphan)
		s.orphan = nil
	}
}

// recycle takes back what a group was made of.
func (s *Stream) recycle(g *rawGroup) {
	for _, seg := range g.segments {
		s.segments.put(seg)
	}
	clear(g.rows) // so that nothing is held by them
	select {
	case s.scan.spare <- g.rows[:0]:
	default:
	}
	g.rows, g.segments = nil, nil
}
