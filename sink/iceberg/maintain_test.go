package iceberg

import (
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/freshet-cdc/freshet/schema"
)

// TestExpiry: old snapshots and metadata go, with every file that only they needed,
// and nothing else does; branches and tags of the user stay readable.
func TestExpiry(t *testing.T) {
	l := newLab(t, map[string]string{
		"history.expire.max-snapshot-age": "1ms", "history.expire.min-snapshots-to-keep": "3",
		"table.properties." + propPreviousVersions: "4", "table.properties." + propMinMerge: "4",
	})
	l.start()
	l.committer().expireBatch = 2
	l.insert(1)
	l.checkpoint()
	tagged := l.load(l.id).CurrentSnapshot().SnapshotID
	cat, err := l.sink.open(l.ctx)
	l.must(err)
	_, _, err = cat.CommitTable(l.ctx, identifier(l.id), nil, []table.Update{table.NewSetSnapshotRefUpdate("audit", tagged, table.TagRef, 0, 0, 0)})
	l.must(err)
	for i := range 20 {
		time.Sleep(2 * time.Millisecond)
		l.insert(10 + i)
		l.write(l.id, l.def, schema.OpUpdate, 1)
		if i == 10 {
			l.must(l.rig.Change(l.ctx, l.id, &schema.Change{Kind: schema.ChangeTruncate, Table: l.def.ID, Before: l.def, After: l.def}))
			l.insert(1)
		}
		l.checkpoint()
		if i%5 == 0 {
			l.wantNoOrphans(l.id)
		}
	}
	l.wantNoOrphans(l.id)
	meta := l.load(l.id).Metadata()
	if n := len(meta.Snapshots()); n > 3+2+2 {
		t.Errorf("%d snapshots are left", n)
	}
	if meta.SnapshotByID(tagged) == nil {
		t.Error("the tagged snapshot is gone")
	}
	tbl := l.load(l.id)
	for _, s := range meta.Snapshots() {
		at, err := tbl.Scan(table.WithSnapshotID(s.SnapshotID)).ToArrowTable(l.ctx)
		if err != nil {
			t.Errorf("snapshot %d can't be read any more: %v", s.SnapshotID, err)
			continue
		}
		at.Release()
	}
	got, _, err := l.rig.Read(l.ctx, l.def, l.id)
	l.must(err)
	if len(got) != 10 {
		t.Errorf("%d rows, want 10", len(got))
	}
}

// TestExpiryKeepsCheckpoints: a table can still be rolled back as far as min-snapshots-to-keep goes.
func TestExpiryKeepsCheckpoints(t *testing.T) {
	l := newLab(t, map[string]string{"history.expire.max-snapshot-age": "1ms", "history.expire.min-snapshots-to-keep": "3"})
	l.start()
	l.committer().expireBatch = 1
	for i := range 8 {
		time.Sleep(2 * time.Millisecond)
		l.insert(i)
		l.checkpoint()
	}
	l.lose(2)
	l.start()
	l.want(0, 1, 2, 3, 4, 5)
	l.insert(6)
	l.checkpoint()
	l.lose(1)
	l.rig.Checkpoints = l.rig.Checkpoints[:1] // long expired
	wantStateError(t, l.rig.Start(l.ctx, 1), "has been expired")
}

// TestExpiryKeepsRetained: whatever a table's properties say, it can go back to
// every retained checkpoint.
func TestExpiryKeepsRetained(t *testing.T) {
	l := newLab(t, map[string]string{"history.expire.max-snapshot-age": "1ms", "table.properties." + propMinSnapshots: "1"})
	l.rig.Retained = 4
	l.start()
	l.committer().expireBatch = 1
	for i := range 8 {
		time.Sleep(2 * time.Millisecond)
		l.insert(i)
		l.checkpoint()
	}
	if n := len(l.load(l.id).Metadata().Snapshots()); n > 5 {
		t.Errorf("%d snapshots are left", n)
	}
	l.lose(3) // the oldest of 4 is left
	l.start()
	l.want(0, 1, 2, 3, 4)
}

// TestExpiryOff keeps everything.
func TestExpiryOff(t *testing.T) {
	for _, off := range []string{"history.expire.enabled", "table.properties." + propGC} {
		l := newLab(t, map[string]string{"history.expire.max-snapshot-age": "1ms", "history.expire.min-snapshots-to-keep": "1", off: "false"})
		l.start()
		l.committer().expireBatch = 1
		for i := range 4 {
			time.Sleep(2 * time.Millisecond)
			l.insert(i)
			l.checkpoint()
		}
		if n := len(l.load(l.id).Metadata().Snapshots()); n != 4 {
			t.Errorf("%s=false: %d snapshots are left", off, n)
		}
	}
}
