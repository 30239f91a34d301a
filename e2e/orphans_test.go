package e2e

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	iceberggo "github.com/apache/iceberg-go"
	sqlcat "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/pipeline"
)

// TestOrphansAfterCrashes kills a pipeline at every named point, while its files are
// written, committed and removed, and while the catalog holds a commit up half way.
// After the next start the warehouse has the files that the tables' snapshots
// need, and not one more.
func TestOrphansAfterCrashes(t *testing.T) {
	url := newDatabase(t)
	conn, change := orders(t, url)
	execute(t, conn, "CREATE TABLE notes (a int, b text); ALTER TABLE notes REPLICA IDENTITY FULL")
	p := newPipeline(t, "orphans", url, func(p *process.Pipeline) {
		p.Settings["execution.checkpointing.interval"] = "50ms"
		p.Sink["history.expire.max-snapshot-age"] = "1ms"
		p.Sink["history.expire.min-snapshots-to-keep"] = "3"
		p.Sink["table.properties.write.metadata.previous-versions-max"] = "3"
		p.Sink["table.properties.commit.manifest.min-count-to-merge"] = "4"
	})
	work := func() {
		t.Helper()
		change()
		execute(t, conn, "INSERT INTO notes SELECT i, 'n' FROM generate_series(1, 5) i; UPDATE notes SET b = b || '.' WHERE a = 3")
	}
	// The first commit of all: the tables' first metadata files have no row.
	undo := refuse(t, p, "INSERT")
	run := start(t, p)
	eventually(t, "a table that can't be created", runTimeout, func() bool { return strings.Contains(run.Output(), "crash") })
	run.Kill()
	run.Wait()
	undo()
	for _, point := range []string{"iceberg.before-commit:1", "iceberg.committed:2", "iceberg.deletes-written:1", "iceberg.before-commit:5", "iceberg.expiring:1", "iceberg.expiring:20", "iceberg.committed:7", "iceberg.expiring:3"} {
		work()
		dies(t, p, work, point)
	}
	undo = refuse(t, p, "UPDATE")
	run = start(t, p)
	work()
	eventually(t, "a commit that fails", runTimeout, func() bool { return strings.Contains(run.Output(), "crash") })
	run.Kill()
	run.Wait()
	undo()
	left := without(warehouseFiles(t, p), neededFiles(t, p))
	if len(left) == 0 {
		t.Error("the crashes left nothing: this test shows nothing")
	}
	age(t, p, time.Hour)
	work()
	catchUp(t, p) // sweeps
	equal(t, p, "public.orders")
	needed, have := neededFiles(t, p), warehouseFiles(t, p)
	t.Logf("%d files that nothing needs before the last start; after it, %d files, %d of them needed", len(left), len(have), len(needed))
	for _, f := range without(have, needed) {
		t.Errorf("no snapshot needs %s", f)
	}
	for _, f := range without(needed, have) {
		t.Errorf("%s is missing", f)
	}
}

// without returns the members of a that are not in b.
func without(a, b []string) (out []string) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// dies runs the pipeline until it kills itself at the point.
func dies(t *testing.T, p process.Pipeline, work func(), point string) {
	t.Helper()
	run := start(t, p, pipeline.CrashVariable+"="+point)
	for deadline := time.Now().Add(runTimeout); ; {
		select {
		case <-run.Done():
			if r := run.Wait(); r.Signal != syscall.SIGKILL {
				t.Fatalf("%s: exit code %d\n%s", point, r.Code, r.Tail(30))
			}
			return
		case <-time.After(100 * time.Millisecond):
			if time.Now().After(deadline) {
				t.Fatalf("%s is not reached\n%s", point, run.Output())
			}
			work()
		}
	}
}

// catalogDB opens the catalog's database.
func catalogDB(t *testing.T, p process.Pipeline) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.Dir, "catalog.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// refuse makes the catalog fail where it would write a table's row, after it has written
// the metadata file; the result undoes it.
func refuse(t *testing.T, p process.Pipeline, what string) (undo func()) {
	t.Helper()
	db := catalogDB(t, p)
	if _, err := sqlcat.NewCatalog("freshet", db, sqlcat.SQLite, iceberggo.Properties{}); err != nil { // makes its tables
		t.Fatal(err)
	}
	statement := func(sql string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	statement(fmt.Sprintf("CREATE TRIGGER crash BEFORE %s ON iceberg_tables BEGIN SELECT RAISE(ABORT, 'crash'); END", what))
	return func() { statement("DROP TRIGGER crash") }
}

// age makes all files of the warehouse old: what is young may be in use.
func age(t *testing.T, p process.Pipeline, by time.Duration) {
	t.Helper()
	old := time.Now().Add(-by)
	for _, f := range warehouseFiles(t, p) {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// warehouseFiles are the paths of all files of the warehouse.
func warehouseFiles(t *testing.T, p process.Pipeline) (out []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(p.Dir, "warehouse"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// neededFiles are the paths of all files that the catalog's tables name.
func neededFiles(t *testing.T, p process.Pipeline) (out []string) {
	t.Helper()
	cat, err := sqlcat.NewCatalog("freshet", catalogDB(t, p), sqlcat.SQLite, iceberggo.Properties{})
	if err != nil {
		t.Fatal(err)
	}
	need := func(location string) { out = append(out, strings.TrimPrefix(location, "file://")) }
	for ident, err := range cat.ListTables(t.Context(), []string{"public"}) {
		if err != nil {
			t.Fatal(err)
		}
		tbl, err := cat.LoadTable(t.Context(), ident)
		if err != nil {
			t.Fatal(err)
		}
		need(tbl.MetadataLocation())
		for f := range tbl.Metadata().PreviousFiles() {
			need(f.MetadataFile)
		}
		for _, s := range tbl.Metadata().Snapshots() {
			snapshotFiles(t, s, need)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// snapshotFiles names the manifest list of a snapshot, its manifests and their files.
func snapshotFiles(t *testing.T, s table.Snapshot, need func(string)) {
	t.Helper()
	need(s.ManifestList)
	manifests, err := s.Manifests(iceio.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		need(m.FilePath())
		for e, err := range m.Entries(iceio.LocalFS{}, false) {
			if err != nil {
				t.Fatal(err)
			}
			need(e.DataFile().FilePath())
		}
	}
}
