package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// all joins errors for searching.
func all(errs []error) string { return fmt.Sprint(errs) }

func as(t *testing.T, raw, user, password, database string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	u.Path = "/" + database
	return u.String()
}

func TestCheck(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	run(t, conn, `CREATE TABLE a (id int PRIMARY KEY)`, `CREATE TABLE b (v int)`, `CREATE ROLE poor LOGIN PASSWORD 'x'`, `REVOKE ALL ON SCHEMA public FROM public`, `GRANT USAGE ON SCHEMA public TO poor`)
	if errs := newTestSource(t, s, nil).Check(t.Context()); len(errs) != 0 {
		t.Errorf("a superuser: %v", errs)
	}
	var n int
	if err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_replication_slots)`).Scan(&n); err != nil || n != 0 {
		t.Errorf("Check left %d things behind (%v)", n, err)
	}
	poor := newTestSource(t, s, map[string]string{"url": as(t, s.URL("postgres"), "poor", "x", "postgres")})
	got := all(poor.Check(t.Context()))
	for _, want := range []string{`ALTER ROLE "poor" REPLICATION`, `GRANT SELECT ON "public"."a" TO "poor"`, `GRANT SELECT ON "public"."b"`, `GRANT CREATE ON DATABASE "postgres" TO "poor"`,
		`table public.a is owned by "postgres"`, `CREATE PUBLICATION "freshet_test" FOR TABLE ONLY "public"."a"`, `CREATE PUBLICATION "freshet_test_inserts" FOR TABLE ONLY "public"."b"`} {
		if !strings.Contains(got, want) {
			t.Errorf("a poor role: %q is missing in %s", want, got)
		}
	}
	checkConnect(t, newTestSource(t, s, map[string]string{"url": as(t, s.URL("postgres"), "postgres", "", "nowhere")}), "unknown database")
	checkConnect(t, newTestSource(t, s, map[string]string{"hostname": "127.0.0.1", "port": "1"}), "connection refused")
	checkConnect(t, newTestSource(t, s, map[string]string{"hostname": "no.such.host.invalid"}), "unknown host")
	hba := filepath.Join(s.Dir(), "data", "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("host all postgres 127.0.0.1/32 trust\nhost all poor 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 reject\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, conn, `SELECT pg_reload_conf()`, `ALTER ROLE poor REPLICATION`)
	waitFor(t, func() bool {
		errs := newTestSource(t, s, map[string]string{"url": as(t, s.URL("postgres"), "poor", "wrong", "postgres")}).Check(t.Context())
		return len(errs) == 1 && errors.Is(errs[0], ErrConnect) && strings.Contains(errs[0].Error(), "wrong password")
	})
	none, err := New(map[string]string{"url": s.URL("postgres"), "tables": "x", "slot.name": "s"}, func(schema.TableID) bool { return false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if errs := none.Check(t.Context()); len(errs) != 1 || !errors.Is(errs[0], ErrNoTables) {
		t.Errorf("no table: %v", errs)
	}
}

func checkConnect(t *testing.T, src *Source, want string) {
	t.Helper()
	errs := src.Check(t.Context())
	if len(errs) != 1 || !errors.Is(errs[0], ErrConnect) || !strings.Contains(errs[0].Error(), want) {
		t.Errorf("want %q, got %v", want, errs)
	}
}

func TestCheckSettings(t *testing.T) {
	s := startServer(t, map[string]string{"wal_level": "replica", "max_wal_senders": "1", "max_replication_slots": "1"})
	conn := sqlConn(t, s)
	run(t, conn, `CREATE TABLE a (id int PRIMARY KEY)`, `SELECT pg_create_physical_replication_slot('other')`)
	got := all(newTestSource(t, s, nil).Check(t.Context()))
	for _, want := range []string{"wal_level is replica", "all 1 replication slots are in use"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
}

// TestPublications: what exists is verified, what lacks is added or named.
func TestPublications(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	run(t, conn, `CREATE TABLE a (id int PRIMARY KEY, v int)`, `CREATE TABLE b (v int)`, `CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)`)
	strict := newTestSource(t, s, map[string]string{"publication.autocreate.mode": "disabled", "publication.name": "Pub"}).cfg
	open := newTestSource(t, s, map[string]string{"publication.name": "Pub"}).cfg
	ensure := func(c *config) (map[schema.TableID]bool, error) {
		infos, err := discover(t.Context(), conn, c)
		if err != nil {
			t.Fatal(err)
		}
		added, _, err := c.ensurePublications(t.Context(), conn, infos)
		return added, err
	}
	expect := func(sql, want string) {
		t.Helper()
		if sql != "" {
			run(t, conn, sql)
		}
		_, err := ensure(strict)
		if !errors.Is(err, ErrPublication) || !strings.Contains(err.Error(), want) {
			t.Errorf("after %s: want %q, got %v", sql, want, err)
		}
	}
	expect("", `CREATE PUBLICATION "Pub" FOR TABLE ONLY "public"."a", ONLY "public"."p"`)
	expect(`CREATE PUBLICATION "Pub" FOR TABLE a WITH (publish_via_partition_root)`, `ALTER PUBLICATION "Pub" ADD TABLE ONLY "public"."p"`)
	expect(`ALTER PUBLICATION "Pub" ADD TABLE p; ALTER PUBLICATION "Pub" SET (publish = 'insert')`, `SET (publish = 'insert, update, delete, truncate')`)
	expect(`ALTER PUBLICATION "Pub" SET (publish = 'insert, update, delete, truncate', publish_via_partition_root = false)`, `publish_via_partition_root = true`)
	run(t, conn, `ALTER PUBLICATION "Pub" SET (publish_via_partition_root)`)
	if serverVersion(conn.PgConn()) >= 150000 { // which brought column lists
		expect(`ALTER PUBLICATION "Pub" SET TABLE a (id), p`, "column list or a row filter")
	}
	expect(`ALTER PUBLICATION "Pub" SET TABLE a, p`, `CREATE PUBLICATION "Pub_inserts" FOR TABLE ONLY "public"."b"`)
	expect(`CREATE PUBLICATION "Pub_inserts" FOR TABLE b`, "would fail at the application")
	run(t, conn, `ALTER PUBLICATION "Pub_inserts" SET (publish = 'insert, truncate')`)
	if _, err := ensure(strict); err != nil {
		t.Errorf("all is there: %v", err)
	}
	run(t, conn, `DROP PUBLICATION "Pub"`, `CREATE TABLE c (id int PRIMARY KEY)`, `UPDATE b SET v = 1`)
	added, err := ensure(open)
	if err != nil || len(added) != 3 {
		t.Errorf("added %v, %v", added, err)
	}
	// A table that loses its key must not stay where its updates would fail.
	run(t, conn, `ALTER TABLE c DROP CONSTRAINT c_pkey`)
	if _, err := ensure(open); err != nil {
		t.Error(err)
	}
	run(t, conn, `INSERT INTO c VALUES (1)`, `UPDATE c SET id = 2`)
}

// TestOptions: bad options name their key, and no error shows a secret.
func TestOptions(t *testing.T) {
	base := map[string]string{"hostname": "h", "username": "u", "password": "geheim", "database": "d", "tables": "x", "slot.name": "s"}
	for _, c := range []struct{ key, value, bad string }{
		{"slot.name", "Upper", "slot.name"}, {"port", "many", "port"}, {"sslmode", "maybe", "sslmode"}, {"nonsense", "1", "nonsense"}, {"heartbeat.interval", "5", "heartbeat.interval"},
		{"sslrootcert", "/no/such/file", "hostname"}, {"url", "postgres://u:geheim@h:bad/d", "url"}, {"scan.snapshot.parallelism", "0", "scan.snapshot.parallelism"},
	} {
		opts := map[string]string{c.key: c.value}
		for k, v := range base {
			if _, ok := opts[k]; !ok {
				opts[k] = v
			}
		}
		_, err := New(opts, nil, nil)
		var oe *source.OptionError
		if !errors.As(err, &oe) || oe.Key != c.bad || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s=%s: %v", c.key, c.value, err)
		}
	}
	src, err := New(map[string]string{"url": "postgres://u:p%20w@h1:1,h2:2/d%61?sslmode=disable", "database": "other", "password": `a'b\c`, "tables": "x", "slot.name": "s"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pg := src.cfg.conn.pg
	if pg.Host != "h1" || pg.Port != 1 || len(pg.Fallbacks) != 1 || pg.User != "u" || pg.Password != `a'b\c` || pg.Database != "other" || pg.TLSConfig != nil {
		t.Errorf("parsed %s:%d %s %s %s", pg.Host, pg.Port, pg.User, pg.Password, pg.Database)
	}
}
