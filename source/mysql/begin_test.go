package mysql

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// TestBeginUnderAlter: the definitions are those in force at the place, however
// often tables are altered meanwhile.
func TestBeginUnderAlter(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY)")
		src := sourceOf(t, s, db.Database)
		first, err := startOf(t, src.cfg)
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		var altering sync.WaitGroup
		w := db.NewSession()
		altering.Go(func() {
			for i := range 200 {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(i%7) * 10 * time.Millisecond):
					w.Exec(fmt.Sprintf("ALTER TABLE t ADD COLUMN c%d INT", i))
				}
			}
		})
		defer altering.Wait()
		defer close(stop)
		for range 5 {
			conn, srv := open(t, src.cfg)
			b, now, err := src.cfg.begin(t.Context(), conn, srv)
			if errors.Is(err, errRestless) {
				t.Log(err)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			columns := len(now.Definitions[0].Columns)
			if altered := alters(t, src.cfg, first, b.Place, db.Database); altered != columns-1 {
				t.Fatalf("%d columns at %s, in front of which the binlog has %d ALTERs", columns, b.Place, altered)
			}
		}
	})
}

// alters counts the ALTERs of a database between two places.
func alters(t *testing.T, cfg *config, from beginning, to binlog.Place, database string) int {
	t.Helper()
	n, reached := 0, false
	r := wire.DumpRequest{File: from.Place.File, Position: from.Place.Offset, EndAtEOF: true}
	err := cfg.scan(t.Context(), r, func(e scanned) (bool, error) {
		reached = reached || e.file == to.File
		if reached && (e.file != to.File || e.start >= to.Offset) {
			return true, nil
		}
		if e.Type == event.QueryType && bytes.Contains(e.body, []byte(database)) && bytes.Contains(e.body, []byte("ADD COLUMN")) {
			n++
		}
		return false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCatalogueHoldsAllTablesOfItsDatabases(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE orders (id INT PRIMARY KEY)", "CREATE TABLE _orders_gho (id INT PRIMARY KEY, v INT)", "CREATE VIEW v AS SELECT * FROM orders")
		src := sourceOf(t, s, db.Database)
		src.cfg.match = func(id schema.TableID) bool { return id.Schema == db.Database && id.Table == "orders" }
		conn, srv := open(t, src.cfg)
		c, err := src.cfg.loadCatalogue(t.Context(), conn, srv)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range c.Definitions {
			names = append(names, d.ID.String())
		}
		if got := strings.Join(names, " "); got != db.Database+"._orders_gho "+db.Database+".orders" || len(c.Captured) != 1 {
			t.Errorf("%s, captured %v", got, c.Captured)
		}
		complete := 0
		for _, d := range c.Databases {
			if d.Complete {
				complete++
			}
			if d.Name == db.Database && (!d.Complete || d.Charset == "" || d.Collation == "") {
				t.Errorf("%+v", d)
			}
		}
		if complete != 1 || len(c.Databases) < 2 {
			t.Errorf("%d of %d databases are complete", complete, len(c.Databases))
		}
		again, err := src.cfg.loadCatalogue(t.Context(), conn, srv)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Errorf("read again it is another: %v", err)
		}
	})
}

func TestHiddenColumns(t *testing.T) {
	t.Run("functional key", func(t *testing.T) {
		s := mysqltest.Named(t, "MySQL97")
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (a INT, b VARCHAR(10), INDEX i ((a + 1), b), UNIQUE u ((LOWER(b))))", "SET SESSION sql_generate_invisible_primary_key = ON", "CREATE TABLE g (a INT)")
		src := sourceOf(t, s, db.Database)
		conn, srv := open(t, src.cfg)
		c, err := src.cfg.loadCatalogue(t.Context(), conn, srv)
		if err != nil {
			t.Fatal(err)
		}
		g, tab := c.Definitions[0], c.Definitions[1]
		if len(g.Columns) != 2 || g.Columns[0].Name != "my_row_id" || !g.Columns[0].Invisible || !g.Keys[0].Primary {
			t.Errorf("generated key: %+v", g)
		}
		if n := len(tab.Columns); n != 4 || !tab.Columns[2].Hidden || !tab.Columns[3].Hidden {
			t.Errorf("columns %+v", tab.Columns)
		}
	})
	t.Run("long unique key", func(t *testing.T) {
		s := mysqltest.Named(t, "MariaDB118")
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (a TEXT NOT NULL UNIQUE, b INT NOT NULL UNIQUE)", "CREATE TABLE m (a INT NOT NULL, PRIMARY KEY (a) USING HASH) ENGINE=MEMORY")
		src := sourceOf(t, s, db.Database)
		conn, srv := open(t, src.cfg)
		c, err := src.cfg.loadCatalogue(t.Context(), conn, srv)
		if err != nil {
			t.Fatal(err)
		}
		memory, long := c.Definitions[0], c.Definitions[1]
		if memory.Keys[0].Hash {
			t.Error("a hash index of MEMORY is no hidden column")
		}
		for _, k := range long.Keys {
			if k.Hash != (k.Parts[0].Column == "a") {
				t.Errorf("%+v", k)
			}
		}
	})
}

// TestTablesVanish: the definitions are read in several queries; tables that go between
// them don't end anything.
func TestTablesVanish(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE kept (id INT PRIMARY KEY)")
		src := sourceOf(t, s, db.Database)
		conn, srv := open(t, src.cfg)
		stop := make(chan struct{})
		done := make(chan struct{})
		session := db.NewSession()
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					session.Exec("CREATE TABLE gone (id INT PRIMARY KEY)", "DROP TABLE gone")
				}
			}
		}()
		defer func() { close(stop); <-done }()
		vanished := 0
		for range 50 {
			if _, gone, err := src.cfg.readCatalogue(t.Context(), conn, srv); err != nil {
				t.Fatal(err)
			} else if gone.Table != "" {
				vanished++
			}
			if _, err := src.cfg.loadCatalogue(t.Context(), conn, srv); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("in %d of 50 reads it vanished", vanished)
	})
}
