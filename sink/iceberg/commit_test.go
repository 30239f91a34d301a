package iceberg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

func recordOf(sc *arrow.Schema, events []event) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
	defer b.Release()
	for _, e := range events {
		for i, f := range sc.Fields() {
			if v, ok := e.values[f.Name]; !ok {
				b.Field(i).AppendNull()
			} else if err := b.Field(i).AppendValueFromString(v); err != nil {
				panic(err)
			}
		}
	}
	return b.NewRecordBatch()
}

func readerOf(sc *arrow.Schema, rec arrow.RecordBatch) array.RecordReader {
	r, err := array.NewRecordReader(sc, []arrow.RecordBatch{rec})
	if err != nil {
		panic(err)
	}
	return r
}

// faulty is a catalog whose commits go wrong as fail says, once a call.
type faulty struct {
	store
	mu    sync.Mutex
	fail  []func(ctx context.Context, commit func() error) error
	calls int
}

func (f *faulty) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (meta table.Metadata, loc string, err error) {
	f.mu.Lock()
	f.calls++
	var fault func(context.Context, func() error) error
	if len(f.fail) > 0 {
		fault, f.fail = f.fail[0], f.fail[1:]
	}
	f.mu.Unlock()
	commit := func() error {
		meta, loc, err = f.store.CommitTable(ctx, id, reqs, updates)
		return err
	}
	if fault == nil {
		return meta, loc, commit()
	}
	err = fault(ctx, commit)
	return meta, loc, err
}

var errLine = errors.New("connection reset by peer")

// TestCommitSurvivesFaults: whatever the catalog answers, the checkpoint is in the
// table once.
func TestCommitSurvivesFaults(t *testing.T) {
	for name, fault := range map[string]func(context.Context, func() error) error{
		"race refused by a requirement": func(_ context.Context, _ func() error) error {
			return errors.New(`requirement failed: branch "main" has changed: expected id 1, found 2`)
		},
		"race refused in the update": func(context.Context, func() error) error { return fmt.Errorf("%w: moved", table.ErrCommitFailed) },
		"lost before it took place":  func(context.Context, func() error) error { return errLine },
		"answer lost":                func(_ context.Context, commit func() error) error { return errors.Join(commit(), errLine) },
		"refused though it took place": func(_ context.Context, commit func() error) error {
			return errors.Join(commit(), table.ErrCommitFailed)
		},
		"late, nothing happened": func(ctx context.Context, _ func() error) error { <-ctx.Done(); return ctx.Err() },
		"late, after it took place": func(ctx context.Context, commit func() error) error {
			if err := commit(); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, map[string]string{"commit.timeout": "3s"})
			f := &faulty{}
			l.sink.wrap = func(s store) store { f.store = s; return f }
			l.start()
			l.insert(1, 2)
			l.checkpoint()
			f.fail = append(f.fail, fault)
			l.insert(3)
			l.write(l.id, l.def, schema.OpUpdate, 1)
			l.checkpoint()
			l.insert(4)
			l.checkpoint()
			l.wantCheckpoints(1, 2, 3)
			l.want(1, 2, 3, 4)
		})
	}
}

// TestCatalogThatDoesNotAnswer ends with an error that names the option, in bounded time.
func TestCatalogThatDoesNotAnswer(t *testing.T) {
	l := newLab(t, map[string]string{"commit.timeout": "200ms"})
	hang := func(ctx context.Context, _ func() error) error { <-ctx.Done(); return ctx.Err() }
	f := &faulty{fail: []func(context.Context, func() error) error{hang, hang, hang}}
	l.sink.wrap = func(s store) store { f.store = s; return f }
	l.start()
	l.insert(1)
	began := time.Now()
	_, err := l.rig.Checkpoint(l.ctx, nil)
	if err == nil || !strings.Contains(err.Error(), "did not answer within 200ms") || !strings.Contains(err.Error(), "commit.timeout") {
		t.Fatalf("got %v", err)
	}
	if d := time.Since(began); d > 30*time.Second {
		t.Fatalf("it took %s", d)
	}
	// After a restart the checkpoint is finished.
	l.rig.Crash()
	l.start()
	l.want(1)
	l.wantCheckpoints(1)
}

// TestRaceWithAnotherWriter: appends by others come between ours and stay.
func TestRaceWithAnotherWriter(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	l.checkpoint()
	l.foreignAppend(100)
	l.insert(2)
	l.checkpoint()
	l.wantCheckpoints(1, -1, 2)
	l.want(1, 2, 100)
}

// TestCommitAgain: committing a published checkpoint a second time changes nothing,
// wherever the first time ended.
func TestCommitAgain(t *testing.T) {
	for _, point := range []string{"iceberg.before-commit", "iceberg.committed"} {
		t.Run(point, func(t *testing.T) {
			l := newLab(t, nil)
			l.start()
			l.insert(1, 2)
			l.checkpoint()
			l.write(l.id, l.def, schema.OpDelete, 2)
			l.insert(3)
			cp, err := l.rig.Prepare(l.ctx, true, nil)
			l.must(err)
			ctx, cancel := context.WithCancel(l.ctx)
			l.rig.Reached = func(p string) {
				if p == point {
					cancel()
				}
			}
			_ = l.rig.Committer.Commit(ctx, cp.ID) // it died there
			l.rig.Reached = func(string) {}
			for range 2 {
				l.rig.Crash()
				l.start()
				l.wantCheckpoints(1, 2)
				l.want(1, 3)
			}
			before := l.load(l.id).MetadataLocation()
			l.checkpoint() // nothing to do: no snapshot, no metadata file
			if after := l.load(l.id).MetadataLocation(); after != before {
				t.Errorf("an empty checkpoint wrote %s", after)
			}
		})
	}
}

// TestRowsChangeRows: all of a checkpoint is one snapshot, schema changes included, though two
// changes in one transaction of iceberg-go fail.
func TestRowsChangeRows(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	l.checkpoint()
	l.insert(2)
	for i, name := range []string{"a", "b", "c"} {
		after := l.def.Clone()
		col := schema.Column{Name: name, Type: schema.BigInt(), Nullable: true}
		after.Columns = append(after.Columns, col)
		l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: schema.ChangeAddColumn, Table: l.def.ID, Before: l.def, After: after, Columns: []schema.Column{col}}))
		l.def = after
		l.insert(10 + i)
	}
	dropped := l.def.Clone()
	dropped.Columns = dropped.Columns[:4]
	l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: schema.ChangeDropColumn, Table: l.def.ID, Before: l.def, After: dropped, Columns: l.def.Columns[4:]}))
	l.def = dropped
	l.insert(20)
	l.checkpoint()
	l.wantCheckpoints(1, 2)
	l.want(1, 2, 10, 11, 12, 20)
	meta := l.load(l.id).Metadata()
	if got := meta.LastColumnID(); got != 5 {
		t.Errorf("last column id %d, want 5: the id of c may be given out again", got)
	}
	if got, want := *meta.CurrentSnapshot().SchemaID, meta.CurrentSchema().ID; got != want {
		t.Errorf("the snapshot has schema %d, the table %d", got, want)
	}
	if f, _ := meta.CurrentSchema().FindFieldByName("b"); f.ID != 4 {
		t.Errorf("column b has field id %d, want 4", f.ID)
	}
}

// TestTruncateIsOneStep: readers see the table before or after, with the rows that
// follow, in one snapshot whose counters are right.
func TestTruncateIsOneStep(t *testing.T) {
	for _, kind := range []schema.ChangeKind{schema.ChangeTruncate, schema.ChangeReset} {
		t.Run(kind.String(), func(t *testing.T) {
			l := newLab(t, nil)
			l.start()
			l.insert(1, 2, 3)
			l.checkpoint()
			l.write(l.id, l.def, schema.OpUpdate, 2)
			l.checkpoint()
			l.insert(4)
			l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: kind, Table: l.def.ID, Before: l.def, After: l.def}))
			l.insert(2, 5)
			l.checkpoint()
			l.wantCheckpoints(1, 2, 3)
			l.want(2, 5)
			sum := l.load(l.id).CurrentSnapshot().Summary
			for key, want := range map[string]string{"total-records": "2", "total-delete-files": "0", "total-position-deletes": "0", "deleted-records": "4", "removed-delete-files": "1"} {
				if got := sum.Properties[key]; got != want {
					t.Errorf("%s is %q, want %s", key, got, want)
				}
			}
			if sum.Operation != table.OpOverwrite {
				t.Errorf("operation %s", sum.Operation)
			}
			l.write(l.id, l.def, schema.OpDelete, 5)
			l.checkpoint()
			l.want(2)
		})
	}
}

// TestManifestsStayFew: neither data nor delete manifests grow with the number of checkpoints.
func TestManifestsStayFew(t *testing.T) {
	l := newLab(t, map[string]string{"table.properties." + propMinMerge: "5"})
	l.start()
	l.insert(1, 2)
	l.checkpoint()
	for i := range 23 {
		l.write(l.id, l.def, schema.OpUpdate, 1)
		l.insert(10 + i)
		l.checkpoint()
	}
	manifests, err := l.load(l.id).CurrentSnapshot().Manifests(durableFS{})
	l.must(err)
	count := map[iceberggo.ManifestContent]int{}
	for _, m := range manifests {
		count[m.ManifestContent()]++
	}
	if count[iceberggo.ManifestContentData] > 6 || count[iceberggo.ManifestContentDeletes] > 6 {
		t.Errorf("manifests after 24 checkpoints: %v", count)
	}
	got, _, err := l.rig.Read(l.ctx, l.def, l.id)
	l.must(err)
	if len(got) != 25 {
		t.Errorf("%d rows, want 25", len(got))
	}
}

// TestOneDeleteFile: all deletes of a checkpoint are in one file that names no
// single data file.
func TestOneDeleteFile(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	for i := range 4 {
		l.insert(10*i, 10*i+1, 10*i+2)
		l.checkpoint()
	}
	for i := range 4 {
		l.write(l.id, l.def, schema.OpUpdate, 10*i)
		l.write(l.id, l.def, schema.OpDelete, 10*i+1)
	}
	l.checkpoint()
	sum := l.load(l.id).CurrentSnapshot().Summary.Properties
	if sum["added-delete-files"] != "1" || sum["added-position-deletes"] != "8" {
		t.Errorf("summary %v", sum)
	}
	l.want(0, 2, 10, 12, 20, 22, 30, 32)
}

// TestManyTables commits 16 tables side by side in each checkpoint.
func TestManyTables(t *testing.T) {
	l := newLab(t, map[string]string{"commit.parallelism": "8"})
	l.start()
	var ids []schema.TableID
	for i := range 16 {
		id := schema.TableID{Schema: "shop", Table: "t" + strconv.Itoa(i)}
		ids = append(ids, id)
		l.announce(id, l.def.WithID(id))
	}
	for round := range 3 {
		for _, id := range ids {
			l.write(id, l.def.WithID(id), schema.OpInsert, round)
		}
		l.checkpoint()
	}
	for _, id := range ids {
		got, pos, err := l.rig.Read(l.ctx, l.def.WithID(id), id)
		l.must(err)
		if len(got) != 3 || pos != l.rig.Position {
			t.Errorf("%s: %v at %d, want 3 rows at %d", id, got, pos, l.rig.Position)
		}
	}
}

// TestStagedTable: nothing of a staged snapshot is seen before its end, then all of it
// at once, also when a crash and a reset come between.
func TestStagedTable(t *testing.T) {
	l := newLab(t, nil)
	l.def = orders()
	l.start()
	staged := func(kind schema.ChangeKind) *schema.Change {
		return &schema.Change{Kind: kind, Table: l.def.ID, Before: l.def, After: l.def, Staged: true}
	}
	l.must(l.rig.Change(l.ctx, l.id, staged(schema.ChangeSnapshotStart)))
	l.write(l.id, l.def, schema.OpRead, 1, 2)
	l.checkpoint()
	l.write(l.id, l.def, schema.OpRead, 3)
	l.checkpoint()
	l.want()
	l.rig.Crash()
	l.start()
	l.must(l.rig.Change(l.ctx, l.id, staged(schema.ChangeReset)))
	l.write(l.id, l.def, schema.OpRead, 4, 5)
	l.checkpoint()
	l.want()
	l.wantNoOrphans(l.id) // the files of the first try are gone
	l.write(l.id, l.def, schema.OpRead, 6)
	l.must(l.rig.Change(l.ctx, l.id, staged(schema.ChangeSnapshotDone)))
	l.insert(7)
	l.checkpoint()
	l.want(4, 5, 6, 7)
	l.wantNoOrphans(l.id)
}

// TestStagedFilesOutliveAnAttempt: files that wait in the state are no orphans of the
// attempt that wrote them.
func TestStagedFilesOutliveAnAttempt(t *testing.T) {
	l := newLab(t, nil)
	l.def = orders()
	l.start()
	staged := func(kind schema.ChangeKind) {
		l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: kind, Table: l.def.ID, Before: l.def, After: l.def, Staged: true}))
	}
	staged(schema.ChangeSnapshotStart)
	l.write(l.id, l.def, schema.OpRead, 1, 2)
	l.checkpoint()
	l.rig.Crash()
	l.start()
	l.write(l.id, l.def, schema.OpRead, 3)
	l.checkpoint()
	l.wantNoOrphans(l.id)
	staged(schema.ChangeSnapshotDone)
	l.checkpoint()
	l.want(1, 2, 3)
	l.wantNoOrphans(l.id)
}

// TestCollectKeepsNothingOfAFailure: a checkpoint that can't be collected is no part of the next.
func TestCollectKeepsNothingOfAFailure(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	if _, err := l.rig.Committer.Collect(l.ctx, 1, 1, [][]sink.Committable{{"nonsense"}}); err == nil {
		t.Fatal("a foreign committable went through")
	}
	l.insert(1)
	l.checkpoint()
	l.want(1)
}
