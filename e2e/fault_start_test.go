package e2e

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/e2e/process"
)

// failTimeout is how long freshet may take to say that something can't work.
const failTimeout = runTimeout

// fails runs the pipeline, which must end by itself with an error that holds all
// the words, in any case, and not the password.
func fails(t *testing.T, p process.Pipeline, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), failTimeout)
	defer cancel()
	r, err := process.Run(ctx, binary(t), []string{"run", p.Path()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Code <= 0 {
		t.Errorf("exit code %d (signal %v), want an error", r.Code, r.Signal)
	}
	said := strings.ToLower(r.Output)
	for _, w := range words {
		if !strings.Contains(said, strings.ToLower(w)) {
			t.Errorf("the error does not say %q:\n%s", w, r.Tail(20))
		}
	}
	if strings.Contains(r.Output, "panic:") || strings.Contains(r.Output, "goroutine ") {
		t.Errorf("it panicked:\n%s", r.Tail(40))
	}
	if secret := password(t, p); strings.Contains(r.Output, secret) {
		t.Errorf("the output shows the password:\n%s", r.Output)
	}
}

// password returns the one that the pipeline's document holds.
func password(t *testing.T, p process.Pipeline) string {
	t.Helper()
	if s := p.Source["password"]; s != "" {
		return s
	}
	u, err := url.Parse(p.SourceURL)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := u.User.Password()
	return s
}

// TestFaultAtStart starts pipelines that can't work. Each must end by itself,
// soon, and name the cause.
func TestFaultAtStart(t *testing.T) {
	base := newDatabase(t)
	conn := connect(t, base)
	execute(t, conn, `CREATE TABLE orders (id int PRIMARY KEY, v text); INSERT INTO orders VALUES (1, 'a');
		`)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	execute(t, conn, "CREATE ROLE reader_only LOGIN PASSWORD '"+secret+"'; CREATE ROLE no_select LOGIN REPLICATION PASSWORD '"+secret+"'")
	database := strings.TrimPrefix(u.Path, "/")
	for _, c := range []struct {
		name   string
		source map[string]string
		words  []string
	}{
		{"wrong password", map[string]string{"password": "not-the-password-at-all"}, []string{"password", "postgres"}},
		{"unreachable host", map[string]string{"port": "1"}, []string{"connect", "127.0.0.1"}},
		{"unknown host", map[string]string{"hostname": "no-such-host.invalid"}, []string{"no-such-host.invalid"}},
		{"unknown database", map[string]string{"database": "nowhere"}, []string{"nowhere"}},
		{"no table matches", map[string]string{"tables": database + `.public.nothing_like_it\.*`}, []string{"nothing_like_it"}},
		{"no privilege to replicate", map[string]string{"username": "reader_only"}, []string{"reader_only", "replication"}},
		{"no privilege to read", map[string]string{"username": "no_select"}, []string{"no_select", "orders", "select"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			p := newPipeline(t, "fault-"+strings.ReplaceAll(c.name, " ", "-"), base, func(p *process.Pipeline) { p.Source = c.source })
			fails(t, p, c.words...)
		})
	}
}

// TestFaultOddPasswords fails to log in with passwords that are hard to keep out of
// messages, or that would spoil them. The message must stay as it is.
func TestFaultOddPasswords(t *testing.T) {
	base := newDatabase(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	for i, secret := range []string{"a", "postgres", "orders", "password", "p@ss w/rd%:4", "Üb3r'ge\\heim"} {
		for _, option := range []string{"password", "url"} {
			p := newPipeline(t, fmt.Sprintf("fault-odd-%d-%s", i, option), base, func(p *process.Pipeline) {
				p.Source = map[string]string{"password": secret, "username": "somebody"}
				if option == "url" {
					p.Source["password"] = ""
					p.Source["url"] = (&url.URL{Scheme: "postgres", User: url.UserPassword("somebody", secret), Host: u.Host, Path: u.Path}).String()
				}
			})
			r, err := process.Run(t.Context(), binary(t), []string{"run", p.Path()})
			if err != nil {
				t.Fatal(err)
			}
			if want := `user "somebody"): login refused: wrong password (check username and password)`; r.Code <= 0 || !strings.Contains(r.Output, want) || !strings.Contains(r.Output, "freshet: source postgres: ") || strings.Contains(r.Output, "******") {
				t.Errorf("%s %q: exit code %d\n%s", option, secret, r.Code, r.Output)
			}
			for _, spelled := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
				if len(secret) > 8 && strings.Contains(r.Output, spelled) {
					t.Errorf("%s %q is shown:\n%s", option, secret, r.Output)
				}
			}
		}
	}
}

// TestFaultServerSettings starts on servers that are not set up for it.
func TestFaultServerSettings(t *testing.T) {
	for _, c := range []struct {
		name, setting string
		words         []string
	}{
		{"level", "wal_level=replica", []string{"wal_level", "logical"}},
		{"slots", "max_replication_slots=0", []string{"max_replication_slots"}},
		{"senders", "max_wal_senders=0", []string{"max_wal_senders"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := []string{c.setting}
			if c.name == "senders" {
				settings = append(settings, "wal_level=logical")
			}
			pg := newServer(t, settings...)
			execute(t, connect(t, pg.URL), "CREATE TABLE orders (id int PRIMARY KEY)")
			fails(t, newPipeline(t, "fault-"+c.name, pg.URL, nil), c.words...)
		})
	}
}

// TestFaultNoReplicaIdentity captures a table whose updates carry nothing to find
// the row by: the application's statements must go on working.
func TestFaultNoReplicaIdentity(t *testing.T) {
	base := newDatabase(t)
	conn := connect(t, base)
	execute(t, conn, "CREATE TABLE log (a int, b text); INSERT INTO log SELECT i, 'x' FROM generate_series(1, 50) i")
	p := newPipeline(t, "fault-identity", base, nil)
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	execute(t, conn, "UPDATE log SET b = 'y' WHERE a = 1")
	execute(t, conn, "DELETE FROM log WHERE a = 2")
	execute(t, conn, "INSERT INTO log VALUES (51, 'z')")
	stop(t, run)
}
