package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/pipeline/document"
	"github.com/freshet-cdc/freshet/pipeline/verify"
	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
)

// server starts a PostgreSQL with a database, or skips where there is none.
func server(t *testing.T, sql string) (*pgtest.Server, *pgx.Conn) {
	t.Helper()
	srv, err := pgtest.Start(t.Context(), pgtest.Options{})
	if errors.Is(err, pgtest.ErrNoBinaries) {
		t.Skipf("no PostgreSQL on this machine: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Stop() })
	conn, err := pgx.Connect(t.Context(), srv.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	return srv, conn
}

const tables = `
CREATE TABLE orders (id bigint PRIMARY KEY, status text, amount numeric(10,2));
INSERT INTO orders SELECT i, 'new', i * 1.5 FROM generate_series(1, 500) i;
CREATE TABLE views (url text, at timestamptz DEFAULT now());
INSERT INTO views SELECT 'page ' || i FROM generate_series(1, 50) i;
`

// write writes a document into dir, with more lines at the end of its blocks.
func write(t *testing.T, dir string, srv *pgtest.Server, more map[string]string) string {
	t.Helper()
	text := fmt.Sprintf(`
source:
  type: postgres
  hostname: 127.0.0.1
  port: %d
  username: postgres
  password: ${TEST_PASSWORD:-sesame-sesame}
  tables: postgres.public.\.*
  slot.name: freshet_test
%s
sink:
  type: iceberg
  catalog.properties.type: sql
  catalog.properties.uri: sqlite:///%[3]s/catalog.db
  catalog.properties.warehouse: file://%[3]s/warehouse
%[4]s
pipeline:
  name: test
  execution.checkpointing.interval: 200 ms
  metrics.address: 127.0.0.1:0
%[5]s
`, srv.Port(), more["source"], dir, more["sink"], more["pipeline"])
	file := filepath.Join(dir, "test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// lockedBuffer takes log lines from several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func open(t *testing.T, file string) (*pipeline.Pipeline, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	p, err := pipeline.Open(file, pipeline.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "sesame-sesame") {
			t.Error("the password is in the log")
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return p, log
}

// TestPipeline: plan, run until caught up, change rows, run again until stopped,
// with another parallelism, and compare.
func TestPipeline(t *testing.T) {
	srv, conn := server(t, tables)
	dir := t.TempDir()
	file := write(t, dir, srv, map[string]string{"sink": "route:\n  - source-table: public.orders\n    sink-table: lake.orders"})

	p, _ := open(t, file)
	plan, err := p.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := plan.Print(&text, true); err != nil || !strings.Contains(text.String(), "public.orders") || !strings.Contains(text.String(), "lake.orders") {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if err := p.Run(t.Context(), pipeline.RunOptions{UntilCaughtUp: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `UPDATE orders SET status = 'paid' WHERE id % 3 = 0; DELETE FROM orders WHERE id % 7 = 0;
		INSERT INTO orders VALUES (1000, NULL, 0.01); INSERT INTO views VALUES ('late')`); err != nil {
		t.Fatal(err)
	}
	p, _ = open(t, write(t, dir, srv, map[string]string{
		"sink": "route:\n  - source-table: public.orders\n    sink-table: lake.orders", "pipeline": "  parallelism: 3"}))
	runAndStop(t, p)
	equal(t, p, 2)
}

// runAndStop runs p until it has caught up, looks at /healthz, and stops it.
func runAndStop(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	jobs, addresses := make(chan *compose.Job, 1), make(chan string, 1)
	done := make(chan error, 1)
	go func() {
		done <- p.Run(t.Context(), pipeline.RunOptions{Started: func(j *compose.Job) { jobs <- j }, Serving: func(a string) { addresses <- a }})
	}()
	var job *compose.Job
	select {
	case job = <-jobs:
	case err := <-done:
		t.Fatalf("it ended by itself: %v", err)
	}
	for deadline := time.Now().Add(30 * time.Second); !job.Progress().CaughtUp(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not catch up: %+v", job.Progress())
		}
	}
	address := <-addresses
	var status struct{ Status string }
	if err := json.Unmarshal([]byte(get(t, "http://"+address+"/healthz")), &status); err != nil || status.Status != "ok" {
		t.Errorf("health: %+v, %v", status, err)
	}
	if figures := get(t, "http://"+address+"/metrics"); !strings.Contains(figures, `flink_taskmanager_job_task_operator_numRecordsIn{job_name="test",operator_name="writer"`) {
		t.Errorf("metrics:\n%s", figures)
	}
	p.Stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func equal(t *testing.T, p *pipeline.Pipeline, tables int) {
	t.Helper()
	results, err := p.Verify(t.Context(), verify.Options{Patience: time.Second, Pause: 100 * time.Millisecond}, nil, nil)
	if err != nil || len(results) != tables {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		if !r.Equal() || r.SourceRows == 0 {
			t.Error(r)
		}
	}
}

// TestRefusals: what is wrong with servers is told before anything runs.
func TestRefusals(t *testing.T) {
	srv, _ := server(t, tables)
	var refused *pipeline.CheckError
	p, _ := open(t, write(t, t.TempDir(), srv, map[string]string{"source": "  tables.exclude: postgres.public.\\.*"}))
	if err := p.Check(t.Context()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "source postgres: no table matches") {
		t.Errorf("no table: %v", err)
	}
	p, _ = open(t, write(t, t.TempDir(), srv, nil))
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), pipeline.RunOptions{}); !errors.As(err, &refused) {
		t.Errorf("a server that is not there: %v", err)
	}
}

// TestMergeHasItsPlace: two tables in one sink table are found before anything runs.
func TestMergeHasItsPlace(t *testing.T) {
	srv, _ := server(t, tables)
	p, _ := open(t, write(t, t.TempDir(), srv, map[string]string{"sink": "route:\n  - source-table: public.\\.*\n    sink-table: lake.all"}))
	err := p.Check(t.Context())
	var problems document.Problems
	if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(err.Error(), "test.yaml:18:17: tables public.orders") {
		t.Errorf("%v", err)
	}
}

// TestOneProcess: a second process on the same pipeline ends with an error.
func TestOneProcess(t *testing.T) {
	srv, _ := server(t, tables)
	file := write(t, t.TempDir(), srv, nil)
	first, _ := open(t, file)
	started, done := make(chan *compose.Job, 1), make(chan error, 1)
	go func() {
		done <- first.Run(t.Context(), pipeline.RunOptions{Started: func(j *compose.Job) { started <- j }})
	}()
	job := <-started
	for !job.Progress().Running {
		time.Sleep(10 * time.Millisecond)
	}
	second, _ := open(t, file)
	if err := second.Run(t.Context(), pipeline.RunOptions{}); !errors.Is(err, checkpoint.ErrLocked) {
		t.Errorf("the second: %v", err)
	}
	first.Stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
