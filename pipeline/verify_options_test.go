package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/verify"
)

// odd are values that a sink or source changes by an option or its default: at
// the top, in arrays, in a key, and in a table without a key.
const odd = `
CREATE TYPE span AS (since date, at timestamptz);
CREATE TABLE odd (id int PRIMARY KEY, d date, ts timestamp, tz timestamptz, tm time, days date[], times timestamp[], s span, n numeric(6, 2), z timestamp(0), tz0 time(0), note text);
INSERT INTO odd VALUES
	(1, 'infinity', 'infinity', 'infinity', '24:00:00', '{infinity,2020-01-01,NULL,-infinity}', '{-infinity,infinity}', '(infinity,-infinity)', 'NaN', '2024-01-01 00:00:00.6', '24:00:00', 'a'),
	(2, '-infinity', '-infinity', '-infinity', '00:00:00', '{}', NULL, '(,)', 1.5, 'infinity', '23:59:59.7', 'b'),
	(3, '9999-12-31', '0044-03-15 BC', '200000-12-31 23:59:59.999999+00', '23:59:59.999999', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(4, '0001-01-01', '9999-12-31 23:59:59.999999', '0001-01-01 00:00:00+00', '12:00', '{5874897-12-31,4713-01-01 BC}', '{200000-12-31 23:59:59.999999}', '(2020-01-01,2020-01-01 00:00:00+00)', -1.25, '-infinity', '00:00', 'd');
CREATE TABLE bare (d date, ts timestamp, note text);
ALTER TABLE bare REPLICA IDENTITY FULL;
INSERT INTO bare SELECT 'infinity', '-infinity', 'x' FROM generate_series(1, 3);
INSERT INTO bare VALUES ('2020-01-01', 'infinity', 'y');`

// oddChanges come through the log.
const oddChanges = `
UPDATE odd SET note = 'changed', tz = 'infinity' WHERE id IN (1, 2);
INSERT INTO odd SELECT 10 + id, d, ts, tz, tm, days, times, s, n, z, tz0, note FROM odd;
DELETE FROM odd WHERE id = 4;
UPDATE bare SET ts = 'infinity' WHERE ctid IN (SELECT ctid FROM bare WHERE d = 'infinity' LIMIT 1);
DELETE FROM bare WHERE note = 'y';
INSERT INTO bare VALUES ('-infinity', '2020-01-01', 'z');`

// oddKeys have infinity in their keys, which only clamp can take.
const oddKeys = `
CREATE TABLE keyed (at timestamptz, day date, v int, PRIMARY KEY (at, day));
INSERT INTO keyed VALUES ('infinity', '-infinity', 1), ('-infinity', 'infinity', 2), ('2020-01-01', 'infinity', 3);`

const oddKeyChanges = `UPDATE keyed SET v = 10 WHERE at = 'infinity'; INSERT INTO keyed VALUES ('-infinity', '2020-01-01', 4); DELETE FROM keyed WHERE at = '-infinity' AND day = 'infinity';`

// TestVerifyKnowsTheOptions: values that the pipeline was told to change are no
// differences, whatever the option says; a value that really differs still is one.
func TestVerifyKnowsTheOptions(t *testing.T) {
	for _, infinity := range []string{"clamp", "null"} {
		for _, mode := range []string{"upsert", "append"} {
			t.Run(infinity+"/"+mode, func(t *testing.T) {
				more := map[string]string{
					"source": "  decimal.special-values: \"null\"",
					"sink":   fmt.Sprintf("  temporal.infinity: \"%s\"\n  write.mode: %s", infinity, mode),
				}
				sql, changes, n := odd, oddChanges, 2
				if infinity == "clamp" {
					sql, changes, n = odd+oddKeys, oddChanges+oddKeyChanges, 3
				}
				srv, conn := server(t, sql)
				dir := t.TempDir()
				file := write(t, dir, srv, more)
				run := func() *pipeline.Pipeline {
					p, _ := open(t, file)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := p.Run(ctx, pipeline.RunOptions{UntilCaughtUp: true}); err != nil {
						t.Fatal(err)
					}
					return p
				}
				equal(t, run(), n)
				if _, err := conn.Exec(t.Context(), changes); err != nil {
					t.Fatal(err)
				}
				p := run()
				equal(t, p, n)
				differ(t, conn, p)
			})
		}
	}
}

// differ changes a row behind the pipeline's back: the finite day nearest to what
// infinity is written as.
func differ(t *testing.T, conn *pgx.Conn, p *pipeline.Pipeline) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), `UPDATE odd SET d = '9999-12-30', days[1] = '9999-12-30' WHERE id = 1`); err != nil {
		t.Fatal(err)
	}
	results, err := p.Verify(t.Context(), verify.Options{Patience: time.Second, Pause: 100 * time.Millisecond}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Table.Table != "odd" {
			continue
		}
		if text := r.String(); r.Differing != 1 || !strings.Contains(text, "id=1: d is 9999-12-30 in the source") || !strings.Contains(text, "days is") {
			t.Errorf("one row differs in two columns, but: %s", text)
		}
	}
}
