package iceberg

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// layout says how the rows of one schema version become rows of the data files.
type layout struct {
	staged *stagedSchema
	arrow  *arrow.Schema
	// source has, for each column of arrow, the index of the source table's
	// column, or -1 for a changelog column.
	source []int
	// column is the inverse: by source column, the column of arrow.
	column  []int
	keys    []int // indexes of the source table's key columns
	encoder *schema.KeyEncoder
}

func newLayout(staged *stagedSchema) (*layout, error) {
	sc, err := schemaOf(staged.Iceberg)
	if err != nil {
		return nil, fmt.Errorf("iceberg: table %s: %w", staged.Target, err)
	}
	l := &layout{
		staged: staged, arrow: sc, keys: staged.Source.KeyIndexes(), encoder: schema.NewKeyEncoder(staged.Source),
		source: make([]int, sc.NumFields()), column: make([]int, len(staged.Source.Columns)),
	}
	for i := range l.column {
		l.column[i] = -1
	}
	for i, f := range sc.Fields() {
		l.source[i] = -1
		if staged.Mode == modeAppend && isChangelogColumn(f.Name) {
			continue
		}
		_, at := staged.Source.Column(f.Name)
		if at < 0 {
			return nil, fmt.Errorf("iceberg: table %s: column %s is in no row of the source", staged.Target, f.Name)
		}
		l.source[i], l.column[at] = at, i
	}
	for i, at := range l.column {
		if at < 0 {
			return nil, fmt.Errorf("iceberg: table %s: column %s has no place in the table", staged.Target, staged.Source.Columns[i].Name)
		}
	}
	return l, nil
}

func isChangelogColumn(name string) bool {
	switch name {
	case columnOp, columnCommitTime, columnPos, columnOrdinal, columnTx:
		return true
	}
	return false
}

// sameColumns says whether rows of table b fit a layout made for a.
func sameColumns(a, b *schema.Table) bool {
	if a == b {
		return true
	}
	if len(a.Columns) != len(b.Columns) || strings.Join(a.PrimaryKey, "\x00") != strings.Join(b.PrimaryKey, "\x00") {
		return false
	}
	for i := range a.Columns {
		if a.Columns[i].Name != b.Columns[i].Name || !a.Columns[i].Type.Equal(b.Columns[i].Type) {
			return false
		}
	}
	return true
}

// part is a batch and the rows of it that are meant (nil: all).
type part struct {
	batch *schema.Batch
	sel   []int32
}

func (p part) len() int {
	if p.sel != nil {
		return len(p.sel)
	}
	return p.batch.Rows()
}

// at returns the batch's row of the i-th row that is meant.
func (p part) at(i int) int32 {
	if p.sel != nil {
		return p.sel[i]
	}
	return int32(i)
}

// outRow is one row to write: where it comes from and what the changelog says of it.
type outRow struct {
	part, row int32
	op        schema.Op // as __op has it; opBefore for ub
	before    bool      // the values come from the before image
}

// opBefore is the row before an update of a table without a key.
const opBefore schema.Op = 'b'

// buildRecord makes the record of rows, which are in the order of parts. The
// caller releases it.
func (t *tableWriter) buildRecord(parts []part, rows []outRow) (arrow.RecordBatch, error) {
	b := recordBuild{t: t, parts: parts, rows: rows, picks: make([]pick, len(rows))}
	for i, r := range rows {
		b.picks[i] = pick{2 * r.part, r.row}
		if r.before {
			b.picks[i].part++
		}
	}
	b.whole = b.isWhole()
	l := t.layout
	columns := make([]arrow.Array, 0, len(l.source))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	log := changelogColumns{mem: t.w.mem, parts: parts, rows: rows}
	for i, at := range l.source {
		var data arrow.ArrayData
		var err error
		if at < 0 {
			data = log.column(l.arrow.Field(i).Name)
		} else {
			data, err = b.column(at, l.arrow.Field(i).Type)
		}
		if err != nil {
			return nil, t.locate(err, parts, rows, l.arrow.Field(i).Name)
		}
		columns = append(columns, array.MakeFromData(data))
		data.Release()
	}
	return array.NewRecordBatch(l.arrow, columns, int64(len(rows))), nil
}

type recordBuild struct {
	t     *tableWriter
	parts []part
	rows  []outRow
	picks []pick
	whole bool
}

// isWhole says whether the rows are exactly those of one batch: no copy then.
func (b *recordBuild) isWhole() bool {
	if len(b.parts) != 1 || len(b.rows) != b.parts[0].batch.Rows() {
		return false
	}
	for i, r := range b.rows {
		if r.before || int(r.row) != i {
			return false
		}
	}
	return true
}

func (b *recordBuild) column(at int, want arrow.DataType) (arrow.ArrayData, error) {
	c := converter{mem: b.t.w.mem, infinity: b.t.w.cfg.TemporalInfinity.forColumn(b.t.layout.staged.Source, at)}
	if b.whole {
		return c.convert(b.parts[0].batch.Record.Column(at).Data(), want)
	}
	sources := make([]arrow.ArrayData, 2*len(b.parts))
	for i, p := range b.parts {
		sources[2*i] = p.batch.Record.Column(at).Data()
		sources[2*i+1] = sources[2*i]
		if p.batch.Before != nil {
			sources[2*i+1] = p.batch.Before.Column(at).Data()
		}
	}
	data, err := gather(c.mem, sources[0].DataType(), sources, b.picks)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return c.convert(data, want)
}

// locate says which row of which table err is about.
func (t *tableWriter) locate(err error, parts []part, rows []outRow, column string) error {
	e := &RowError{Table: t.target, Column: column, Err: err}
	var cell *cellError
	if errors.As(err, &cell) && cell.row < len(rows) {
		r := rows[cell.row]
		e.Key, e.Err = t.keyText(parts[r.part].batch, int(r.row)), cell.err
	}
	return e
}

// keyText prints the key of a row, for people.
func (t *tableWriter) keyText(b *schema.Batch, row int) string {
	if len(t.layout.keys) == 0 {
		return fmt.Sprintf("(no key; row %d of the batch)", row)
	}
	texts := make([]string, len(t.layout.keys))
	for i, c := range t.layout.keys {
		texts[i] = t.layout.staged.Source.Columns[c].Name + "=" + b.Record.Column(c).ValueStr(row)
	}
	return strings.Join(texts, ", ")
}

// nullKey turns [schema.ErrNullKey] into an error that names the row.
func (t *tableWriter) nullKey(b *schema.Batch, err error) error {
	if !errors.Is(err, schema.ErrNullKey) {
		return fmt.Errorf("iceberg: table %s: %w", t.target, err)
	}
	for row := range b.Rows() {
		for _, c := range t.layout.keys {
			if b.Record.Column(c).IsNull(row) {
				return &RowError{Table: t.target, Key: t.keyText(b, row), Column: t.layout.staged.Source.Columns[c].Name, Err: err}
			}
		}
	}
	return &RowError{Table: t.target, Err: err}
}
