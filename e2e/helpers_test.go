package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

// runTimeout bounds a run that should end by itself, on a busy machine.
const runTimeout = 3 * time.Minute

func TestMain(m *testing.M) {
	code := m.Run()
	process.RemoveBuilt()
	if shared.pg != nil {
		shared.pg.Wipe()
	}
	os.Exit(code)
}

// shared is the server of all tests that leave it as it is.
var shared struct {
	once sync.Once
	pg   *servers.Server
	err  error
	n    int
}

// newDatabase makes an empty database on the shared server and returns its URL.
func newDatabase(t *testing.T) string {
	t.Helper()
	servers.Require(t)
	shared.once.Do(func() {
		shared.pg, shared.err = servers.StartPostgres(context.Background(), "15", fmt.Sprintf("e2e-%d", os.Getpid()))
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	shared.n++
	name := fmt.Sprintf("db%d", shared.n)
	conn := connect(t, shared.pg.URL)
	execute(t, conn, "CREATE DATABASE "+name)
	t.Cleanup(func() {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, shared.pg.URL)
		if err != nil {
			return
		}
		defer conn.Close(ctx)
		// Slots of ended tests would use up max_replication_slots.
		conn.Exec(ctx, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active AND database = '"+name+"'")
	})
	return strings.Replace(shared.pg.URL, "/postgres?", "/"+name+"?", 1)
}

// newServer starts a server of the test's own, which it may kill.
func newServer(t *testing.T, settings ...string) *servers.Server {
	t.Helper()
	servers.Require(t)
	instance := fmt.Sprintf("%s-%d", strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())), os.Getpid())
	pg, err := servers.StartPostgres(t.Context(), "15", instance, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Wipe(); err != nil {
			t.Error(err)
		}
	})
	return pg
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := process.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newPipeline writes a pipeline over all tables of a database. Its metrics stay
// off, so that several can run at once.
func newPipeline(t *testing.T, name, url string, change func(p *process.Pipeline)) process.Pipeline {
	t.Helper()
	namespace := "public"
	if strings.HasPrefix(url, "mysql:") {
		namespace = url[strings.LastIndex(url, "/")+1:]
	}
	p := process.Pipeline{
		Name: name, Dir: t.TempDir(), SourceURL: url, Tables: namespace + `.\.*`,
		Source: map[string]string{}, Sink: map[string]string{},
		Settings: map[string]string{"execution.checkpointing.interval": "300ms"},
	}
	if change != nil {
		change(&p)
	}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	return p
}

// start starts freshet run; the test's end kills it.
func start(t *testing.T, p process.Pipeline, env ...string) *process.Process {
	t.Helper()
	run, err := process.Start(binary(t), []string{"run", p.Path()}, env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Kill()
		if r := run.Wait(); t.Failed() {
			t.Logf("output of pipeline %s:\n%s", p.Name, r.Tail(60))
		}
	})
	return run
}

// catchUp runs the pipeline until it has caught up and returns what it printed.
func catchUp(t *testing.T, p process.Pipeline) string {
	t.Helper()
	r := tryCatchUp(t, p)
	if r.Code != 0 {
		t.Fatalf("pipeline %s: exit code %d:\n%s", p.Name, r.Code, r.Tail(60))
	}
	return r.Output
}

// tryCatchUp is catchUp where an error may be what is wanted.
func tryCatchUp(t *testing.T, p process.Pipeline) process.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	r, err := process.Run(ctx, binary(t), []string{"run", "--until", "caught-up", p.Path()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stop ends a run by SIGTERM, which must be answered with exit code 0.
func stop(t *testing.T, run *process.Process) {
	t.Helper()
	run.Stop()
	select {
	case <-run.Done():
	case <-time.After(runTimeout):
		t.Fatalf("freshet did not end after SIGTERM:\n%s", run.Output())
	}
	if r := run.Wait(); r.Code != 0 {
		t.Fatalf("exit code %d after SIGTERM:\n%s", r.Code, r.Tail(60))
	}
}

// openReader opens the independent readers on a pipeline's tables.
func openReader(t *testing.T, p process.Pipeline) *readers.Reader {
	t.Helper()
	reader, err := p.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	return reader
}

// sourceOf connects to a pipeline's database for a comparison.
func sourceOf(t *testing.T, p process.Pipeline) readers.Source {
	t.Helper()
	if strings.HasPrefix(p.SourceURL, "mysql:") {
		return readers.MySQL(connectMySQL(t, p.SourceURL))
	}
	return readers.Postgres(connect(t, p.SourceURL))
}

// equal compares the named tables of a pipeline in upsert mode with their source.
func equal(t *testing.T, p process.Pipeline, tables ...string) {
	t.Helper()
	source, reader := sourceOf(t, p), openReader(t, p)
	for _, table := range tables {
		diff, err := reader.Compare(t.Context(), source, table, table, readers.PyIceberg)
		if err != nil {
			t.Error(err)
		} else if !diff.Equal() {
			t.Errorf("pipeline %s: %s", p.Name, diff)
		}
	}
}

// eventually polls until fn is true.
func eventually(t *testing.T, what string, timeout time.Duration, fn func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if fn() {
			return
		}
	}
	t.Fatalf("%s: not within %s", what, timeout)
}
