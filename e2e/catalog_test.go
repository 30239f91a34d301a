package e2e

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/e2e/process"
)

// verified compares source and sink by freshet itself.
func verified(t *testing.T, p process.Pipeline) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	r, err := process.Run(ctx, binary(t), []string{"verify", p.Path()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Code != 0 || !strings.Contains(r.Output, "verified: ") {
		t.Errorf("verify: exit code %d\n%s", r.Code, r.Tail(30))
	}
}

// TestCatalogOnPostgres keeps the catalog in a PostgreSQL of its own, which is killed,
// is away for a while and comes back.
func TestCatalogOnPostgres(t *testing.T) {
	source := newDatabase(t)
	_, change := orders(t, source)
	catalog := newServer(t)
	p := newPipeline(t, "catalog-postgres", source, func(p *process.Pipeline) {
		p.Sink["catalog.properties.uri"] = catalog.URL
	})
	catchUp(t, p)
	verified(t, p)
	run := start(t, p)
	for _, away := range []time.Duration{0, 4 * time.Second} {
		since := time.Now()
		change()
		committed(t, p, "a commit", since)
		if err := catalog.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		change()
		time.Sleep(away)
		if err := catalog.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		change()
	}
	select {
	case <-run.Done():
		t.Fatalf("the process ended with the catalog:\n%s", run.Wait().Tail(40))
	default:
	}
	stop(t, run)
	catchUp(t, p)
	verified(t, p)
	u, err := url.Parse(catalog.URL)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	if strings.Contains(run.Output(), secret) {
		t.Errorf("the output shows the catalog's password:\n%s", run.Output())
	}
	if err := catalog.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	fails(t, p, "sink iceberg", "catalog can't be used", "connection refused")
	u.User = url.UserPassword(u.User.Username(), "a-wrong-p@ss/word")
	p.Sink["catalog.properties.uri"] = u.String()
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	if err := catalog.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), failTimeout)
	defer cancel()
	r, err := process.Run(ctx, binary(t), []string{"run", p.Path()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Code != 3 || !strings.Contains(r.Output, "password authentication failed") || strings.Contains(r.Output, "p@ss") || strings.Contains(r.Output, "p%40ss") {
		t.Errorf("a wrong password of the catalog: exit code %d\n%s", r.Code, r.Output)
	}
}
