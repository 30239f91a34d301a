package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/pipeline/verify"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
)

// Options say what the demo does.
type Options struct {
	// Dir keeps warehouse, catalog.db, checkpoints and pipeline.yaml.
	Dir string
	// Rows is about the number of rows in the shop at the start, Changes the
	// number of row changes made while the pipeline runs.
	Rows, Changes int
	// Seed decides the content of both.
	Seed uint64
	// Spread is the time over which the changes are made.
	Spread time.Duration
	// Interval is the checkpoint interval.
	Interval time.Duration
	// Out gets the demo's own lines.
	Out io.Writer
}

// Hooks are the parts of the binary that the demo shows.
type Hooks struct {
	// Pipeline is the text of the pipeline document.
	Pipeline string
	// Command returns a command that runs this binary with args.
	Command func(args ...string) *exec.Cmd
	// Verify compares every table of the pipeline in file with its source.
	Verify func(ctx context.Context, file string) ([]*verify.Result, error)
}

// ErrDifferent is returned when a table is not equal to its source.
var ErrDifferent = errors.New("the tables differ")

// database is the name of the shop's database.
const database = "shop"

// show is one run of the demo.
type show struct {
	Options
	hooks   Hooks
	file    string // pipeline.yaml
	started time.Time
}

// Run runs the demo and returns nil only when all tables are equal. A folder that
// an earlier demo left is emptied first; another one must be empty.
func Run(ctx context.Context, o Options, h Hooks) error {
	s := &show{Options: o, hooks: h, started: time.Now()}
	if err := s.prepareDir(); err != nil {
		return err
	}
	s.say("starting PostgreSQL (the first time its binaries are fetched)")
	srv, err := pgtest.Start(ctx, pgtest.Options{Fetch: true, Progress: o.Out})
	if err != nil {
		return fmt.Errorf("start PostgreSQL for the demo: %w", err)
	}
	defer srv.Stop()
	if err := s.setEnvironment(srv); err != nil {
		return err
	}
	conn, err := s.createShop(ctx, srv)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	changes, err := s.perform(ctx, conn.shop, conn.Conn)
	if err != nil {
		return err
	}
	return s.compare(ctx, changes)
}

func (s *show) say(format string, args ...any) {
	fmt.Fprintf(s.Out, "[%5.1fs] %s\n", time.Since(s.started).Seconds(), fmt.Sprintf(format, args...))
}

// prepareDir empties what an earlier demo left and writes the pipeline document.
func (s *show) prepareDir() error {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return err
	}
	s.Dir, s.file = dir, filepath.Join(dir, "pipeline.yaml")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.file); len(entries) > 0 && err != nil {
		return fmt.Errorf("folder %s is not empty and no demo's: name another one with --dir", dir)
	}
	for _, name := range []string{"warehouse", "checkpoints", "state", "catalog.db", "catalog.db-wal", "catalog.db-shm"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(s.file, []byte(s.hooks.Pipeline), 0o644)
}

// setEnvironment fills the variables of the pipeline document, for this process
// and for those that it starts.
func (s *show) setEnvironment(srv *pgtest.Server) error {
	for name, value := range map[string]string{
		"SHOP_HOST": "127.0.0.1", "SHOP_PORT": strconv.Itoa(srv.Port()), "SHOP_USER": "postgres", "SHOP_PASSWORD": "",
		"SHOP_DATABASE": database, "SHOP_SLOT": "freshet_shop", "SHOP_DIR": s.Dir, "SHOP_INTERVAL": s.Interval.String(),
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// shopConn is a connection and the shop that lies behind it.
type shopConn struct {
	*pgx.Conn
	shop *shop
}

func (s *show) createShop(ctx context.Context, srv *pgtest.Server) (*shopConn, error) {
	admin, err := pgx.Connect(ctx, srv.URL("postgres"))
	if err != nil {
		return nil, err
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+database); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, srv.URL(database))
	if err != nil {
		return nil, err
	}
	c := &shopConn{Conn: conn, shop: newShop(s.Seed)}
	if err := c.shop.create(ctx, conn, s.Rows); err != nil {
		conn.Close(ctx)
		return nil, err
	}
	s.say("the shop is open: %d customers, %d orders, 5 tables", c.shop.customers, c.shop.orders)
	return c, nil
}

// perform runs the pipeline while rows change, kills it in the middle, starts it
// again and returns, once everything is committed, the number of row changes.
func (s *show) perform(ctx context.Context, sh *shop, conn *pgx.Conn) (int, error) {
	var progress atomic.Int64
	type outcome struct {
		n   int
		err error
	}
	done := make(chan outcome, 1)
	w := &writer{shop: sh, conn: conn, onChange: func(n int) { progress.Store(int64(n)) }}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		n, err := w.run(writing, s.Changes, s.Spread)
		done <- outcome{n, err}
	}()
	if err := s.runAndKill(ctx, &progress); err != nil {
		stop()
		<-done
		return 0, err
	}
	pipeline, err := s.start("run", s.file)
	if err != nil {
		stop()
		<-done
		return 0, err
	}
	s.say("the pipeline goes on from its last checkpoint")
	out := <-done
	if err := pipeline.end(syscall.SIGTERM); err != nil {
		return 0, fmt.Errorf("the pipeline did not stop well: %w", err)
	}
	if out.err != nil {
		return 0, out.err
	}
	s.say("the writer is done: %d row changes; the pipeline catches up", out.n)
	last, err := s.start("run", s.file, "--until", "caught-up")
	if err != nil {
		return 0, err
	}
	if err := last.wait(ctx); err != nil {
		return 0, fmt.Errorf("the pipeline did not catch up: %w", err)
	}
	return out.n, nil
}

// runAndKill starts the pipeline and kills it once a checkpoint is complete and a
// good part of the changes was made.
func (s *show) runAndKill(ctx context.Context, progress *atomic.Int64) error {
	pipeline, err := s.start("run", s.file)
	if err != nil {
		return err
	}
	s.say("the pipeline runs: a snapshot of the tables, and the log beside it, while rows keep changing")
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return errors.Join(ctx.Err(), pipeline.end(syscall.SIGKILL))
		case err := <-pipeline.exited:
			tick.Stop()
			return fmt.Errorf("the pipeline ended by itself: %w", errors.Join(err, errors.New("see its lines above")))
		case <-tick.C:
		}
		published, _ := filepath.Glob(filepath.Join(s.Dir, "checkpoints", "chk-*", "_metadata"))
		if len(published) > 0 && progress.Load() >= int64(s.Changes)*2/5 {
			tick.Stop()
			pipeline.end(syscall.SIGKILL) // its exit status says just that
			s.say("KILLED the pipeline (SIGKILL) after %d changes, with work in flight", progress.Load())
			return nil
		}
	}
}

// process is a running command of this binary.
type process struct {
	cmd    *exec.Cmd
	exited chan error
}

func (s *show) start(args ...string) (*process, error) {
	cmd := s.hooks.Command(args...)
	cmd.Stdout, cmd.Stderr = s.Out, s.Out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, exited: make(chan error, 1)}
	go func() { p.exited <- cmd.Wait() }()
	return p, nil
}

// end sends the signal and waits for the exit.
func (p *process) end(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return <-p.exited
}

func (p *process) wait(ctx context.Context) error {
	select {
	case err := <-p.exited:
		return err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.end(syscall.SIGKILL))
	}
}
