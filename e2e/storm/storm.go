package storm

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/go-mysql-org/go-mysql/client"
	"golang.org/x/sync/errgroup"
)

// Config says how large the storm is; zero values get defaults.
type Config struct {
	// Seed makes it repeatable.
	Seed uint64
	// Tables (8) are shared out among the Workers (4), which work at the same time.
	Tables, Workers int
	// DDL (300) and Changes (20,000) are the statements of DDL and the changed rows, over all tables.
	DDL, Changes int
	// Rows are the first rows of each table (200).
	Rows int
	// Pace is called before each transaction with the number of DDL statements so
	// far; it blocks for as long as the storm should wait. An error ends it.
	Pace func(ctx context.Context, ddl int64) error
}

func (c Config) withDefaults() Config {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&c.Tables, 8)
	def(&c.Workers, 4)
	def(&c.DDL, 300)
	def(&c.Changes, 20_000)
	def(&c.Rows, 200)
	if c.Pace == nil {
		c.Pace = func(context.Context, int64) error { return nil }
	}
	return c
}

// Storm changes the tables of one database.
type Storm struct {
	url    string
	config Config
	tables []*table
	ddl    atomic.Int64
}

// New returns a storm in the database at url, mysql://user:password@host:port/database.
// It makes a second database, called [Storm.Other], which the caller drops.
func New(url string, config Config) *Storm {
	s := &Storm{url: url, config: config.withDefaults()}
	for i := range s.config.Tables {
		s.tables = append(s.tables, newTable(s.config.Seed, i, s.Other()))
	}
	return s
}

// Other is a database in which things happen that no copy of the first one is to see.
func (s *Storm) Other() string { return s.url[strings.LastIndex(s.url, "/")+1:] + "_other" }

// Tables returns the names of the tables, without their database.
func (s *Storm) Tables() []string {
	var names []string
	for _, t := range s.tables {
		names = append(names, t.name)
	}
	return names
}

// DDL returns the number of DDL statements so far.
func (s *Storm) DDL() int64 { return s.ddl.Load() }

// Create makes the tables with their first rows. They must not exist.
func (s *Storm) Create(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := execute(conn, "CREATE DATABASE "+quote(s.Other())); err != nil {
		return err
	}
	for _, t := range s.tables {
		if err := execute(conn, t.create(s.config.Rows)...); err != nil {
			return err
		}
	}
	return nil
}

// Run does all of it.
func (s *Storm) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for worker := range s.config.Workers {
		group.Go(func() error { return s.work(ctx, worker) })
	}
	return group.Wait()
}

// work changes the worker's share of the tables. Between two statements of DDL lie
// as many row changes, in transactions, as the numbers say.
func (s *Storm) work(ctx context.Context, worker int) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var own []*table
	for i := worker; i < len(s.tables); i += s.config.Workers {
		own = append(own, s.tables[i])
	}
	rng := own[0].rng
	between := s.config.Changes / s.config.DDL
	for n := worker; n < s.config.DDL; n += s.config.Workers {
		for left := between; left > 0; {
			if err := s.config.Pace(ctx, s.ddl.Load()); err != nil {
				return err
			}
			size := min(left, 1+rng.IntN(12))
			left -= size
			transaction := []string{"BEGIN"}
			for range size {
				transaction = append(transaction, own[rng.IntN(len(own))].change())
			}
			if err := execute(conn, append(transaction, "COMMIT")...); err != nil {
				return err
			}
		}
		if err := execute(conn, own[rng.IntN(len(own))].ddl()); err != nil {
			return err
		}
		s.ddl.Add(1)
	}
	return nil
}

func (s *Storm) connect(ctx context.Context) (*client.Conn, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, fmt.Errorf("storm: the address is not a URL")
	}
	password, _ := u.User.Password()
	conn, err := client.ConnectWithContext(ctx, u.Host, u.User.Username(), password, strings.TrimPrefix(u.Path, "/"), 0)
	if err != nil {
		return nil, fmt.Errorf("storm: %w", err)
	}
	return conn, nil
}

func execute(conn *client.Conn, statements ...string) error {
	for _, sql := range statements {
		if _, err := conn.Execute(sql); err != nil {
			return fmt.Errorf("storm: %w: %.300s", err, sql)
		}
	}
	return nil
}
