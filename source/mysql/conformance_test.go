package mysql

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// testDatabase is a database of a server that tests share.
type testDatabase struct {
	*mysqltest.DB
	mu      sync.Mutex
	clients map[int]*client.Conn
	setup   []string // runs first on each client's connection
}

func openDatabase(t *testing.T, s *mysqltest.Server, setup ...string) *testDatabase {
	t.Helper()
	db := &testDatabase{DB: mysqltest.Open(t, s), clients: make(map[int]*client.Conn), setup: setup}
	t.Cleanup(func() {
		for _, c := range db.clients {
			c.Close()
		}
	})
	return db
}

func (d *testDatabase) client(n int) (*client.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.clients[n]; c != nil {
		return c, nil
	}
	c, err := client.Connect(d.Addr(), d.User, d.Password, d.Database)
	if err != nil {
		return nil, err
	}
	for _, sql := range d.setup {
		if _, err := c.Execute(sql); err != nil {
			return nil, fmt.Errorf("%s: %w", sql, err)
		}
	}
	d.clients[n] = c
	return c, nil
}

// Exec implements sourcetest.Database. A transaction that the server ended
// because of a deadlock is begun again.
func (d *testDatabase) Exec(n int, sql ...string) error {
	c, err := d.client(n)
	if err != nil {
		return err
	}
	if len(sql) > 1 {
		sql = append(append([]string{"BEGIN"}, sql...), "COMMIT")
	}
	for again := true; again; {
		again = false
		for _, s := range sql {
			_, err := c.Execute(s)
			if err != nil && strings.Contains(err.Error(), "ERROR 1213") {
				again = true
				break
			}
			if err != nil {
				_, _ = c.Execute("ROLLBACK") // an open transaction would hold the others up
				return fmt.Errorf("%s: %w", s[:min(len(s), 200)], err)
			}
		}
	}
	return nil
}

// Touch implements sourcetest.Database: one more transaction, in another database.
func (d *testDatabase) Touch() error {
	return d.Exec(99, "CREATE DATABASE IF NOT EXISTS touched", "DROP DATABASE touched")
}

// Source implements sourcetest.Database.
func (d *testDatabase) Source(t *testing.T, log string, options map[string]string) source.Source {
	t.Helper()
	opts := map[string]string{"hostname": d.Host, "port": fmt.Sprint(d.Port), "username": d.User, "password": d.Password,
		"tables": "x", "heartbeat.interval": "200ms", "scan.newly-added-table.enabled": "true", "server-time-zone": "UTC"}
	for k, v := range options {
		opts[k] = v
	}
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	src, err := New(opts, func(id schema.TableID) bool { return id.Schema == d.Database }, logger)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func harness(s *mysqltest.Server, setup ...string) sourcetest.Harness {
	return sourcetest.Harness{
		Open:         func(t *testing.T) sourcetest.Database { return openDatabase(t, s, setup...) },
		Backend:      memory.NewBackend(memory.Options{}),
		BigText:      "text",
		Slow:         1,
		Keyless:      func(string) []string { return nil },
		ChunkOptions: map[string]string{"scan.incremental.snapshot.chunk.size": "200"},
	}
}

func TestConformance(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // all readers have ended
		h := harness(s)
		h.Disturb = func(table, _ string, n int) []string {
			return []string{[]string{"OPTIMIZE TABLE ", "ANALYZE TABLE ", "ALTER TABLE "}[n%3] + table + []string{"", "", " ENGINE=InnoDB"}[n%3]}
		}
		sourcetest.Run(t, h)
	})
}

// TestConformanceSettings: servers whose binlog looks different.
func TestConformanceSettings(t *testing.T) {
	log := []string{"SnapshotAndChanges", "Restarts", "Truncate"}
	for _, c := range []struct {
		name, server string
		settings     []string
		options      map[string]string
		cases        []string
	}{
		{"Minimal", "MySQL97", []string{"binlog-row-image=MINIMAL", "binlog-row-metadata=MINIMAL"}, nil, log},
		{"MinimalMariaDB", "MariaDB118", []string{"binlog-row-image=MINIMAL", "log-bin-compress=ON"}, nil, log},
		{"NoBlobCompressed", "MySQL97", []string{"binlog-row-image=NOBLOB", "binlog-transaction-compression=ON"}, nil, log},
		// A table without a key that is written to has no certain place then.
		{"WithoutGTID", "MySQL80", []string{"gtid-mode=OFF", "enforce-gtid-consistency=OFF"},
			map[string]string{"scan.snapshot.accept-without-gtid": "true"}, []string{"SnapshotMode", "LatestMode", "Idle"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := harness(mysqltest.Private(t, c.server, c.settings...).Server)
			for k, v := range c.options {
				h.ChunkOptions[k] = v
			}
			h.Cases, h.WholeKeyChanges = c.cases, true
			sourcetest.Run(t, h)
		})
	}
}
