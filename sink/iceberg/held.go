package iceberg

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

var _ sink.Lossy = (*Sink)(nil)

// AsHeld implements [sink.Lossy]: what temporal.infinity changes is changed, and
// nothing else. Values that stop the pipeline instead stay as they are: no table
// holds them.
func (s *Sink) AsHeld(b *schema.Batch) (*schema.Batch, error) {
	columns := make([]arrow.Array, 0, len(b.Table.Columns))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i, col := range b.Table.Columns {
		c := converter{mem: memory.DefaultAllocator, infinity: s.opts.infinity.forColumn(b.Table, i)}
		in := b.Record.Column(i)
		if c.infinity == infinityError || c.infinity == infinityKey {
			in.Retain()
			columns = append(columns, in)
			continue
		}
		data, err := c.convert(in.Data(), in.DataType())
		if err != nil {
			return nil, fmt.Errorf("iceberg: table %s, column %s: %w", b.Table.ID, col.Name, err)
		}
		columns = append(columns, array.MakeFromData(data))
		data.Release()
	}
	return schema.NewBatch(b.Table, array.NewRecordBatch(b.Record.Schema(), columns, b.Record.NumRows())), nil
}

// forColumn returns the mode of one column: a key can't be NULL.
func (m infinityMode) forColumn(t *schema.Table, column int) infinityMode {
	if m != infinityNull {
		return m
	}
	for _, k := range t.KeyIndexes() {
		if k == column {
			return infinityKey
		}
	}
	return m
}
