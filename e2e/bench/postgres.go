package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

// postgresSettings are the same for the floor and for us: memory as a machine of
// this size would have it, and no server checkpoint in the middle of a figure.
var postgresSettings = []string{"shared_buffers=1GB", "max_wal_size=16GB", "checkpoint_timeout=1h", "autovacuum=off"}

// clientBin is where Debian keeps the client programs of PostgreSQL 15.
const clientBin = "/usr/lib/postgresql/15/bin"

// postgresOrders is the table of the published figures: about 150 bytes a row.
const postgresOrders = `
CREATE TABLE orders (
    id          bigint PRIMARY KEY,
    customer_id bigint,
    status      varchar(16),
    amount      decimal(12, 2),
    note        varchar(120),
    created_at  timestamp(3),
    updated_at  timestamp(3)
);
CREATE PUBLICATION bench_floor FOR TABLE orders;
`

// postgresFill makes the rows; %[1]d is the first id, %[2]d the last.
const postgresFill = `INSERT INTO orders SELECT i, i * 7919 %% 500000, (ARRAY['new','paid','packed','shipped','delivered','returned'])[1 + i %% 6],
    (i * 104729 %% 10000000) / 100.0, md5(i::text) || ' ' || md5((i * 3)::text) || substr(md5((i * 5)::text), 1, (i %% 30)::int),
    TIMESTAMP '2025-01-01' + i * INTERVAL '1 ms', TIMESTAMP '2026-01-01' + i * INTERVAL '1 ms'
    FROM generate_series(%[1]d::bigint, %[2]d::bigint) i`

// postgresBacklog writes in the server, since a client would take many times as long.
const postgresBacklog = `
CREATE PROCEDURE write_backlog(changes int, base bigint) LANGUAGE plpgsql AS $$
DECLARE
    inserted bigint := base;
    deleted bigint := 0;
    target bigint;
    k int;
BEGIN
    FOR n IN 0 .. changes - 1 LOOP
        k := n % 10;
        IF k IN (0, 2, 4, 6, 8) THEN
            -- Behind what will ever be deleted, so that every update finds its row.
            target := base / 2 + (n::bigint * 7919) % (base / 2);
            UPDATE orders SET status = 'changed', amount = amount + 1, updated_at = '2026-06-01' WHERE id = target;
        ELSIF k IN (1, 5, 9) THEN
            inserted := inserted + 1;
            INSERT INTO orders VALUES (inserted, inserted % 500000, 'new', 12.34,
                'a note of about eighty characters that comes with an order that somebody has just made', '2026-06-01', '2026-06-01');
        ELSE
            deleted := deleted + 1;
            DELETE FROM orders WHERE id = deleted;
        END IF;
        IF n % 100 = 99 THEN COMMIT; END IF;
    END LOOP;
    COMMIT;
END $$;
`

// postgresDB is a PostgreSQL server.
type postgresDB struct {
	version string
	server  *servers.Server
	conn    *pgx.Conn
	// logEnd is a position behind the backlog; slots keep the log for the floors.
	logEnd string
	slots  []string
}

func startPostgres(ctx context.Context, c config) (database, error) {
	d := &postgresDB{version: c.server}
	if d.version == "" {
		d.version = "15"
	}
	var err error
	if d.server, err = servers.StartPostgres(ctx, d.version, fmt.Sprintf("bench-%d", os.Getpid()), postgresSettings...); err != nil {
		return nil, err
	}
	if d.conn, err = pgx.Connect(ctx, d.server.URL); err != nil {
		d.server.Wipe()
		return nil, err
	}
	return d, nil
}

func (d *postgresDB) describe() string { return "PostgreSQL " + d.version }

func (d *postgresDB) close() {
	d.conn.Close(context.Background())
	d.server.Wipe()
}

func (d *postgresDB) source() (string, string, map[string]string) {
	return d.server.URL, `public.orders`, nil
}

func (d *postgresDB) cpu(ctx context.Context) time.Duration {
	// Each connection is a child, so the ended ones are what a run cost.
	return processCPU(ctx, d.server, endedChildren)
}

func (d *postgresDB) statement(ctx context.Context, sql string) error {
	_, err := d.conn.Exec(ctx, sql)
	return err
}

func (d *postgresDB) fill(ctx context.Context, rows int) error {
	if _, err := d.conn.Exec(ctx, postgresOrders+postgresBacklog); err != nil {
		return err
	}
	const step = 500_000
	for first := 1; first <= rows; first += step {
		if _, err := d.conn.Exec(ctx, fmt.Sprintf(postgresFill, first, min(first+step-1, rows))); err != nil {
			return err
		}
	}
	// Hint bits and the visibility map are written now, not by the first reader.
	_, err := d.conn.Exec(ctx, "VACUUM (ANALYZE) orders")
	if err == nil {
		_, err = d.conn.Exec(ctx, "CHECKPOINT")
	}
	return err
}

// scanFloor is psql copying the table, one connection.
func (d *postgresDB) scanFloor(ctx context.Context) (time.Duration, error) {
	return timed(exec.CommandContext(ctx, "psql", "-X", "-q", d.server.URL, "-c", "COPY orders TO STDOUT (FORMAT binary)"))
}

func (d *postgresDB) writeBacklog(ctx context.Context, changes, rows int) error {
	for i := range logFloors {
		slot := fmt.Sprintf("bench_floor_%d", i)
		if _, err := d.conn.Exec(ctx, "SELECT pg_create_logical_replication_slot($1, 'pgoutput')", slot); err != nil {
			return err
		}
		d.slots = append(d.slots, slot)
	}
	if _, err := d.conn.Exec(ctx, "CALL write_backlog($1, $2)", changes, rows); err != nil {
		return err
	}
	err := d.conn.QueryRow(ctx, "SELECT pg_current_wal_lsn()").Scan(&d.logEnd)
	if err == nil {
		// One more transaction, so that pg_recvlogical meets a position behind the end.
		_, err = d.conn.Exec(ctx, "SELECT pg_logical_emit_message(false, 'bench', 'end')")
	}
	return err
}

// logFloor is pg_recvlogical reading from a slot, which serves once.
func (d *postgresDB) logFloor(ctx context.Context) (time.Duration, error) {
	slot := d.slots[0]
	d.slots = d.slots[1:]
	return timed(exec.CommandContext(ctx, filepath.Join(clientBin, "pg_recvlogical"), "-d", d.server.URL, "--slot", slot, "--start", "--no-loop",
		"--endpos", d.logEnd, "-o", "proto_version=1", "-o", "publication_names=bench_floor", "-f", os.DevNull))
}
