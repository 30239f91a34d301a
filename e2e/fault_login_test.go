package e2e

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/process"
)

// ends waits until a running pipeline ends by itself, with an error that holds
// all the words and not the password.
func ends(t *testing.T, p process.Pipeline, run *process.Process, words ...string) {
	t.Helper()
	select {
	case <-run.Done():
	case <-time.After(failTimeout):
		t.Fatalf("freshet goes on:\n%s", run.Output())
	}
	r := run.Wait()
	if r.Code <= 0 {
		t.Errorf("exit code %d (signal %v), want an error", r.Code, r.Signal)
	}
	said := strings.ToLower(r.Output)
	for _, w := range words {
		if !strings.Contains(said, strings.ToLower(w)) {
			t.Errorf("the error does not say %q:\n%s", w, r.Tail(20))
		}
	}
	if strings.Contains(r.Output, password(t, p)) {
		t.Errorf("the output shows the password:\n%s", r.Output)
	}
}

// says waits until a running pipeline prints the words, while it goes on.
func says(t *testing.T, run *process.Process, words ...string) {
	t.Helper()
	eventually(t, strings.Join(words, ", "), failTimeout, func() bool {
		select {
		case <-run.Done():
			t.Fatalf("the process ended:\n%s", run.Wait().Tail(40))
		default:
		}
		said := strings.ToLower(run.Output())
		for _, w := range words {
			if !strings.Contains(said, strings.ToLower(w)) {
				return false
			}
		}
		return true
	})
}

// committed waits for a snapshot of a table that was written after since. Counting
// them does not do: those of a failed attempt are removed.
func committed(t *testing.T, p process.Pipeline, what string, since time.Time) {
	t.Helper()
	eventually(t, what, runTimeout, func() bool {
		found := false
		filepath.WalkDir(filepath.Join(p.Dir, "warehouse"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), "snap-") {
				info, err := d.Info()
				found = found || err == nil && info.ModTime().After(since)
			}
			return nil
		})
		return found
	})
}

// newRole makes a role that may capture the database of base, and a pipeline that uses it.
func newRole(t *testing.T, admin *pgx.Conn, name, base, role string) process.Pipeline {
	t.Helper()
	execute(t, admin, "CREATE ROLE "+role+" LOGIN REPLICATION PASSWORD 'secret-of-"+role+"'")
	execute(t, admin, "GRANT pg_read_all_data TO "+role)
	execute(t, admin, "ALTER TABLE orders OWNER TO "+role)
	execute(t, admin, "DO $$ BEGIN EXECUTE 'GRANT CREATE ON DATABASE ' || current_database() || ' TO "+role+"'; END $$")
	return newPipeline(t, name, base, func(p *process.Pipeline) {
		p.Source["username"], p.Source["password"] = role, "secret-of-"+role
	})
}

// endSessions ends what a role has open at the server, so that it must log in again.
func endSessions(t *testing.T, admin *pgx.Conn, role string) {
	t.Helper()
	execute(t, admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", role)
}

// TestFaultLoginRefused takes the login away from a running pipeline in several
// ways: it must end and name the cause, for no attempt can succeed.
func TestFaultLoginRefused(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		words     []string
	}{
		{"password", "ALTER ROLE $ PASSWORD 'another'", []string{"login refused", "wrong password", "check username and password"}},
		{"nologin", "ALTER ROLE $ NOLOGIN", []string{"login refused", "not permitted to log in", "pg_hba.conf"}},
		{"connect", "DO $$ BEGIN EXECUTE 'REVOKE CONNECT ON DATABASE ' || current_database() || ' FROM PUBLIC'; END $$", []string{"missing privilege", "GRANT CONNECT"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := newDatabase(t)
			admin, _ := orders(t, base)
			role := "capture_" + c.name
			p := newRole(t, admin, "fault-login-"+c.name, base, role)
			run := start(t, p)
			eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
			if c.name == "connect" { // the owner of nothing, with no grant of its own
				execute(t, admin, "DO $$ BEGIN EXECUTE 'REVOKE ALL ON DATABASE ' || current_database() || ' FROM "+role+"'; END $$")
				execute(t, admin, c.sql)
			} else {
				execute(t, admin, strings.Replace(c.sql, "$", role, 1))
			}
			endSessions(t, admin, role)
			ends(t, p, run, append(c.words, role)...)
		})
	}
}

// TestFaultTooManyConnections takes all connections of the server: that passes,
// so the pipeline waits and goes on.
func TestFaultTooManyConnections(t *testing.T) {
	pg := newServer(t, "max_connections=15", "superuser_reserved_connections=5")
	admin, change := orders(t, pg.URL)
	p := newRole(t, admin, "fault-connections", pg.URL, "capture")
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	execute(t, admin, "CREATE ROLE crowd LOGIN PASSWORD 'crowd'")
	var hogs []*pgx.Conn
	eventually(t, "too many connections", failTimeout, func() bool {
		for { // as many as there are, without those that are kept for superusers
			conn, err := pgx.Connect(t.Context(), strings.Replace(pg.URL, "postgres:never-show-7Qd2@", "crowd:crowd@", 1))
			if err != nil {
				break
			}
			hogs = append(hogs, conn)
		}
		endSessions(t, admin, "capture")
		return strings.Contains(run.Output(), "too many connections")
	})
	says(t, run, "too many connections")
	for _, c := range hogs {
		c.Close(t.Context())
	}
	since := time.Now()
	change()
	committed(t, p, "a commit after the crowd", since)
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.orders")
}
