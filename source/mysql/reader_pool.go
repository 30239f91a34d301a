package mysql

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// chunkBytes bounds the memory of the rows of one chunk.
const chunkBytes = 8 << 20

// chunkJob is one range to read.
type chunkJob struct {
	ID uint64 // number in the window core
	// Incarnation of the table when the job was made: an older one is void.
	Incarnation int
	snapshot.Job
	// Fill are keys whose rows are to be read instead of a range.
	Fill []fillKey
}

// chunkRows is what was read for a chunkJob, or of a view.
type chunkRows struct {
	ID          uint64
	Incarnation int
	Table       *schema.Table
	Fill        []fillKey
	snapshot.Chunk
}

// viewPiece is a part of the rows of a table without a key: a record, or the end,
// which may be an error.
type viewPiece struct {
	table       *schema.Table
	incarnation int
	rec         arrow.RecordBatch
	readTime    int64 // microseconds since 1970
	last        bool  // no rows come behind it
	err         error
}

func (p viewPiece) release() {
	if p.rec != nil {
		p.rec.Release()
	}
}

// task runs on the control connection; what it returns runs in the goroutine
// that decides the order of the log.
type task func(ctx context.Context, c *control) (then func(ctx context.Context) error)

// control is a connection for questions.
type control struct {
	reader  *snapshot.Reader
	connect func(context.Context) (*wire.Conn, error)
	conn    *wire.Conn
}

func (c *control) close() {
	c.reader.Close()
	if c.conn != nil {
		_ = c.conn.Close()
	}
}

// with runs fn over the control's own connection, which it opens when needed.
func (c *control) with(ctx context.Context, fn func(*wire.Conn) error) error {
	if c.conn == nil {
		conn, err := c.connect(ctx)
		if err != nil {
			return err
		}
		c.conn = conn
	}
	err := fn(c.conn)
	if err != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
	return err
}

// position returns where the server's log ends.
func (c *control) position(ctx context.Context, files binlog.Files) (pos uint64, err error) {
	err = c.with(ctx, func(conn *wire.Conn) error {
		status, err := readStatus(ctx, conn)
		if err != nil {
			return err
		}
		pos, err = files.Position(binlog.Place{File: status.File, Offset: status.Pos})
		return err
	})
	return pos, err
}

// behind returns a place behind the statement that err is due to, where err says
// that a table is not what its definition says: servers write the binlog before
// others see the outcome.
func (c *control) behind(ctx context.Context, files binlog.Files, err error) (uint64, error) {
	if !errors.Is(err, snapshot.ErrStale) {
		return 0, err
	}
	at, other := c.position(ctx, files)
	if other != nil {
		return 0, other
	}
	return at, err
}

// lag returns where the server's log ends, and the bytes of it behind from.
func (c *control) lag(ctx context.Context, files binlog.Files, from uint64) (end uint64, lag int64, err error) {
	if end, err = c.position(ctx, files); err != nil {
		return 0, 0, err
	}
	if at, to := files.Place(from), files.Place(end); at.File == to.File {
		return end, max(0, int64(to.Offset)-int64(at.Offset)), nil
	}
	err = c.with(ctx, func(conn *wire.Conn) error {
		logs, err := logFiles(ctx, conn)
		if err != nil {
			return err
		}
		at := files.Place(from)
		for _, f := range logs {
			switch pos, err := files.Position(binlog.Place{File: f.name, Offset: f.size}); {
			case err != nil:
				return err
			case f.name == at.File:
				lag += max(0, int64(f.size)-int64(at.Offset))
			case pos > from:
				lag += int64(f.size)
			}
		}
		return nil
	})
	return end, lag, err
}

// pool owns the goroutines that talk to the server beside the log: readers of
// chunks, one connection for short questions, one for those that wait, and the
// reader of a view.
type pool struct {
	jobs   chan chunkJob
	chunks chan *chunkRows
	pieces chan viewPiece
	tasks  chan task
	waits  chan task
	thens  chan func(ctx context.Context) error
	ctx    context.Context // ends the goroutines; the pool is bound to one Run
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// newPool starts the goroutines; each connects when it is first needed.
func newPool(ctx context.Context, connect func(context.Context) (*wire.Conn, error), s snapshot.Settings, readers, maxOpen int) *pool {
	p := &pool{jobs: make(chan chunkJob, maxOpen), chunks: make(chan *chunkRows), pieces: make(chan viewPiece),
		tasks: make(chan task, 64), waits: make(chan task, 1), thens: make(chan func(context.Context) error)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.wg.Add(readers + 2)
	for range readers {
		go p.read(snapshot.NewReader(connect, s))
	}
	for _, tasks := range []chan task{p.tasks, p.waits} {
		go p.control(&control{reader: snapshot.NewReader(connect, s), connect: connect}, tasks)
	}
	return p
}

// idleAfter is when a connection that no chunk needs is given back.
const idleAfter = 30 * time.Second

func (p *pool) read(r *snapshot.Reader) {
	defer p.wg.Done()
	defer r.Close()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-time.After(idleAfter):
			r.Close()
		case job := <-p.jobs:
			res := &chunkRows{ID: job.ID, Incarnation: job.Incarnation, Table: job.Table, Fill: job.Fill, Chunk: *r.Read(p.ctx, job.Job)}
			select {
			case p.chunks <- res:
			case <-p.ctx.Done():
				res.Release()
				return
			}
		}
	}
}

func (p *pool) control(c *control, tasks <-chan task) {
	defer p.wg.Done()
	defer c.close()
	for {
		select {
		case <-p.ctx.Done():
			return
		case t := <-tasks:
			then := t(p.ctx, c)
			select {
			case p.thens <- then:
			case <-p.ctx.Done():
				return
			}
		}
	}
}

// readView reads all rows of a view; they come as pieces. It ends when the view is closed.
func (p *pool) readView(v *snapshot.View, table *schema.Table, incarnation int) {
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		send := func(piece viewPiece) error {
			select {
			case p.pieces <- piece:
				return nil
			case <-p.ctx.Done():
				piece.release()
				return context.Cause(p.ctx)
			}
		}
		now := time.Now().UnixMicro()
		var before *viewPiece // is sent when it is known whether it is the last one
		err := v.Read(p.ctx, func(rec arrow.RecordBatch) error {
			ready := before
			before = &viewPiece{table: table, incarnation: incarnation, rec: rec, readTime: now}
			if ready == nil {
				return nil
			}
			return send(*ready)
		})
		if before != nil {
			before.last = err == nil
			err = errors.Join(err, send(*before))
		}
		_ = send(viewPiece{table: table, incarnation: incarnation, err: err, last: true})
	}()
}

// canAsk reports whether ask will take another question; one goroutine asks.
func (p *pool) canAsk() bool { return len(p.tasks) < cap(p.tasks) }

// ask gives a short question to the control connection; false when too many wait.
func (p *pool) ask(t task) bool {
	select {
	case p.tasks <- t:
		return true
	default:
		return false
	}
}

// askLong gives a question that may wait long; there is one at a time.
func (p *pool) askLong(t task) { p.waits <- t }

// free reports whether another job can be given.
func (p *pool) free() bool { return len(p.jobs) < cap(p.jobs) }

// dispatch gives a job to a reader, after free.
func (p *pool) dispatch(job chunkJob) { p.jobs <- job }

// close ends all goroutines and connections.
func (p *pool) close() {
	p.cancel()
	p.wg.Wait()
}
