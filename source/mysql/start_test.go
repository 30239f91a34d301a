package mysql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// sourceOf returns a source for all tables of a database, with more options.
func sourceOf(t testing.TB, s *mysqltest.Server, database string, more ...string) *Source {
	t.Helper()
	opts := map[string]string{"hostname": s.Host, "port": fmt.Sprint(s.Port), "username": s.User, "password": s.Password, "tables": database + `.\.*`}
	for i := 0; i < len(more); i += 2 {
		opts[more[i]] = more[i+1]
	}
	src, err := New(opts, func(id schema.TableID) bool { return id.Schema == database }, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// open returns a session and the server's settings.
func open(t testing.TB, cfg *config) (*wire.Conn, server) {
	t.Helper()
	conn, err := cfg.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s, err := readServer(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return conn, s
}

func startOf(t testing.TB, cfg *config) (beginning, error) {
	t.Helper()
	conn, s := open(t, cfg)
	return cfg.startPlace(t.Context(), conn, s)
}

// TestStartNow: the set of GTIDs is exactly that of the place, while others commit.
func TestStartNow(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
		stop := make(chan struct{})
		var writers sync.WaitGroup
		for range 4 {
			w := db.NewSession()
			writers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						w.Exec("INSERT INTO t (v) VALUES (1)")
					}
				}
			})
		}
		defer writers.Wait()
		defer close(stop)
		src := sourceOf(t, s, db.Database)
		for range 10 {
			b, err := startOf(t, src.cfg)
			if err != nil {
				t.Fatal(err)
			}
			set, err := src.cfg.checkBoundary(t.Context(), b.Place)
			if err != nil {
				t.Fatal(err)
			}
			if !b.ByGTID || b.Server == "" || !s.MariaDB && !set.Equal(b.GTIDs) {
				t.Fatalf("at %s: %+v, the binlog has %s", b.Place, b, set)
			}
		}
	})
}

// history is a server with three binlog files, and what lies in them.
type history struct {
	*mysqltest.PrivateServer
	db    *mysqltest.DB
	files []logFile
	times []time.Time // a time in each file, behind its beginning
	sets  []string    // the GTIDs before each file
}

func newHistory(t *testing.T, name string, settings ...string) *history {
	t.Helper()
	h := &history{PrivateServer: mysqltest.Private(t, name, settings...)}
	h.db = mysqltest.Open(t, h.Server)
	h.db.Exec("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)", "FLUSH BINARY LOGS")
	for range 3 {
		h.sets = append(h.sets, h.executed())
		time.Sleep(1100 * time.Millisecond)
		h.times = append(h.times, time.Now())
		time.Sleep(1100 * time.Millisecond)
		h.db.Exec("INSERT INTO t (v) VALUES (1), (2)", "BEGIN", "INSERT INTO t (v) VALUES (3)", "UPDATE t SET v = 4", "COMMIT", "ALTER TABLE t COMMENT 'x'", "FLUSH BINARY LOGS")
	}
	src := sourceOf(t, h.Server, h.db.Database)
	conn, _ := open(t, src.cfg)
	files, err := logFiles(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	h.files = files[len(files)-4 : len(files)-1]
	return h
}

func (h *history) executed() string {
	if h.MariaDB {
		return h.db.Value("SELECT @@GLOBAL.gtid_binlog_pos")
	}
	return stripSpace(h.db.Value("SELECT @@GLOBAL.gtid_executed"))
}

func (h *history) start(t *testing.T, options ...string) (beginning, error) {
	t.Helper()
	return startOf(t, sourceOf(t, h.Server, h.db.Database, options...).cfg)
}

// eachHistory runs a test on MySQL and MariaDB with files of its own.
func eachHistory(t *testing.T, fn func(t *testing.T, h *history)) {
	for _, name := range []string{"MySQL97", "MySQL80", "MariaDB1011", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, newHistory(t, name))
		})
	}
}

func sameSet(t *testing.T, got *binlog.GTIDSet, want string) {
	t.Helper()
	set, err := binlog.ParseGTIDSet(want)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(set) {
		t.Errorf("GTIDs %s, want %s", got, want)
	}
}

func TestStartModes(t *testing.T) {
	eachHistory(t, func(t *testing.T, h *history) {
		for i, at := range h.times {
			b, err := h.start(t, "scan.startup.mode", "timestamp", "scan.startup.timestamp-millis", fmt.Sprint(at.UnixMilli()))
			if err != nil {
				t.Fatal(err)
			}
			if b.Place != (binlog.Place{File: h.files[i].name, Offset: 4}) || b.Since != at.Unix() {
				t.Errorf("timestamp %d: %+v", i, b)
			}
			sameSet(t, b.GTIDs, h.sets[i])
			b, err = h.start(t, "scan.startup.mode", "specific-offset", "scan.startup.specific-offset.gtid-set", h.sets[i])
			if err != nil {
				t.Fatal(err)
			}
			if b.Place != (binlog.Place{File: h.files[i].name, Offset: 4}) {
				t.Errorf("GTID set %d: %+v", i, b)
			}
			b, err = h.start(t, "scan.startup.mode", "specific-offset", "scan.startup.specific-offset.file", h.files[i].name)
			if err != nil {
				t.Fatal(err)
			}
			sameSet(t, b.GTIDs, h.sets[i])
		}
		b, err := h.start(t, "scan.startup.mode", "earliest-offset")
		if err != nil || !strings.HasSuffix(b.Place.File, ".000001") || b.Place.Offset != 4 {
			t.Errorf("earliest: %+v, %v", b, err)
		}
		// Before everything: nothing was purged, so that is the beginning.
		if b, err := h.start(t, "scan.startup.mode", "timestamp", "scan.startup.timestamp-millis", "1"); err != nil || !strings.HasSuffix(b.Place.File, ".000001") {
			t.Errorf("timestamp 1: %+v, %v", b, err)
		}
		testPurged(t, h)
	})
}

func testPurged(t *testing.T, h *history) {
	h.db.Exec("PURGE BINARY LOGS TO '" + h.files[1].name + "'")
	if b, err := h.start(t, "scan.startup.mode", "earliest-offset"); err != nil || b.Place.File != h.files[1].name {
		t.Errorf("earliest: %+v, %v", b, err)
	} else {
		sameSet(t, b.GTIDs, h.sets[1])
	}
	for _, options := range [][]string{
		{"scan.startup.mode", "timestamp", "scan.startup.timestamp-millis", fmt.Sprint(h.times[0].UnixMilli())},
		{"scan.startup.mode", "specific-offset", "scan.startup.specific-offset.gtid-set", h.sets[0]},
		{"scan.startup.mode", "specific-offset", "scan.startup.specific-offset.file", h.files[0].name},
	} {
		if _, err := h.start(t, options...); !errors.Is(err, ErrPurged) {
			t.Errorf("%v: %v", options, err)
		}
	}
	for says, options := range map[string][]string{
		"the server's files are": {"scan.startup.specific-offset.file", "nowhere.000001"},
		"bytes only":             {"scan.startup.specific-offset.file", h.files[1].name, "scan.startup.specific-offset.pos", "99999999"},
		"not executed":           {"scan.startup.specific-offset.gtid-set", beyond(h)},
		"GTID set":               {"scan.startup.specific-offset.gtid-set", "nonsense"},
	} {
		if _, err := h.start(t, append(options, "scan.startup.mode", "specific-offset")...); !errors.Is(err, ErrPlace) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", options, err)
		}
	}
}

// beyond is a set that the server has not executed.
func beyond(h *history) string {
	if h.MariaDB {
		return "0-1-1000000"
	}
	return h.db.Value("SELECT @@server_uuid") + ":1-1000000"
}

// TestStartBetweenTransactions: every place of a file is either taken, with the GTIDs
// before it, or refused with the last one that is.
func TestStartBetweenTransactions(t *testing.T) {
	eachHistory(t, func(t *testing.T, h *history) {
		src := sourceOf(t, h.Server, h.db.Database)
		var starts []uint64
		var groups []uint64
		file := h.files[1].name
		err := src.cfg.scanFile(t.Context(), file, func(e scanned) (bool, error) {
			starts = append(starts, e.start)
			if e.beginsTransaction() {
				groups = append(groups, e.start)
			}
			return false, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(groups) != 3 {
			t.Fatalf("transactions at %v", groups)
		}
		for _, at := range append(starts, starts[len(starts)-1]-1, h.files[1].size) {
			set, err := src.cfg.checkBoundary(t.Context(), binlog.Place{File: file, Offset: at})
			inside := at > groups[0] && at != groups[1] && at != groups[2] && at < starts[len(starts)-1]
			if inside != errors.Is(err, ErrPlace) {
				t.Errorf("at %d (transactions at %v): %v", at, groups, err)
			}
			if inside {
				last := groups[0]
				for _, g := range groups {
					if g < at {
						last = g
					}
				}
				if !strings.Contains(err.Error(), fmt.Sprintf(".pos to %d,", last)) {
					t.Errorf("at %d: %v", at, err)
				}
				continue
			}
			if at <= groups[0] && !h.MariaDB {
				sameSet(t, set, h.sets[1])
			}
		}
	})
}

// TestResume: what may have happened to the server between two runs.
func TestResume(t *testing.T) {
	eachHistory(t, func(t *testing.T, h *history) {
		src := sourceOf(t, h.Server, h.db.Database)
		conn, s := open(t, src.cfg)
		resume := func(b beginning, born uint32) (beginning, error) {
			return src.cfg.resumePlace(t.Context(), conn, s, b, born)
		}
		at := func(i int) (beginning, uint32) {
			b, err := h.start(t, "scan.startup.mode", "specific-offset", "scan.startup.specific-offset.file", h.files[i].name)
			if err != nil {
				t.Fatal(err)
			}
			head, err := newHeads(src.cfg).head(t.Context(), h.files[i].name)
			if err != nil {
				t.Fatal(err)
			}
			return b, head.Written
		}
		first, born := at(0)
		second, _ := at(1)
		if got, err := resume(first, born); err != nil || got.Place != first.Place || got.Moved || !got.ByGTID {
			t.Errorf("nothing happened: %+v, %v", got, err)
		}
		if _, err := resume(first, born+1); !errors.Is(err, ErrHistory) {
			t.Errorf("another file of that name: %v", err)
		}
		byPlace := first
		byPlace.ByGTID = false
		if got, err := resume(byPlace, born); err != nil || got.ByGTID {
			t.Errorf("without GTIDs: %+v, %v", got, err)
		}
		byPlace.Server = "another"
		if _, err := resume(byPlace, born); !errors.Is(err, ErrHistory) {
			t.Errorf("another server without GTIDs: %v", err)
		}
		moved := first
		moved.Server, moved.Place.File = "another", "other.000777"
		if got, err := resume(moved, born); err != nil || !got.Moved || got.Place != first.Place {
			t.Errorf("another server with GTIDs: %+v, %v", got, err)
		}
		// Purged, but everything in it was read; then something that was not.
		behind := second
		behind.Place.File = h.files[0].name
		h.db.Exec("PURGE BINARY LOGS TO '" + h.files[1].name + "'")
		if got, err := resume(behind, 0); err != nil || got.Place != second.Place {
			t.Errorf("purged behind us: %+v, %v", got, err)
		}
		for _, b := range []beginning{first, moved} {
			if _, err := resume(b, born); !errors.Is(err, ErrPurged) {
				t.Errorf("purged: %v", err)
			}
		}
		byPlace = first
		byPlace.ByGTID = false
		if _, err := resume(byPlace, born); !errors.Is(err, ErrPurged) {
			t.Errorf("purged, without GTIDs: %v", err)
		}
		testReset(t, h, src, second)
	})
}

func testReset(t *testing.T, h *history, src *Source, b beginning) {
	if h.Name == "MySQL97" {
		h.db.Exec("RESET BINARY LOGS AND GTIDS")
	} else {
		h.db.Exec("RESET MASTER")
	}
	conn, s := open(t, src.cfg)
	start := time.Now()
	if _, err := src.cfg.resumePlace(t.Context(), conn, s, b, 0); !errors.Is(err, ErrHistory) {
		t.Errorf("after a reset: %v", err)
	}
	if d := time.Since(start); d > patienceSame+5*time.Second {
		t.Errorf("it took %s", d)
	}
	// The numbers of before are used again: the sets fit, the files do not.
	for range 4 {
		h.db.Exec("INSERT INTO t (v) VALUES (1), (2)", "UPDATE t SET v = v + 1", "ALTER TABLE t COMMENT 'y'", "CREATE TABLE u (a INT)", "DROP TABLE u")
	}
	if _, err := src.cfg.resumePlace(t.Context(), conn, s, b, 0); !errors.Is(err, ErrHistory) {
		t.Errorf("with new transactions of the same numbers: %v", err)
	}
}

// TestBehind: a server that lacks what was captured from another is waited for.
func TestBehind(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		src := sourceOf(t, s, db.Database)
		conn, srv := open(t, src.cfg)
		set, err := binlog.ParseGTIDSet("4d1ba4b0-0000-0000-0000-000000000001:1-5")
		if s.MariaDB {
			set, err = binlog.ParseGTIDSet("777-1-5")
		}
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := waitExecuted(t.Context(), conn, srv.executedVariable(), set, 100*time.Millisecond); ok || err != nil {
			t.Errorf("%v %v", ok, err)
		}
		if err := lacks(&beginning{Server: "a", GTIDs: set}, false, "x"); !errors.Is(err, ErrBehind) || errors.Is(err, ErrHistory) {
			t.Error(err)
		}
		short, stop := context.WithTimeout(ctx, 200*time.Millisecond)
		defer stop()
		if _, err := waitExecuted(short, conn, srv.executedVariable(), set, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// TestWithoutGTIDs: MySQL with gtid_mode OFF goes by file and offset.
func TestWithoutGTIDs(t *testing.T) {
	h := newHistory(t, "MySQL97", "gtid-mode=OFF", "enforce-gtid-consistency=OFF")
	if _, err := h.start(t); !errors.Is(err, ErrNoGTID) {
		t.Errorf("a snapshot: %v", err)
	}
	now, err := h.start(t, "scan.snapshot.accept-without-gtid", "true")
	if err != nil || now.ByGTID || now.Place.Offset <= 4 {
		t.Fatalf("a snapshot that was accepted: %+v, %v", now, err)
	}
	b, err := h.start(t, "scan.startup.mode", "timestamp", "scan.startup.timestamp-millis", fmt.Sprint(h.times[1].UnixMilli()))
	if err != nil || b.ByGTID || b.Place != (binlog.Place{File: h.files[1].name, Offset: 4}) {
		t.Errorf("timestamp: %+v, %v", b, err)
	}
	if _, err := h.start(t, "scan.startup.mode", "specific-offset", "scan.startup.specific-offset.gtid-set", "4d1ba4b0-0000-0000-0000-000000000001:1"); !errors.Is(err, ErrPlace) {
		t.Errorf("a GTID set: %v", err)
	}
	src := sourceOf(t, h.Server, h.db.Database)
	conn, s := open(t, src.cfg)
	if got, err := src.cfg.resumePlace(t.Context(), conn, s, b, 0); err != nil || got.Place != b.Place || got.ByGTID {
		t.Errorf("resumed: %+v, %v", got, err)
	}
	// A checkpoint by GTID, and GTIDs were switched off since: the place is known.
	byGTID := b
	byGTID.ByGTID = true
	if got, err := src.cfg.resumePlace(t.Context(), conn, s, byGTID, 0); err != nil || got.ByGTID {
		t.Errorf("resumed without GTIDs: %+v, %v", got, err)
	}
	h.db.Exec("PURGE BINARY LOGS TO '" + h.files[2].name + "'")
	if _, err := src.cfg.resumePlace(t.Context(), conn, s, b, 0); !errors.Is(err, ErrPurged) {
		t.Errorf("purged: %v", err)
	}
	h.db.Exec("RESET BINARY LOGS AND GTIDS")
	if _, err := src.cfg.resumePlace(t.Context(), conn, s, now, 0); !errors.Is(err, ErrHistory) {
		t.Errorf("reset: %v", err)
	}
}
