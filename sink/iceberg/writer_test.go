package iceberg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

var testTable = schema.TableID{Schema: "lake", Table: "t"}

func testDef() *schema.Table {
	return &schema.Table{
		ID: schema.TableID{Schema: "public", Table: "t"}, PrimaryKey: []string{"id"}, Version: 1, OmitsUnchanged: true,
		Columns: []schema.Column{
			{Name: "id", Type: schema.BigInt()}, {Name: "n", Type: schema.Int(), Nullable: true},
			{Name: "doc", Type: schema.String(), Nullable: true}, {Name: "tags", Type: schema.Array(schema.String()), Nullable: true},
		},
	}
}

func created(def *schema.Table) *schema.Change {
	return &schema.Change{Kind: schema.ChangeCreateTable, Table: def.ID, Before: def, After: def}
}

func kind(def *schema.Table, k schema.ChangeKind) *schema.Change {
	return &schema.Change{Kind: k, Table: def.ID, Before: def, After: def}
}

func row(op schema.Op, pos uint64, id int, n int, doc string) event {
	return event{op: op, pos: pos, values: map[string]string{"id": fmt.Sprint(id), "n": fmt.Sprint(n), "doc": doc}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantRows(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestUpsert follows a few keys through inserts, updates and deletes, inside one
// checkpoint and over several.
func TestUpsert(t *testing.T) {
	for _, backend := range []string{"hashmap", "pebble"} {
		for _, parallelism := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", backend, parallelism), func(t *testing.T) {
				mem := leakChecked(t)
				r := newRig(t, t.TempDir(), mem, modeUpsert, backend)
				def := testDef()
				r.start(parallelism)
				must(t, r.change(testTable, created(def)))
				must(t, r.batch(testTable, rowsBatch(mem, def, []event{row('c', 1, 1, 10, "a"), row('c', 1, 2, 20, "b"), row('c', 1, 3, 30, "c"), row('u', 2, 2, 21, "b2")})))
				r.prepare()
				wantRows(t, r.rows(testTable, "id", "n", "doc"), "id=1 n=10 doc=a", "id=2 n=21 doc=b2", "id=3 n=30 doc=c")
				if parallelism == 1 && len(r.dataFiles(testTable)) != 1 {
					t.Fatalf("files: %v", r.dataFiles(testTable))
				}
				must(t, r.batch(testTable, rowsBatch(mem, def, []event{row('d', 3, 1, 0, ""), row('u', 3, 3, 31, "c")})))
				must(t, r.batch(testTable, rowsBatch(mem, def, []event{row('u', 4, 3, 32, "c"), row('c', 4, 1, 11, "again")})))
				r.prepare()
				wantRows(t, r.rows(testTable, "id", "n", "doc"), "id=1 n=11 doc=again", "id=2 n=21 doc=b2", "id=3 n=32 doc=c")
				r.crash()
				r.start(2)
				must(t, r.change(testTable, created(def)))
				must(t, r.batch(testTable, rowsBatch(mem, def, []event{row('d', 5, 2, 0, ""), row('u', 5, 1, 12, "x")})))
				r.prepare()
				wantRows(t, r.rows(testTable, "id", "n", "doc"), "id=1 n=12 doc=x", "id=3 n=32 doc=c")
				r.crash()
			})
		}
	}
}

// TestUnchangedCells takes left-out values from everywhere they can be.
func TestUnchangedCells(t *testing.T) {
	without := func(e event, columns ...string) event { e.unchanged = columns; return e }
	for _, mode := range []writeMode{modeUpsert, modeAppend} {
		t.Run(mode.String(), func(t *testing.T) {
			mem := leakChecked(t)
			r := newRig(t, t.TempDir(), mem, mode, "hashmap")
			def := testDef()
			r.start(2)
			must(t, r.change(testTable, created(def)))
			one := row('c', 1, 1, 10, "a")
			one.values["tags"] = `["x",null]`
			must(t, r.batch(testTable, rowsBatch(mem, def, []event{one, row('c', 1, 2, 20, "b")})))
			r.prepare()
			// From a closed file, and from an earlier row of the group.
			must(t, r.batch(testTable, rowsBatch(mem, def, []event{
				without(row('u', 2, 1, 11, ""), "doc", "tags"), without(row('u', 3, 1, 12, ""), "doc", "tags"), row('c', 3, 3, 30, "new"), without(row('u', 4, 3, 31, ""), "doc")})))
			flushAll(t, r)
			// From rows that are still in memory.
			must(t, r.batch(testTable, rowsBatch(mem, def, []event{without(row('u', 5, 3, 32, ""), "doc"), without(row('u', 5, 2, 21, ""), "doc")})))
			flushAll(t, r)
			for _, w := range r.writers {
				for _, tw := range w.order {
					if tw.file != nil {
						must(t, tw.file.flush())
					}
				}
			}
			// From a file that is open.
			must(t, r.batch(testTable, rowsBatch(mem, def, []event{without(row('u', 6, 3, 33, ""), "doc")})))
			r.prepare()
			switch mode {
			case modeUpsert:
				wantRows(t, r.rows(testTable, "id", "n", "doc", "tags"), `id=1 n=12 doc=a tags=["x",null]`, "id=2 n=21 doc=b tags=(null)", "id=3 n=33 doc=new tags=(null)")
			default:
				wantRows(t, r.rows(testTable, columnOp, columnPos, "id", "n", "doc", "tags"), `__op=c __pos=1 id=1 n=10 doc=a tags=["x",null]`, "__op=c __pos=1 id=2 n=20 doc=b tags=(null)",
					`__op=u __pos=2 id=1 n=11 doc=a tags=["x",null]`, `__op=u __pos=3 id=1 n=12 doc=a tags=["x",null]`, "__op=c __pos=3 id=3 n=30 doc=new tags=(null)",
					"__op=u __pos=4 id=3 n=31 doc=new tags=(null)", "__op=u __pos=5 id=3 n=32 doc=new tags=(null)", "__op=u __pos=5 id=2 n=21 doc=b tags=(null)", "__op=u __pos=6 id=3 n=33 doc=new tags=(null)")
			}
			err := errors.Join(r.batch(testTable, rowsBatch(mem, def, []event{without(row('u', 7, 99, 1, ""), "doc")})), flushErr(r))
			var re *RowError
			if !errors.As(err, &re) || re.Key != "id=99" || re.Column != "doc" || !errors.Is(err, errUnresolved) {
				t.Fatalf("got %v", err)
			}
			r.crash()
		})
	}
}

func flushErr(r *rig) error {
	for _, w := range r.writers {
		for _, tw := range w.order {
			if err := tw.flushGroup(context.Background()); err != nil {
				return err
			}
		}
	}
	return nil
}

func flushAll(t *testing.T, r *rig) {
	t.Helper()
	must(t, flushErr(r))
}

// TestIdentityChanges: a changelog indexes its rows only while rows may leave cells
// out. When they don't any more, rows of any key may come to any writer; and what the
// index knew before is never taken for the truth later.
func TestIdentityChanges(t *testing.T) {
	mem := leakChecked(t)
	r := newRig(t, t.TempDir(), mem, modeAppend, "hashmap")
	omits, full := testDef(), testDef()
	full.OmitsUnchanged = false
	s := &Sink{opts: options{mode: modeAppend}}
	if s.AnyWriter(omits) || !s.AnyWriter(full) || !s.AnyWriter(keylessDef()) || (&Sink{opts: options{mode: modeUpsert}}).AnyWriter(full) {
		t.Error("the wrong tables need the writer of a key")
	}
	r.start(2)
	must(t, r.change(testTable, created(omits)))
	must(t, r.batch(testTable, rowsBatch(mem, omits, []event{row('c', 1, 1, 10, "old"), row('c', 1, 2, 20, "old")})))
	r.prepare()
	r.crash()
	r.start(2)
	must(t, r.change(testTable, created(full)))
	for _, w := range r.writers { // every writer gets every key
		b := rowsBatch(mem, full, []event{row('u', 2, 1, 11, "new"), row('u', 2, 2, 21, "new")})
		must(t, w.Write(t.Context(), sink.Input{Table: testTable, Batch: b}))
	}
	r.prepare()
	if n := len(r.rows(testTable, "id", "doc")); n != 6 {
		t.Errorf("%d rows in the changelog, want 6", n)
	}
	r.crash()
	r.start(2)
	must(t, r.change(testTable, created(omits)))
	left := row('u', 3, 1, 12, "")
	delete(left.values, "doc")
	left.unchanged = []string{"doc"}
	err := errors.Join(r.batch(testTable, rowsBatch(mem, omits, []event{left})), flushErr(r))
	if !errors.Is(err, errUnresolved) { // and not "old"
		t.Errorf("a cell that was left out: %v", err)
	}
	r.crash()
}
