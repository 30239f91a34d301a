package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
)

// TestFaultSlotDroppedWhileRunning drops the slot below a running pipeline.
func TestFaultSlotDroppedWhileRunning(t *testing.T) {
	base := newDatabase(t)
	conn, change := orders(t, base)
	p := newPipeline(t, "fault-dropped", base, nil)
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	dropSlot(t, conn, "freshet_fault_dropped")
	change()
	ends(t, p, run, "slot", "freshet_fault_dropped", "does not exist")
}

// dropSlot ends whoever reads from a slot and drops it before it comes back.
func dropSlot(t *testing.T, conn *pgx.Conn, name string) {
	t.Helper()
	eventually(t, "the slot is dropped", runTimeout, func() bool {
		execute(t, conn, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1 AND active", name)
		_, err := conn.Exec(t.Context(), "SELECT pg_drop_replication_slot($1)", name)
		return err == nil
	})
}

// TestFaultSlotInvalidatedWhileRunning lets the server take the log from a
// pipeline that confirms too little: a checkpoint is far away.
func TestFaultSlotInvalidatedWhileRunning(t *testing.T) {
	pg := newServer(t, "max_slot_wal_keep_size=1MB", "max_wal_size=32MB")
	conn, _ := orders(t, pg.URL)
	execute(t, conn, "CREATE TABLE filler (v text)")
	p := newPipeline(t, "fault-invalidated", pg.URL, func(p *process.Pipeline) {
		p.Settings["execution.checkpointing.interval"] = "1h"
	})
	catchUp(t, p)
	run := start(t, p)
	eventually(t, "the slot is read from", runTimeout, func() bool {
		var active bool
		return conn.QueryRow(t.Context(), "SELECT active FROM pg_replication_slots").Scan(&active) == nil && active
	})
	eventually(t, "the slot is lost", runTimeout, func() bool {
		execute(t, conn, "INSERT INTO filler SELECT repeat(md5(i::text), 20) FROM generate_series(1, 20000) i")
		execute(t, conn, "SELECT pg_switch_wal()")
		execute(t, conn, "CHECKPOINT")
		var status string
		if err := conn.QueryRow(t.Context(), "SELECT wal_status FROM pg_replication_slots").Scan(&status); err != nil {
			t.Fatal(err)
		}
		return status == "lost"
	})
	ends(t, p, run, "slot", "freshet_fault_invalidated", "invalidated", "max_slot_wal_keep_size")
}

// TestFaultSlotTaken lets another program read from the slot: the pipeline names
// it, and goes on when it is gone.
func TestFaultSlotTaken(t *testing.T) {
	base := newDatabase(t)
	_, change := orders(t, base)
	p := newPipeline(t, "fault-taken", base, nil)
	catchUp(t, p)
	other := exec.Command("/usr/lib/postgresql/15/bin/pg_recvlogical", "-d", base, "--slot", "freshet_fault_taken", "--start", "--no-loop",
		"-o", "proto_version=1", "-o", "publication_names=freshet_fault_taken", "-s", "3600", "-f", filepath.Join(t.TempDir(), "out"))
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	conn := connect(t, base)
	eventually(t, "the slot is taken", runTimeout, func() bool {
		var active bool
		return conn.QueryRow(t.Context(), "SELECT active FROM pg_replication_slots WHERE slot_name = 'freshet_fault_taken'").Scan(&active) == nil && active
	})
	run := start(t, p)
	says(t, run, "freshet_fault_taken", "of the server reads from it")
	other.Process.Kill()
	since := time.Now()
	change()
	committed(t, p, "a commit after the other has gone", since)
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.orders")
}

// pair is a primary and its standby.
type pair struct{ primary, standby *pgtest.Server }

// newPair starts both, with binaries of a version.
func newPair(t *testing.T, version string, settings map[string]string) pair {
	t.Helper()
	servers.Require(t)
	root, err := servers.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := exec.CommandContext(t.Context(), "bash", filepath.Join(root, "e2e", "servers", "postgres"+version+".sh"), "bin").Output()
	if err != nil {
		t.Fatal(err)
	}
	var p pair
	if p.primary, err = pgtest.Start(t.Context(), pgtest.Options{Bin: strings.TrimSpace(string(bin))}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.primary.Stop() })
	if p.standby, err = pgtest.StartStandby(t.Context(), p.primary, pgtest.Options{Settings: settings}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.standby.Stop() })
	return p
}

// pipeline captures whichever of the two is the primary.
func (p pair) pipeline(t *testing.T, name string, source map[string]string) process.Pipeline {
	t.Helper()
	both := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write", p.primary.Port(), p.standby.Port())
	return newPipeline(t, name, p.primary.URL("postgres"), func(l *process.Pipeline) {
		l.Source = map[string]string{"url": both, "hostname": "", "port": "", "username": "", "password": "", "sslmode": ""}
		for k, v := range source {
			l.Source[k] = v
		}
	})
}

// fail waits until the standby has all, kills the primary and lets the standby take over.
func (p pair) fail(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	eventually(t, "the standby has all", runTimeout, func() bool {
		var behind int64
		return conn.QueryRow(t.Context(), "SELECT coalesce(max(pg_current_wal_insert_lsn() - replay_lsn), 1)::int8 FROM pg_stat_replication WHERE application_name = 'standby'").Scan(&behind) == nil && behind <= 0
	})
	p.primary.Kill9()
	if err := p.standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFaultFailover lets a standby of PostgreSQL 15 take over, which does not have the slot.
func TestFaultFailover(t *testing.T) {
	pair := newPair(t, "15", nil)
	conn, change := orders(t, pair.primary.URL("postgres"))
	p := pair.pipeline(t, "fault-failover", nil)
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	change()
	pair.fail(t, conn)
	select {
	case <-run.Done():
	case <-time.After(failTimeout):
		t.Fatalf("freshet goes on:\n%s", run.Output())
	}
	r := run.Wait()
	for _, w := range []string{"freshet_fault_failover", "failover", "before PostgreSQL 17", "new snapshot"} {
		if !strings.Contains(r.Output, w) {
			t.Errorf("the error does not say %q:\n%s", w, r.Tail(20))
		}
	}
}

// TestFaultFailoverSlot lets a standby of PostgreSQL 17 take over that keeps a copy
// of the slot: the running pipeline goes on there, and nothing is lost or doubled.
func TestFaultFailoverSlot(t *testing.T) {
	pair := newPair(t, "17", map[string]string{"sync_replication_slots": "on"})
	conn, change := orders(t, pair.primary.URL("postgres"))
	execute(t, conn, "ALTER SYSTEM SET synchronized_standby_slots = '"+pgtest.StandbySlot+"'")
	execute(t, conn, "SELECT pg_reload_conf()")
	p := pair.pipeline(t, "fault-failover-slot", map[string]string{"slot.failover": "true"})
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	standby := connect(t, pair.standby.URL("postgres"))
	eventually(t, "the standby has its copy of the slot", runTimeout, func() bool {
		execute(t, conn, "SELECT pg_log_standby_snapshot()")
		var there bool
		err := standby.QueryRow(t.Context(), "SELECT synced AND NOT temporary FROM pg_replication_slots WHERE slot_name = 'freshet_fault_failover_slot'").Scan(&there)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
		return there
	})
	change()
	pair.fail(t, conn)
	since := time.Now()
	execute(t, standby, "INSERT INTO orders SELECT i, 'after the failover' FROM generate_series(50001, 50500) i")
	execute(t, standby, "UPDATE orders SET v = v || '!' WHERE id % 5 = 0")
	committed(t, p, "a commit after the failover", since)
	stop(t, run)
	catchUp(t, p)
	p.SourceURL = pair.standby.URL("postgres")
	equal(t, p, "public.orders")
}
