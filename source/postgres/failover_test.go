package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// failover is a primary with a standby that a test lets take over.
type failover struct {
	t                *testing.T
	primary, standby *pgtest.Server
	sql              *pgx.Conn // of the present primary
	log              *sourcetest.Log
	options          map[string]string
}

// newFailover captures one table of a primary up to some rows.
func newFailover(t *testing.T, options map[string]string) *failover {
	t.Helper()
	f := &failover{t: t, primary: startServer(t, nil), options: options}
	f.sql = sqlConn(t, f.primary)
	run(t, f.sql, `CREATE TABLE a (id int PRIMARY KEY, ver bigint NOT NULL DEFAULT 0)`, `INSERT INTO a SELECT i FROM generate_series(1, 1000) i`)
	settings := map[string]string{}
	if serverVersion(f.sql.PgConn()) >= failoverVersion {
		settings["sync_replication_slots"] = "on"
	}
	f.standby = startStandby(t, f.primary, settings)
	f.log = sourcetest.NewLog(t, f.source(), memory.NewBackend(memory.Options{}))
	t.Cleanup(f.log.Stop)
	f.log.Start(0)
	waitFor(t, func() bool {
		if err := f.log.Err(); err != nil {
			t.Fatal(err)
		}
		return f.log.Progress().SnapshotDone
	})
	f.settle()
	return f
}

// source reads from whichever server is the primary.
func (f *failover) source() source.Source {
	opts := map[string]string{"heartbeat.interval": "100ms",
		"url": fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write", f.primary.Port(), f.standby.Port())}
	for k, v := range f.options {
		opts[k] = v
	}
	return newTestSource(f.t, f.primary, opts)
}

// Exec and Touch make it a database that sourcetest can settle.
func (f *failover) Exec(_ int, sql ...string) error {
	_, err := f.sql.PgConn().Exec(f.t.Context(), strings.Join(sql, "; ")).ReadAll()
	return err
}
func (f *failover) Touch() error {
	return f.Exec(0, "SELECT pg_logical_emit_message(true, 'touch', '')")
}
func (f *failover) Source(*testing.T, string, map[string]string) source.Source { return f.source() }

// settle waits until a checkpoint holds all that the primary holds, and compares.
func (f *failover) settle() {
	f.t.Helper()
	sourcetest.Harness{Slow: 1}.Settle(f.t, f, f.source(), f.log)
}

// insert writes rows on the present primary.
func (f *failover) insert(from, to int) {
	f.t.Helper()
	run(f.t, f.sql, fmt.Sprintf(`INSERT INTO a SELECT i FROM generate_series(%d, %d) i`, from, to))
}

// caughtUp waits until the standby has everything of the primary.
func (f *failover) caughtUp() {
	f.t.Helper()
	waitFor(f.t, func() bool {
		var behind int64
		err := f.sql.QueryRow(f.t.Context(), `SELECT coalesce(max(pg_current_wal_insert_lsn() - replay_lsn), 1)::int8 FROM pg_stat_replication WHERE application_name = 'standby'`).Scan(&behind)
		if err != nil {
			f.t.Fatal(err)
		}
		return behind <= 0
	})
}

// fail kills the primary and lets the standby take over.
func (f *failover) fail() {
	f.t.Helper()
	f.primary.Kill9()
	if err := f.standby.Promote(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.sql = sqlConn(f.t, f.standby)
}

// ends waits for the reader's error.
func (f *failover) ends() error {
	f.t.Helper()
	_, err := f.log.Final(20 * time.Second)
	return err
}

// TestFailoverWithoutSlot: without a failover slot the new primary has none, and
// the changes since then can't be had. It is named with the way out.
func TestFailoverWithoutSlot(t *testing.T) {
	f := newFailover(t, nil)
	f.caughtUp()
	f.log.Stop()
	f.fail()
	f.insert(2001, 2100)
	f.log.Start(0)
	err := f.ends()
	hint := "before PostgreSQL 17"
	if serverVersion(f.sql.PgConn()) >= failoverVersion {
		hint = "set slot.failover"
	}
	if !errors.Is(err, ErrSlotMissing) || !strings.Contains(err.Error(), hint) || !strings.Contains(err.Error(), "timeline 2") {
		t.Errorf("got %v", err)
	}
	var slots int
	if err := f.sql.QueryRow(t.Context(), `SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'logical'`).Scan(&slots); err != nil || slots != 0 {
		t.Errorf("%d slots were made behind the gap, %v", slots, err)
	}
}

// TestFailoverOption: the option is refused where no server keeps such slots.
func TestFailoverOption(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	run(t, conn, `CREATE TABLE a (id int PRIMARY KEY)`)
	src := newTestSource(t, s, map[string]string{"slot.failover": "true"})
	old := serverVersion(conn.PgConn()) < failoverVersion
	if got := all(src.Check(t.Context())); strings.Contains(got, "slot.failover needs PostgreSQL 17") != old {
		t.Errorf("Check: %s", got)
	}
	a, err := attach(t.Context(), src.cfg, nil, checkpointPlace{}, src.logger)
	if errors.Is(err, ErrServerUnsuitable) != old || !old && err != nil {
		t.Errorf("attach: %v", err)
	}
	if err != nil {
		return
	}
	a.Close()
	slot, err := readSlot(t.Context(), conn, "freshet_test")
	if err != nil || !slot.failover {
		t.Errorf("%+v, %v", slot, err)
	}
	// A slot from before the option was set becomes one.
	run(t, conn, `SELECT pg_drop_replication_slot('freshet_test'), pg_create_logical_replication_slot('freshet_test', 'pgoutput')`)
	if a, err = attach(t.Context(), src.cfg, nil, checkpointPlace{}, src.logger); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if slot, err = readSlot(t.Context(), conn, "freshet_test"); err != nil || !slot.failover {
		t.Errorf("%+v, %v", slot, err)
	}
}

// withFailoverSlots is for servers that have them; others are tested above.
func withFailoverSlots(t *testing.T) *failover {
	t.Helper()
	s := startServer(t, nil)
	onlyIf(t, serverVersion(sqlConn(t, s).PgConn()) >= failoverVersion)
	f := newFailover(t, map[string]string{"slot.failover": "true"})
	waitFor(t, func() bool { // the standby has its copy of the slot
		run(t, f.sql, "SELECT pg_log_standby_snapshot()")
		var there bool
		conn := sqlConn(t, f.standby)
		defer conn.Close(t.Context())
		return conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'freshet_test' AND synced AND NOT temporary)`).Scan(&there) == nil && there
	})
	return f
}

// TestFailoverSlot: with a failover slot the pipeline goes on at the new primary,
// also where the old one had sent keepalives beyond what the standby has.
func TestFailoverSlot(t *testing.T) {
	f := withFailoverSlots(t)
	f.log.MayGoBack = true
	f.insert(2001, 2100)
	f.settle()
	f.caughtUp()
	f.cutStandby()
	run(t, f.sql, "SELECT pg_switch_wal()", "CHECKPOINT") // log without a transaction, for nobody but the tail
	_, before := f.log.Last()
	waitFor(t, func() bool { _, now := f.log.Last(); return now > before })
	f.log.Stop()
	f.fail()
	f.insert(2101, 2200)
	run(t, f.sql, `UPDATE a SET ver = 1 WHERE id % 10 = 0`, `DELETE FROM a WHERE id % 10 = 1`)
	id := f.log.Checkpoints()
	f.log.Start(0)
	waitFor(t, func() bool { return f.log.Checkpoints() > id }) // those of before lie behind all of the new timeline
	f.settle()
	f.log.Stop()
	f.insert(2201, 2300)
	f.log.Start(0)
	f.settle()
}

// cutStandby ends the standby's connection for good.
func (f *failover) cutStandby() {
	f.t.Helper()
	waitFor(f.t, func() bool {
		_, err := f.sql.Exec(f.t.Context(), `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1 AND active`, pgtest.StandbySlot)
		if err != nil {
			f.t.Fatal(err)
		}
		_, err = f.sql.Exec(f.t.Context(), `SELECT pg_drop_replication_slot($1)`, pgtest.StandbySlot)
		return err == nil
	})
}

// TestFailoverLosesCaptured: what was captured and never reached the standby is a
// contradiction that must stop the pipeline, for the new primary would go on
// without a word, and skip what it commits in place of it.
func TestFailoverLosesCaptured(t *testing.T) {
	f := withFailoverSlots(t)
	f.caughtUp()
	f.cutStandby()
	f.insert(3001, 3100)
	f.settle()
	f.log.Stop()
	f.fail()
	f.insert(4001, 4100)
	f.log.Start(0)
	if err := f.ends(); !errors.Is(err, ErrHistory) || !strings.Contains(err.Error(), "the failover lost them") {
		t.Errorf("got %v", err)
	}
}

// TestStandbyIsNoSource: a standby is named as one, and passes once it is promoted.
func TestStandbyIsNoSource(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	run(t, conn, `CREATE TABLE a (id int PRIMARY KEY)`)
	standby := startStandby(t, s, nil)
	src := newTestSource(t, standby, nil)
	waitFor(t, func() bool {
		errs := src.Check(t.Context())
		return len(errs) == 1 && errors.Is(errs[0], ErrStandby) && strings.Contains(errs[0].Error(), "target_session_attrs")
	})
	if _, err := attach(t.Context(), src.cfg, nil, checkpointPlace{}, src.logger); !errors.Is(err, ErrStandby) {
		t.Errorf("attach: %v", err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	if errs := src.Check(t.Context()); len(errs) != 0 {
		t.Errorf("promoted: %v", errs)
	}
}

// TestAnotherCluster: a server that only looks alike is left as it is.
func TestAnotherCluster(t *testing.T) {
	s := startServer(t, nil)
	conn := sqlConn(t, s)
	run(t, conn, `CREATE TABLE a (id int PRIMARY KEY)`)
	src := newTestSource(t, s, nil)
	infos, err := discover(t.Context(), conn, src.cfg)
	if err != nil {
		t.Fatal(err)
	}
	place := checkpointPlace{Position: 1, Commit: 1, History: history{System: "4711", Timeline: 1}}
	if _, err := attach(t.Context(), src.cfg, infos, place, src.logger); !errors.Is(err, ErrHistory) || !strings.Contains(err.Error(), "4711") {
		t.Errorf("got %v", err)
	}
	var n int
	if err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_replication_slots)`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d publications and slots were made, %v", n, err)
	}
}
