package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/e2e/process"
)

// TestPartitions follows a partitioned table into Iceberg: partitions that are
// created as such, one that is attached with rows, one that is dropped.
func TestPartitions(t *testing.T) {
	base := newDatabase(t)
	conn := connect(t, base)
	execute(t, conn, "CREATE TABLE sales (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k)")
	execute(t, conn, "CREATE TABLE sales_1 PARTITION OF sales FOR VALUES IN (1)")
	execute(t, conn, "INSERT INTO sales SELECT i, 1, repeat('v', 100) FROM generate_series(1, 5000) i")
	p := newPipeline(t, "partitions", base, func(p *process.Pipeline) {
		p.Tables = `public.sales`
		p.Source["heartbeat.interval"] = "1s"
	})
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	execute(t, conn, "CREATE TABLE sales_2 PARTITION OF sales FOR VALUES IN (2)")
	execute(t, conn, "INSERT INTO sales SELECT i, 2, 'second' FROM generate_series(1, 100) i")
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.sales")

	run = start(t, p)
	execute(t, conn, "CREATE TABLE sales_3 (LIKE sales INCLUDING ALL)")
	execute(t, conn, "INSERT INTO sales_3 SELECT i, 3, 'silent' FROM generate_series(1, 100) i")
	execute(t, conn, "ALTER TABLE sales ATTACH PARTITION sales_3 FOR VALUES IN (3)")
	execute(t, conn, "UPDATE sales SET v = 'not silent' WHERE k = 3 AND id < 50")
	ends(t, p, run, "public.sales", "partition public.sales_3 was attached", "partition.attach.mode", "reread")
	fails(t, p, "public.sales", "partition public.sales_3 was attached")
	p.Source["partition.attach.mode"], p.Source["partition.detach.mode"] = "reread", "reread"
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	catchUp(t, p)
	equal(t, p, "public.sales")

	run = start(t, p)
	execute(t, conn, "INSERT INTO sales VALUES (9001, 3, 'goes on')")
	execute(t, conn, "DROP TABLE sales_1")
	says(t, run, "the table is read again", "sales_1")
	execute(t, conn, "INSERT INTO sales VALUES (9002, 3, 'goes on')")
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.sales")
}

// TestColumnNotes changes what the columns of a running pipeline's table have beside
// their name and type: no NULL fails the sink, and comments reach the target.
func TestColumnNotes(t *testing.T) {
	base := newDatabase(t)
	conn := connect(t, base)
	execute(t, conn, "CREATE TABLE notes (id int PRIMARY KEY, v text NOT NULL, w text)")
	execute(t, conn, "INSERT INTO notes SELECT i, 'v' FROM generate_series(1, 1000) i")
	p := newPipeline(t, "notes", base, nil)
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	execute(t, conn, "ALTER TABLE notes ALTER v DROP NOT NULL")
	execute(t, conn, "INSERT INTO notes VALUES (1001, NULL, 'x')")
	since := time.Now()
	committed(t, p, "a commit with the NULL", since)
	execute(t, conn, "UPDATE notes SET v = 'v' WHERE v IS NULL")
	execute(t, conn, "ALTER TABLE notes ALTER v SET NOT NULL")
	execute(t, conn, "COMMENT ON COLUMN notes.w IS 'a comment that came later'")
	stop(t, run)
	run = start(t, p) // every start looks at the catalogue
	eventually(t, "the comment in the target", runTimeout, func() bool {
		files, err := filepath.Glob(filepath.Join(p.Dir, "warehouse", "public", "notes", "metadata", "*.metadata.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "a comment that came later") {
				return true
			}
		}
		return false
	})
	execute(t, conn, "INSERT INTO notes VALUES (1002, 'v', 'y')")
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.notes")
}
