package iceberg

import (
	"errors"
	"os"
	"strings"
	"testing"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/sinktest"
)

// lose drops the newest published checkpoints, as if they were corrupt.
func (l *lab) lose(n int) {
	l.rig.Crash()
	l.rig.Checkpoints = l.rig.Checkpoints[:len(l.rig.Checkpoints)-n]
}

// TestRollBack: tables ahead of the restored checkpoint go back to it, schema,
// marker and all, and what was undone leaves no file.
func TestRollBack(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1, 2)
	l.checkpoint()
	old := l.def
	l.def = old.Clone()
	l.def.Columns = append(l.def.Columns, schema.Column{Name: "extra", Type: schema.Int(), Nullable: true})
	l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: schema.ChangeAddColumn, Table: old.ID, Before: old, After: l.def, Columns: l.def.Columns[2:]}))
	l.insert(3)
	l.checkpoint()
	l.write(l.id, l.def, schema.OpDelete, 1)
	second := schema.TableID{Schema: "shop", Table: "second"}
	l.announce(second, orders("id").WithID(second))
	l.write(second, orders("id").WithID(second), schema.OpInsert, 1)
	l.checkpoint()

	l.lose(2)
	l.def = old
	l.start()
	l.wantCheckpoints(1)
	l.want(1, 2)
	meta := l.load(l.id).Metadata()
	if m, _, _ := tableMarker(meta); m.Checkpoint != 1 {
		t.Errorf("the marker says checkpoint %d", m.Checkpoint)
	}
	if meta.CurrentSchema().NumFields() != 2 || len(meta.Snapshots()) != 1 {
		t.Errorf("%d columns, %d snapshots", meta.CurrentSchema().NumFields(), len(meta.Snapshots()))
	}
	if _, _, err := l.rig.Read(l.ctx, old, second); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("the table that is newer than the checkpoint: %v", err)
	}
	// The log comes again, this time with another column.
	l.def = old.Clone()
	l.def.Columns = append(l.def.Columns, schema.Column{Name: "other", Type: schema.String(), Nullable: true})
	l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: schema.ChangeAddColumn, Table: old.ID, Before: old, After: l.def, Columns: l.def.Columns[2:]}))
	l.insert(3)
	l.checkpoint()
	l.want(1, 2, 3)
	l.wantNoOrphans(l.id)
	l.committer().chores.wait()
	for name := range l.files(second) {
		if _, _, ours := owner(name); ours {
			t.Errorf("left of the dropped table: %s", name)
		}
	}
}

// TestNoRollBackOverOthers: what others committed on top is never thrown away.
func TestNoRollBackOverOthers(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	l.checkpoint()
	l.insert(2)
	l.checkpoint()
	l.foreignAppend(100)
	l.lose(1)
	wantStateError(t, l.rig.Start(l.ctx, 1), "can't be rolled back", "someone else committed snapshot")
	l.want(1, 2, 100)
}

// TestWipedCheckpoints: a start without a checkpoint over tables that the pipeline wrote.
func TestWipedCheckpoints(t *testing.T) {
	for name, lineage := range map[string]string{"same lineage": "", "another lineage": uuid.NewString()} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.start()
			l.insert(1)
			l.checkpoint()
			l.rig.Crash()
			l.rig.Checkpoints = nil
			if lineage != "" {
				l.rig.Lineage = lineage
			}
			wantStateError(t, l.rig.Start(l.ctx, 1), "starts without a checkpoint", "shop.orders", "checkpoint 1")
			l.want(1)
		})
	}
}

// TestForeignLineage: a checkpoint directory that is not the one that wrote the tables.
func TestForeignLineage(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	l.checkpoint()
	l.rig.Crash()
	l.rig.Lineage = uuid.NewString()
	wantStateError(t, l.rig.Start(l.ctx, 1), "shop.orders", "lineage")
	l.want(1)
}

// TestTwoPipelinesOneTable: the second pipeline must not write into the first one's table.
func TestTwoPipelinesOneTable(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	l.checkpoint()
	l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: schema.ChangeTruncate, Table: l.def.ID, Before: l.def, After: l.def}))
	l.rig.Crash()

	// The marker's pipeline differs, so only the commit can tell.
	l.foreign(func(tx *table.Transaction) error {
		return tx.SetProperties(iceberggo.Properties{markerPipeline: "q"})
	})
	l.rig = sinktest.NewRig(t, l.sink, l.rig.Mem)
	l.start()
	l.insert(2)
	_, err := l.rig.Checkpoint(l.ctx, nil)
	wantStateError(t, err, `pipeline "q"`)
	l.want(1)
}

// TestOldStateOfTheTable: the table was dropped, or brought back to an older state, behind the checkpoint.
func TestOldStateOfTheTable(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	l.checkpoint()
	first := l.load(l.id).CurrentSnapshot().SnapshotID
	l.insert(2)
	l.checkpoint()

	// While running: set back by a ref.
	cat, err := l.sink.open(l.ctx)
	l.must(err)
	_, _, err = cat.CommitTable(l.ctx, identifier(l.id), nil, []table.Update{table.NewSetSnapshotRefUpdate(table.MainBranch, first, table.BranchRef, 0, 0, 0)})
	l.must(err)
	l.insert(3)
	_, err = l.rig.Checkpoint(l.ctx, nil)
	wantStateError(t, err, "set it back to checkpoint 1")
	l.rig.Crash()

	l.must(cat.DropTable(l.ctx, identifier(l.id)))
	wantStateError(t, l.rig.Start(l.ctx, 1), "gone from the catalog")
}

// TestExistingTable: a table of somebody else is refused, or taken over when it fits and the option says so.
func TestExistingTable(t *testing.T) {
	staged, err := newStagedSchema(orders("id"), schema.TableID{Schema: "shop", Table: "orders"}, modeUpsert)
	if err != nil {
		t.Fatal(err)
	}
	other := iceberggo.NewSchema(0, iceberggo.NestedField{ID: 1, Name: "id", Type: iceberggo.PrimitiveTypes.String, Required: true})
	for name, c := range map[string]struct {
		schema *iceberggo.Schema
		accept bool
		want   string
	}{
		"refused":     {staged.numbered(0), false, optAccept},
		"misfit":      {other, true, "column 1 is"},
		"taken over":  {staged.numbered(0), true, ""},
		"misfit, off": {other, false, optAccept},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, map[string]string{optAccept: map[bool]string{true: "true", false: "false"}[c.accept]})
			cat, err := l.sink.open(l.ctx)
			l.must(err)
			l.must(ensureNamespace(l.ctx, cat, identifier(l.id)))
			_, err = cat.CreateTable(l.ctx, identifier(l.id), c.schema, catalog.WithLocation(l.sink.opts.location(l.id)))
			l.must(err)
			l.start()
			l.insert(1)
			_, err = l.rig.Checkpoint(l.ctx, nil)
			if c.want != "" {
				wantStateError(t, err, c.want)
				return
			}
			l.must(err)
			l.want(1)
		})
	}
}

// TestForeignRewrite: others may not rewrite files that the key index points to; in a
// changelog they may.
func TestForeignRewrite(t *testing.T) {
	for _, mode := range []string{"upsert", "append"} {
		t.Run(mode, func(t *testing.T) {
			l := newLab(t, map[string]string{"write.mode": mode})
			l.start()
			l.insert(1, 2, 3)
			l.checkpoint()
			l.foreign(func(tx *table.Transaction) error {
				return tx.Delete(l.ctx, iceberggo.EqualTo(iceberggo.Reference("id"), int32(2)), nil)
			})
			l.insert(4)
			_, err := l.rig.Checkpoint(l.ctx, nil)
			if mode == "upsert" {
				wantStateError(t, err, "key index points to")
				return
			}
			l.must(err)
			l.want(1, 3, 4)
		})
	}
}

// TestForeignSchemaChange: a column that another tool added stays until the source changes the schema.
func TestForeignSchemaChange(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1)
	l.checkpoint()
	l.foreign(func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).AddColumn([]string{"mine"}, iceberggo.PrimitiveTypes.String, "", false, nil).Commit()
	})
	l.insert(2)
	l.checkpoint()
	l.want(1, 2)
	after := l.def.Clone()
	after.Columns = append(after.Columns, schema.Column{Name: "extra", Type: schema.Int(), Nullable: true})
	l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: schema.ChangeAddColumn, Table: l.def.ID, Before: l.def, After: after, Columns: after.Columns[2:]}))
	_, err := l.rig.Checkpoint(l.ctx, nil)
	wantStateError(t, err, "someone else changed its schema", "mine")
}

// TestOrphans: files of failed attempts go, files of others and files that wait stay.
func TestOrphans(t *testing.T) {
	l := newLab(t, nil)
	l.start()
	l.insert(1, 2)
	l.checkpoint()
	for range 2 { // attempts that die with a checkpoint prepared and not published
		l.insert(3, 4)
		l.write(l.id, l.def, schema.OpDelete, 1)
		_, err := l.rig.Prepare(l.ctx, false, nil)
		l.must(err)
		l.rig.Crash()
		l.start()
	}
	root, err := localPath(l.sink.opts.location(l.id))
	l.must(err)
	foreign := []string{root + "/data/someone-else.parquet", root + "/data/deadbeef-00001-000-00001-" + uuid.NewString() + ".parquet", root + "/metadata/" + uuid.NewString() + "-m0.avro"}
	for _, f := range foreign {
		l.must(os.WriteFile(f, []byte("x"), 0o644))
	}
	before := len(l.files(l.id))
	l.insert(5)
	_, err = l.rig.Prepare(l.ctx, true, nil) // waits for its commit while the orphans go
	l.must(err)
	l.committer().chores.wait()
	l.must(l.rig.Committer.Commit(l.ctx, l.rig.Checkpoints[1].ID))
	for _, f := range foreign {
		if _, err := os.Stat(f); err != nil {
			t.Errorf("a file of someone else: %v", err)
		}
		l.must(os.Remove(f))
	}
	l.want(1, 2, 5)
	l.wantNoOrphans(l.id)
	if after := len(l.files(l.id)); after >= before {
		t.Errorf("%d files before, %d after", before, after)
	}
}

// TestDamagedState: bytes that are no state of ours are refused, not guessed at.
func TestDamagedState(t *testing.T) {
	for text, want := range map[string]string{"": "unreadable", "{": "unreadable", `{"version":9}`: "version 9", `{"version":1,"staged":[{}]}`: "no schema"} {
		if _, err := decodeState([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
