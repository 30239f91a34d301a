package mysql

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/window"
)

// TestChangedBefore: which events of the log leave the place of a view uncertain.
func TestChangedBefore(t *testing.T) {
	const uuid = "a3d3476a-ecd3-11f1-928b-02fc00000001"
	done, err := binlog.ParseGTIDSet(uuid + ":1-5")
	if err != nil {
		t.Fatal(err)
	}
	ev := func(offset uint64, end uint32, kind, info string) logEvent { return logEvent{offset, end, kind, info} }
	gtid := func(offset uint64, end uint32, n int) logEvent {
		return ev(offset, end, "Gtid", fmt.Sprintf("SET @@SESSION.GTID_NEXT= '%s:%d'", uuid, n))
	}
	ours, other := "table_id: 7 (d.bag)", "table_id: 8 (d.bagged)"
	for _, c := range []struct {
		name    string
		events  []logEvent
		changed bool
		seen    uint64
	}{
		{"Nothing", nil, true, 0},
		{"Visible", []logEvent{gtid(100, 110, 5), ev(110, 120, "Query", "BEGIN"), ev(120, 130, "Table_map", ours), ev(130, 1000, "Xid", "")}, false, 1000},
		{"Unsure", []logEvent{gtid(100, 120, 5), ev(120, 200, "Table_map", ours), gtid(200, 210, 6), ev(210, 220, "Query", "BEGIN"), ev(220, 230, "Table_map", ours), ev(230, 1000, "Xid", "")}, true, 200},
		{"OtherTable", []logEvent{gtid(200, 210, 6), ev(210, 220, "Query", "BEGIN"), ev(220, 225, "Table_map", other), ev(225, 230, "Query", "SAVEPOINT `x`"), ev(230, 1000, "Xid", "")}, false, 200},
		{"Behind", []logEvent{gtid(200, 220, 5), ev(220, 1000, "Table_map", ours), gtid(1000, 1020, 6), ev(1020, 1030, "Table_map", ours)}, false, 1000},
		{"OutOfOrder", []logEvent{gtid(200, 220, 7), ev(220, 300, "Table_map", other), gtid(300, 320, 4), ev(320, 1000, "Table_map", ours)}, false, 200},
		{"Statement", []logEvent{gtid(200, 210, 6), ev(210, 1000, "Query", "use `d`; TRUNCATE bag")}, true, 200},
		{"Packed", []logEvent{gtid(200, 210, 6), ev(210, 1000, "Transaction_payload", "")}, true, 200},
		{"PackedAndVisible", []logEvent{gtid(200, 210, 1), ev(210, 1000, "Transaction_payload", "")}, false, 1000},
		{"Anonymous", []logEvent{ev(200, 1000, "Anonymous_Gtid", "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'")}, true, 1000},
		{"Unreadable", []logEvent{ev(200, 220, "Gtid", "?"), ev(220, 1000, "Table_map", ours)}, true, 200},
		{"NotWhole", []logEvent{gtid(100, 110, 5), ev(110, 120, "Query", "BEGIN"), ev(130, 900, "Xid", "")}, true, 0},
	} {
		changed, seen := changedBefore(c.events, done, schema.TableID{Schema: "d", Table: "bag"}, 1000)
		if changed != c.changed || seen != c.seen {
			t.Errorf("%s: changed %t, seen %d", c.name, changed, seen)
		}
	}
}

// TestViewUnsure: a transaction is in the log and, because a replica is waited for, not
// visible. A view of its table has no certain place, and none is given; one of another
// table has.
func TestViewUnsure(t *testing.T) {
	s := mysqltest.Private(t, "MySQL97", "plugin-load-add=semisync_source.so", "loose-rpl-semi-sync-source-timeout=4000", "loose-rpl-semi-sync-source-wait-no-replica=ON").Server
	db := openDatabase(t, s)
	run(t, db, 1, "CREATE TABLE bag (a int)", "INSERT INTO bag VALUES (1)", "CREATE TABLE other (a int)")
	src := db.newSource(t, nil, db.all)
	tables, err := src.Discover(t.Context())
	if err != nil || len(tables) != 2 {
		t.Fatal(tables, err)
	}
	conn, err := src.cfg.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	status, err := readStatus(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	base, _, err := binlog.ParseFile(status.File)
	if err != nil {
		t.Fatal(err)
	}
	files := binlog.Files{Base: base}
	from, err := files.Position(binlog.Place{File: status.File, Offset: status.Pos})
	if err != nil {
		t.Fatal(err)
	}
	s.Connect(t).Exec("SET GLOBAL rpl_semi_sync_source_enabled = ON")
	done := make(chan error, 1)
	go func() { done <- db.Exec(2, "INSERT INTO bag VALUES (2)") }()
	for at := status; at.Pos == status.Pos; time.Sleep(10 * time.Millisecond) {
		if at, err = readStatus(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	c := &control{reader: snapshot.NewReader(src.cfg.connect, snapshot.Settings{}), connect: src.cfg.connect}
	defer c.close()
	for i, want := range []outcome{viewUnsure, viewOpened} {
		a := viewAttempt{from: from, tail: snapshot.Tail{GTIDs: status.Executed, Place: snapshot.Place{File: status.File, Offset: status.Pos}}, def: tables[i].Schema, files: files}
		v, out, err := a.open(t.Context(), c)
		if err != nil || out != want || (v != nil) != (want == viewOpened) {
			t.Errorf("%s: %v, %v, %v", tables[i].Schema.ID, v, out, err)
		}
		if v != nil {
			if !v.Exact {
				t.Errorf("%s: the view is not exact", tables[i].Schema.ID)
			}
			v.Close()
		}
	}
	select {
	case err := <-done:
		t.Fatalf("the server did not wait: %v", err)
	default:
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestBusyBag: a table without a key is read although it is written to all the time, and
// its snapshot does not start anew for that.
func TestBusyBag(t *testing.T) {
	for _, c := range []struct {
		name    string
		writers int
		pause   time.Duration
	}{{"One", 1, 2 * time.Millisecond}, {"Many", 3, 0}} {
		t.Run(c.name, func(t *testing.T) {
			mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
				db := openDatabase(t, s)
				run(t, db, 1, "CREATE TABLE bag (a int, b varchar(20))", "INSERT INTO bag VALUES (1, 'x'), (1, 'x'), (2, 'y')", "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
				var stop atomic.Bool
				var wg sync.WaitGroup
				for w := range c.writers {
					wg.Go(func() {
						for n := 0; !stop.Load(); n++ {
							if err := db.Exec(10+w, fmt.Sprintf("INSERT INTO bag VALUES (%d, 'w%d')", n, w), fmt.Sprintf("DELETE FROM bag WHERE a = %d AND b = 'w%d'", n-100, w)); err != nil {
								t.Error(err)
								return
							}
							time.Sleep(c.pause)
						}
					})
				}
				end := sync.OnceFunc(func() { stop.Store(true); wg.Wait() })
				defer end()
				account := s.Account(t, minimal(s, db.Database)...)
				b := breakAt(t, db, db.newSource(t, map[string]string{"username": account.User, "password": account.Password}, db.all), nil)
				for deadline := time.Now().Add(60 * time.Second); !b.reader.Progress().SnapshotDone || len(b.out.lines(b.id("bag"))) == 0; time.Sleep(20 * time.Millisecond) {
					select {
					case err := <-b.done:
						t.Fatal(err)
					default:
					}
					if time.Now().After(deadline) {
						t.Fatalf("%+v", b.reader.Progress())
					}
				}
				time.Sleep(200 * time.Millisecond)
				end()
				b.settle(t, "bag", "t")
				if n := b.out.count("bag " + schema.ChangeReset.String()); n != 0 {
					t.Errorf("the snapshot started anew %d times", n)
				}
			})
		})
	}
}

// TestRestless: when no moment is found for long, the error names the table and the way out.
func TestRestless(t *testing.T) {
	r := &reader{cfg: &config{restPatience: time.Hour}, logger: slog.New(slog.DiscardHandler)}
	ts := &tableState{def: &schema.Table{ID: schema.TableID{Schema: "d", Table: "bag"}}, catchUp: 7}
	r.core = window.New(window.Options{})
	if err := r.restless(ts); err != nil || ts.catchUp != 0 {
		t.Errorf("the first time: %v", err)
	}
	r.cfg.restPatience = 0
	if err := r.restless(ts); !errors.Is(err, errNoView) || !strings.Contains(err.Error(), "d.bag") || !strings.Contains(hint(t, err), "primary key") {
		t.Errorf("after long: %v", err)
	}
}
