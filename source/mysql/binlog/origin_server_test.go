package binlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestServerOrigin: where rows come from, as the servers tell it: the transaction's server,
// name and connection, the statement, the row in its event, the file.
func TestServerOrigin(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		o := serverOptions(t, db)
		o.Origin = true
		stream := openStream(t, s, o)
		statements := []string{"INSERT INTO t VALUES (1), (2), (3)", "UPDATE t SET id = 9 WHERE id = 3"}
		logs := "binlog_rows_query_log_events"
		if db.MariaDB {
			logs = "binlog_annotate_row_events"
		}
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY)", "SET SESSION "+logs+" = 1", "BEGIN", statements[0], statements[1], "COMMIT")
		thread := db.Value("SELECT CONNECTION_ID()")

		b := nextRows(t, stream)
		defer b.Release()
		origin := b.Origin
		if !slices.Equal(origin.Rows, []int32{0, 1, 2, 0, 0}) {
			t.Errorf("rows %v", origin.Rows)
		}
		if want := []schema.QueryRun{{SQL: statements[0], Rows: 3}, {SQL: statements[1], Rows: 2}}; !slices.Equal(origin.Queries, want) {
			t.Errorf("statements %+v", origin.Queries)
		}
		tx := origin.Txs[0]
		if len(origin.Txs) != 1 || fmt.Sprint(tx.ServerID) != db.Value("SELECT @@server_id") || tx.HasThread && fmt.Sprint(tx.Thread) != thread || !tx.HasThread && !db.MariaDB {
			t.Errorf("%+v, the thread is %s", origin.Txs, thread)
		}
		if on := db.MariaDB || db.Value("SELECT @@gtid_mode") == "ON"; on != (tx.GTID != "") || tx.GTID != "" && !strings.HasSuffix(tx.GTID, fmt.Sprint(b.Txs[0].ID)) {
			t.Errorf("GTID %q of %+v", tx.GTID, b.Txs)
		}
		if file, offset := origin.File(b.Positions[0]); file != o.Start.File || offset != b.Positions[0]&maxOffset {
			t.Errorf("%s:%d", file, offset)
		}
	})
}

// nextRows returns the next batch that a stream delivers.
func nextRows(t *testing.T, s *Stream) *schema.Batch {
	t.Helper()
	timeout := time.After(60 * time.Second)
	for {
		select {
		case g, ok := <-s.Groups():
			if !ok {
				t.Fatalf("the stream ended: %v", s.Err())
			}
			if len(g.Rows) > 0 {
				return g.Rows[0].Batch
			}
		case <-timeout:
			t.Fatal("no rows come")
		}
	}
}
