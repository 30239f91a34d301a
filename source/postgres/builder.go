package postgres

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// rowBuilder builds record batches of one version of a table from the server's
// text form of each value. Rows are appended column by column; every column must
// get exactly one value a row.
type rowBuilder struct {
	table *schema.Table
	rb    *array.RecordBuilder
	cols  []array.Builder
	text  []func(v []byte) error
}

func newRowBuilder(mem memory.Allocator, t *schema.Table, o textOptions) *rowBuilder {
	b := &rowBuilder{table: t, rb: array.NewRecordBuilder(mem, t.ArrowSchema())}
	b.cols = b.rb.Fields()
	b.text = make([]func([]byte) error, len(b.cols))
	for i, c := range t.Columns {
		b.text[i] = textAppender(c, b.cols[i], o)
	}
	return b
}

// AppendText parses v and appends it to a column. After an error nothing was appended.
func (b *rowBuilder) AppendText(col int, v []byte) error { return b.text[col](v) }

// AppendNull appends NULL to a column.
func (b *rowBuilder) AppendNull(col int) { b.cols[col].AppendNull() }

// Reserve makes room for n more rows.
func (b *rowBuilder) Reserve(n int) { b.rb.Reserve(n) }

// NewRecord returns the rows so far and starts anew.
func (b *rowBuilder) NewRecord() arrow.RecordBatch { return b.rb.NewRecordBatch() }

// Release frees the builders.
func (b *rowBuilder) Release() { b.rb.Release() }

// discard throws away the rows so far, whole or not.
func (b *rowBuilder) discard() {
	for _, c := range b.cols {
		c.NewArray().Release()
	}
}
