package sourcetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// pause lets the workload and the reader run.
func (h Harness) pause(d time.Duration) { time.Sleep(d * time.Duration(h.Slow)) }

const rows = 3000

// begin opens a database with the suite's tables, and a log that has not started.
func (h Harness) begin(t *testing.T) (Database, *Log) {
	t.Helper()
	db := h.Open(t)
	h.create(t, db, rows)
	l := NewLog(t, db.Source(t, "log", h.ChunkOptions), h.Backend)
	l.OnBarrier = balanced(rows)
	l.Delay.Store(int64(15 * time.Millisecond))
	t.Cleanup(l.Stop)
	return db, l
}

// snapshotAndChanges: chunks and changes at the same time, then the log alone.
func (h Harness) snapshotAndChanges(t *testing.T) {
	db, l := h.begin(t)
	w := h.startWorkload(t, db, rows, 0)
	l.Start(0)
	h.waitDone(t, l)
	h.pause(500 * time.Millisecond)
	must(t, w.end())
	h.Settle(t, db, l.src, l)
	l.Stop()
	t.Logf("%d transactions, %d checkpoints", w.count.Load(), l.Checkpoints())
}

// waitDone waits for the end of all snapshots.
func (h Harness) waitDone(t *testing.T, l *Log) {
	t.Helper()
	for deadline := time.Now().Add(time.Duration(h.Slow) * 60 * time.Second); ; {
		if err := l.Err(); err != nil {
			t.Fatalf("reader: %v", err)
		}
		if l.Progress().SnapshotDone {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the snapshot does not end: %+v", l.Progress())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// restarts: the reader is killed at random, also in the middle of the snapshot,
// and goes on from one of the last checkpoints.
func (h Harness) restarts(t *testing.T) {
	db, l := h.begin(t)
	w := h.startWorkload(t, db, rows, 5*time.Millisecond)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 15 {
		l.Start(r.IntN(keep))
		h.pause(time.Duration(20+r.IntN(150)) * time.Millisecond)
		if i == 10 {
			h.waitDone(t, l)
		}
		l.Stop()
	}
	l.Start(0)
	h.waitDone(t, l)
	must(t, w.end())
	h.Settle(t, db, l.src, l)
}

// disturbed: rows move to other places while chunks are read, with restarts.
func (h Harness) disturbed(t *testing.T) {
	if h.Disturb == nil {
		t.Skip("the rows of this database stay where they are")
	}
	db, l := h.begin(t)
	w := h.startWorkload(t, db, rows, 5*time.Millisecond)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 6 {
		l.Start(r.IntN(2))
		for range 3 {
			h.pause(time.Duration(r.IntN(60)) * time.Millisecond)
			table := r.IntN(3)
			for _, sql := range h.Disturb([]string{"acct_a", "things", "bag"}[table], []string{"id", "id", "a"}[table], r.IntN(100)) {
				must(t, db.Exec(9, sql))
			}
		}
		l.Stop()
	}
	l.Start(0)
	h.waitDone(t, l)
	must(t, w.end())
	h.Settle(t, db, l.src, l)
}

// truncate: before, in and after the snapshot.
func (h Harness) truncate(t *testing.T) {
	db, l := h.begin(t)
	w := h.startWorkload(t, db, rows, 5*time.Millisecond)
	l.Start(0)
	for i := range 6 {
		h.pause(30 * time.Millisecond)
		must(t, db.Exec(9, "TRUNCATE TABLE "+[]string{"things", "bag"}[i%2]))
		fill(t, db, "bag", 100, func(i int) string { return fmt.Sprintf("(%d, 'b%d')", i%50, i%7) })
		if i == 3 {
			l.Stop()
			l.Start(1)
		}
	}
	h.waitDone(t, l)
	must(t, db.Exec(9, "TRUNCATE TABLE things"))
	h.pause(100 * time.Millisecond)
	must(t, w.end())
	h.Settle(t, db, l.src, l)
}

// alter: columns come and go in the middle of a snapshot and after it, with restarts.
func (h Harness) alter(t *testing.T) {
	db, l := h.begin(t)
	w := h.startWorkload(t, db, rows, 5*time.Millisecond)
	l.Start(0)
	h.pause(20 * time.Millisecond)
	for i, sql := range []string{
		"ALTER TABLE things ADD COLUMN extra varchar(10)",
		"ALTER TABLE acct_a ADD COLUMN spare int",
		"ALTER TABLE acct_a RENAME COLUMN spare TO other",
		"ALTER TABLE things DROP COLUMN extra",
		"ALTER TABLE bag ADD COLUMN c int",
	} {
		must(t, db.Exec(9, sql))
		h.pause(60 * time.Millisecond)
		if i%2 == 1 {
			l.Stop()
			l.Start(i % keep)
			h.pause(60 * time.Millisecond)
		}
	}
	h.waitDone(t, l)
	must(t, db.Exec(9, "ALTER TABLE acct_b ADD COLUMN late varchar(5)", "UPDATE acct_b SET late = 'x', ver = 1000000000 + id WHERE id < 10"))
	must(t, w.end())
	// The log shows a definition with the next row, so write one into each table.
	must(t, db.Exec(9, "UPDATE acct_a SET ver = 2000000000 WHERE id = 1", "UPDATE acct_b SET ver = 2000000000 WHERE id = 1",
		"INSERT INTO things (id, sub, ver) VALUES (-1, 'z', 0)", "INSERT INTO bag (a) VALUES (1)"))
	h.Settle(t, db, l.src, l)
}

// newTable: a table that appears while the pipeline is down is read while the
// others go on.
func (h Harness) newTable(t *testing.T) {
	db, l := h.begin(t)
	w := h.startWorkload(t, db, rows, 5*time.Millisecond)
	l.Start(0)
	h.waitDone(t, l)
	h.pause(100 * time.Millisecond)
	l.Stop()
	must(t, db.Exec(9, "CREATE TABLE late (id int PRIMARY KEY, v varchar(10), ver bigint)"))
	fill(t, db, "late", 2000, func(i int) string { return fmt.Sprintf("(%d, 'x', 0)", i) })
	must(t, db.Exec(9, "DROP TABLE nothing"))
	l.src = db.Source(t, "log", h.ChunkOptions)
	l.Start(0)
	for i := range 50 {
		must(t, db.Exec(9, fmt.Sprintf("UPDATE late SET v = 'y', ver = ver + 1 WHERE id %% 50 = %d", i)))
	}
	h.pause(200 * time.Millisecond)
	must(t, w.end())
	h.Settle(t, db, l.src, l)
	m, _ := l.Last()
	if n := find(m, "acct_a").Resets; n != 0 {
		t.Errorf("a table that was done was reset %d times", n)
	}
}

// snapshotMode: the reader ends when all tables are read.
func (h Harness) snapshotMode(t *testing.T) {
	db, _ := h.begin(t)
	options := map[string]string{"scan.startup.mode": "snapshot"}
	for k, v := range h.ChunkOptions {
		options[k] = v
	}
	src := db.Source(t, "once", options)
	l := NewLog(t, src, h.Backend)
	l.Start(0)
	final, err := l.Final(time.Duration(h.Slow) * 60 * time.Second)
	if err != nil || len(final) == 0 {
		t.Fatalf("final state %q, error %v", final, err)
	}
	tables, err := src.Discover(t.Context())
	must(t, err)
	for _, info := range tables {
		lines, _, err := content(t, src, info.Schema)
		must(t, err)
		m := l.model.Tables[info.Schema.ID]
		if m == nil || fmt.Sprint(m.Lines()) != fmt.Sprint(lines) {
			t.Errorf("%s differs", info.Schema.ID)
		}
	}
}

// latestMode: only what comes after the start.
func (h Harness) latestMode(t *testing.T) {
	db, _ := h.begin(t)
	options := map[string]string{"scan.startup.mode": "latest-offset"}
	for k, v := range h.ChunkOptions {
		options[k] = v
	}
	l := NewLog(t, db.Source(t, "latest", options), h.Backend)
	t.Cleanup(l.Stop)
	l.Start(0)
	for l.Checkpoints() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	must(t, db.Exec(9, "INSERT INTO nothing VALUES (1, 1), (2, 1)", "DELETE FROM nothing WHERE id = 2"))
	deadline := time.Now().Add(time.Duration(h.Slow) * 20 * time.Second)
	for {
		must(t, db.Touch())
		if err := l.Err(); err != nil {
			t.Fatal(err)
		}
		if m, _ := l.Last(); m != nil && len(find(m, "nothing").Rows) == 1 {
			if n := len(find(m, "acct_a").Rows); n != 0 {
				t.Fatalf("%d rows of a snapshot", n)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the change does not come")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// idle: the position moves on a database where nothing is written.
func (h Harness) idle(t *testing.T) {
	db, l := h.begin(t)
	l.Start(0)
	h.waitDone(t, l)
	must(t, db.Touch())
	_, before := l.Last()
	deadline := time.Now().Add(time.Duration(h.Slow) * 20 * time.Second)
	for {
		if _, pos := l.Last(); pos > before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the position of an idle database does not move")
		}
		must(t, db.Touch())
		time.Sleep(50 * time.Millisecond)
	}
}
