package iceberg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/source/postgres/pgtest"
)

// postgres starts a server for catalogs, or skips where there is none.
func postgres(t *testing.T) *pgtest.Server {
	t.Helper()
	srv, err := pgtest.Start(t.Context(), pgtest.Options{})
	if errors.Is(err, pgtest.ErrNoBinaries) {
		t.Skipf("no PostgreSQL on this machine: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Stop() })
	return srv
}

var databases atomic.Int64

// newCatalog makes a database for one catalog and returns its URI.
func newCatalog(t *testing.T, srv *pgtest.Server) string {
	t.Helper()
	conn := connectTo(t, srv, "postgres")
	name := fmt.Sprintf("catalog%d", databases.Add(1))
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return srv.URL(name)
}

func connectTo(t *testing.T, srv *pgtest.Server, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), srv.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// TestOnPostgresCatalog runs what the sink promises on a catalog in PostgreSQL.
func TestOnPostgresCatalog(t *testing.T) {
	srv := postgres(t)
	labCatalog = func(t *testing.T) string { return newCatalog(t, srv) }
	defer func() { labCatalog = nil }()
	for name, test := range map[string]func(*testing.T){
		"faults": TestCommitSurvivesFaults, "no answer": TestCatalogThatDoesNotAnswer, "race": TestRaceWithAnotherWriter, "again": TestCommitAgain,
		"rows, change, rows": TestRowsChangeRows, "truncate": TestTruncateIsOneStep, "many tables": TestManyTables, "staged": TestStagedTable,
		"roll back": TestRollBack, "others": TestNoRollBackOverOthers, "wiped": TestWipedCheckpoints, "lineage": TestForeignLineage, "two pipelines": TestTwoPipelinesOneTable,
		"old state": TestOldStateOfTheTable, "existing": TestExistingTable, "rewrite": TestForeignRewrite, "schema change": TestForeignSchemaChange, "orphans": TestOrphans,
		"expiry": TestExpiry, "retained": TestExpiryKeepsRetained, "crashes": TestOrphansOfEveryCrash, "create": TestOrphanOfCreate, "strays": TestStrayFolders,
	} {
		t.Run(name, test)
	}
}

// TestPostgresCatalogDown: a catalog that is away is an error that another attempt
// may cure, before the start and in the middle of a commit; nothing is lost or doubled.
func TestPostgresCatalogDown(t *testing.T) {
	srv := postgres(t)
	l := newLab(t, map[string]string{optURI: newCatalog(t, srv), "commit.timeout": "2s", "commit.retry.total-timeout": "2s"})
	l.start()
	l.insert(1)
	l.checkpoint()
	l.insert(2)
	cp, err := l.rig.Prepare(l.ctx, true, nil)
	l.must(err)
	srv.Kill9()
	began := time.Now()
	if err = l.rig.Committer.Commit(l.ctx, cp.ID); err == nil || isPermanent(err) {
		t.Fatalf("commit without a catalog: %v", err)
	}
	l.rig.Crash()
	if err := l.rig.Start(l.ctx, 1); err == nil || isPermanent(err) {
		t.Fatalf("start without a catalog: %v", err)
	}
	problems := l.sink.Check(l.ctx)
	var option *sink.OptionError
	if len(problems) != 1 || !errors.As(problems[0], &option) || option.Key != optURI || option.Hint == "" {
		t.Errorf("problems: %v", problems)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the errors took %s", took)
	}
	l.must(srv.Restart(l.ctx))
	l.start()
	l.wantCheckpoints(1, 2)
	l.want(1, 2)
	l.insert(3)
	l.checkpoint()
	l.want(1, 2, 3)
}

func isPermanent(err error) bool {
	var p interface{ Permanent() bool }
	return errors.As(err, &p) && p.Permanent()
}

// TestPostgresCatalogRestarts: the connections of the pool are dead after a restart
// of the server; the next commit must not fail for that.
func TestPostgresCatalogRestarts(t *testing.T) {
	srv := postgres(t)
	l := newLab(t, map[string]string{optURI: newCatalog(t, srv)})
	l.start()
	for i := range 3 {
		l.insert(i)
		l.checkpoint()
		srv.Kill9()
		l.must(srv.Restart(l.ctx))
	}
	l.want(0, 1, 2)
	l.wantCheckpoints(1, 2, 3)
}

// TestPostgresCatalogReturns: a commit waits for a catalog that is away, and goes on.
func TestPostgresCatalogReturns(t *testing.T) {
	srv := postgres(t)
	l := newLab(t, map[string]string{optURI: newCatalog(t, srv)})
	l.start()
	l.insert(1)
	l.checkpoint()
	srv.Kill9()
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(3 * time.Second)
		if err := srv.Restart(l.ctx); err != nil {
			t.Error(err)
		}
	})
	l.insert(2)
	l.checkpoint()
	wg.Wait()
	l.wantCheckpoints(1, 2)
	l.want(1, 2)
}

// TestPostgresCatalogLate: someone holds the catalog's table. The commit waits, its
// attempts end in time, and the last one goes through.
func TestPostgresCatalogLate(t *testing.T) {
	srv := postgres(t)
	uri := newCatalog(t, srv)
	l := newLab(t, map[string]string{optURI: uri, "commit.timeout": "1s"})
	l.start()
	l.insert(1)
	l.checkpoint()
	conn := connectTo(t, srv, uri[strings.LastIndexByte(uri, '/')+1:strings.IndexByte(uri, '?')])
	for _, held := range []time.Duration{300 * time.Millisecond, 1500 * time.Millisecond} {
		tx, err := conn.Begin(l.ctx)
		l.must(err)
		_, err = tx.Exec(l.ctx, "LOCK TABLE iceberg_tables IN ACCESS EXCLUSIVE MODE")
		l.must(err)
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(held)
			if err := tx.Rollback(l.ctx); err != nil {
				t.Error(err)
			}
		})
		l.insert(int(held))
		l.checkpoint()
		wg.Wait()
	}
	l.wantCheckpoints(1, 2, 3)
	// Held for longer than all attempts: an error that says who was late.
	tx, err := conn.Begin(l.ctx)
	l.must(err)
	_, err = tx.Exec(l.ctx, "LOCK TABLE iceberg_tables IN ACCESS EXCLUSIVE MODE")
	l.must(err)
	l.insert(7)
	_, err = l.rig.Checkpoint(l.ctx, nil)
	if err == nil || isPermanent(err) || !strings.Contains(err.Error(), "did not answer within 1s") {
		t.Errorf("got %v", err)
	}
	l.must(tx.Rollback(l.ctx))
	l.rig.Crash()
	l.start()
	l.wantCheckpoints(1, 2, 3, 4)
}

// TestConcurrentForeignWriter: another tool appends all the time, on its own
// connection. Every row of both is there once, whoever loses which race.
func TestConcurrentForeignWriter(t *testing.T) {
	for _, catalog := range []string{"sqlite", "postgres"} {
		for _, mode := range []string{"upsert", "append"} {
			t.Run(catalog+"/"+mode, func(t *testing.T) {
				more := map[string]string{"write.mode": mode}
				if catalog == "postgres" {
					more[optURI] = newCatalog(t, postgres(t))
				}
				l := newLab(t, more)
				l.start()
				l.insert(1)
				l.checkpoint()
				stop, theirs := appendAll(t, l)
				defer stop()
				want := []int{1}
				for i := range 25 {
					l.insert(2 + i)
					want = append(want, 2+i)
					l.write(l.id, l.def, schema.OpUpdate, 1)
					l.checkpoint()
				}
				stop()
				ids := *theirs
				if len(ids) < 3 {
					t.Errorf("the other writer made only %d commits: no race", len(ids))
				}
				t.Logf("%d commits of the other writer", len(ids))
				l.want(append(want, ids...)...)
				own := 0
				for _, id := range l.checkpoints() {
					if id >= 0 {
						own++
					}
				}
				if own != 26 {
					t.Errorf("%d of 26 checkpoints have a snapshot", own)
				}
				l.wantNoOrphansOfOurs()
			})
		}
	}
}

// appendAll appends rows as another tool until stop is called; then ids are those that went in.
func appendAll(t *testing.T, l *lab) (stop func(), ids *[]int) {
	t.Helper()
	other, err := New(l.opts, nil)
	l.must(err)
	cat, err := other.open(l.ctx)
	l.must(err)
	var done []int
	ctx, cancel := context.WithCancel(l.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer other.Close()
		for id := 1000; ctx.Err() == nil; id++ {
			tbl, err := cat.LoadTable(l.ctx, identifier(l.id))
			if err != nil {
				t.Error(err)
				return
			}
			tx := tbl.NewTransaction()
			if err := l.appendTo(tbl, tx, id); err != nil {
				t.Error(err)
				return
			}
			if _, err := tx.Commit(l.ctx); err == nil {
				done = append(done, id)
			}
		}
	})
	return func() { cancel(); wg.Wait() }, &done
}

// appendTo adds one row to a transaction of another tool.
func (l *lab) appendTo(tbl *table.Table, tx *table.Transaction, id int) error {
	sc, err := schemaOf(tbl.Schema())
	if err != nil {
		return err
	}
	values := map[string]string{"id": fmt.Sprint(id)}
	if _, ok := tbl.Schema().FindFieldByName(columnOp); ok {
		values[columnOp], values[columnPos], values[columnOrdinal] = "c", "0", fmt.Sprint(id)
	}
	rec := recordOf(sc, []event{{values: values}})
	defer rec.Release()
	return tx.Append(l.ctx, readerOf(sc, rec), iceberggo.Properties{})
}

// wantNoOrphansOfOurs checks that of our own data files and manifests only those are
// there that the table needs: a lost race leaves nothing.
func (l *lab) wantNoOrphansOfOurs() {
	l.t.Helper()
	l.committer().chores.wait()
	used, err := l.committer().usedFiles(l.ctx, l.load(l.id).Metadata())
	l.must(err)
	for name := range l.files(l.id) {
		if _, _, ours := owner(name); ours && !used[name] {
			l.t.Errorf("orphan: %s", name)
		}
	}
}
