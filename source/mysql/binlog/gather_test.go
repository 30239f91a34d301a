package binlog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// gather is Gather over a connection of its own.
func gather(t *testing.T, s *mysqltest.Server, file string, until Place, captured func(schema.TableID) bool) ([]*Prepared, []Place) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn, err := wire.Connect(ctx, wire.Config{Host: s.Host, Port: s.Port, User: s.User, Password: s.Password, TLS: wire.TLSConfig{Mode: wire.TLSDisabled}})
	if err != nil {
		t.Fatal(err)
	}
	nextServerID++
	found, begins, err := Gather(ctx, Options{Conn: conn, ServerID: nextServerID, Values: value.Options{MariaDB: s.MariaDB}}, file, until, captured)
	if err != nil {
		t.Fatal(err)
	}
	return found, begins
}

// TestServerGather: a stream that begins behind XA PREPARE gives the rows out at XA
// COMMIT, like one that has seen it, when it is told what Gather found.
func TestServerGather(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		whole := serverOptions(t, db)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))", "CREATE TABLE x_other (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1, 'one'), (2, 'two')")
		xa := func(name string, then ...string) string {
			id := fmt.Sprintf("'%s', '%s'", db.Database, name)
			t.Cleanup(func() { _, _ = db.Conn.Execute("XA ROLLBACK " + id) })
			session := db.NewSession()
			session.Exec("XA START " + id)
			session.Exec(then...)
			session.Exec("XA END "+id, "XA PREPARE "+id)
			session.Conn.Close()
			return id
		}
		committed := xa("a", "UPDATE t SET v = 'a' WHERE id = 1", "INSERT INTO t VALUES (3, 'a')", "INSERT INTO x_other VALUES (3)")
		rolledBack := xa("b", "UPDATE t SET v = 'b' WHERE id = 2")
		early := xa("c", "INSERT INTO t VALUES (4, 'c')")
		nothing := xa("d", "INSERT INTO x_other VALUES (4)")
		decide := func(sql string) { // a session that is gone holds its transaction a moment longer
			for try := 0; ; try++ {
				_, err := db.Conn.Execute(sql)
				if err == nil {
					return
				}
				if try > 100 || !strings.Contains(err.Error(), "XAE04") {
					t.Fatalf("%s: %v", sql, err)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		decide("XA COMMIT " + early)
		db.Exec("XA START 'phase', '"+db.Database+"'", "INSERT INTO t VALUES (5, 'one phase')", "XA END 'phase', '"+db.Database+"'", "XA COMMIT 'phase', '"+db.Database+"' ONE PHASE")
		start, gtids := place(t, db.Session, s.MariaDB)
		found, begins := gather(t, s, whole.Start.File, start, whole.Captured)
		names := map[string]*Prepared{}
		for i, p := range found {
			names[p.ID] = p
			if pos, err := (Files{Base: strings.Split(begins[i].File, ".")[0]}).Position(begins[i]); err != nil || pos != p.Start {
				t.Errorf("%s begins at %s (%v), position %d", p.ID, begins[i], err, p.Start)
			}
		}
		for name, rows := range map[string]bool{"a": true, "b": true, "c": false, "d": false} {
			p := names[fmt.Sprintf("X'%x',X'%x',1", db.Database, name)]
			if (p != nil) != (name != "c") || p != nil && (p.Size > 0) != rows {
				t.Errorf("%s: %+v", name, p)
			}
		}
		decide("XA COMMIT " + committed)
		decide("XA ROLLBACK " + rolledBack)
		decide("XA COMMIT " + nothing)
		end, _ := place(t, db.Session, s.MariaDB)
		// The same place tells the same when more is decided and prepared behind it.
		xa("e", "INSERT INTO t VALUES (9, 'e')")
		again, _ := gather(t, s, whole.Start.File, start, whole.Captured)
		if !slices.EqualFunc(found, again, func(a, b *Prepared) bool { return a.ID == b.ID && a.Size == b.Size }) {
			t.Errorf("found %d, and %d later", len(found), len(again))
		}
		all := follow(t, openStream(t, s, whole), end)
		o := whole
		o.Catalog, o.Start, o.GTIDs, o.Prepared = all.groups[len(all.groups)-1].Catalog, start, gtids, found
		nextServerID++
		o.ServerID = nextServerID
		from, err := (Files{Base: strings.Split(start.File, ".")[0]}).Position(start)
		if err != nil {
			t.Fatal(err)
		}
		got, want := follow(t, openStream(t, s, o), end).lines(from), all.lines(from)
		if got != want || strings.Count(got, "\n") != 3 {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
