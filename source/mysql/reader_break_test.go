package mysql

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// recorder takes a log into a model and lets a test act at its elements, in the
// reader's own goroutine: nothing of the log passes meanwhile.
type recorder struct {
	mu    sync.Mutex
	model *sourcetest.Model
	hook  func(e source.Element)
	// kinds counts the changes of each table.
	kinds map[string]int
}

func (o *recorder) Emit(ctx context.Context, e source.Element) error {
	if o.hook != nil {
		o.hook(e)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.Change != nil {
		o.kinds[e.Change.Table.Table+" "+e.Change.Kind.String()]++
	}
	if err := ctx.Err(); err != nil {
		if e.Batch != nil {
			e.Batch.Release()
		}
		return err
	}
	return o.model.Apply(e)
}

func (o *recorder) Triggers() <-chan int64 { return nil }

func (o *recorder) Barrier(context.Context, int64, uint64, []byte) error { return nil }

// lines are the rows that the log has made of a table.
func (o *recorder) lines(id schema.TableID) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.model.Tables[id]; m != nil {
		return m.Lines()
	}
	return nil
}

func (o *recorder) count(what string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kinds[what]
}

// breaker runs one reader over a database.
type breaker struct {
	*testDatabase
	src    *Source
	out    *recorder
	reader *reader
	done   chan error
}

// newSource returns a source over the tables that match.
func (d *testDatabase) newSource(t *testing.T, options map[string]string, match func(schema.TableID) bool) *Source {
	t.Helper()
	opts := map[string]string{"hostname": d.Host, "port": fmt.Sprint(d.Port), "username": d.User, "password": d.Password,
		"tables": "x", "heartbeat.interval": "200ms", "server-time-zone": "UTC", "scan.incremental.snapshot.chunk.size": "50"}
	for k, v := range options {
		opts[k] = v
	}
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	src, err := New(opts, match, logger)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// breakers counts the readers, each of which has a lineage of its own.
var breakers atomic.Int64

// breakAt runs a reader; hook sees each element before it is applied.
func breakAt(t *testing.T, db *testDatabase, src *Source, hook func(e source.Element)) *breaker {
	t.Helper()
	b := &breaker{testDatabase: db, src: src, done: make(chan error, 1), reader: src.NewReader().(*reader),
		out: &recorder{model: sourcetest.NewModel(), hook: hook, kinds: map[string]int{}}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := b.reader.Run(ctx, source.Context{Pipeline: "test", Lineage: fmt.Sprint(t.Name(), breakers.Add(1)), Needs: source.Needs{Before: true, KeylessUpdates: true, ResolvesUnchanged: true, Reset: true}}, b.out)
		b.done <- err
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return b
}

func (b *breaker) id(table string) schema.TableID {
	return schema.TableID{Schema: b.Database, Table: table}
}

// settle waits until the log has made what the tables hold.
func (b *breaker) settle(t *testing.T, tables ...string) {
	t.Helper()
	for _, name := range tables {
		for deadline := time.Now().Add(40 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			want, got := b.content(t, name), b.out.lines(b.id(name))
			if want != nil && slices.Equal(got, want) && b.reader.Progress().SnapshotDone {
				break
			}
			select {
			case err := <-b.done:
				t.Fatalf("reader: %v", err)
			default:
			}
			if time.Now().After(deadline) {
				t.Fatalf("table %s has %d rows of %d, %+v", name, len(got), len(want), b.reader.Progress())
			}
		}
	}
}

// content reads a table as the model prints it; nil where it just changes.
func (b *breaker) content(t *testing.T, name string) []string {
	t.Helper()
	tables, err := b.src.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := sourcetest.NewModel()
	for _, info := range tables {
		if info.Schema.ID != b.id(name) {
			continue
		}
		if err := m.Apply(source.Element{Change: &schema.Change{Kind: schema.ChangeCreateTable, Table: info.Schema.ID, After: info.Schema}}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.src.Rows(t.Context(), info.Schema, func(batch *schema.Batch) error {
			batch.Retain(1)
			return m.Apply(source.Element{Batch: batch})
		}); err != nil {
			return nil
		}
	}
	if m.Tables[b.id(name)] == nil {
		t.Fatalf("no table %s", name)
	}
	return m.Tables[b.id(name)].Lines()
}

func (d *testDatabase) all(id schema.TableID) bool { return id.Schema == d.Database }

// run executes statements one after the other, each on its own.
func run(t *testing.T, db *testDatabase, client int, sql ...string) {
	t.Helper()
	for _, s := range sql {
		if err := db.Exec(client, s); err != nil {
			t.Fatal(err)
		}
	}
}

func of(e source.Element, kind schema.ChangeKind, table string) bool {
	return e.Change != nil && e.Change.Kind == kind && e.Change.Table.Table == table
}

// TestBreakManyPlans: more tables are covered at once than questions may wait.
func TestBreakManyPlans(t *testing.T) {
	db := openDatabase(t, mysqltest.Named(t, "MySQL97"))
	for i := range 70 {
		run(t, db, 1, fmt.Sprintf("CREATE TABLE t%d (id int PRIMARY KEY)", i), fmt.Sprintf("INSERT INTO t%d VALUES (1), (2)", i))
	}
	b := breakAt(t, db, db.newSource(t, map[string]string{"scan.snapshot.parallelism": "36"}, db.all), nil)
	b.settle(t, "t0", "t33", "t69")
}

// TestBreakViewStale: a table without a key changes its columns between the last
// question for the end of the log and its read view.
func TestBreakViewStale(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		run(t, db, 1, "CREATE TABLE bag (a int, v varchar(10))", "INSERT INTO bag VALUES (1, 'x'), (2, 'y')", "CREATE TABLE other (id int PRIMARY KEY)")
		var once, twice sync.Once
		b := breakAt(t, db, db.newSource(t, nil, db.all), func(e source.Element) {
			switch {
			case of(e, schema.ChangeSnapshotStart, "bag"):
				once.Do(func() { run(t, db, 2, "INSERT INTO other VALUES (1)") })
			case e.Batch != nil && e.Batch.Ops != nil && e.Batch.Table.ID.Table == "other":
				twice.Do(func() {
					time.Sleep(500 * time.Millisecond) // the end of the log was asked for
					run(t, db, 3, "ALTER TABLE bag DROP COLUMN v")
				})
			}
		})
		b.settle(t, "bag", "other")
	})
}

// TestBreakDroppedInSnapshot: a table is dropped before it was read.
func TestBreakDroppedInSnapshot(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		for _, name := range []string{"Keyed", "Keyless"} {
			t.Run(name, func(t *testing.T) {
				db := openDatabase(t, s)
				key := map[string]string{"Keyed": " PRIMARY KEY"}[name]
				run(t, db, 1, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)", "CREATE TABLE z (id int"+key+")", "INSERT INTO z VALUES (1), (2)")
				var once sync.Once
				b := breakAt(t, db, db.newSource(t, nil, db.all), func(e source.Element) {
					if of(e, schema.ChangeSnapshotStart, "z") {
						once.Do(func() { run(t, db, 2, "DROP TABLE z") })
					}
				})
				b.settle(t, "t")
				run(t, db, 1, "CREATE TABLE z (id int"+key+")", "INSERT INTO z VALUES (3)")
				b.settle(t, "t", "z")
			})
		}
	})
}

// TestBreakDropAndRename: another table takes the name of one that was dropped,
// and brings its rows.
func TestBreakDropAndRename(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		run(t, db, 1, "CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1), (2, 2)", "CREATE TABLE fresh (id int PRIMARY KEY, v int)", "INSERT INTO fresh VALUES (3, 3)")
		b := breakAt(t, db, db.newSource(t, nil, func(id schema.TableID) bool { return id == schema.TableID{Schema: db.Database, Table: "t"} }), nil)
		b.settle(t, "t")
		run(t, db, 1, "DROP TABLE t", "RENAME TABLE fresh TO t", "INSERT INTO t VALUES (4, 4)")
		select {
		case err := <-b.done:
			if err == nil || !strings.Contains(err.Error(), "scan.rewritten-tables") {
				t.Errorf("error %v", err)
			}
		case <-time.After(2 * time.Minute):
			t.Errorf("rows %q", b.out.lines(b.id("t")))
		}
	})
}

// TestBreakLockedView: somebody holds a table without a key. The others' changes go on.
func TestBreakLockedView(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, name := range []string{"MySQL97", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			db := openDatabase(t, mysqltest.Named(t, name))
			run(t, db, 1, "CREATE TABLE bag (a int)", "INSERT INTO bag VALUES (1), (2)", "CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (1)")
			var once sync.Once
			b := breakAt(t, db, db.newSource(t, nil, db.all), func(e source.Element) {
				if of(e, schema.ChangeSnapshotStart, "bag") {
					once.Do(func() { run(t, db, 2, "LOCK TABLES bag WRITE") })
				}
			})
			time.Sleep(2 * time.Second) // its view is waited for
			run(t, db, 3, "INSERT INTO other VALUES (2)")
			for deadline := time.Now().Add(4 * viewPatience); len(b.out.lines(b.id("other"))) != 2; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the log stands still: %+v", b.reader.Progress())
				}
			}
			run(t, db, 2, "UNLOCK TABLES")
			b.settle(t, "bag", "other")
		})
	}
}

// TestBreakRenamedIndex: the index that a snapshot goes along gets another name, which
// no change of the definition tells.
func TestBreakRenamedIndex(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		sql := rows("")
		run(t, db, 1, strings.Replace(sql[0], "PRIMARY KEY", "NOT NULL, UNIQUE KEY one (id)", 1), sql[1])
		var once sync.Once
		b := breakAt(t, db, db.newSource(t, map[string]string{"scan.snapshot.parallelism": "1"}, db.all), func(e source.Element) {
			if e.Batch != nil && e.Batch.Ops == nil {
				once.Do(func() { run(t, db, 2, "ALTER TABLE t RENAME INDEX one TO two") })
			}
		})
		b.settle(t, "t")
	})
}

// TestBreakKilledControl: the server ends the session that is asked where its log ends.
func TestBreakKilledControl(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		run(t, db, 1, rows("")...)
		account := s.Account(t, "SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.*")
		src := db.newSource(t, map[string]string{"username": account.User, "password": account.Password}, db.all)
		b := breakAt(t, db, src, nil)
		b.settle(t, "t")
		admin := s.Connect(t)
		killed := 0
		for deadline := time.Now().Add(10 * time.Second); killed == 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			for _, row := range admin.Query("SELECT id FROM information_schema.processlist WHERE user = '" + account.User + "' AND command = 'Sleep'") {
				_, _ = admin.Conn.Execute("KILL " + row[0])
				killed++
			}
		}
		time.Sleep(2500 * time.Millisecond)
		run(t, db, 1, "INSERT INTO t VALUES (1000, 'after', 1)")
		b.settle(t, "t")
	})
}
