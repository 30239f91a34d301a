package iceberg

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// infinityMode says what becomes of dates and times that Iceberg's readers can't hold.
type infinityMode uint8

const (
	// infinityClamp writes the last or first day of the years 1 to 9999 (with a
	// time: its last microsecond, or its first), and 23:59:59.999999 for 24:00:00.
	infinityClamp infinityMode = iota
	// infinityNull writes NULL.
	infinityNull
	// infinityError stops with a [RowError].
	infinityError
	// infinityKey is infinityError in a key column where the others get NULL.
	infinityKey
)

// What the sentinels of [schema.Kind] are clamped to: 0001-01-01 and 9999-12-31.
const (
	minDay       = -719162
	maxDay       = 2932896
	microsPerDay = 86_400_000_000
)

// errInfinity is the cause of a [RowError] for a value without a place in Iceberg.
var errInfinity = errors.New("the value is infinity or 24:00:00, which Iceberg can't hold (set temporal.infinity to clamp or null)")

// errInfinityKey is the same in a key column, which can't be NULL.
var errInfinityKey = errors.New("the value is infinity or 24:00:00, which Iceberg can't hold, in a key, which can't be NULL (set temporal.infinity to clamp)")

// RowError is a row that its table can't hold.
type RowError struct {
	// Table is the sink table, Key the row's key in text, Column the column.
	Table       schema.TableID
	Key, Column string
	Err         error
}

func (e *RowError) Error() string {
	switch {
	case e.Column == "":
		return fmt.Sprintf("table %s, key %s: %v", e.Table, e.Key, e.Err)
	case e.Key == "":
		return fmt.Sprintf("table %s, column %s: %v", e.Table, e.Column, e.Err)
	}
	return fmt.Sprintf("table %s, key %s, column %s: %v", e.Table, e.Key, e.Column, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }

// Permanent says that the row is the same at the next attempt.
func (e *RowError) Permanent() bool { return true }

// cellError is a cell that can't be converted; the caller knows table and column.
type cellError struct {
	row int
	err error
}

func (e *cellError) Error() string { return e.err.Error() }
func (e *cellError) Unwrap() error { return e.err }

// converter turns columns of a [schema.Batch] into what Iceberg's schema wants.
type converter struct {
	mem      memory.Allocator
	infinity infinityMode
}

// convert returns in as type want; values keep their meaning, only what the
// infinity mode says is changed. Most types share the memory of in. The caller releases the
// result. A *cellError names the row.
func (c *converter) convert(in arrow.ArrayData, want arrow.DataType) (arrow.ArrayData, error) {
	from := in.DataType()
	switch to := want.(type) {
	case *arrow.Int32Type:
		switch from.ID() {
		case arrow.INT8:
			return widen[int8, int32](c, in, want), nil
		case arrow.INT16:
			return widen[int16, int32](c, in, want), nil
		}
	case *arrow.Int64Type:
		if from.ID() == arrow.INT32 {
			return widen[int32, int64](c, in, want), nil
		}
	case *arrow.Float64Type:
		if from.ID() == arrow.FLOAT32 {
			return widen[float32, float64](c, in, want), nil
		}
	case *arrow.Decimal128Type:
		if from.ID() == arrow.UINT64 {
			return c.unsigned(in, want), nil
		}
	case *arrow.StringType:
		if from.ID() == arrow.DECIMAL256 {
			return c.decimalText(in)
		}
	case *arrow.Date32Type:
		return c.clamp32(in, want)
	case *arrow.Time64Type:
		return c.clamp64(in, want, math.MinInt64, microsPerDay, math.MinInt64, microsPerDay-1)
	case *arrow.TimestampType:
		return c.timestamp(in, want)
	case *arrow.ListType:
		return c.children(in, want, to.Elem())
	case *arrow.MapType:
		return c.children(in, want, to.Elem())
	case *arrow.StructType:
		return c.structure(in, to)
	}
	if !sameLayout(from, want) {
		return nil, fmt.Errorf("an Arrow %s can't become an Iceberg %s", from, want)
	}
	return retype(in, want), nil
}

// sameLayout says whether data of type a may simply be called b.
func sameLayout(a, b arrow.DataType) bool {
	if ext, ok := b.(arrow.ExtensionType); ok {
		b = ext.StorageType()
	}
	if ext, ok := a.(arrow.ExtensionType); ok {
		a = ext.StorageType()
	}
	switch a.ID() {
	case arrow.DECIMAL128: // more digits are fine, another scale is not
		x, y := a.(*arrow.Decimal128Type), b
		d, ok := y.(*arrow.Decimal128Type)
		return ok && d.Scale == x.Scale && d.Precision >= x.Precision
	case arrow.FIXED_SIZE_BINARY:
		d, ok := b.(*arrow.FixedSizeBinaryType)
		return ok && d.ByteWidth == a.(*arrow.FixedSizeBinaryType).ByteWidth
	}
	return a.ID() == b.ID()
}

// retype shares all memory of in under another type.
func retype(in arrow.ArrayData, want arrow.DataType) arrow.ArrayData {
	return array.NewData(want, in.Len(), in.Buffers(), in.Children(), in.NullN(), in.Offset())
}

// replaced returns in with another buffer of values, which starts at in's first
// row. It takes over values.
func (c *converter) replaced(in arrow.ArrayData, want arrow.DataType, values *memory.Buffer) arrow.ArrayData {
	defer values.Release()
	valid := c.validity(in)
	if valid != nil {
		defer valid.Release()
	}
	return array.NewData(want, in.Len(), []*memory.Buffer{valid, values}, nil, in.NullN(), 0)
}

// validity returns in's bitmap moved to start at bit 0, nil for none.
func (c *converter) validity(in arrow.ArrayData) *memory.Buffer {
	b := in.Buffers()[0]
	if b == nil || in.NullN() == 0 {
		return nil
	}
	out := memory.NewResizableBuffer(c.mem)
	out.Resize((in.Len() + 7) / 8)
	copyBits(out.Bytes(), b.Bytes(), in.Offset(), in.Len())
	return out
}

func (c *converter) buffer(size int) *memory.Buffer {
	b := memory.NewResizableBuffer(c.mem)
	b.Resize(size)
	return b
}

func widen[F, T int8 | int16 | int32 | int64 | float32 | float64](c *converter, in arrow.ArrayData, want arrow.DataType) arrow.ArrayData {
	src := arrow.GetData[F](bytesOf(in, 1))
	buf := c.buffer(in.Len() * want.(arrow.FixedWidthDataType).Bytes())
	dst := arrow.GetData[T](buf.Bytes())
	if src != nil {
		for i, v := range src[in.Offset() : in.Offset()+in.Len()] {
			dst[i] = T(v)
		}
	}
	return c.replaced(in, want, buf)
}

func (c *converter) unsigned(in arrow.ArrayData, want arrow.DataType) arrow.ArrayData {
	src := arrow.Uint64Traits.CastFromBytes(bytesOf(in, 1))
	buf := c.buffer(in.Len() * arrow.Decimal128SizeBytes)
	dst := arrow.Decimal128Traits.CastFromBytes(buf.Bytes())
	for i := range dst {
		dst[i] = decimal128.FromU64(src[in.Offset()+i])
	}
	return c.replaced(in, want, buf)
}

func (c *converter) decimalText(in arrow.ArrayData) (arrow.ArrayData, error) {
	src := array.NewDecimal256Data(in)
	defer src.Release()
	b := array.NewStringBuilder(c.mem)
	defer b.Release()
	scale := in.DataType().(*arrow.Decimal256Type).Scale
	for i := range src.Len() {
		if src.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(src.Value(i).ToString(scale))
	}
	out := b.NewStringArray()
	defer out.Release()
	out.Data().Retain()
	return out.Data(), nil
}

func (c *converter) clamp32(in arrow.ArrayData, want arrow.DataType) (arrow.ArrayData, error) {
	src := arrow.Int32Traits.CastFromBytes(bytesOf(in, 1))
	if src == nil {
		return retype(in, want), nil
	}
	src = src[in.Offset() : in.Offset()+in.Len()]
	lowest, highest := bounds(src)
	if lowest != math.MinInt32 && highest != math.MaxInt32 {
		return retype(in, want), nil
	}
	return clampValues(c, in, want, src, math.MinInt32, math.MaxInt32, minDay, maxDay)
}

// timestamp takes microseconds; a table with nanoseconds is refused when its schema
// is made.
func (c *converter) timestamp(in arrow.ArrayData, want arrow.DataType) (arrow.ArrayData, error) {
	if t, ok := in.DataType().(*arrow.TimestampType); !ok || t.Unit != arrow.Microsecond {
		return nil, fmt.Errorf("an Arrow %s can't become an Iceberg %s", in.DataType(), want)
	}
	return c.clamp64(in, want, math.MinInt64, math.MaxInt64, minDay*microsPerDay, (maxDay+1)*microsPerDay-1)
}

func (c *converter) clamp64(in arrow.ArrayData, want arrow.DataType, low, high, first, last int64) (arrow.ArrayData, error) {
	src := arrow.Int64Traits.CastFromBytes(bytesOf(in, 1))
	if src == nil {
		return retype(in, want), nil
	}
	src = src[in.Offset() : in.Offset()+in.Len()]
	lowest, highest := bounds(src)
	if lowest != low && highest != high {
		return retype(in, want), nil
	}
	return clampValues(c, in, want, src, low, high, first, last)
}

func bounds[T int32 | int64](values []T) (lowest, highest T) {
	for i, v := range values {
		if i == 0 {
			lowest, highest = v, v
		}
		lowest, highest = min(lowest, v), max(highest, v)
	}
	return lowest, highest
}

// clampValues replaces low by first and high by last, or does what the mode says.
func clampValues[T int32 | int64](c *converter, in arrow.ArrayData, want arrow.DataType, src []T, low, high, first, last T) (arrow.ArrayData, error) {
	size := want.(arrow.FixedWidthDataType).Bytes()
	buf := c.buffer(size * len(src))
	dst := arrow.GetData[T](buf.Bytes())
	copy(dst, src)
	valid := c.validity(in)
	nulls := in.NullN()
	release := func() {
		buf.Release()
		if valid != nil {
			valid.Release()
		}
	}
	for i, v := range src {
		if v != low && v != high || valid != nil && !bitSet(valid.Bytes(), i) {
			continue
		}
		switch c.infinity {
		case infinityError:
			release()
			return nil, &cellError{row: i, err: errInfinity}
		case infinityKey:
			release()
			return nil, &cellError{row: i, err: errInfinityKey}
		case infinityNull:
			if valid == nil {
				valid = c.buffer((len(src) + 7) / 8)
				fill(valid.Bytes(), 0xff)
			}
			valid.Bytes()[i/8] &^= 1 << (i % 8)
			nulls++
		default:
			dst[i] = first
			if v == high {
				dst[i] = last
			}
		}
	}
	defer release()
	return array.NewData(want, len(src), []*memory.Buffer{valid, buf}, nil, nulls, 0), nil
}

// children converts a list or a map: the entries of its one child.
func (c *converter) children(in arrow.ArrayData, want, elem arrow.DataType) (arrow.ArrayData, error) {
	if len(in.Children()) != 1 {
		return nil, fmt.Errorf("an Arrow %s can't become an Iceberg %s", in.DataType(), want)
	}
	child, err := c.convert(in.Children()[0], elem)
	if err != nil {
		return nil, parentRow(in, err)
	}
	defer child.Release()
	return array.NewData(want, in.Len(), in.Buffers(), []arrow.ArrayData{child}, in.NullN(), in.Offset()), nil
}

// parentRow turns the row of an element into the row of the list that holds it.
func parentRow(in arrow.ArrayData, err error) error {
	var cell *cellError
	if !errors.As(err, &cell) {
		return err
	}
	offsets := arrow.Int32Traits.CastFromBytes(bytesOf(in, 1))[in.Offset() : in.Offset()+in.Len()+1]
	row := sort.Search(in.Len(), func(i int) bool { return int(offsets[i+1]) > cell.row })
	return &cellError{row: row, err: cell.err}
}

func (c *converter) structure(in arrow.ArrayData, want *arrow.StructType) (arrow.ArrayData, error) {
	from, ok := in.DataType().(*arrow.StructType)
	if !ok {
		return nil, fmt.Errorf("an Arrow %s can't become an Iceberg %s", in.DataType(), want)
	}
	children := make([]arrow.ArrayData, 0, want.NumFields())
	defer func() {
		for _, ch := range children {
			ch.Release()
		}
	}()
	for _, f := range want.Fields() {
		i := slices.IndexFunc(from.Fields(), func(g arrow.Field) bool { return g.Name == f.Name })
		if i < 0 {
			return nil, fmt.Errorf("an Arrow %s has no field %s", from, f.Name)
		}
		child, err := c.convert(in.Children()[i], f.Type)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return array.NewData(want, in.Len(), in.Buffers(), children, in.NullN(), in.Offset()), nil
}

func bitSet(bits []byte, i int) bool { return bits[i/8]&(1<<(i%8)) != 0 }

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// copyBits copies n bits that start at bit offset of src to the start of dst.
func copyBits(dst, src []byte, offset, n int) {
	if offset%8 == 0 {
		copy(dst, src[offset/8:(offset+n+7)/8])
		return
	}
	clear(dst)
	for i := range n {
		if bitSet(src, offset+i) {
			dst[i/8] |= 1 << (i % 8)
		}
	}
}
