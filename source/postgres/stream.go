package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pglogrepl"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// logStream follows the log from a position. One goroutine reads frames and cuts
// them into groups, an ordered pool decodes the groups, one goroutine hands them
// on, and one answers the server, so that it stays content while the receiver of
// the groups is busy.
type logStream struct {
	cfg    *config
	logger *slog.Logger
	mem    memory.Allocator
	conn   *walConn
	scan   *scanner
	tables *relationResolver
	fill   *cellReader
	// reports of the catalogue, which take effect in the order of the log.
	reports *reports

	out       chan *logGroup
	tickets   chan *rawGroup
	work      chan *rawGroup
	buffers   chan []byte
	kick      chan bool // true asks the server for an answer
	confirmed atomic.Uint64
	received  atomic.Uint64
	closing   atomic.Bool
	orphan    *rawGroup // whose decoding nobody waited for

	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	err    error
}

// maxGroupRows and maxGroupBytes cut a group; a single row may be larger.
const (
	maxGroupRows  = 8192
	maxGroupBytes = 2 << 20
	firstBuffer   = 256 << 10
	maxKeptBuffer = 8 << 20
)

// OpenLog starts replication at a.Start. It takes over the replication
// connection, also when it fails; a must not be used afterwards. tables are the
// definitions in force at a.Start. The stream runs until Close, or until it
// fails.
func (a *attachment) OpenLog(ctx context.Context, tables []*schema.Table, needs source.Needs, mem memory.Allocator) (*logStream, error) {
	conn, err := hijack(a.conn)
	a.conn = nil
	if err != nil {
		return nil, err
	}
	if err := a.startReplication(ctx, conn); err != nil {
		conn.net.Close()
		return nil, err
	}
	workers := min(runtime.GOMAXPROCS(0), 4)
	l := &logStream{cfg: a.cfg, logger: a.logger, mem: mem, conn: conn, out: make(chan *logGroup, 2), tickets: make(chan *rawGroup, workers+1),
		work: make(chan *rawGroup, workers+1), buffers: make(chan []byte, 2*workers+4), kick: make(chan bool, 1)}
	l.reports = newReports()
	l.fill = &cellReader{cfg: a.cfg, logger: a.logger, mem: mem}
	l.tables = newRelationResolver(a, tables, needs)
	l.tables.look = func() { l.reports.request() }
	l.scan = &scanner{resolve: l.tables.resolve, recheck: l.tables.recheck, leaf: l.tables.leaf, truncated: l.tables.truncated,
		due: l.reports.take, compare: l.tables.compare, position: a.Start, last: a.LastCommit}
	l.scan.group.last = a.LastCommit
	l.received.Store(a.Start)
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.wg.Add(4 + workers)
	go l.read(ctx)
	for range workers {
		go l.decode(ctx)
	}
	go l.deliver(ctx)
	go l.answer(ctx, a.statusInterval())
	go (&watch{log: l, cfg: a.cfg, infos: a.infos, logger: a.logger}).run(ctx)
	return l, nil
}

// Groups delivers the log; it is closed when the stream has ended, see Err.
func (l *logStream) Groups() <-chan *logGroup { return l.out }

// Err returns why the stream ended, nil while it runs and after Close.
func (l *logStream) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// fail ends the stream; the first cause stays.
func (l *logStream) fail(err error) {
	l.mu.Lock()
	if l.err == nil && !l.closing.Load() && !errors.Is(err, context.Canceled) {
		l.err = err
	}
	l.mu.Unlock()
	l.cancel()
}

// Confirm tells the server that the log up to lsn is not needed any more. It
// never goes back.
func (l *logStream) Confirm(lsn uint64) {
	for {
		old := l.confirmed.Load()
		if lsn <= old {
			return
		}
		if l.confirmed.CompareAndSwap(old, lsn) {
			l.wake(false)
			return
		}
	}
}

// RequestKeepalive asks the server for its position; it comes as a group.
func (l *logStream) RequestKeepalive() { l.wake(true) }

// CheckCatalogue asks for a look at the catalogue. Its report comes as part of a
// group, behind everything that it could see, and has this ticket or a higher one.
func (l *logStream) CheckCatalogue() (ticket uint64) { return l.reports.request() }

// ReportHigh returns the position that the log must pass before the next report, 0
// when none is on its way.
func (l *logStream) ReportHigh() uint64 {
	if high := l.reports.next.Load(); high != noReport {
		return high
	}
	return 0
}

// Server returns the newest end of the server's log that was seen in any message.
func (l *logStream) Server() uint64 { return l.received.Load() }

// Close ends the stream and waits for its goroutines. Groups that nobody took are
// released.
func (l *logStream) Close() error {
	l.closing.Store(true)
	err := l.conn.close()
	l.cancel()
	for g := range l.out {
		g.release()
	}
	l.wg.Wait()
	l.dropDecoded()
	if err != nil && l.Err() == nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the replication connection: %w", err)
	}
	return nil
}

// dropDecoded releases what the decoders made for nobody.
func (l *logStream) dropDecoded() {
	drop := func(g *rawGroup) {
		select {
		case d := <-g.done:
			if d.group != nil {
				d.group.release()
			}
		default:
		}
	}
	for g := range l.tickets {
		drop(g)
	}
	if l.orphan != nil {
		drop(l.orphan)
		l.orphan = nil
	}
}

// startReplication sends START_REPLICATION and reads up to the answer.
func (a *attachment) startReplication(ctx context.Context, c *walConn) error {
	stop := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	command := fmt.Sprintf(`START_REPLICATION SLOT %s LOGICAL %s (proto_version '1', publication_names %s)`,
		quoteIdent(a.cfg.slot), pglogrepl.LSN(a.Start), quoteLiteral(a.publicationNames()))
	if err := c.write('Q', append([]byte(command), 0)); err != nil {
		return err
	}
	var buf []byte
	for {
		f, need, ok, err := nextFrame(buf)
		if err != nil {
			return err
		}
		if ok {
			switch f.kind {
			case msgCopyBoth:
				return nil
			case msgErrorResponse:
				return a.cfg.streamError(parseServerError(f.body))
			}
			buf = buf[f.size:]
			continue
		}
		// Never read on beyond the answer: what follows belongs to the stream.
		if need == 0 {
			need = frameHeader
		}
		part := make([]byte, need-len(buf))
		n, err := c.net.Read(part)
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return fmt.Errorf("start replication: %w", err)
		}
		buf = append(buf, part[:n]...)
	}
}

// read is the reading goroutine.
func (l *logStream) read(ctx context.Context) {
	defer l.wg.Done()
	defer l.tables.close()
	defer close(l.tickets)
	defer close(l.work)
	// Reads block without a deadline; only closing the connection ends them.
	stop := context.AfterFunc(ctx, func() { _ = l.conn.net.Close() })
	defer stop()
	r := &groupReader{stream: l, buf: l.buffer(firstBuffer)}
	err := r.run(ctx)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	l.fail(err)
}

// buffer returns an empty buffer of at least size bytes.
func (l *logStream) buffer(size int) []byte {
	select {
	case b := <-l.buffers:
		if cap(b) >= size {
			return b[:0]
		}
	default:
	}
	return make([]byte, 0, size)
}

// recycle takes back a buffer that nothing refers to.
func (l *logStream) recycle(b []byte) {
	if cap(b) > maxKeptBuffer {
		return
	}
	select {
	case l.buffers <- b:
	default:
	}
}
