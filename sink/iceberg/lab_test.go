package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/sinktest"
)

// lab is a real catalog and warehouse in a folder, written through the sink.
type lab struct {
	t    *testing.T
	ctx  context.Context
	dir  string
	opts map[string]string
	sink *Sink
	rig  *sinktest.Rig
	def  *schema.Table
	id   schema.TableID
}

func orders(key ...string) *schema.Table {
	return &schema.Table{ID: schema.TableID{Schema: "shop", Table: "orders"}, Version: 1, PrimaryKey: key, Columns: []schema.Column{
		{Name: "id", Type: schema.Int(), Nullable: len(key) == 0}, {Name: "note", Type: schema.String(), Nullable: true},
	}}
}

// labCatalog, where it is set, gives each lab a catalog of its own; else it is a file.
var labCatalog func(t *testing.T) string

func newLab(t *testing.T, more map[string]string) *lab {
	l := &lab{t: t, ctx: context.Background(), dir: t.TempDir(), def: orders("id"), id: schema.TableID{Schema: "shop", Table: "orders"}}
	l.opts = map[string]string{
		optType: "sql", optURI: "sqlite://" + l.dir + "/catalog.db", optWarehouse: "file://" + l.dir + "/warehouse",
	}
	if labCatalog != nil {
		l.opts[optURI] = labCatalog(t)
	}
	maps.Copy(l.opts, more)
	l.open()
	l.rig = sinktest.NewRig(t, l.sink, leakChecked(t))
	t.Cleanup(func() {
		l.rig.Crash()
		if err := l.sink.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *lab) open() {
	l.t.Helper()
	s, err := New(l.opts, slog.New(slog.NewTextHandler(l.t.Output(), nil)))
	l.must(err)
	l.sink = s
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// start opens an attempt and announces the table.
func (l *lab) start() {
	l.t.Helper()
	l.must(l.rig.Start(l.ctx, 2))
	l.announce(l.id, l.def)
}

func (l *lab) announce(id schema.TableID, def *schema.Table) {
	l.t.Helper()
	l.must(l.rig.Change(l.ctx, id, &schema.Change{Kind: schema.ChangeCreateTable, Table: def.ID, After: def}))
}

// insert writes rows with these ids.
func (l *lab) insert(ids ...int) { l.t.Helper(); l.write(l.id, l.def, schema.OpInsert, ids...) }

func (l *lab) write(id schema.TableID, def *schema.Table, op schema.Op, ids ...int) {
	l.t.Helper()
	l.rig.Position += 10
	var events []event
	for i, n := range ids {
		values := map[string]string{"id": strconv.Itoa(n)}
		for _, c := range def.Columns[1:] {
			values[c.Name] = fmt.Sprint(op) + "-" + strconv.Itoa(n)
			if c.Type.Kind != schema.KindString {
				values[c.Name] = strconv.Itoa(n)
			}
		}
		events = append(events, event{op: op, pos: l.rig.Position, ordinal: uint32(i), values: values})
	}
	l.must(l.rig.Rows(l.ctx, id, rowsBatch(l.rig.Mem, def, events)))
}

func (l *lab) checkpoint() *sinktest.Checkpoint {
	l.t.Helper()
	cp, err := l.rig.Checkpoint(l.ctx, nil)
	l.must(err)
	return cp
}

func (l *lab) committer() *Committer { return l.rig.Committer.(*Committer) }

// load returns the table as the catalog has it.
func (l *lab) load(id schema.TableID) *table.Table {
	l.t.Helper()
	cat, err := l.sink.open(l.ctx)
	l.must(err)
	tbl, err := cat.LoadTable(l.ctx, identifier(id))
	l.must(err)
	return tbl
}

// want compares the ids in the table.
func (l *lab) want(ids ...int) {
	l.t.Helper()
	got, _, err := l.rig.Read(l.ctx, l.def, l.id)
	l.must(err)
	var have []int
	for _, r := range got {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.Fields(r)[0], "id="))
		l.must(err)
		have = append(have, n)
	}
	slices.Sort(have)
	if !slices.Equal(have, ids) {
		l.t.Fatalf("the table holds %v, want %v", have, ids)
	}
}

// checkpoints returns the checkpoint ids in the summaries of the main branch, oldest first.
func (l *lab) checkpoints() (ids []int64) {
	l.t.Helper()
	for _, s := range ancestors(l.load(l.id).Metadata()) {
		m, ok := snapshotMarker(&s)
		if !ok {
			ids = append(ids, -1)
			continue
		}
		ids = append(ids, m.Checkpoint)
	}
	slices.Reverse(ids)
	return ids
}

func (l *lab) wantCheckpoints(ids ...int64) {
	l.t.Helper()
	if got := l.checkpoints(); !slices.Equal(got, ids) {
		l.t.Fatalf("snapshots of checkpoints %v, want %v", got, ids)
	}
}

// wantStateError checks that err is a StateError that says all of this.
func wantStateError(t *testing.T, err error, parts ...string) {
	t.Helper()
	var state *StateError
	if !errors.As(err, &state) {
		t.Fatalf("got %v, want a StateError", err)
	}
	if state.Hint == "" {
		t.Errorf("no way out in: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q is missing in: %v", p, err)
		}
	}
}

// files lists the table's folder by names, without folders.
func (l *lab) files(id schema.TableID) map[string]bool {
	l.t.Helper()
	root, err := localPath(l.sink.opts.location(id))
	l.must(err)
	out := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[filepath.Base(path)] = true
		}
		return err
	})
	if !errors.Is(err, os.ErrNotExist) {
		l.must(err)
	}
	return out
}

// wantNoOrphans checks that the table's folder holds what its metadata names, no less and no more.
func (l *lab) wantNoOrphans(id schema.TableID) {
	l.t.Helper()
	l.committer().chores.wait()
	tbl := l.load(id)
	used, err := l.committer().usedFiles(l.ctx, tbl.Metadata())
	l.must(err)
	used[baseName(tbl.MetadataLocation())] = true
	for f := range tbl.Metadata().PreviousFiles() {
		used[baseName(f.MetadataFile)] = true
	}
	for name := range l.committer().state.files() {
		used[baseName(name)] = true
	}
	have := l.files(id)
	for name := range have {
		if !used[name] {
			l.t.Errorf("orphan: %s", name)
		}
	}
	for name := range used {
		if !have[name] {
			l.t.Errorf("missing: %s", name)
		}
	}
}

// foreign runs a transaction of another tool.
func (l *lab) foreign(fn func(tx *table.Transaction) error) {
	l.t.Helper()
	tx := l.load(l.id).NewTransaction()
	l.must(fn(tx))
	_, err := tx.Commit(l.ctx)
	l.must(err)
}

// foreignAppend appends rows as another tool would.
func (l *lab) foreignAppend(ids ...int) {
	l.t.Helper()
	tbl := l.load(l.id)
	sc, err := schemaOf(tbl.Schema())
	l.must(err)
	var events []event
	for i, n := range ids {
		values := map[string]string{"id": strconv.Itoa(n)}
		if _, ok := tbl.Schema().FindFieldByName(columnOp); ok {
			values[columnOp], values[columnPos], values[columnOrdinal] = "c", "0", strconv.Itoa(i)
		}
		events = append(events, event{values: values})
	}
	rec := recordOf(sc, events)
	defer rec.Release()
	l.foreign(func(tx *table.Transaction) error {
		return tx.Append(l.ctx, readerOf(sc, rec), nil)
	})
}
