package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
)

// TestOrigin: each transaction knows the end of the one before it, also where a group
// begins, and where it was replicated from.
func TestOrigin(t *testing.T) {
	f := newLogFixture(t, nil, "CREATE TABLE t (id int PRIMARY KEY)")
	f.needs.Origin = true
	f.open(0)
	defer f.close()
	run(t, f.sql, "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)",
		"SELECT pg_replication_origin_create('elsewhere')", "SELECT pg_replication_origin_session_setup('elsewhere')",
		"BEGIN", "SELECT pg_replication_origin_xact_setup('0/ABC', now())", "INSERT INTO t VALUES (3)", "COMMIT",
		"SELECT pg_replication_origin_session_reset()", "SELECT pg_replication_origin_drop('elsewhere')")
	var txs []schema.Tx
	var origins []schema.TxOrigin
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for len(txs) < 3 {
		select {
		case g, ok := <-f.log.Groups():
			if !ok {
				t.Fatal(f.log.Err())
			}
			for _, r := range g.Rows {
				txs = append(txs, r.Batch.Txs...)
				origins = append(origins, r.Batch.Origin.Txs...)
			}
			g.release()
		case <-ctx.Done():
			t.Fatal("the rows do not come")
		}
	}
	if len(origins) != len(txs) {
		t.Fatalf("%d origins of %d transactions", len(origins), len(txs))
	}
	for i, o := range origins {
		switch {
		case i == 0 && o.LastCommit != 0:
			t.Errorf("before the first there is nothing: %+v", o)
		case i > 0 && (o.LastCommit <= txs[i-1].Commit || o.LastCommit >= txs[i].Commit):
			t.Errorf("transaction %d, %+v, came behind one that committed at %x: %+v", i, txs[i], txs[i-1].Commit, o)
		}
	}
	if o := origins[2]; o.Replicated != "elsewhere" || o.ReplicatedLSN != 0xABC || origins[1].Replicated != "" {
		t.Errorf("%+v", origins)
	}
}
