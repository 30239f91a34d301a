package schema

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// RecordBytes returns the bytes of the buffers that rec refers to, with those of
// nested columns. A slice counts the whole buffers.
func RecordBytes(rec arrow.RecordBatch) int64 {
	var n int64
	for _, col := range rec.Columns() {
		n += dataBytes(col.Data())
	}
	return n
}

func dataBytes(d arrow.ArrayData) int64 {
	var n int64
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, c := range d.Children() {
		n += dataBytes(c)
	}
	return n
}

// SelectRows returns the rows of rec that selected marks, which has one entry a
// row, as a record that the caller releases; it takes over rec.
func SelectRows(ctx context.Context, mem memory.Allocator, rec arrow.RecordBatch, selected []bool) (arrow.RecordBatch, error) {
	defer rec.Release()
	mask := array.NewBooleanBuilder(mem)
	defer mask.Release()
	mask.AppendValues(selected, nil)
	m := mask.NewBooleanArray()
	defer m.Release()
	out, err := compute.FilterRecordBatch(compute.WithAllocator(ctx, mem), rec, m, compute.DefaultFilterOptions())
	if err != nil {
		return nil, fmt.Errorf("selecting rows: %w", err)
	}
	return out, nil
}
