package iceberg

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/schema"
)

// die ends the attempt as a kill would: the work in the background stops where it is.
func (l *lab) die() {
	l.committer().chores.cancel()
	l.committer().chores.wg.Wait()
	l.rig.Crash()
}

// sql runs a statement on the catalog's database.
func (l *lab) sql(format string, args ...any) {
	l.t.Helper()
	_, err := l.sink.open(l.ctx)
	l.must(err)
	_, err = l.sink.db.ExecContext(l.ctx, fmt.Sprintf(format, args...))
	l.must(err)
}

// refuse lets the catalog fail after it has written the metadata file, as a crash
// before the row is written would; the result undoes it.
func (l *lab) refuse(what string) (undo func()) {
	l.t.Helper()
	if strings.HasPrefix(l.opts[optURI], "sqlite") {
		l.sql("CREATE TRIGGER crash BEFORE %s ON iceberg_tables BEGIN SELECT RAISE(ABORT, 'crash'); END", what)
		return func() { l.sql("DROP TRIGGER crash") }
	}
	l.sql("CREATE OR REPLACE FUNCTION crash() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''crash''; END'")
	l.sql("CREATE TRIGGER crash BEFORE %s ON iceberg_tables EXECUTE FUNCTION crash()", what)
	return func() { l.sql("DROP TRIGGER crash ON iceberg_tables") }
}

// age makes all files of the warehouse old.
func (l *lab) age(by time.Duration) {
	l.t.Helper()
	root, err := localPath(l.sink.opts.warehouse)
	l.must(err)
	old := time.Now().Add(-by)
	l.must(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chtimes(path, old, old)
		}
		return err
	}))
}

// sweep takes an idle checkpoint and waits for what it removes.
func (l *lab) sweep() {
	l.t.Helper()
	l.checkpoint()
	l.committer().chores.wait()
}

func (l *lab) path(file string) string {
	l.t.Helper()
	root, err := localPath(l.sink.opts.location(l.id))
	l.must(err)
	return filepath.Join(root, file)
}

// metadataFiles counts the metadata files on disk.
func (l *lab) metadataFiles() int {
	n := 0
	for name := range l.files(l.id) {
		if strings.HasSuffix(name, ".metadata.json") {
			n++
		}
	}
	return n
}

// TestOrphansOfEveryCrash: wherever an attempt dies, the start after it leaves the
// files that the table needs, and no other.
func TestOrphansOfEveryCrash(t *testing.T) {
	crashes := map[string]func(l *lab){
		"data files are written": func(l *lab) {
			l.insert(50)
			_, err := l.rig.Prepare(l.ctx, false, nil)
			l.must(err)
		},
		"metadata is written, its row is not": func(l *lab) {
			defer l.refuse("UPDATE")()
			l.insert(50)
			if _, err := l.rig.Checkpoint(l.ctx, nil); err == nil || !strings.Contains(err.Error(), "crash") {
				l.t.Fatalf("the commit went through: %v", err)
			}
		},
		"metadata is cut off": func(l *lab) {
			name := fmt.Sprintf("metadata/00001-%s.metadata.json", uuid.NewString())
			l.must(os.WriteFile(l.path(name), []byte(`{"format-version":2,"table-uuid":"`), 0o644))
		},
		"expired files are there": func(l *lab) {
			l.committer().chores.cancel()
			l.committer().expireBatch = 1
			for i := range 5 {
				time.Sleep(2 * time.Millisecond)
				l.write(l.id, l.def, schema.OpUpdate, 1)
				l.insert(60 + i)
				l.checkpoint()
			}
		},
		"old metadata is there": func(l *lab) {
			before := l.load(l.id)
			for i := range 6 {
				l.insert(70 + i)
				l.checkpoint()
			}
			old := baseName(before.MetadataLocation())
			data, err := os.ReadFile(l.path("metadata/" + baseName(l.load(l.id).MetadataLocation())))
			l.must(err)
			l.must(os.WriteFile(l.path("metadata/"+old), data, 0o644)) // as if it had not been removed yet
		},
		"a table is rolled back": func(l *lab) {
			l.insert(50)
			l.checkpoint()
			l.rig.Checkpoints = l.rig.Checkpoints[:len(l.rig.Checkpoints)-1]
		},
	}
	for name, crash := range crashes {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, map[string]string{
				"history.expire.max-snapshot-age": "1ms", "history.expire.min-snapshots-to-keep": "2", "table.properties." + propPreviousVersions: "3"})
			l.start()
			for i := range 4 {
				l.insert(i)
				l.checkpoint()
			}
			crash(l)
			l.die()
			l.start()
			l.age(2 * orphanAge)
			l.insert(100)
			l.sweep()
			l.wantNoOrphans(l.id)
		})
	}
}

// TestOrphanOfCreate: the first metadata file of a table that the catalog did not get.
func TestOrphanOfCreate(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	cp, err := l.rig.Prepare(l.ctx, true, nil)
	l.must(err)
	cat, err := l.sink.open(l.ctx)
	l.must(err)
	l.must(ensureNamespace(l.ctx, cat, identifier(l.id)))
	undo := l.refuse("INSERT")
	if err := l.rig.Committer.Commit(l.ctx, cp.ID); err == nil {
		t.Fatal("the table was created")
	}
	// iceberg-go removes the file when it hears of the failure; a crash does not.
	props := marker{Lineage: l.rig.Lineage, Pipeline: "p"}.properties()
	meta, err := table.NewMetadata(iceberggo.NewSchema(0), iceberggo.UnpartitionedSpec, table.UnsortedSortOrder, l.sink.opts.location(l.id), props)
	l.must(err)
	data, err := meta.(interface{ MarshalJSON() ([]byte, error) }).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	l.must(os.MkdirAll(l.path("metadata"), 0o755))
	l.must(os.WriteFile(l.path("metadata/00000-"+uuid.NewString()+".metadata.json"), data, 0o644))
	l.die()
	undo()
	l.start()
	l.age(2 * orphanAge)
	l.insert(2)
	l.sweep()
	l.wantNoOrphans(l.id)
}

// TestMetadataThatStays: what may still be committed, is young, is kept on purpose or
// was written by others.
func TestMetadataThatStays(t *testing.T) {
	for name, c := range map[string]struct {
		more map[string]string
		make func(l *lab, current []byte) (file string, content []byte)
		age  time.Duration
		want bool
	}{
		"removed":   {make: func(l *lab, current []byte) (string, []byte) { return "00001", current }, age: 2 * orphanAge},
		"young":     {make: func(l *lab, current []byte) (string, []byte) { return "00001", current }, age: orphanAge / 2, want: true},
		"in flight": {make: func(l *lab, current []byte) (string, []byte) { return "00999", current }, age: 2 * orphanAge, want: true},
		"of a table that lay here before": {make: func(l *lab, current []byte) (string, []byte) {
			id := l.load(l.id).Metadata().TableUUID().String()
			return "00999", []byte(strings.ReplaceAll(string(current), id, uuid.NewString()))
		}, age: 2 * orphanAge},
		"of another lineage": {make: func(l *lab, current []byte) (string, []byte) {
			return "00001", []byte(strings.ReplaceAll(string(current), l.rig.Lineage, uuid.NewString()))
		}, age: 2 * orphanAge, want: true},
		"of another writer": {make: func(l *lab, current []byte) (string, []byte) {
			return "00001", []byte(strings.ReplaceAll(string(current), "-"+lineage8(l.rig.Lineage)+"-", "-0badcafe-"))
		}, age: 2 * orphanAge, want: true},
		"history that is kept": {more: map[string]string{"table.properties." + propDeleteMetadata: "false", "table.properties." + propPreviousVersions: "1"},
			make: func(l *lab, current []byte) (string, []byte) { return "00001", current }, age: 2 * orphanAge, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, c.more)
			l.start()
			for i := range 4 {
				l.insert(i)
				l.checkpoint()
			}
			current, err := os.ReadFile(l.path("metadata/" + baseName(l.load(l.id).MetadataLocation())))
			l.must(err)
			version, content := c.make(l, current)
			file := l.path(fmt.Sprintf("metadata/%s-%s.metadata.json", version, uuid.NewString()))
			l.must(os.WriteFile(file, content, 0o644))
			l.die()
			l.start()
			l.age(c.age)
			l.sweep()
			if _, err := os.Stat(file); (err == nil) != c.want {
				t.Errorf("stays: %t, want %t", err == nil, c.want)
			}
			if name != "young" {
				return
			}
			before := l.metadataFiles()
			l.committer().now = func() time.Time { return time.Now().Add(orphanAge) }
			l.sweep() // the same attempt comes back to it
			if _, err := os.Stat(file); err == nil || l.metadataFiles() != before-1 {
				t.Errorf("it is still there when it is old enough (%v); %d metadata files before, %d after", err, before, l.metadataFiles())
			}
		})
	}
}

// TestStrayFolders: the files of a table that never came to be, and is captured no
// more; the folder of a table that was renamed is another matter.
func TestStrayFolders(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	l.checkpoint()
	stray := schema.TableID{Schema: "shop", Table: "stray"}
	def := l.def.WithID(stray)
	l.announce(stray, def)
	l.write(stray, def, schema.OpInsert, 1, 2)
	_, err := l.rig.Prepare(l.ctx, false, nil)
	l.must(err)
	if n := len(l.files(stray)); n == 0 {
		t.Fatal("no file was written")
	}
	// A table that somebody has made over files of ours, under another name.
	renamed := schema.TableID{Schema: "shop", Table: "renamed"}
	l.announce(renamed, l.def.WithID(renamed))
	l.write(renamed, l.def.WithID(renamed), schema.OpInsert, 1)
	_, err = l.rig.Prepare(l.ctx, false, nil)
	l.must(err)
	cat, err := l.sink.open(l.ctx)
	l.must(err)
	sc, err := newStagedSchema(l.def, renamed, modeUpsert)
	l.must(err)
	_, err = cat.CreateTable(l.ctx, []string{"shop", "theirs"}, sc.numbered(0), catalog.WithLocation(l.sink.opts.location(renamed)))
	l.must(err)
	kept := maps.Clone(l.files(renamed))
	l.die()

	l.start()
	l.insert(2)
	l.announce(renamed, l.def.WithID(renamed)) // captured again: its folder is swept as a table's
	l.write(renamed, l.def.WithID(renamed), schema.OpInsert, 1)
	_, err = l.rig.Prepare(l.ctx, false, nil)
	l.must(err)
	l.committer().chores.wait()
	if left := l.files(stray); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for name := range kept {
		if !l.files(renamed)[name] {
			t.Errorf("%s of a table with another name is gone", name)
		}
	}
}

// TestCloseFinishesMaintenance: a pipeline that ends well leaves nothing to do.
func TestCloseFinishesMaintenance(t *testing.T) {
	l := newLab(t, map[string]string{"history.expire.max-snapshot-age": "1ms", "history.expire.min-snapshots-to-keep": "2"})
	l.start()
	for range 6 {
		l.committer().expireBatch = 1
		l.committer().chores.do(func(context.Context) { time.Sleep(100 * time.Millisecond) })
		l.write(l.id, l.def, schema.OpUpdate, 1)
		l.checkpoint()
		l.rig.Crash() // closes, as an end by itself does
		used, err := (&Committer{fs: durableFS{}}).usedFiles(l.ctx, l.load(l.id).Metadata())
		l.must(err)
		for name := range l.files(l.id) {
			if !used[name] && !strings.HasSuffix(name, ".metadata.json") {
				t.Errorf("orphan: %s", name)
			}
		}
		l.start()
	}
}
