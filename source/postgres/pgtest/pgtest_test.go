package pgtest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func query(t *testing.T, s *Server, sql string) (text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestServer: a server outlives its crash, and a throw-away one leaves nothing behind.
func TestServer(t *testing.T) {
	s, err := Start(t.Context(), Options{Settings: map[string]string{"max_connections": "17"}, User: "somebody"})
	if errors.Is(err, ErrNoBinaries) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if got := query(t, s, "SELECT current_setting('max_connections') || current_setting('wal_level') || current_user"); got != "17logicalsomebody" {
		t.Errorf("settings: %s", got)
	}
	conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE t AS SELECT 'kept'::text AS v"); err != nil {
		t.Fatal(err)
	}
	s.Kill9()
	if s.Running() {
		t.Error("it runs after kill -9")
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a session survived kill -9")
	}
	s.Set("max_connections", "18")
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, s, "SELECT v || current_setting('max_connections') FROM t"); got != "kept18" {
		t.Errorf("after a crash: %s", got)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestStandby: a standby follows, and takes over.
func TestStandby(t *testing.T) {
	s, err := Start(t.Context(), Options{})
	if errors.Is(err, ErrNoBinaries) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	query(t, s, "WITH t AS (SELECT lo_from_bytea(0, 'before')) SELECT '' FROM t")
	standby, err := StartStandby(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Stop()
	query(t, s, "WITH t AS (SELECT lo_from_bytea(0, 'after')) SELECT '' FROM t")
	const both = "SELECT coalesce(string_agg(convert_from(lo_get(oid), 'UTF8'), ' ' ORDER BY oid), '') || pg_is_in_recovery() FROM pg_largeobject_metadata"
	for end := time.Now().Add(20 * time.Second); query(t, standby, both) != "before aftertrue"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the standby has %s", query(t, standby, both))
		}
	}
	s.Kill9()
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, standby, both); got != "before afterfalse" {
		t.Errorf("the new primary has %s", got)
	}
}
