package servers

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestPostgres kills and restarts each version: the data and the address stay.
func TestPostgres(t *testing.T) {
	Require(t)
	for _, version := range []string{"14", "15", "16", "17", "18"} {
		t.Run(version, func(t *testing.T) {
			ctx := t.Context()
			pg, err := StartPostgres(ctx, version, "servers-test", "work_mem=5MB")
			if err != nil {
				t.Fatal(err)
			}
			defer pg.Wipe()
			query := func(sql string) (answer string) {
				t.Helper()
				conn, err := pgx.Connect(ctx, pg.URL)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(ctx)
				if err := conn.QueryRow(ctx, sql).Scan(&answer); err != nil {
					t.Fatal(err)
				}
				return answer
			}
			query("WITH t AS (SELECT lo_from_bytea(0, 'kept')) SELECT 'x' FROM t")
			if err := pg.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := pg.PID(ctx); err == nil {
				t.Error("it runs after Kill")
			}
			if err := pg.Start(ctx); err != nil {
				t.Fatal(err)
			}
			if got := query("SELECT convert_from(lo_get(oid), 'UTF8') FROM pg_largeobject_metadata"); got != "kept" {
				t.Errorf("after the restart it holds %q", got)
			}
			if got := query("SHOW work_mem") + query("SHOW wal_level"); got != "5MBlogical" {
				t.Errorf("settings after the restart: %s", got)
			}
			if got := query("SELECT current_setting('server_version_num')")[:2]; got != version {
				t.Errorf("version %s", got)
			}
			if err := pg.Stop(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}
