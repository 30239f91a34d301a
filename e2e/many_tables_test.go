package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/e2e/process"
)

// manyTables is how many tables change at once, maxPeakBytes what the issue allows.
const (
	manyTables   = 500
	maxPeakBytes = 500 << 20
)

// TestManyTables captures 500 tables, all of which change all the time in transactions
// of a row or two a table: neither memory nor files may grow with their number.
func TestManyTables(t *testing.T) {
	url := newDatabase(t)
	conn := connect(t, url)
	execute(t, conn, fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP
		EXECUTE format('CREATE TABLE t%%s (id int PRIMARY KEY, v text, n numeric(10,2), at timestamptz DEFAULT now())', i);
		EXECUTE format('INSERT INTO t%%s SELECT k, repeat(''x'', 50), k FROM generate_series(1, 200) k', i);
	END LOOP; END $$`, manyTables))
	p := newPipeline(t, "many-tables", url, func(p *process.Pipeline) {
		p.Settings["execution.checkpointing.interval"] = "20s"
		p.Sink["commit.parallelism"] = "32"
	})
	change := func(rounds int) {
		t.Helper()
		// Every row is another table's than the one before it.
		execute(t, conn, fmt.Sprintf(`DO $$ BEGIN FOR r IN 1..%d LOOP FOR i IN 1..%d LOOP
			EXECUTE format('UPDATE t%%s SET v = v || ''.'' WHERE id = %%s', i, r);
			EXECUTE format('INSERT INTO t%%s VALUES (%%s, ''new'', 1)', i, 1000000 + (random() * 100000000)::int);
		END LOOP; COMMIT; END LOOP; END $$`, rounds, manyTables))
	}
	catchUp(t, p)
	change(60)
	ended := make(chan process.Result, 1)
	run := start(t, p)
	go func() { ended <- run.Wait() }()
	change(40)
	eventually(t, "a second checkpoint", runTimeout, func() bool { return strings.Count(run.Output(), "msg=progress") > 1 })
	stop(t, run)
	peak := (<-ended).PeakBytes
	t.Logf("peak %d MiB with %d tables", peak>>20, manyTables)
	if peak > maxPeakBytes {
		t.Errorf("the peak is %d bytes, above %d", peak, maxPeakBytes)
	}
	catchUp(t, p)
	verified(t, p)
}
