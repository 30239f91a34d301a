package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// followsPartitions reports whether the log of the server under test follows ATTACH and DETACH.
func followsPartitions(conn *pgx.Conn) bool {
	return serverVersion(conn.PgConn()) >= partitionsFollowed
}

// TestPartitionLog pins down what the log shows of partitions that come and go: the
// rows of later statements, and nothing of the rows that come and go with them.
func TestPartitionLog(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE root (id int, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k)`,
		`CREATE TABLE p1 PARTITION OF root FOR VALUES IN (1)`, `CREATE TABLE p2 PARTITION OF root FOR VALUES IN (2)`)
	f.src.cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
	f.open(0)
	defer f.close()
	run(t, f.sql, `INSERT INTO root VALUES (1, 1), (2, 2)`,
		`CREATE TABLE p3 (LIKE root INCLUDING ALL)`, `INSERT INTO p3 VALUES (3, 3)`, `ALTER TABLE root ATTACH PARTITION p3 FOR VALUES IN (3)`,
		`INSERT INTO root VALUES (4, 1)`, `INSERT INTO p3 VALUES (5, 3)`)
	f.follow()
	want := "c root id=1 k=1 #0\nc root id=2 k=2 #1\nc root id=4 k=1 #0\n"
	if followsPartitions(f.sql) {
		f.want(want + "c root id=5 k=3 #0")
	} else {
		f.want(want) // p3 was no partition when the connection met it: its changes are lost
	}
	run(t, f.sql, `ALTER TABLE root DETACH PARTITION p2`, `INSERT INTO p2 VALUES (6, 2)`, `TRUNCATE p1`, `DROP TABLE p3`)
	f.follow()
	if followsPartitions(f.sql) {
		f.want("")
	} else {
		f.want("c root id=6 k=2 #0") // and goes on to be one
	}
	run(t, f.sql, `CREATE TABLE p4 PARTITION OF root FOR VALUES IN (4)`, `INSERT INTO root VALUES (7, 4)`, `TRUNCATE root`)
	f.follow()
	f.want("c root id=7 k=4 #0\ntruncate.table root")
}

func TestDiffTrees(t *testing.T) {
	tree := func(leaves ...leafState) *leafTree { return &leafTree{Leaves: leaves} }
	a, b := leafState{OID: 1, Name: "a", Link: "5 ", FileNode: 1}, leafState{OID: 2, Name: "b", Link: "5 6 ", FileNode: 2}
	moved, again, renamed := b, b, b
	moved.FileNode, again.Link, renamed.Name = 3, "7 6 ", "c"
	for _, c := range []struct {
		old, now *leafTree
		want     string
	}{
		{tree(a, b), tree(b, a), "0 0 0"}, {tree(a, b), tree(a, renamed), "0 0 0"}, {tree(a), tree(a, b), "1 0 0"}, {tree(a, b), tree(a), "0 1 0"},
		{tree(a, b), tree(a, moved), "0 0 1"}, {tree(a, b), tree(a, again), "1 1 0"}, {tree(), tree(), "0 0 0"},
	} {
		d := diffTrees(c.old, c.now)
		if got := fmt.Sprint(len(d.attached), len(d.detached), len(d.rewritten)); got != c.want || d.none() != (c.want == "0 0 0") {
			t.Errorf("%v, %v: %s, want %s", c.old, c.now, got, c.want)
		}
	}
}

// TestExplain: which changes of partitions demonstrably left the rows alone.
func TestExplain(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	src := newTestSource(t, s, nil)
	src.cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
	look := func() *leafTree {
		report, infos, err := readCatalogue(t.Context(), conn, src.cfg, false)
		if err != nil {
			t.Fatal(err)
		}
		return treeOf(&infos[0], report.sees.Xmin)
	}
	run(t, conn, `CREATE TABLE root (id int DEFAULT 1, k int NOT NULL CHECK (k > 0), v text DEFAULT 'x', w int, PRIMARY KEY (id, k)) PARTITION BY LIST (k)`,
		`CREATE TABLE p1 PARTITION OF root FOR VALUES IN (1)`, `INSERT INTO root SELECT i, 1 FROM generate_series(1, 100) i`)
	for i, c := range []struct {
		name, sql, rest string // what remains: attached, detached, rewritten
	}{
		{"created as a partition, then filled", `CREATE TABLE a PARTITION OF root FOR VALUES IN (2); INSERT INTO root VALUES (1, 2)`, "0 0 0"},
		{"all in one transaction", `BEGIN; INSERT INTO root VALUES (5, 2); CREATE TABLE b PARTITION OF root (v DEFAULT 'y') FOR VALUES IN (3); INSERT INTO root VALUES (1, 3); COMMIT`, "0 0 0"},
		{"a tree of them", `CREATE TABLE c PARTITION OF root FOR VALUES IN (4) PARTITION BY RANGE (id); CREATE TABLE c1 PARTITION OF c FOR VALUES FROM (1) TO (9); INSERT INTO root VALUES (1, 4)`, "0 0 0"},
		{"one more below it", `CREATE TABLE c2 PARTITION OF c FOR VALUES FROM (9) TO (99); INSERT INTO root VALUES (9, 4)`, "0 0 0"},
		{"attached with a row", `CREATE TABLE d (LIKE root INCLUDING ALL); INSERT INTO d VALUES (1, 5); ALTER TABLE root ATTACH PARTITION d FOR VALUES IN (5)`, "1 0 0"},
		{"the same in one transaction", `BEGIN; CREATE TABLE e (LIKE root INCLUDING ALL); INSERT INTO e VALUES (1, 6); ALTER TABLE root ATTACH PARTITION e FOR VALUES IN (6); COMMIT`, "1 0 0"},
		{"attached without a row", `CREATE TABLE f (LIKE root INCLUDING ALL); ALTER TABLE root ATTACH PARTITION f FOR VALUES IN (7)`, "0 0 0"},
		{"attached without a row, filled since", `CREATE TABLE g (LIKE root INCLUDING ALL); ALTER TABLE root ATTACH PARTITION g FOR VALUES IN (8); INSERT INTO root VALUES (1, 8)`, "1 0 0"},
		{"a tree with a row", `CREATE TABLE h (LIKE root INCLUDING ALL) PARTITION BY RANGE (id); CREATE TABLE h1 PARTITION OF h FOR VALUES FROM (1) TO (9); INSERT INTO h VALUES (1, 9); ALTER TABLE root ATTACH PARTITION h FOR VALUES IN (9)`, "1 0 0"},
		{"a partition below a tree that was attached", `CREATE TABLE h2 PARTITION OF h FOR VALUES FROM (9) TO (99); INSERT INTO root VALUES (10, 9)`, "0 0 0"},
		{"detached", `ALTER TABLE root DETACH PARTITION a`, "0 1 0"},
		{"attached again", `ALTER TABLE root ATTACH PARTITION a FOR VALUES IN (2)`, "1 0 0"},
		{"detached, changed and attached again", `BEGIN; ALTER TABLE root DETACH PARTITION a; UPDATE a SET v = 'silent'; ALTER TABLE root ATTACH PARTITION a FOR VALUES IN (2); COMMIT`, "1 1 0"},
		{"dropped", `DROP TABLE b`, "0 1 0"},
		{"VACUUM FULL", `VACUUM FULL p1`, "0 0 0"},
		{"VACUUM FULL, and rows", `VACUUM FULL p1; INSERT INTO root SELECT i, 1 FROM generate_series(101, 200) i`, "0 0 0"},
		{"TRUNCATE", `TRUNCATE p1`, "0 0 1"},
		{"TRUNCATE, and rows", `TRUNCATE p1; INSERT INTO root SELECT i, 1 FROM generate_series(1, 200) i; ANALYZE p1`, "0 0 1"},
		{"every row updated, then VACUUM FULL", `UPDATE root SET w = 1 WHERE k = 1; VACUUM FULL p1`, "0 0 1"},
		{"ALTER, ANALYZE, an index", `ALTER TABLE root ADD x int; ANALYZE root; CREATE INDEX ON root (v)`, "0 0 0"},
	} {
		if !followsPartitions(conn) && c.name == "attached without a row" {
			continue // a new file, but the catalogue says so of every table
		}
		old := look()
		run(t, conn, strings.Split(c.sql, "; ")...)
		now := look()
		d, err := diffTrees(old, now).explain(t.Context(), conn, old)
		if err != nil {
			t.Fatalf("%d %s: %v", i, c.name, err)
		}
		if got := fmt.Sprint(len(d.attached), len(d.detached), len(d.rewritten)); got != c.rest {
			t.Errorf("%d %s: %s remain, want %s", i, c.name, got, c.rest)
		}
	}
}

// partitionedTable is a database with a table of many partitions, whose rows change.
type partitionedTable struct {
	*testDatabase
	t    *testing.T
	next int // value of the next partition
	ver  int
	rand *rand.Rand
	keys []int // values with a partition
}

func openPartitioned(t *testing.T, s *pgtest.Server, partitions int) *partitionedTable {
	t.Helper()
	p := &partitionedTable{testDatabase: openDatabase(t, s, nil), t: t, rand: rand.New(rand.NewPCG(7, 11))}
	p.exec(`CREATE TABLE root (id int, k int, v text, ver bigint NOT NULL, PRIMARY KEY (id, k)) PARTITION BY LIST (k)`)
	for range partitions {
		p.create()
		p.insert(p.keys[len(p.keys)-1], 400)
	}
	return p
}

func (p *partitionedTable) exec(sql ...string) {
	p.t.Helper()
	for _, q := range sql {
		if err := p.Exec(0, q); err != nil {
			p.t.Fatal(err)
		}
	}
}

// value returns a partition's value for a new partition.
func (p *partitionedTable) value() int {
	p.next++
	return p.next
}

func (p *partitionedTable) any() int { return p.keys[p.rand.IntN(len(p.keys))] }

func (p *partitionedTable) create() {
	k := p.value()
	p.exec(fmt.Sprintf(`CREATE TABLE part_%d PARTITION OF root FOR VALUES IN (%d)`, k, k))
	p.keys = append(p.keys, k)
}

// insert writes rows into the partition of a value, or into the table that is none yet.
func (p *partitionedTable) insert(k, rows int) {
	p.ver++
	p.exec(fmt.Sprintf(`INSERT INTO part_%d SELECT i, %d, repeat('v', i %% 200), %d FROM generate_series(1, %d) i ON CONFLICT (id, k) DO UPDATE SET ver = excluded.ver`, k, k, p.ver, rows))
}

// attach makes a table with rows a partition, with more rows in between.
func (p *partitionedTable) attach() {
	k := p.value()
	p.exec(fmt.Sprintf(`CREATE TABLE part_%d (LIKE root INCLUDING ALL)`, k))
	p.insert(k, 300)
	p.exec(fmt.Sprintf(`ALTER TABLE root ATTACH PARTITION part_%d FOR VALUES IN (%d)`, k, k))
	p.keys = append(p.keys, k)
	p.ver++
	p.exec(fmt.Sprintf(`INSERT INTO root SELECT i, %d, 'later', %d FROM generate_series(1001, 1020) i`, k, p.ver))
}

// leave takes a partition away by a statement that has its name in it.
func (p *partitionedTable) leave(format string) {
	i := p.rand.IntN(len(p.keys))
	k := p.keys[i]
	p.keys = append(p.keys[:i:i], p.keys[i+1:]...)
	p.exec(fmt.Sprintf(format, fmt.Sprintf("part_%d", k)))
}

// churn detaches a partition, changes it apart and attaches it again.
func (p *partitionedTable) churn() {
	k := p.any()
	p.exec(fmt.Sprintf(`ALTER TABLE root DETACH PARTITION part_%d`, k))
	p.ver++
	p.exec(fmt.Sprintf(`UPDATE part_%d SET v = 'apart', ver = %d WHERE id %% 3 = 0`, k, p.ver), fmt.Sprintf(`DELETE FROM part_%d WHERE id %% 7 = 0`, k),
		fmt.Sprintf(`ALTER TABLE root ATTACH PARTITION part_%d FOR VALUES IN (%d)`, k, k))
}

// change writes rows everywhere.
func (p *partitionedTable) change() {
	p.ver++
	p.exec(fmt.Sprintf(`UPDATE root SET ver = %d WHERE id %% 40 = %d`, p.ver, p.rand.IntN(40)), fmt.Sprintf(`DELETE FROM root WHERE id = %d AND k = %d`, p.rand.IntN(400), p.any()))
}

// disturb does one thing to partitions. Before PostgreSQL 15 those that the log does
// not follow are left out.
func (p *partitionedTable) disturb(follows bool) {
	switch n := p.rand.IntN(8); {
	case n == 0:
		p.create()
		p.insert(p.keys[len(p.keys)-1], 50)
	case n == 1 && len(p.keys) > 4:
		p.leave(`DROP TABLE %s`)
	case n == 2:
		p.exec(fmt.Sprintf(`TRUNCATE part_%d`, p.any()))
	case n == 3:
		p.exec(fmt.Sprintf(`VACUUM FULL part_%d`, p.any()))
	case n == 4 && len(p.keys) > 4 && follows:
		p.leave(`ALTER TABLE root DETACH PARTITION %s`)
	case n == 5 && follows:
		p.churn()
	case n > 5 && follows:
		p.attach()
	}
}

// TestPartitionsInSnapshot: partitions come, go and are emptied while the table is
// read, with restarts, and behind it, where it is read again.
func TestPartitionsInSnapshot(t *testing.T) {
	s := startServer(t, nil)
	h := harness(s, nil)
	db := openPartitioned(t, s, 8)
	open := func(mode, heartbeat string) *Source {
		src := db.Source(t, "log", map[string]string{"heartbeat.interval": heartbeat, "scan.incremental.snapshot.chunk.size": "100", "partition.attach.mode": mode, "partition.detach.mode": mode}).(*Source)
		src.cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
		return src
	}
	l := sourcetest.NewLog(t, open(partitionStop, "1h"), h.Backend) // while it is read, the table is never stopped
	t.Cleanup(l.Stop)
	l.Delay.Store(int64(200 * time.Millisecond))
	l.Start(0)
	follows := followsPartitions(sqlConn(t, s))
	for i := range 60 {
		db.change()
		db.disturb(follows)
		if err := l.Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(db.rand.IntN(20)) * time.Millisecond)
		if i%20 == 9 {
			l.Stop()
			l.Start(i % 3)
		}
	}
	waitFor(t, func() bool {
		p := l.Progress()
		return len(p.Tables) > 0 && p.Tables[0].Done > 0 && p.Tables[0].Done >= min(13, p.Tables[0].Chunks/2)
	})
	db.exec(`DO $$ BEGIN EXECUTE 'TRUNCATE ' || (SELECT min(tableoid::regclass::text) FROM root); END $$`) // the first that was read
	if l.Progress().SnapshotDone {
		t.Error("the snapshot was too fast")
	}
	l.Delay.Store(0)
	settlePartitions(t, h, db, l)
	l.Stop()
	l.SetSource(open(partitionReread, "100ms"))
	l.Start(0)
	resets := resetsOf(l)
	for _, change := range []func(){
		func() { db.exec(fmt.Sprintf(`TRUNCATE part_%d`, db.any())) }, func() { db.leave(`DROP TABLE %s`) },
		func() { db.disturb(follows) }, func() { db.disturb(follows) }, func() { db.disturb(follows) },
	} {
		change()
		settlePartitions(t, h, db, l)
	}
	if resetsOf(l) == resets {
		t.Error("behind the snapshot the table was never read again")
	}
	db.insert(db.keys[0], 50) // rows that VACUUM FULL leaves as they are
	settlePartitions(t, h, db, l)
	time.Sleep(5 * time.Second) // longer than two looks
	before := resetsOf(l)
	db.create()
	db.insert(db.keys[len(db.keys)-1], 50)
	db.exec(fmt.Sprintf(`VACUUM FULL part_%d`, db.keys[0]))
	time.Sleep(5 * time.Second)
	settlePartitions(t, h, db, l)
	if now := resetsOf(l); now != before {
		t.Errorf("the table was read again %d times for a new partition and a VACUUM FULL", now-before)
	}
}

func resetsOf(l *sourcetest.Log) (n int) {
	m, _ := l.Last()
	for _, table := range m.Tables {
		n += table.Resets
	}
	return n
}

// settlePartitions waits until what came and went with partitions was taken in.
func settlePartitions(t *testing.T, h sourcetest.Harness, db *partitionedTable, l *sourcetest.Log) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err := l.Err(); err != nil {
			t.Fatal(err)
		}
		if l.Progress().SnapshotDone && slices.Equal(db.content(), modelContent(l)) {
			break
		}
	}
	src := db.Source(t, "log", nil)
	src.(*Source).cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
	h.Settle(t, db, src, l)
}

// content returns the rows of the table.
func (p *partitionedTable) content() (out []string) {
	p.t.Helper()
	rows, err := p.clients[0].Query(p.t.Context(), `SELECT concat_ws('/', id, k, v, ver) FROM root`)
	if err != nil {
		p.t.Fatal(err)
	}
	var line string
	if _, err := pgx.ForEachRow(rows, []any{&line}, func() error { out = append(out, line); return nil }); err != nil {
		p.t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// modelContent returns the rows of the newest checkpoint.
func modelContent(l *sourcetest.Log) (out []string) {
	m, _ := l.Last()
	if m == nil {
		return nil
	}
	for _, table := range m.Tables {
		for _, r := range table.Rows {
			out = append(out, strings.Join([]string{r["id"], r["k"], r["v"], r["ver"]}, "/"))
		}
	}
	slices.Sort(out)
	return out
}

// TestPartitionUpdateBehindAttach: rows that came with a partition are changed
// before anybody has looked. To a target they are changes of rows that it does not
// have; once that has failed it, the start after it must find the cause.
func TestPartitionUpdateBehindAttach(t *testing.T) {
	s := startServer(t, nil)
	onlyIf(t, followsPartitions(sqlConn(t, s)))
	h := harness(s, nil)
	db := openPartitioned(t, s, 3)
	src := db.Source(t, "log", map[string]string{"partition.attach.mode": "reread", "heartbeat.interval": "1h"})
	src.(*Source).cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
	l := sourcetest.NewLog(t, src, h.Backend)
	t.Cleanup(l.Stop)
	l.Start(0)
	for deadline := time.Now().Add(20 * time.Second); !l.Progress().SnapshotDone; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the snapshot does not end")
		}
	}
	db.exec(`CREATE TABLE part_9 (LIKE root INCLUDING ALL)`, `INSERT INTO part_9 SELECT i, 9, 'silent', 1 FROM generate_series(1, 100) i`,
		`BEGIN; ALTER TABLE root ATTACH PARTITION part_9 FOR VALUES IN (9); UPDATE root SET ver = 1000 WHERE k = 9 AND id < 50; COMMIT`)
	if _, err := l.Final(20 * time.Second); err == nil || !strings.Contains(err.Error(), "no such row") {
		t.Fatalf("the model took it: %v", err)
	}
	db.keys, db.ver = append(db.keys, 9), 2000
	l.Start(0)
	for range 5 {
		db.ver++
		db.exec(fmt.Sprintf(`UPDATE root SET ver = %d WHERE k = 9`, db.ver))
		db.change()
	}
	settlePartitions(t, h, db, l)
}

// TestPartitionChangedBeforeStart: a slot is behind, and in its log a row changes, and
// changes once more while its partition is apart. The snapshot must not take
// the event for the newest that there is to know of the row.
func TestPartitionChangedBeforeStart(t *testing.T) {
	s := startServer(t, nil)
	onlyIf(t, followsPartitions(sqlConn(t, s)))
	h := harness(s, nil)
	db := openPartitioned(t, s, 2)
	src := db.Source(t, "log", map[string]string{"publication.name": "mine", "partition.attach.mode": "ignore", "partition.detach.mode": "keep"})
	src.(*Source).cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
	db.exec(`CREATE PUBLICATION mine FOR TABLE root WITH (publish_via_partition_root)`,
		fmt.Sprintf(`SELECT pg_create_logical_replication_slot('%s', 'pgoutput')`, src.(*Source).cfg.slot),
		`UPDATE root SET v = 'in the log', ver = 10 WHERE k = 1 AND id < 10`,
		`ALTER TABLE root DETACH PARTITION part_1`, `UPDATE part_1 SET v = 'apart', ver = 11 WHERE id < 10`, `ALTER TABLE root ATTACH PARTITION part_1 FOR VALUES IN (1)`)
	l := sourcetest.NewLog(t, src, h.Backend)
	t.Cleanup(l.Stop)
	l.Start(0)
	settlePartitions(t, h, db, l)
	if n := resetsOf(l); n != 0 {
		t.Errorf("the table was read %d times more than once", n)
	}
}

// TestPartitionBefore15: what the log does not follow stops the table, whatever the
// options and wherever the snapshot is; to start over is the only way out.
func TestPartitionBefore15(t *testing.T) {
	s := startServer(t, nil)
	onlyIf(t, !followsPartitions(sqlConn(t, s)))
	h := harness(s, nil)
	for name, change := range map[string]func(p *partitionedTable){"attach": (*partitionedTable).attach,
		"detach": func(p *partitionedTable) { p.leave(`ALTER TABLE root DETACH PARTITION %s`) }} {
		t.Run(name, func(t *testing.T) {
			db := openPartitioned(t, s, 3)
			src := db.Source(t, "log", map[string]string{"partition.attach.mode": "reread", "partition.detach.mode": "reread"})
			src.(*Source).cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
			l := sourcetest.NewLog(t, src, h.Backend)
			l.Start(0)
			settlePartitions(t, h, db, l)
			change(db)
			_, err := l.Final(20 * time.Second)
			if !errors.Is(err, ErrSchemaChange) || !strings.Contains(err.Error(), "PostgreSQL before 15") || !strings.Contains(err.Error(), "new snapshot") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPartitionModes: behind the snapshot, rows that come or go with a partition
// stop the table with its name, the place and the way out, also at the next start;
// the ways out work.
func TestPartitionModes(t *testing.T) {
	s := startServer(t, nil)
	h := harness(s, nil)
	conn := sqlConn(t, s)
	for _, c := range []struct {
		name   string
		change func(p *partitionedTable)
		option string
		goOn   string // the value that goes on
		equal  bool   // and leaves the target equal
		words  string
	}{
		{"attach", (*partitionedTable).attach, "partition.attach.mode", "ignore", false, "public.part_4 was attached"},
		{"attach reread", (*partitionedTable).attach, "partition.attach.mode", "reread", true, "public.part_4 was attached"},
		{"drop", func(p *partitionedTable) { p.leave(`DROP TABLE %s`) }, "partition.detach.mode", "keep", false, "detached or dropped"},
		{"drop reread", func(p *partitionedTable) { p.leave(`DROP TABLE %s`) }, "partition.detach.mode", "reread", true, "detached or dropped"},
		{"truncate reread", func(p *partitionedTable) { p.exec(`TRUNCATE part_2`) }, "partition.detach.mode", "reread", true, "public.part_2 was truncated"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			onlyIf(t, !strings.HasPrefix(c.name, "attach") || followsPartitions(conn) || !c.equal) // see TestPartitionBefore15
			db := openPartitioned(t, s, 3)
			open := func(options map[string]string) *sourcetest.Log {
				src := db.Source(t, "log", options)
				src.(*Source).cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
				return sourcetest.NewLog(t, src, h.Backend)
			}
			l := open(nil)
			t.Cleanup(l.Stop)
			l.Start(0)
			settlePartitions(t, h, db, l)
			c.change(db)
			for range 2 { // and again at the next start
				_, err := l.Final(20 * time.Second)
				var sc *SchemaChangeError
				if !errors.As(err, &sc) || sc.Table.Table != "root" || sc.Position == 0 || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), c.option) {
					t.Fatalf("got %v", err)
				}
				l.Start(0)
			}
			_, _ = l.Final(20 * time.Second)
			other := db.Source(t, "log", map[string]string{c.option: c.goOn})
			other.(*Source).cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
			l.SetSource(other)
			l.Start(0)
			if c.equal {
				db.change()
				settlePartitions(t, h, db, l)
				return
			}
			db.exec(fmt.Sprintf(`INSERT INTO root SELECT i, %d, 'goes on', 1 FROM generate_series(5001, 5100) i`, db.keys[0]))
			time.Sleep(2500 * time.Millisecond) // longer than two looks
			if err := l.Err(); err != nil {
				t.Errorf("%s: %v", c.goOn, err)
			}
			l.Stop()
			l.Start(0)
			time.Sleep(1500 * time.Millisecond)
			if err := l.Err(); err != nil {
				t.Errorf("%s, at the next start: %v", c.goOn, err)
			}
		})
	}
}
