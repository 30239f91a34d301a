package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
)

// onlyRoot captures the table root alone.
func onlyRoot(f *logFixture) {
	f.src.cfg.match = func(id schema.TableID) bool { return id.Table == "root" }
}

// ends drains the log and returns its error.
func (f *logFixture) ends() error {
	for g := range f.log.Groups() {
		f.print(g)
		g.release()
	}
	return f.log.Err()
}

// TestPartitionIdentity: a partition that logs other columns of the old row than the
// table's key can't be followed: a change of the key would leave the old row behind.
func TestPartitionIdentity(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE root (id int, k int, other int NOT NULL, PRIMARY KEY (id, k)) PARTITION BY LIST (k)`,
		`CREATE TABLE p1 PARTITION OF root FOR VALUES IN (1)`, `CREATE UNIQUE INDEX p1_other ON p1 (other)`, `ALTER TABLE p1 REPLICA IDENTITY USING INDEX p1_other`)
	onlyRoot(f)
	var identity *IdentityError
	if errs := f.src.Check(t.Context()); len(errs) != 1 || !errors.As(errs[0], &identity) || identity.Partition != "public.p1" ||
		!strings.Contains(errs[0].Error(), "ALTER TABLE public.p1 REPLICA IDENTITY DEFAULT") || !identity.Permanent() {
		t.Errorf("Check: %v", errs)
	}
	run(t, f.sql, `ALTER TABLE p1 REPLICA IDENTITY DEFAULT`)
	if errs := f.src.Check(t.Context()); len(errs) != 0 {
		t.Errorf("the way out: %v", errs)
	}
	f.open(0)
	run(t, f.sql, `INSERT INTO root VALUES (1, 1, 1)`, `CREATE TABLE p2 PARTITION OF root FOR VALUES IN (2)`, `INSERT INTO root VALUES (2, 2, 2)`,
		`ALTER TABLE p2 REPLICA IDENTITY FULL`, `UPDATE root SET id = 3 WHERE id = 2`)
	f.follow()
	f.want("c root id=1 k=1 other=1 #0\nc root id=2 k=2 other=2 #0\nd root id=2 k=2 other=2 #0\nc root id=3 k=2 other=2 #1")
	run(t, f.sql, `BEGIN; CREATE TABLE p3 PARTITION OF root FOR VALUES IN (3); CREATE UNIQUE INDEX p3_other ON p3 (other); ALTER TABLE p3 REPLICA IDENTITY USING INDEX p3_other; COMMIT`,
		`INSERT INTO root VALUES (4, 3, 4)`, `UPDATE root SET id = 5 WHERE id = 4`)
	err := f.ends()
	if !errors.As(err, &identity) || identity.Partition != "public.p3" || identity.Position == 0 {
		t.Errorf("in the log: %v", err)
	}
	f.close()
	f.want("") // not the update without its old key
}

// TestPartitionIdentityOfRoot: the table's own identity is an index that its
// partitions do not share.
func TestPartitionIdentityOfRoot(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE root (id int, k int, other int NOT NULL, PRIMARY KEY (id, k)) PARTITION BY LIST (k)`,
		`CREATE UNIQUE INDEX root_other ON root (other, k)`, `ALTER TABLE root ALTER k SET NOT NULL`, `ALTER TABLE root REPLICA IDENTITY USING INDEX root_other`,
		`CREATE TABLE p1 PARTITION OF root FOR VALUES IN (1)`)
	onlyRoot(f)
	if got := all(f.src.Check(t.Context())); !strings.Contains(got, "partition public.p1 carry (id, k)") || !strings.Contains(got, "the key (other, k)") {
		t.Errorf("Check: %s", got)
	}
	run(t, f.sql, `ALTER TABLE p1 REPLICA IDENTITY USING INDEX p1_other_k_idx`)
	if errs := f.src.Check(t.Context()); len(errs) != 0 {
		t.Errorf("the way out: %v", errs)
	}
	f.open(0)
	defer f.close()
	run(t, f.sql, `INSERT INTO root VALUES (1, 1, 1)`, `UPDATE root SET other = 2`, `UPDATE root SET id = 3`)
	f.follow()
	f.want("c root id=1 k=1 other=1 #0\nd root id=(null) k=1 other=1 #0\nc root id=1 k=1 other=2 #1\nu root id=3 k=1 other=2 #0")
}

// TestPartitionNotFull: a new partition of a table with REPLICA IDENTITY FULL does not
// inherit it. Its old rows are not complete: what they lack must not become NULL.
func TestPartitionNotFull(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE root (id int, k int, v text, n int, PRIMARY KEY (id, k)) PARTITION BY LIST (k)`, `ALTER TABLE root ALTER v SET STORAGE EXTERNAL`,
		`CREATE TABLE p1 PARTITION OF root FOR VALUES IN (1)`, `ALTER TABLE root REPLICA IDENTITY FULL`, `ALTER TABLE p1 REPLICA IDENTITY FULL`)
	onlyRoot(f)
	f.needs.Before = true
	f.open(0)
	defer f.close()
	run(t, f.sql, `INSERT INTO root VALUES (1, 1, repeat('b', 5000), 1)`, `UPDATE root SET n = 2`)
	f.follow()
	f.want("c root id=1 k=1 v=bbbbbbbbbb...(5000) n=1 #0\nu root id=1 k=1 v=bbbbbbbbbb...(5000) n=2 before id=1 k=1 v=bbbbbbbbbb...(5000) n=1 #0")
	run(t, f.sql, `CREATE TABLE p2 PARTITION OF root FOR VALUES IN (2)`, `INSERT INTO root VALUES (2, 2, repeat('c', 5000), 1)`, `UPDATE root SET n = 3 WHERE k = 2`)
	f.follow()
	run(t, f.sql, `UPDATE root SET id = 4 WHERE k = 2`)
	f.follow()
	f.want(`c root id=2 k=2 v=cccccccccc...(5000) n=1 #0
		u root id=2 k=2 v=cccccccccc...(5000) n=3 #0
		d root id=2 k=2 v=(null) n=(null) #0
		c root id=4 k=2 v=cccccccccc...(5000) n=3 #1`)
}

// TestPartitionBreaksApplication: a new partition of a table without a key can't be
// updated by the application while the table is published for updates. The table
// stops, and the application goes on.
func TestPartitionBreaksApplication(t *testing.T) {
	for name, insert := range map[string]bool{"seen in the log": true, "seen in the catalogue": false} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			f := newLogFixture(t, map[string]string{"heartbeat.interval": "1s"}, `CREATE TABLE root (id int, k int) PARTITION BY LIST (k)`, `CREATE TABLE p1 PARTITION OF root FOR VALUES IN (1)`,
				`ALTER TABLE root REPLICA IDENTITY FULL`, `ALTER TABLE p1 REPLICA IDENTITY FULL`)
			onlyRoot(f)
			f.open(0)
			run(t, f.sql, `INSERT INTO root VALUES (1, 1)`, `UPDATE root SET id = 2`)
			f.follow()
			f.want("c root id=1 k=1 #0\nu root id=2 k=1 before id=1 k=1 #0")
			run(t, f.sql, `CREATE TABLE p2 PARTITION OF root FOR VALUES IN (2)`)
			if insert {
				run(t, f.sql, `INSERT INTO root VALUES (3, 2)`)
			}
			if err := f.ends(); !errors.Is(err, ErrSchemaChange) || !strings.Contains(err.Error(), "at the application") || !strings.Contains(err.Error(), "REPLICA IDENTITY FULL") {
				t.Errorf("got %v", err)
			}
			f.close()
			run(t, f.sql, `UPDATE root SET id = 4 WHERE k = 2`, `DELETE FROM root WHERE k = 2`)
		})
	}
}

// TestIdentityLost: the same where a table loses its key.
func TestIdentityLost(t *testing.T) {
	f := newLogFixture(t, map[string]string{"heartbeat.interval": "1s"}, `CREATE TABLE root (id int PRIMARY KEY)`)
	f.open(0)
	run(t, f.sql, `INSERT INTO root VALUES (1)`, `ALTER TABLE root DROP CONSTRAINT root_pkey`)
	if err := f.ends(); !errors.Is(err, ErrSchemaChange) || !strings.Contains(err.Error(), "public.root") {
		t.Errorf("got %v", err)
	}
	f.close()
	run(t, f.sql, `UPDATE root SET id = 2`)
}
