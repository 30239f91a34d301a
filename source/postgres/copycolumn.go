package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// copyColumn is a copyField with memory of its own instead of a builder: the
// common types, for which a builder's bookkeeping costs more than the value.
type copyColumn interface {
	copyField
	// newArray returns the values so far and starts anew.
	newArray() arrow.Array
	// release frees values that were not taken.
	release()
}

// newCopyColumn returns the column of a type that has one, else nil.
func newCopyColumn(mem memory.Allocator, c schema.Column, specialNull bool) copyColumn {
	t := c.Type.Arrow()
	switch t.ID() {
	case arrow.INT16:
		return &column16{cells: cells[uint16]{mem: mem, typ: t}}
	case arrow.INT32, arrow.FLOAT32:
		return &column32{cells: cells[uint32]{mem: mem, typ: t}}
	case arrow.DATE32:
		return &column32{cells: cells[uint32]{mem: mem, typ: t}, date: true}
	case arrow.INT64, arrow.FLOAT64, arrow.TIME64:
		if c.Source.Name != "oid" {
			return &column64{cells: cells[uint64]{mem: mem, typ: t}}
		}
	case arrow.TIMESTAMP:
		return &column64{cells: cells[uint64]{mem: mem, typ: t}, timestamp: true}
	case arrow.DECIMAL128:
		return &columnDecimal{cells: cells[decimal128.Num]{mem: mem, typ: t}, scale: c.Type.Scale, precision: int32(c.Type.Precision), specialNull: specialNull}
	case arrow.STRING, arrow.BINARY:
		return &columnText{cells: cells[int32]{mem: mem, typ: t}, jsonb: c.Source.Name == "jsonb"}
	}
	return nil
}

// cellType are the types of fixed width that columns hold.
type cellType interface {
	uint16 | uint32 | uint64 | int32 | decimal128.Num
}

// cells is a growing Arrow array of values of fixed width.
type cells[T cellType] struct {
	mem    memory.Allocator
	typ    arrow.DataType
	buf    *memory.Buffer
	values []T // the content of buf, up to its capacity
	n      int
	nulls  int
	valid  *memory.Buffer // made with the first NULL
}

// firstCells is the room that a column begins with.
const firstCells = 1024

func (c *cells[T]) width() int { return int(unsafe.Sizeof(*new(T))) }

// add appends one value.
func (c *cells[T]) add(v T) {
	if c.n == len(c.values) {
		c.grow()
	}
	c.values[c.n] = v
	c.n++
}

func (c *cells[T]) grow() {
	if c.buf == nil {
		c.buf = memory.NewResizableBuffer(c.mem)
	}
	n := max(2*len(c.values), firstCells)
	c.buf.Resize(n * c.width())
	c.values = arrow.GetData[T](c.buf.Bytes())
}

// appendNull implements copyField.
func (c *cells[T]) appendNull() {
	var zero T
	c.add(zero)
	c.markNull(c.n - 1)
}

// markNull clears the bit of value i. Bits that were not asked for yet are set.
func (c *cells[T]) markNull(i int) {
	if c.valid == nil {
		c.valid = memory.NewResizableBuffer(c.mem)
	}
	c.growValid(i + 1)
	c.valid.Bytes()[i/8] &^= 1 << (i % 8)
	c.nulls++
}

func (c *cells[T]) growValid(bits int) {
	from, to := c.valid.Len(), (bits+7)/8
	if to <= from {
		return
	}
	c.valid.Resize(max(to, min(2*from, to+firstCells)))
	b := c.valid.Bytes()
	for i := from; i < len(b); i++ {
		b[i] = 0xFF
	}
}

// take returns the validity bitmap and the values as buffers, which the caller
// releases, and starts anew. spare are values behind the last that count too.
func (c *cells[T]) take(spare int) (valid, values *memory.Buffer, n, nulls int) {
	if c.buf == nil {
		c.grow()
	}
	n, nulls = c.n, c.nulls
	if c.valid != nil {
		c.growValid(n)
	}
	c.buf.ResizeNoShrink((n + spare) * c.width())
	valid, values = c.valid, c.buf
	c.buf, c.values, c.valid, c.n, c.nulls = nil, nil, nil, 0, 0
	return valid, values, n, nulls
}

func (c *cells[T]) newArray() arrow.Array {
	room := len(c.values)
	valid, values, n, nulls := c.take(0)
	data := array.NewData(c.typ, n, []*memory.Buffer{valid, values}, nil, nulls, 0)
	releaseBuffers(valid, values)
	defer data.Release()
	if n*2 > room { // the next batch will be about as large
		c.reserve(n)
	}
	return array.MakeFromData(data)
}

// reserve makes room for n values at once.
func (c *cells[T]) reserve(n int) {
	c.buf = memory.NewResizableBuffer(c.mem)
	c.buf.Resize(n * c.width())
	c.values = arrow.GetData[T](c.buf.Bytes())
}

func (c *cells[T]) release() {
	releaseBuffers(c.valid, c.buf)
	c.buf, c.values, c.valid, c.n, c.nulls = nil, nil, nil, 0, 0
}

func releaseBuffers(bufs ...*memory.Buffer) {
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
}

func badWidth(v []byte, width int) error {
	return fmt.Errorf("%w: %d bytes where %d belong", errCopyFormat, len(v), width)
}

type column16 struct{ cells[uint16] }

func (c *column16) appendValue(v []byte) error {
	if len(v) != 2 {
		return badWidth(v, 2)
	}
	c.add(binary.BigEndian.Uint16(v))
	return nil
}

type column32 struct {
	cells[uint32]
	date bool
}

func (c *column32) appendValue(v []byte) error {
	if len(v) != 4 {
		return badWidth(v, 4)
	}
	u := binary.BigEndian.Uint32(v)
	if c.date {
		u = uint32(dateOf(int32(u)))
	}
	c.add(u)
	return nil
}

type column64 struct {
	cells[uint64]
	timestamp bool
}

func (c *column64) appendValue(v []byte) error {
	if len(v) != 8 {
		return badWidth(v, 8)
	}
	u := binary.BigEndian.Uint64(v)
	if c.timestamp {
		ts, err := timestampOf(int64(u))
		if err != nil {
			return err
		}
		u = uint64(ts)
	}
	c.add(u)
	return nil
}

type columnDecimal struct {
	cells[decimal128.Num]
	scale       int
	precision   int32
	specialNull bool
}

func (c *columnDecimal) appendValue(v []byte) error {
	num, null, err := decodeNumeric(v, c.scale, c.precision, c.specialNull)
	switch {
	case err != nil:
		return err
	case null:
		c.appendNull()
	default:
		c.add(num)
	}
	return nil
}

// columnText holds the start of each value in its column, and the bytes beside it.
type columnText struct {
	cells[int32]
	jsonb bool
	bytes *memory.Buffer
	data  []byte // content of bytes, up to its capacity
	used  int
	most  int // bytes of the largest batch so far
}

func (c *columnText) appendNull() {
	c.add(int32(c.used))
	c.markNull(c.n - 1)
}

func (c *columnText) appendValue(v []byte) error {
	if c.jsonb { // a version number, 1, stands before the text
		if len(v) == 0 || v[0] != 1 {
			return fmt.Errorf("%w: unknown version of jsonb", errCopyFormat)
		}
		v = v[1:]
	}
	if c.used+len(v) > len(c.data) {
		if c.used+len(v) > math.MaxInt32 {
			return fmt.Errorf("%w: more than 2 GiB of text in one batch", errOutOfRange)
		}
		c.growBytes(c.used + len(v))
	}
	c.add(int32(c.used))
	c.used += copy(c.data[c.used:], v)
	return nil
}

func (c *columnText) growBytes(need int) {
	if c.bytes == nil {
		c.bytes = memory.NewResizableBuffer(c.mem)
	}
	c.bytes.Resize(max(need, c.most, 2*len(c.data), firstCells))
	c.data = c.bytes.Bytes()
}

func (c *columnText) newArray() arrow.Array {
	c.add(int32(c.used)) // the end of the last value
	c.n--
	if c.bytes == nil {
		c.growBytes(0)
	}
	c.most = max(c.most, c.used)
	c.bytes.ResizeNoShrink(c.used)
	text := c.bytes
	room := len(c.values)
	valid, starts, n, nulls := c.take(1)
	data := array.NewData(c.typ, n, []*memory.Buffer{valid, starts, text}, nil, nulls, 0)
	releaseBuffers(valid, starts, text)
	defer data.Release()
	c.bytes, c.data, c.used = nil, nil, 0
	if n*2 > room {
		c.reserve(n + 1)
	}
	return array.MakeFromData(data)
}

func (c *columnText) release() {
	c.cells.release()
	releaseBuffers(c.bytes)
	c.bytes, c.data, c.used = nil, nil, 0
}
