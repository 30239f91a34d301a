package main

import (
	"context"
	"testing"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

// TestFloors lets each group's database do all that a run asks of it, in small.
func TestFloors(t *testing.T) {
	servers.Require(t)
	for name, start := range map[string]func(context.Context, config) (database, error){"postgres": startPostgres, "mysql": startMySQL} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			d, err := start(ctx, config{rows: 2000, changes: 1000})
			if err != nil {
				t.Fatal(err)
			}
			defer d.close()
			if err := d.fill(ctx, 2000); err != nil {
				t.Fatal(err)
			}
			scan, err := d.scanFloor(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.writeBacklog(ctx, 1000, 2000); err != nil {
				t.Fatal(err)
			}
			for range logFloors {
				drain, err := d.logFloor(ctx)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("scan %s, log %s", scan, drain)
			}
			if d.cpu(ctx) == 0 {
				t.Error("the server used no CPU time")
			}
			const count = "SELECT concat(count(*), ' ', sum(CASE WHEN status = 'changed' THEN 1 ELSE 0 END), ' ', min(id), ' ', max(id)) FROM orders"
			var got string
			switch d := d.(type) {
			case *postgresDB:
				err = d.conn.QueryRow(ctx, count).Scan(&got)
			case *mysqlDB:
				result, e := d.conn.Execute(count)
				if err = e; err == nil {
					got, err = result.GetString(0, 0)
				}
			}
			// 300 inserted, 200 deleted, 500 updated of which each is another row.
			if err != nil || got != "2100 500 201 2300" {
				t.Errorf("after the backlog: %q, %v", got, err)
			}
		})
	}
}

func TestCommitTime(t *testing.T) {
	at, err := commitTime([]byte(`{"before":null,"after":{"ts_us":5},"source":{"ts_ms":1,"ts_us":1500000,"ts_ns":9},"ts_us":7}`))
	if err != nil || at.UnixMicro() != 1_500_000 {
		t.Errorf("%v, %v", at, err)
	}
	if _, err := commitTime([]byte(`{"ts_us":7}`)); err == nil {
		t.Error("a message without a source block has a time")
	}
}
