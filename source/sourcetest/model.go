package sourcetest

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// unresolved stands for a cell that an update left out and nothing has given yet.
const unresolved = "\x00unresolved"

// Model is the tables that a log makes.
type Model struct {
	Tables map[schema.TableID]*ModelTable
}

// NewModel returns an empty model.
func NewModel() *Model { return &Model{Tables: make(map[schema.TableID]*ModelTable)} }

// ModelTable is one of them.
type ModelTable struct {
	Def *schema.Table
	// Rows by key, each a value by column name; NULL is absent.
	Rows map[string]map[string]string
	// Bag counts the rows of a table without a key.
	Bag map[string]int
	// Snapshot: between ChangeSnapshotStart and ChangeSnapshotDone.
	Snapshot bool
	// Resets counts ChangeReset.
	Resets  int
	touched map[string]int64 // keys of all entries since the last reset, and their last ver
	last    map[string]schema.Op
}

// inSnapshot reports whether the snapshot of one of the tables has not ended.
func (m *Model) inSnapshot(tables map[schema.TableID][]string) bool {
	for id := range tables {
		if t := m.Tables[id]; t != nil && t.Snapshot {
			return true
		}
	}
	return false
}

// Clone returns a deep copy.
func (m *Model) Clone() *Model {
	out := NewModel()
	for id, t := range m.Tables {
		u := *t
		u.Rows = make(map[string]map[string]string, len(t.Rows))
		for k, r := range t.Rows {
			u.Rows[k] = maps.Clone(r)
		}
		u.Bag, u.touched, u.last = maps.Clone(t.Bag), maps.Clone(t.touched), maps.Clone(t.last)
		out.Tables[id] = &u
	}
	return out
}

// Apply takes one element; an error is a broken promise.
func (m *Model) Apply(e source.Element) error {
	if e.Change != nil {
		return m.change(e.Change)
	}
	defer e.Batch.Release()
	t := m.Tables[e.Batch.Table.ID]
	if t == nil {
		return fmt.Errorf("rows of %s before ChangeCreateTable", e.Batch.Table.ID)
	}
	rows := 0
	for _, tx := range e.Batch.Txs {
		rows += tx.Rows
	}
	if rows != e.Batch.Rows() {
		return fmt.Errorf("%s: transactions of %d rows in a batch of %d", t.Def.ID, rows, e.Batch.Rows())
	}
	return t.rows(e.Batch)
}

func (m *Model) change(c *schema.Change) error {
	t := m.Tables[c.Table]
	if c.Kind == schema.ChangeCreateTable {
		if t == nil {
			t = &ModelTable{}
			t.clear()
			m.Tables[c.Table] = t
		}
		t.Def = c.After
		return nil
	}
	if t == nil {
		return fmt.Errorf("%s of %s before ChangeCreateTable", c.Kind, c.Table)
	}
	switch c.Kind {
	case schema.ChangeSnapshotStart:
		t.Snapshot = true
	case schema.ChangeSnapshotDone:
		t.Snapshot = false
		for k, r := range t.Rows {
			for col, v := range r {
				if v == unresolved {
					return fmt.Errorf("%s: key %s, column %s is unresolved after the snapshot", c.Table, k, col)
				}
			}
		}
	case schema.ChangeReset:
		t.clear()
		t.Resets++
	case schema.ChangeTruncate:
		t.clear()
	default:
		t.evolve(c)
	}
	return nil
}

func (t *ModelTable) clear() {
	t.Rows, t.Bag = make(map[string]map[string]string), make(map[string]int)
	t.touched, t.last = make(map[string]int64), make(map[string]schema.Op)
}

// evolve applies a change of the definition to the rows.
func (t *ModelTable) evolve(c *schema.Change) {
	t.Def = c.After
	for _, r := range t.Rows {
		switch c.Kind {
		case schema.ChangeDropColumn:
			for _, col := range c.Columns {
				delete(r, col.Name)
			}
		case schema.ChangeRenameColumn:
			for from, to := range c.Renames {
				if v, ok := r[from]; ok {
					r[to] = v
					delete(r, from)
				}
			}
		}
	}
}

// rows applies a batch.
func (t *ModelTable) rows(b *schema.Batch) error {
	unchanged := make(map[schema.Cell]bool, len(b.Unchanged))
	for _, c := range b.Unchanged {
		unchanged[c] = true
	}
	for i := range b.Rows() {
		var err error
		if t.Def.HasKey() {
			err = t.keyed(b, i, unchanged)
		} else {
			t.keyless(b, i)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.Def.ID, err)
		}
	}
	return nil
}

func (t *ModelTable) keyless(b *schema.Batch, i int) {
	switch b.Op(i) {
	case schema.OpRead, schema.OpInsert:
		t.count(b, b.Record, i, 1)
	case schema.OpDelete:
		if b.Before != nil {
			t.count(b, b.Before, i, -1)
		} else {
			t.count(b, b.Record, i, -1)
		}
	case schema.OpUpdate:
		if b.Before != nil {
			t.count(b, b.Before, i, -1)
		}
		t.count(b, b.Record, i, 1)
	}
}

func (t *ModelTable) count(b *schema.Batch, rec arrow.RecordBatch, i, n int) {
	key := flat(values(b.Table, rec, i))
	if t.Bag[key] += n; t.Bag[key] == 0 {
		delete(t.Bag, key)
	}
}

func (t *ModelTable) keyed(b *schema.Batch, i int, unchanged map[schema.Cell]bool) error {
	row := values(b.Table, b.Record, i)
	var parts []string
	for _, k := range b.Table.PrimaryKey {
		parts = append(parts, row[k])
	}
	key := strings.Join(parts, "/")
	op := b.Op(i)
	old := t.Rows[key]
	if op == schema.OpFill {
		for col, v := range old {
			if v == unresolved {
				if nv, ok := row[col]; ok {
					old[col] = nv
				} else {
					delete(old, col)
				}
			}
		}
		return nil
	}
	if err := t.promise(key, op, row, old != nil); err != nil {
		return err
	}
	if op == schema.OpDelete {
		delete(t.Rows, key)
		return nil
	}
	for c := range b.Table.Columns {
		if !unchanged[schema.Cell{Row: int32(i), Column: int32(c)}] {
			continue
		}
		name := b.Table.Columns[c].Name
		switch v, ok := old[name]; {
		case old == nil:
			row[name] = unresolved
		case ok:
			row[name] = v
		}
	}
	t.Rows[key] = row
	return nil
}

// promise checks that an entry may follow what came before it for its key. Rows
// of the suite's tables have a column ver that every write of the row increases.
func (t *ModelTable) promise(key string, op schema.Op, row map[string]string, exists bool) error {
	last, touched := t.touched[key]
	bad := func(why string) error {
		return fmt.Errorf("key %s: %c after %c: %s (ver %s after %d)", key, op, t.last[key], why, row["ver"], last)
	}
	switch {
	case op == schema.OpRead && touched:
		return bad("a read of a key that has entries")
	case op == schema.OpInsert && exists:
		return bad("an insert over a row")
	case (op == schema.OpUpdate || op == schema.OpDelete) && !exists && (touched || !t.Snapshot):
		return bad("no such row")
	}
	ver, err := strconv.ParseInt(row["ver"], 10, 64)
	if err == nil && op != schema.OpDelete {
		if touched && ver <= last {
			return bad("an entry twice or out of order")
		}
		last = ver
	}
	t.touched[key], t.last[key] = last, op
	return nil
}

// values returns the row by column name.
func values(def *schema.Table, rec arrow.RecordBatch, i int) map[string]string {
	row := make(map[string]string, len(def.Columns))
	for c, col := range def.Columns {
		if a := rec.Column(c); !a.IsNull(i) {
			row[col.Name] = a.ValueStr(i)
		}
	}
	return row
}

// flat prints a row.
func flat(row map[string]string) string {
	names := slices.Sorted(maps.Keys(row))
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "%s=%q ", n, row[n])
	}
	return b.String()
}

// Lines prints all rows of the table, sorted.
func (t *ModelTable) Lines() []string {
	var out []string
	for _, r := range t.Rows {
		out = append(out, flat(r))
	}
	for r, n := range t.Bag {
		if n < 0 {
			out = append(out, fmt.Sprintf("%d times: %s", n, r))
		}
		for range n {
			out = append(out, r)
		}
	}
	sort.Strings(out)
	return out
}
