package postgres

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5"
)

// task runs on the control connection; what it returns runs in the goroutine
// that decides the order of the log.
type task func(ctx context.Context, conn *pgx.Conn) (then func(ctx context.Context) error)

// pool owns the goroutines that talk to the server beside the log: readers of
// chunks, and one control connection for short questions.
type pool struct {
	jobs   chan chunkJob
	chunks chan *chunkRows
	tasks  chan task
	thens  chan func(ctx context.Context) error
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// newPool starts the goroutines; each connects when it is first needed.
func newPool(ctx context.Context, cfg *config, mem memory.Allocator, maxOpen int) *pool {
	ctx, cancel := context.WithCancel(ctx)
	p := &pool{jobs: make(chan chunkJob, maxOpen), chunks: make(chan *chunkRows), tasks: make(chan task, 64),
		thens: make(chan func(context.Context) error), cancel: cancel}
	for range cfg.readers {
		p.wg.Add(1)
		go p.read(ctx, &chunkReader{cfg: cfg, mem: mem})
	}
	p.wg.Add(1)
	go p.control(ctx, cfg)
	return p
}

func (p *pool) read(ctx context.Context, r *chunkReader) {
	defer p.wg.Done()
	defer r.close()
	for {
		select {
		case <-ctx.Done():
			return
		case job, ok := <-p.jobs:
			if !ok { // no snapshot is left: give the connection back
				return
			}
			res := r.read(ctx, job)
			select {
			case p.chunks <- res:
			case <-ctx.Done():
				res.release()
				return
			}
		}
	}
}

func (p *pool) control(ctx context.Context, cfg *config) {
	defer p.wg.Done()
	r := &chunkReader{cfg: cfg}
	defer r.close()
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-p.tasks:
			then := p.run(ctx, r, t)
			select {
			case p.thens <- then:
			case <-ctx.Done():
				return
			}
		}
	}
}

// run carries one task out, connecting if need be.
func (p *pool) run(ctx context.Context, r *chunkReader, t task) func(context.Context) error {
	if r.conn == nil || r.conn.IsClosed() {
		conn, err := r.cfg.connect(ctx)
		if err != nil {
			return func(context.Context) error { return err }
		}
		r.conn = conn
	}
	return t(ctx, r.conn)
}

// ask gives a task to the control connection; false when too many wait.
func (p *pool) ask(t task) bool {
	select {
	case p.tasks <- t:
		return true
	default:
		return false
	}
}

// dispatch gives a job to a reader; false when all are busy and enough wait.
func (p *pool) dispatch(job chunkJob) bool {
	select {
	case p.jobs <- job:
		return true
	default:
		return false
	}
}

// close ends all goroutines and connections.
func (p *pool) close() {
	p.cancel()
	p.wg.Wait()
}
