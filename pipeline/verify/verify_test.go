package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

var keyed = &schema.Table{
	ID: schema.TableID{Schema: "public", Table: "t"},
	Columns: []schema.Column{
		{Name: "id", Type: schema.BigInt()}, {Name: "v", Type: schema.String(), Nullable: true},
		{Name: "tags", Type: schema.Array(schema.String()), Nullable: true}, {Name: "d", Type: schema.Decimal(10, 2), Nullable: true},
	},
	PrimaryKey: []string{"id"},
}

// table is the content of a table as JSON rows by id, which changes by itself.
type table struct {
	t     *testing.T
	mem   memory.Allocator
	def   *schema.Table
	rows  map[int]string
	pos   uint64
	reads int
	// each is called before every read.
	each func(*table)
}

func (tb *table) read(ctx context.Context, fn func(*schema.Batch) error) (uint64, error) {
	tb.reads++
	if tb.each != nil {
		tb.each(tb)
	}
	ids := slices.Collect(maps.Keys(tb.rows)) // in no order
	for chunk := range slices.Chunk(ids, 3) {
		parts := make([]string, len(chunk))
		for i, id := range chunk {
			parts[i] = tb.rows[id]
		}
		rec, _, err := array.RecordFromJSON(tb.mem, tb.def.ArrowSchema(), strings.NewReader("["+strings.Join(parts, ",")+"]"))
		if err != nil {
			return 0, err
		}
		b := schema.NewBatch(tb.def, rec)
		err = fn(b)
		b.Release()
		if err != nil {
			return 0, err
		}
	}
	return tb.pos, nil
}

func row(id int, v string) string {
	return fmt.Sprintf(`{"id": %d, "v": %q, "tags": ["a", null, %q], "d": "1.25"}`, id, v, v)
}

func pairOf(t *testing.T, def *schema.Table, n int) (src, snk *table, spec Table) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	src = &table{t: t, mem: mem, def: def, rows: map[int]string{}, pos: 10}
	snk = &table{t: t, mem: mem, def: def, rows: map[int]string{}, pos: 10}
	for i := range n {
		src.rows[i], snk.rows[i] = row(i, "x"), row(i, "x")
	}
	return src, snk, Table{Definition: def, Target: def.ID, Source: src.read, Sink: snk.read}
}

var quick = Options{Patience: 20 * time.Millisecond, Limit: 300 * time.Millisecond, Pause: time.Millisecond}

func compare(t *testing.T, spec Table) *Result {
	t.Helper()
	r, err := Compare(context.Background(), spec, quick)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEqualTablesAreReadOnce(t *testing.T) {
	src, snk, spec := pairOf(t, keyed, 50)
	r := compare(t, spec)
	if !r.Equal() || r.SourceRows != 50 || r.SourceSum != r.SinkSum || src.reads != 1 || snk.reads != 1 {
		t.Fatalf("%v, %d and %d reads", r, src.reads, snk.reads)
	}
}

func TestDifferencesAreShown(t *testing.T) {
	src, snk, spec := pairOf(t, keyed, 50)
	delete(snk.rows, 3)
	snk.rows[1000] = row(1000, "x")
	snk.rows[7] = `{"id": 7, "v": "y", "tags": ["a", null, "x"], "d": null}`
	snk.rows[-9] = row(9, "x") // id 9 twice
	_ = src
	r := compare(t, spec)
	text := r.String()
	for _, want := range []string{
		"public.t: DIFFERENT, 4 keys, 0 undecided; rows 50 in the source, 51 in the sink",
		"id=3: missing in the sink", "id=1000: only in the sink",
		"id=7: v is x in the source, y in the sink; d is 1.25 in the source, NULL in the sink",
		"id=9: 1 times in the source, 2 times in the sink",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestLateSink: a sink that is behind and catches up is equal in the end.
func TestLateSink(t *testing.T) {
	src, snk, spec := pairOf(t, keyed, 20)
	src.rows[5], src.pos = row(5, "new"), 20
	snk.each = func(tb *table) {
		if tb.reads == 4 {
			tb.rows[5], tb.pos = row(5, "new"), 20
		}
	}
	if r := compare(t, spec); !r.Equal() || r.Rounds == 0 {
		t.Fatal(r)
	}
}

// TestStandstill: a sink that stays behind differs, and the result says why.
func TestStandstill(t *testing.T) {
	src, _, spec := pairOf(t, keyed, 20)
	src.rows[5], src.pos = row(5, "new"), 20
	if r := compare(t, spec); r.Equal() || r.Differing != 1 || !r.Behind {
		t.Fatal(r)
	}
}

// TestBusySource: keys that change all the time do not hide one that is wrong,
// and don't count as wrong.
func TestBusySource(t *testing.T) {
	src, snk, spec := pairOf(t, keyed, 20)
	snk.rows[9] = row(9, "wrong")
	n := 0
	src.each = func(tb *table) {
		n++
		tb.rows[5], tb.pos = row(5, fmt.Sprint("v", n)), tb.pos+1
	}
	snk.each = func(tb *table) {
		tb.pos = src.pos
		if n < 6 {
			tb.rows[5] = row(5, fmt.Sprint("other", n))
		} else {
			tb.rows[5] = src.rows[5]
		}
	}
	r := compare(t, spec)
	if r.Differing != 1 || r.Undecided != 0 || len(r.Differences) != 1 || !strings.Contains(r.Differences[0].Key, "id=9") {
		t.Fatal(r)
	}
}

// TestRestless: a key that never settles is undecided, neither equal nor wrong.
func TestRestless(t *testing.T) {
	src, snk, spec := pairOf(t, keyed, 20)
	src.each = func(tb *table) { tb.pos++; tb.rows[5] = row(5, fmt.Sprint("v", tb.pos)) }
	snk.each = func(tb *table) { tb.pos = src.pos; tb.rows[5] = row(5, "never") }
	if r := compare(t, spec); r.Equal() || r.Undecided != 1 || r.Differing != 0 {
		t.Fatal(r)
	}
}

// TestWithoutKey: equal rows may be there several times.
func TestWithoutKey(t *testing.T) {
	def := keyed.Clone()
	def.PrimaryKey = nil
	src, snk, spec := pairOf(t, def, 3)
	for i := range 4 {
		src.rows[100+i], snk.rows[200+i] = row(77, "dup"), row(77, "dup")
	}
	if r := compare(t, spec); !r.Equal() {
		t.Fatal(r)
	}
	snk.rows[300] = row(77, "dup")
	if r := compare(t, spec); r.Differing != 1 || r.Differences[0].SourceRows != 4 || r.Differences[0].SinkRows != 5 {
		t.Fatal(r)
	}
}

// TestEveryDifferenceIsFound: whatever is changed in the sink is found, and
// nothing else, also when the keys are looked at in several passes.
func TestEveryDifferenceIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		_, snk, spec := pairOf(t, keyed, rapid.IntRange(1, 60).Draw(rt, "rows"))
		changed := rapid.MapOfN(rapid.IntRange(0, 90), rapid.SampledFrom([]string{"", "y"}), 0, 12).Draw(rt, "changes")
		want := 0
		for id, v := range changed {
			_, there := snk.rows[id]
			switch {
			case v == "" && there:
				delete(snk.rows, id)
				want++
			case v != "":
				snk.rows[id] = row(id, v)
				want++
			}
		}
		c := &comparison{Table: spec, Options: quick.orDefaults(), maxKeys: 5, result: &Result{}}
		r, err := c.run(context.Background())
		if err != nil || r.Differing != int64(want) || r.Undecided != 0 {
			rt.Fatalf("want %d: %v, %v", want, r, err)
		}
	})
}
