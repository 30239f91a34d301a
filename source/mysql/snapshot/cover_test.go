package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// tailAt is a tail that has passed everything that the binlog has now.
func tailAt(t *testing.T, db *mysqltest.DB) Tail {
	t.Helper()
	tail := Tail{Place: logEnd(t, db.Server)}
	if !db.MariaDB {
		tail.GTIDs = db.Value("SELECT @@GLOBAL.gtid_executed")
	}
	return tail
}

// TestCover: what the tail has passed is visible behind Cover, and at once where
// nothing is in the way.
func TestCover(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (n INT PRIMARY KEY)")
		r, def := reader(t, s), definition(t, s, db.Database, "t", "n")
		var key Key
		for i := range 20 {
			db.Exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
			if err := r.Cover(within(t), tailAt(t, db)); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				key = mustPlan(t, r, def).Key
			}
			c := r.Read(within(t), Job{Table: def, Key: &key, Rows: 100})
			c.Release()
			if c.Err != nil || c.Rows != i+1 {
				t.Fatalf("%d rows of %d, %v", c.Rows, i+1, c.Err)
			}
		}
	})
}

// TestCoverWaits: what is not there yet is waited for, and the wait can be broken off.
func TestCoverWaits(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		tail := tailAt(t, db)
		tail.Place.Offset += 1 << 40
		if !s.MariaDB {
			tail.GTIDs = db.Value("SELECT @@GLOBAL.server_uuid") + ":1-9000000000"
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		if err := reader(t, s).Cover(ctx, tail); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if d := time.Since(start); d < time.Second/2 || d > 10*time.Second {
			t.Errorf("it took %v", d)
		}
		if s.MariaDB {
			tail.Place.File = "other.000001"
			if err := reader(t, s).Cover(within(t), tail); !errors.Is(err, errOtherLog) {
				t.Errorf("another binlog: %v", err)
			}
		}
	})
}

// TestCoverLateCommit: a transaction that is written to the binlog, but not visible.
// The engine's commit is held for seconds, because no replica says that it has it.
func TestCoverLateCommit(t *testing.T) {
	for name, settings := range map[string][]string{
		"MariaDB118": {"rpl-semi-sync-master-timeout=4000", "rpl-semi-sync-master-wait-no-slave=ON", "rpl-semi-sync-master-wait-point=AFTER_SYNC"},
		"MySQL97":    {"plugin-load-add=semisync_source.so", "loose-rpl-semi-sync-source-timeout=4000", "loose-rpl-semi-sync-source-wait-no-replica=ON"},
	} {
		t.Run(name, func(t *testing.T) { late(t, mysqltest.Private(t, name, settings...).Server) })
	}
}

func late(t *testing.T, s *mysqltest.Server) {
	db := mysqltest.Open(t, s)
	db.Exec("CREATE TABLE t (n INT PRIMARY KEY)")
	r, def := reader(t, s), definition(t, s, db.Database, "t", "n")
	key := mustPlan(t, r, def).Key
	before := tailAt(t, db)
	db.Exec("SET GLOBAL rpl_semi_sync_" + map[bool]string{true: "master", false: "source"}[s.MariaDB] + "_enabled = ON")
	done := make(chan struct{})
	go func() {
		defer close(done)
		db.NewSession().Exec("INSERT INTO t VALUES (1)")
	}()
	tail := before
	for tail.Place == before.Place {
		tail.Place = logEnd(t, s)
	}
	if !s.MariaDB { // the next number
		uuid, numbers, _ := strings.Cut(before.GTIDs, ":")
		var first, last int
		if n, _ := fmt.Sscanf(numbers, "%d-%d", &first, &last); n != 2 {
			t.Fatal(before.GTIDs)
		}
		tail.GTIDs = fmt.Sprintf("%s:%d-%d", uuid, first, last+1)
	}
	read := func() int {
		c := r.Read(within(t), Job{Table: def, Key: &key, Rows: 100})
		c.Release()
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		return c.Rows
	}
	if n := read(); n != 0 {
		t.Fatalf("the commit is visible at once, with %d rows", n)
	}
	start := time.Now()
	if err := r.Cover(within(t), tail); err != nil {
		t.Fatal(err)
	}
	if n := read(); n != 1 {
		t.Errorf("%d rows after %v", n, time.Since(start))
	}
	<-done
}

// TestCoverWithoutGTID: open transactions are waited for, so long as it was said.
func TestCoverWithoutGTID(t *testing.T) {
	p := mysqltest.Private(t, "MySQL97", "gtid-mode=OFF", "enforce-gtid-consistency=OFF")
	db := mysqltest.Open(t, p.Server)
	db.Exec("CREATE TABLE t (n INT PRIMARY KEY)")
	cover := func(s *mysqltest.Server, settle time.Duration) time.Duration {
		start := time.Now()
		if err := reader(t, s).Cover(within(t), Tail{Place: logEnd(t, p.Server), Settle: settle}); err != nil {
			t.Error(err)
		}
		return time.Since(start)
	}
	if d := cover(p.Server, 30*time.Second); d > 5*time.Second {
		t.Errorf("an idle server: %v", d)
	}
	db.Exec("BEGIN", "INSERT INTO t VALUES (1)")
	if d := cover(p.Server, 2*time.Second); d < 2*time.Second {
		t.Errorf("a transaction that stays: %v", d)
	}
	committed := make(chan struct{})
	go func() {
		defer close(committed)
		time.Sleep(time.Second)
		db.Exec("COMMIT")
	}()
	if d := cover(p.Server, 30*time.Second); d < time.Second || d > 20*time.Second {
		t.Errorf("a transaction that ends: %v", d)
	}
	<-committed
	account := p.Account(t, "SELECT ON "+db.Database+".*", "REPLICATION CLIENT ON *.*")
	if d := cover(account, time.Second); d < time.Second {
		t.Errorf("without the privilege: %v", d)
	}
	def := definition(t, p.Server, db.Database, "t", "n")
	v, err := reader(t, p.Server).OpenView(within(t), def)
	if err != nil || strings.TrimSpace(v.GTIDs) != "" || v.High.IsZero() {
		t.Fatalf("%+v, %v", v, err)
	}
	v.Close()
}
