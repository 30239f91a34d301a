package iceberg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/schema"
)

// Rows that leave cells out (schema.Batch.Unchanged) are completed before they are
// written. A cell's value comes from the row before, which is, in this order: an
// earlier row of the key in the same group; a partial row of the key in the state; the
// row that the key index names, wherever it lies. While the table's
// snapshot runs there may be no row before yet: then the row waits in the state as
// a partial row until schema.OpFill brings what is missing.
//
// In append mode a partial row whose missing value is overwritten, or whose row
// is deleted, before the fill comes is left out for good: nobody can know that value any more, and
// the changelog is that of a snapshot which started just after it.

// errUnresolved is the cause of a [RowError].
var errUnresolved = errors.New("the source left the value out because it did not change, and the sink has no earlier row of the key to take it from " +
	"(set REPLICA IDENTITY FULL, or let the pipeline read the table again)")

// cellSource says where the value of a left-out cell is: a row of a unit.
type cellSource struct{ unit, row int32 }

// node is one row on its way to the file.
type node struct {
	unit, row int32 // where its own cells are
	op        schema.Op
	src       outRow // for errors; meaningless for a row out of the state
	fromState bool
	cells     map[int32]cellSource // by column of the layout: taken from elsewhere
	missing   []int32              // columns that nobody knows yet, ascending
}

// cell returns where the node's value of a column is.
func (n *node) cell(column int32) (cellSource, bool) {
	if slices.Contains(n.missing, column) {
		return cellSource{}, false
	}
	if s, ok := n.cells[column]; ok {
		return s, true
	}
	return cellSource{n.unit, n.row}, true
}

// keyState is what is known of one key while a group is resolved.
type keyState struct {
	group      uint16
	key        []byte
	waiting    []*node // partial rows, in the order of the log
	last       *node   // the newest row, if this group holds it and it is complete
	base       location
	hasBase    bool // base is the newest row
	deleted    bool // a delete was met
	wasPartial bool // the state holds partial rows of the key
}

// resolving is one run of writeResolved.
type resolving struct {
	t     *tableWriter
	parts []part
	keys  []schema.Keys
	// units are records in the layout of the data files: one a part, then one for
	// each key with partial rows in the state, then what was fetched.
	units  []arrow.RecordBatch
	states map[string]*keyState
	order  []*keyState // by first appearance
	out    []*node     // append mode: the rows to write, in order
	owner  map[*node]*keyState
	// wanted are the cells to fetch from data files.
	wanted map[location]*wantedRow
}

// writeResolved writes the parts of a table whose rows leave cells out.
func (t *tableWriter) writeResolved(ctx context.Context, parts []part) error {
	// Every location must be in the index, since rows are looked up there.
	if err := t.resolve(ctx); err != nil {
		return err
	}
	r := &resolving{t: t, parts: parts, states: map[string]*keyState{}, owner: map[*node]*keyState{}, wanted: map[location]*wantedRow{}}
	defer r.release()
	if err := r.load(); err != nil {
		return err
	}
	if err := r.events(); err != nil {
		return err
	}
	if err := r.fetch(ctx); err != nil {
		return err
	}
	if err := r.write(); err != nil {
		return err
	}
	return r.keepPartials()
}

func (r *resolving) release() {
	for _, u := range r.units {
		if u != nil {
			u.Release()
		}
	}
}

// load converts the parts and looks every key up.
func (r *resolving) load() (err error) {
	if r.keys, err = r.t.encodeKeys(r.parts); err != nil {
		return err
	}
	for i, p := range r.parts {
		rows := make([]outRow, p.len())
		for j := range rows {
			row := p.at(j)
			rows[j] = outRow{part: 0, row: row, op: p.batch.Op(int(row))}
			if b := p.batch.Before; b != nil && rows[j].op == schema.OpDelete {
				rows[j].before = !b.Column(r.t.layout.keys[0]).IsNull(int(row))
			}
			if err := r.know(i, row); err != nil {
				return err
			}
		}
		rec, err := r.t.buildRecord(r.parts[i:i+1], rows)
		if err != nil {
			return err
		}
		r.units = append(r.units, rec)
	}
	return r.lookUp()
}

func (r *resolving) know(part int, row int32) error {
	key := r.keys[part].Bytes(int(row))
	if _, ok := r.states[string(key)]; ok {
		return nil
	}
	group, err := r.t.keyGroup(r.keys[part].Hash(int(row)))
	if err != nil {
		return err
	}
	k := &keyState{group: group, key: slices.Clone(key)}
	r.states[string(key)] = k
	r.order = append(r.order, k)
	return nil
}

// lookUp reads what the state has of the keys, in order, through one iterator.
func (r *resolving) lookUp() (err error) {
	x := &r.t.index
	lower, upper := x.groups.Bounds()
	it, err := x.store.Iterate(lower, upper)
	if err != nil {
		return fmt.Errorf("iceberg: table %s: %w", r.t.target, err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	sorted := slices.Clone(r.order)
	slices.SortFunc(sorted, func(a, b *keyState) int {
		if a.group != b.group {
			return int(a.group) - int(b.group)
		}
		return slices.Compare(a.key, b.key)
	})
	var scratch []byte
	for _, k := range sorted {
		scratch = stateKey(scratch[:0], k.group, x.table, k.key)
		if it.SeekGE(scratch) && slices.Equal(it.Key(), scratch) {
			if k.base, err = parseLocation(it.Value()); err != nil {
				return err
			}
			k.hasBase = true
		}
	}
	if r.t.partials == 0 {
		return nil
	}
	for _, k := range sorted {
		scratch = stateKey(scratch[:0], k.group, x.table|partialBit, k.key)
		if it.SeekGE(scratch) && slices.Equal(it.Key(), scratch) {
			if err := r.wake(k, it.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

// wake takes the partial rows of a key out of the state.
func (r *resolving) wake(k *keyState, value []byte) error {
	nodes, rec, err := decodePartial(r.t.w.mem, r.t.layout, value)
	if err != nil {
		return fmt.Errorf("iceberg: table %s: %w", r.t.target, err)
	}
	for _, n := range nodes {
		n.unit = int32(len(r.units))
		r.owner[n] = k
	}
	r.units = append(r.units, rec)
	k.waiting, k.wasPartial = nodes, true
	return nil
}

// events applies all rows in the order of the log.
func (r *resolving) events() error {
	for i, p := range r.parts {
		cells, at := p.batch.Unchanged, 0
		for j := range p.len() {
			row := p.at(j)
			for at < len(cells) && cells[at].Row < row {
				at++
			}
			first := at
			for at < len(cells) && cells[at].Row == row {
				at++
			}
			k := r.states[string(r.keys[i].Bytes(int(row)))]
			n := &node{unit: int32(i), row: int32(j), op: p.batch.Op(int(row)), src: outRow{part: int32(i), row: row}}
			r.owner[n] = k
			if err := r.event(k, n, cells[first:at]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *resolving) event(k *keyState, n *node, unchanged []schema.Cell) error {
	switch n.op {
	case schema.OpFill:
		r.fill(k, n)
		return nil
	case schema.OpDelete:
		k.waiting, k.last, k.hasBase, k.deleted = nil, nil, false, true
		r.emit(n)
		return nil
	}
	for _, c := range unchanged {
		column := int32(r.t.layout.column[c.Column])
		if s, ok := r.before(k, column); ok {
			if n.cells == nil {
				n.cells = map[int32]cellSource{}
			}
			n.cells[column] = s
			continue
		}
		if !r.t.snapshotting {
			return &RowError{Table: r.t.target, Key: r.t.keyText(r.parts[n.src.part].batch, int(n.src.row)),
				Column: r.t.layout.arrow.Field(int(column)).Name, Err: errUnresolved}
		}
		n.missing = append(n.missing, column)
	}
	r.settle(k, n)
	return nil
}

// settle makes n the newest row of its key.
func (r *resolving) settle(k *keyState, n *node) {
	slices.Sort(n.missing)
	if len(n.missing) == 0 {
		k.waiting, k.last, k.hasBase = nil, n, false
		r.emit(n)
		return
	}
	if r.t.layout.staged.Mode == modeUpsert {
		k.waiting = []*node{n}
		return
	}
	kept := k.waiting[:0]
	for _, w := range k.waiting {
		if !slices.ContainsFunc(w.missing, func(c int32) bool { return !slices.Contains(n.missing, c) }) {
			kept = append(kept, w)
		}
	}
	k.waiting = append(kept, n)
}

// before returns where the value of a column lies in the newest row of a key.
func (r *resolving) before(k *keyState, column int32) (cellSource, bool) {
	switch {
	case len(k.waiting) > 0:
		return k.waiting[len(k.waiting)-1].cell(column)
	case k.last != nil:
		return k.last.cell(column)
	case k.hasBase:
		return r.want(k.base, column), true
	}
	return cellSource{}, false
}

// fill completes the partial rows of a key from a row that the snapshot read.
func (r *resolving) fill(k *keyState, n *node) {
	for _, w := range k.waiting {
		for _, c := range w.missing {
			if w.cells == nil {
				w.cells = map[int32]cellSource{}
			}
			w.cells[c] = cellSource{n.unit, n.row}
		}
		w.missing = nil
		k.last = w
		r.emit(w)
	}
	k.waiting = nil
}

// emit gives a complete row to the changelog.
func (r *resolving) emit(n *node) {
	if r.t.layout.staged.Mode == modeAppend {
		r.out = append(r.out, n)
	}
}

// write writes the complete rows and notes their keys.
func (r *resolving) write() error {
	t := r.t
	if t.layout.staged.Mode == modeUpsert {
		for _, k := range r.order {
			if k.last != nil {
				r.out = append(r.out, k.last)
			}
		}
	}
	var seq, at uint32
	if len(r.out) > 0 {
		rec, err := r.record(r.out)
		if err != nil {
			return err
		}
		if seq, at, err = t.writeRecord(rec); err != nil {
			return err
		}
	}
	for i, n := range r.out {
		k := r.owner[n]
		var flags uint8
		if n.op == schema.OpDelete {
			flags = keyDeleted
		}
		t.pending.add(k.group, k.key, seq, at+uint32(i), flags)
	}
	if t.layout.staged.Mode == modeUpsert {
		for _, k := range r.order {
			if k.deleted && k.last == nil {
				t.pending.add(k.group, k.key, 0, 0, keyDeleted)
			}
		}
	}
	return nil
}

// keepPartials stores the rows that still wait and drops those that do no longer.
func (r *resolving) keepPartials() error {
	t := r.t
	var b state.Batch
	for _, k := range r.order {
		key := stateKey(nil, k.group, t.number|partialBit, k.key)
		if len(k.waiting) == 0 {
			if k.wasPartial {
				b.Delete(key)
				t.partials--
			}
			continue
		}
		rec, err := r.record(k.waiting)
		if err != nil {
			return err
		}
		value, err := encodePartial(rec, k.waiting)
		rec.Release()
		if err != nil {
			return fmt.Errorf("iceberg: table %s: %w", t.target, err)
		}
		b.Set(key, value)
		if !k.wasPartial {
			t.partials++
		}
	}
	if b.Len() == 0 {
		return nil
	}
	if err := t.index.store.Apply(&b); err != nil {
		return fmt.Errorf("iceberg: table %s: keeping partial rows: %w", t.target, err)
	}
	return nil
}
