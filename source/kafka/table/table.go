package table

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/cell"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
)

// Table is one table: its definition and the rows that have not been emitted.
type Table struct {
	Def *schema.Table

	set     *Set
	fixed   bool // the user gave the definition
	bound   map[*connect.Schema]*connect.Binding
	rows    *array.RecordBuilder
	before  *array.RecordBuilder // nil where nobody wants them
	columns []*cell.Column
	olds    []*cell.Column
	batch   batch
}

// batch is what goes beside the columns.
type batch struct {
	ops       []schema.Op
	positions []uint64
	ordinals  []uint32
	txs       []schema.Tx
	unchanged []schema.Cell
	bytes     int
}

// define takes over another definition; no rows may be waiting.
func (t *Table) define(def *schema.Table) {
	t.release()
	t.Def, t.bound = def, map[*connect.Schema]*connect.Binding{}
	as := def.ArrowSchema()
	t.rows, t.columns = array.NewRecordBuilder(t.set.cfg.Memory, as), nil
	if t.WantsBefore() {
		t.before = array.NewRecordBuilder(t.set.cfg.Memory, as)
	}
	for i, c := range def.Columns {
		t.columns = append(t.columns, cell.New(c.Type, t.rows.Field(i)))
		if t.before != nil {
			t.olds = append(t.olds, cell.New(c.Type, t.before.Field(i)))
		}
	}
	if def.OmitsUnchanged {
		for _, c := range t.columns {
			c.Placeholder = []byte(t.set.cfg.Placeholder)
		}
	}
}

func (t *Table) release() {
	if t.rows != nil {
		t.rows.Release()
	}
	if t.before != nil {
		t.before.Release()
	}
	t.rows, t.before, t.columns, t.olds, t.batch = nil, nil, nil, nil, batch{}
}

// Fixed says that the user gave the definition.
func (t *Table) Fixed() bool { return t.fixed }

// WantsBefore says that rows are to be given with what they were before.
func (t *Table) WantsBefore() bool {
	return t.set.cfg.Needs.Before || !t.Def.HasKey() && t.set.cfg.Needs.KeylessUpdates
}

// Columns take the values of the next row; Before those of the row before it.
func (t *Table) Columns() []*cell.Column { return t.columns }

// Before see Columns.
func (t *Table) Before() []*cell.Column { return t.olds }

// Append ends a row whose values are in Columns; where there is none before it, Before gets NULLs.
func (t *Table) Append(op schema.Op, at At) error {
	b, n := &t.batch, len(t.batch.ops)
	for i, c := range t.olds {
		if c.Len() <= n {
			c.Null()
		}
		if c.Len() != n+1 {
			return fmt.Errorf("table %s: %d values before row %d of column %s", t.Def.ID, c.Len(), n, t.Def.Columns[i].Name)
		}
	}
	for i, c := range t.columns {
		if c.Len() != n+1 {
			return fmt.Errorf("table %s: %d values in row %d of column %s", t.Def.ID, c.Len(), n, t.Def.Columns[i].Name)
		}
		if c.Omitted {
			c.Omitted = false
			if op == schema.OpUpdate {
				b.unchanged = append(b.unchanged, schema.Cell{Row: int32(n), Column: int32(i)})
			}
		}
	}
	if len(b.unchanged) > 0 && !t.set.cfg.Needs.ResolvesUnchanged {
		return fmt.Errorf("table %s: %w: a value that did not change was left out, and the sink can't find it", t.Def.ID, connect.ErrMessage)
	}
	ordinal := uint32(0)
	if k := len(b.txs); k > 0 && b.txs[k-1].Commit == at.Position {
		ordinal = uint32(b.txs[k-1].Rows)
		b.txs[k-1].Rows++
	} else {
		b.txs = append(b.txs, schema.Tx{ID: at.Tx, Commit: at.Position, CommitTime: at.Time, Rows: 1})
	}
	b.ops, b.positions, b.ordinals = append(b.ops, op), append(b.positions, at.Position), append(b.ordinals, ordinal)
	b.bytes += at.Bytes
	t.set.rows++
	return nil
}

// Full emits the rows if there are enough of them. It stands between two messages.
func (t *Table) Full() error {
	if len(t.batch.ops) < t.set.cfg.MaxRows && t.batch.bytes < t.set.cfg.MaxBytes {
		return nil
	}
	return t.Flush()
}

// Flush emits the rows.
func (t *Table) Flush() error {
	if len(t.batch.ops) == 0 {
		return nil
	}
	b := schema.NewBatch(t.Def, t.rows.NewRecordBatch())
	if t.before != nil {
		b.Before = t.before.NewRecordBatch()
	}
	b.Ops, b.Positions, b.Ordinals, b.Txs, b.Unchanged = t.batch.ops, t.batch.positions, t.batch.ordinals, t.batch.txs, t.batch.unchanged
	t.batch = batch{} // the slices have gone with the batch; the next one will have as many rows
	n := len(b.Ops)
	t.batch.ops, t.batch.positions, t.batch.ordinals, t.batch.txs = make([]schema.Op, 0, n), make([]uint64, 0, n), make([]uint32, 0, n), make([]schema.Tx, 0, n)
	return t.set.cfg.Emit(source.Element{Batch: b})
}

// Truncate says that the table is empty.
func (t *Table) Truncate(position uint64) error {
	return t.change(&schema.Change{Kind: schema.ChangeTruncate, Before: t.Def, After: t.Def, Position: position})
}

func (t *Table) announce(position uint64) error {
	return t.change(&schema.Change{Kind: schema.ChangeCreateTable, After: t.Def, Position: position})
}

func (t *Table) change(c *schema.Change) error {
	if err := t.Flush(); err != nil {
		return err
	}
	c.Table = t.Def.ID
	return t.set.cfg.Emit(source.Element{Change: c})
}
