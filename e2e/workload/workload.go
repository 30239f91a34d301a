package workload

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// InitialBalance is what every account starts with.
const InitialBalance = 1000

// tables are the names of the tables, without their schema or database.
var tables = []string{"accounts", "ledger", "progress", "documents", keyless}

// keyless is the one of tables that has no primary key.
const keyless = "events"

// Config says how large the workload is; zero values get defaults.
type Config struct {
	// Seed makes the workload repeatable.
	Seed uint64
	// Workers is the number of connections that write at the same time (2).
	Workers int
	// Accounts, Documents and Events are the first rows of these tables (2,000, 5,000, 5,000).
	Accounts, Documents, Events int
	// Session are statements that every worker's connection begins with.
	Session []string
	// XA makes every 20th transaction one in two phases. MySQL and MariaDB alone.
	XA bool
	// Pace is called before every transaction with the row changes committed so
	// far; it blocks for as long as the writers should wait. An error ends them.
	Pace func(ctx context.Context, changes int64) error
}

func (c Config) withDefaults() Config {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&c.Workers, 2)
	def(&c.Accounts, 2000)
	def(&c.Documents, 5000)
	def(&c.Events, 5000)
	if c.Pace == nil {
		c.Pace = func(context.Context, int64) error { return nil }
	}
	return c
}

// Workload writes to one database.
type Workload struct {
	config    Config
	dialect   *dialect
	url       string
	namespace string
	workers   []*worker
	changes   atomic.Int64
}

// New returns a workload on the database at url, whose scheme is postgres or mysql;
// it connects later.
func New(address string, config Config) (*Workload, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("workload: the address is not a URL")
	}
	w := &Workload{url: address, config: config.withDefaults()}
	switch u.Scheme {
	case "postgres":
		w.dialect, w.namespace = &postgres, "public"
	case "mysql":
		w.dialect, w.namespace = &mysql, strings.TrimPrefix(u.Path, "/")
	default:
		return nil, fmt.Errorf("workload: no database is addressed by %s://", u.Scheme)
	}
	for i := range w.config.Workers {
		w.workers = append(w.workers, newWorker(w.config, w.dialect, i))
	}
	return w, nil
}

// Create makes the tables and their first rows. The tables must not exist.
func (w *Workload) Create(ctx context.Context) error {
	s, err := w.dialect.connect(ctx, w.url, w.config)
	if err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	defer s.close()
	if err := s.script(ctx, w.dialect.create(w.config)); err != nil {
		return fmt.Errorf("workload: create tables: %w", err)
	}
	return nil
}

// Changes returns the number of row changes committed so far.
func (w *Workload) Changes() int64 { return w.changes.Load() }

// Table returns the name of a table with its schema or database.
func (w *Workload) Table(name string) string { return w.namespace + "." + name }

// Tables returns the names of all tables, with their schema or database.
func (w *Workload) Tables() []string {
	all := make([]string, len(tables))
	for i, name := range tables {
		all[i] = w.Table(name)
	}
	return all
}

// Keyless reports whether a table has no primary key, which is true of one of them.
func (w *Workload) Keyless(table string) bool { return table == w.Table(keyless) }

// Complete reports whether these numbers of rows are what a copy must hold once
// its snapshot is complete: accounts, rows of progress, and rows of events that
// Create wrote. None of them is ever deleted.
func (w *Workload) Complete(accounts, progress, firstEvents int) bool {
	return accounts == w.config.Accounts && progress == w.config.Workers && firstEvents == w.config.Events
}

// Run writes until at least the given number of row changes has been committed,
// counted over all calls, and returns how many were. The workers remember where
// they are, so Run may be called again after it returned without an error.
func (w *Workload) Run(ctx context.Context, changes int64) (int64, error) {
	group, ctx := errgroup.WithContext(ctx)
	for _, worker := range w.workers {
		group.Go(func() error {
			if err := w.write(ctx, worker, changes); err != nil {
				return fmt.Errorf("workload: worker %d: %w", worker.id, err)
			}
			return nil
		})
	}
	err := group.Wait()
	return w.changes.Load(), err
}

// write runs the transactions of one worker.
func (w *Workload) write(ctx context.Context, worker *worker, changes int64) error {
	line := &line{dialect: w.dialect, url: w.url, config: w.config, worker: worker.id}
	defer line.close()
	for w.changes.Load() < changes {
		if err := w.config.Pace(ctx, w.changes.Load()); err != nil {
			return err
		}
		n, err := worker.transaction(ctx, line)
		if err != nil {
			return err
		}
		w.changes.Add(int64(n))
	}
	return nil
}
