package iceberg

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// keylessDef is a table without a key.
func keylessDef() *schema.Table {
	return &schema.Table{ID: schema.TableID{Schema: "public", Table: "t"}, Version: 1, Columns: []schema.Column{
		{Name: "a", Type: schema.Int(), Nullable: true}, {Name: "b", Type: schema.String(), Nullable: true},
		{Name: "tags", Type: schema.Array(schema.Int()), Nullable: true},
	}}
}

// keyless is an event of a table without a key, with the row before it.
func keyless(op schema.Op, pos uint64, ordinal int, before, after string) (e event, was event) {
	values := func(v string) map[string]string {
		if v == "" {
			return nil
		}
		return map[string]string{"a": v, "b": "b" + v, "tags": "[" + v + ",null]"}
	}
	return event{op: op, pos: pos, ordinal: uint32(ordinal), values: values(after)}, event{values: values(before)}
}

// keylessBatch builds a batch with before images where any row has one.
func keylessBatch(mem memory.Allocator, def *schema.Table, events, before []event) *schema.Batch {
	b := rowsBatch(mem, def, events)
	if slices.ContainsFunc(before, func(e event) bool { return e.values != nil }) {
		rb := array.NewRecordBuilder(mem, def.ArrowSchema())
		defer rb.Release()
		for _, e := range before {
			for i, c := range def.Columns {
				if v, ok := e.values[c.Name]; !ok {
					rb.Field(i).AppendNull()
				} else if err := rb.Field(i).AppendValueFromString(v); err != nil {
					panic(err)
				}
			}
		}
		b.Before = rb.NewRecordBatch()
	}
	return b
}

// changelogRow is what the changelog has to hold of an event.
func changelogRow(op string, pos uint64, ordinal int, v string) string {
	if v == "" {
		v = "(null)"
		return fmt.Sprintf("__op=%s __pos=%d __ordinal=%d a=%s b=%s tags=%s", op, pos, ordinal, v, v, v)
	}
	return fmt.Sprintf("__op=%s __pos=%d __ordinal=%d a=%s b=b%s tags=[%s,null]", op, pos, ordinal, v, v, v)
}

var keylessColumns = []string{columnOp, columnPos, columnOrdinal, "a", "b", "tags"}

// TestKeylessUpdates: an update is two rows, ub with the values before and u with
// those after, at one position; a delete holds what was deleted.
func TestKeylessUpdates(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		mem := leakChecked(t)
		def := keylessDef()
		r := newRig(t, t.TempDir(), mem, modeUpsert, "hashmap") // a table without a key is a changelog all the same
		r.start(parallelism)
		must(t, r.change(testTable, created(def)))
		var events, before []event
		add := func(e, was event) { events, before = append(events, e), append(before, was) }
		add(keyless(schema.OpInsert, 5, 0, "", "1"))
		add(keyless(schema.OpInsert, 5, 1, "", "1"))
		add(keyless(schema.OpUpdate, 6, 0, "1", "2"))
		add(keyless(schema.OpUpdate, 6, 1, "2", "2"))
		add(keyless(schema.OpDelete, 7, 0, "1", ""))
		add(keyless(schema.OpUpdate, 8, 0, "", "3")) // every column was NULL
		must(t, r.batch(testTable, keylessBatch(mem, def, events, before)))
		r.prepare()
		wantRows(t, r.rows(testTable, keylessColumns...),
			changelogRow("c", 5, 0, "1"), changelogRow("c", 5, 1, "1"), changelogRow("ub", 6, 0, "1"), changelogRow("u", 6, 0, "2"),
			changelogRow("ub", 6, 1, "2"), changelogRow("u", 6, 1, "2"), changelogRow("d", 7, 0, "1"), changelogRow("ub", 8, 0, ""), changelogRow("u", 8, 0, "3"))
		r.crash()
	}
}

// TestKeylessNeedsTheRowBefore: without it nobody could say which row changed.
func TestKeylessNeedsTheRowBefore(t *testing.T) {
	for _, op := range []schema.Op{schema.OpUpdate, schema.OpDelete} {
		mem := leakChecked(t)
		def := keylessDef()
		r := newRig(t, t.TempDir(), mem, modeAppend, "hashmap")
		r.start(1)
		must(t, r.change(testTable, created(def)))
		e, _ := keyless(op, 5, 0, "", "1")
		err := errors.Join(r.batch(testTable, rowsBatch(mem, def, []event{e})), flushErr(r))
		var re *RowError
		if !errors.As(err, &re) || re.Table != testTable || !errors.Is(err, errNoBefore) {
			t.Errorf("%c: %v", op, err)
		}
		r.crash()
	}
}

// TestKeylessAgainstModel: random changes in random batches, spilled, split over
// writers, crashed and sent again; the changelog holds each once, before images and all.
func TestKeylessAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "iceberg-keyless")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		r := newRig(rt, dir, mem, modeAppend, "hashmap")
		r.cfg.TargetFileSize = int64(rapid.SampledFrom([]int{1, 4096, 1 << 20}).Draw(rt, "target"))
		r.cfg.BufferBytes = int64(rapid.SampledFrom([]int{1, 20_000, 1 << 20}).Draw(rt, "buffer"))
		k := keylessScript{rt: rt, r: r, def: keylessDef()}
		k.run()
		r.crash()
		if n := mem.CurrentAlloc(); n != 0 {
			rt.Fatalf("%d bytes of Arrow memory leaked", n)
		}
	})
}

type keylessScript struct {
	rt        *rapid.T
	r         *rig
	def       *schema.Table
	pos       uint64
	want, new []string // committed, and since the last checkpoint
	log       [][2][]event
}

func (k *keylessScript) run() {
	draw := func(low, high int, label string) int { return rapid.IntRange(low, high).Draw(k.rt, label) }
	k.r.start(draw(1, 3, "parallelism"))
	if err := k.r.change(testTable, created(k.def)); err != nil {
		k.rt.Fatal(err)
	}
	k.r.prepare()
	for range draw(3, 20, "steps") {
		switch draw(0, 5, "step") {
		case 0:
			k.checkpoint()
		case 1:
			k.r.crash()
			k.r.start(draw(1, 3, "parallelism"))
			if err := k.r.change(testTable, created(k.def)); err != nil {
				k.rt.Fatal(err)
			}
			for _, b := range k.log {
				k.send(b)
			}
		default:
			b := k.changes(draw)
			k.log = append(k.log, b)
			k.send(b)
		}
	}
	k.checkpoint()
}

// changes makes a batch of one to three transactions.
func (k *keylessScript) changes(draw func(int, int, string) int) (b [2][]event) {
	for range draw(1, 3, "transactions") {
		k.pos++
		for i := range draw(1, 5, "events") {
			op := []schema.Op{schema.OpInsert, schema.OpUpdate, schema.OpDelete}[draw(0, 2, "op")]
			before, after := strconv.Itoa(draw(0, 4, "before")), strconv.Itoa(draw(0, 4, "after"))
			switch op {
			case schema.OpInsert:
				before = ""
			case schema.OpDelete:
				after = ""
			}
			e, was := keyless(op, k.pos, i, before, after)
			b[0], b[1] = append(b[0], e), append(b[1], was)
			switch op {
			case schema.OpUpdate:
				k.new = append(k.new, changelogRow("ub", k.pos, i, before), changelogRow("u", k.pos, i, after))
			case schema.OpDelete:
				k.new = append(k.new, changelogRow("d", k.pos, i, before))
			default:
				k.new = append(k.new, changelogRow("c", k.pos, i, after))
			}
		}
	}
	return b
}

func (k *keylessScript) send(b [2][]event) {
	if err := k.r.batch(testTable, keylessBatch(k.r.mem, k.def, b[0], b[1])); err != nil {
		k.rt.Fatal(err)
	}
}

func (k *keylessScript) checkpoint() {
	k.r.prepare()
	k.want, k.new, k.log = append(k.want, k.new...), nil, nil
	got, want := k.r.rows(testTable, keylessColumns...), slices.Sorted(slices.Values(k.want))
	if !slices.Equal(got, want) {
		k.rt.Fatalf("the changelog holds\n%v\nwant\n%v", got, want)
	}
}
