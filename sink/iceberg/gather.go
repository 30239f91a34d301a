package iceberg

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// pick names one row of one of several arrays. A negative row is a NULL.
type pick struct{ part, row int32 }

// gather builds the array of the picked rows of parts, which all have type dt.
// It takes from several arrays at once, so that nothing is concatenated first.
// The caller releases the result.
func gather(mem memory.Allocator, dt arrow.DataType, parts []arrow.ArrayData, picks []pick) (arrow.ArrayData, error) {
	g := gatherer{mem: mem, parts: parts, picks: picks}
	storage := dt
	if ext, ok := dt.(arrow.ExtensionType); ok {
		storage = ext.StorageType()
	}
	switch t := storage.(type) {
	case *arrow.NullType:
		return array.NewData(dt, len(picks), []*memory.Buffer{nil}, nil, len(picks), 0), nil
	case *arrow.BooleanType:
		return g.bools(dt), nil
	case *arrow.StringType, *arrow.BinaryType:
		return g.variable(dt)
	case *arrow.ListType:
		return g.list(dt, t.Elem())
	case *arrow.MapType:
		return g.list(dt, t.Elem())
	case *arrow.StructType:
		return g.structs(dt, t)
	case arrow.FixedWidthDataType:
		return g.fixed(dt, t.BitWidth()/8), nil
	}
	return nil, fmt.Errorf("iceberg: rows of Arrow type %s can't be selected", dt)
}

type gatherer struct {
	mem   memory.Allocator
	parts []arrow.ArrayData
	picks []pick
}

func (g *gatherer) buffer(size int) *memory.Buffer {
	b := memory.NewResizableBuffer(g.mem)
	b.Resize(size)
	return b
}

// finish wraps buffers, whose references it takes over, up with the validity bitmap.
func (g *gatherer) finish(dt arrow.DataType, children []arrow.ArrayData, buffers ...*memory.Buffer) arrow.ArrayData {
	valid, nulls := g.validity()
	all := append([]*memory.Buffer{valid}, buffers...)
	data := array.NewData(dt, len(g.picks), all, children, nulls, 0)
	for _, b := range all {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range children {
		c.Release()
	}
	return data
}

// validity returns the bitmap of the picked rows, nil when none is NULL.
func (g *gatherer) validity() (*memory.Buffer, int) {
	maps := make([][]byte, len(g.parts))
	some := false
	for i, p := range g.parts {
		if p.NullN() != 0 && p.Buffers()[0] != nil {
			maps[i] = p.Buffers()[0].Bytes()
			some = true
		}
	}
	nulls := 0
	for _, p := range g.picks {
		if p.row < 0 || some && !g.valid(maps, p) {
			nulls++
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	buf := g.buffer(int(bitutil.BytesForBits(int64(len(g.picks)))))
	bits := buf.Bytes()
	clear(bits)
	for i, p := range g.picks {
		if g.valid(maps, p) {
			bitutil.SetBit(bits, i)
		}
	}
	return buf, nulls
}

func (g *gatherer) valid(maps [][]byte, p pick) bool {
	if p.row < 0 {
		return false
	}
	m := maps[p.part]
	return m == nil || bitutil.BitIsSet(m, int(p.row)+g.parts[p.part].Offset())
}

func (g *gatherer) bools(dt arrow.DataType) arrow.ArrayData {
	buf := g.buffer(int(bitutil.BytesForBits(int64(len(g.picks)))))
	out := buf.Bytes()
	clear(out)
	for i, p := range g.picks {
		if p.row < 0 {
			continue
		}
		part := g.parts[p.part]
		if src := bytesOf(part, 1); src != nil && bitutil.BitIsSet(src, int(p.row)+part.Offset()) {
			bitutil.SetBit(out, i)
		}
	}
	return g.finish(dt, nil, buf)
}

func bytesOf(d arrow.ArrayData, i int) []byte {
	if b := d.Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

func (g *gatherer) fixed(dt arrow.DataType, width int) arrow.ArrayData {
	buf := g.buffer(len(g.picks) * width)
	switch width {
	case 4:
		gatherFixed(g, arrow.Uint32Traits.CastFromBytes(buf.Bytes()), arrow.Uint32Traits.CastFromBytes)
	case 8:
		gatherFixed(g, arrow.Uint64Traits.CastFromBytes(buf.Bytes()), arrow.Uint64Traits.CastFromBytes)
	default:
		g.fixedBytes(buf.Bytes(), width)
	}
	return g.finish(dt, nil, buf)
}

func gatherFixed[T any](g *gatherer, out []T, cast func([]byte) []T) {
	srcs := make([][]T, len(g.parts))
	for i, p := range g.parts {
		if b := bytesOf(p, 1); b != nil {
			srcs[i] = cast(b)[p.Offset():]
		}
	}
	var zero T
	for i, p := range g.picks {
		if p.row < 0 || srcs[p.part] == nil {
			out[i] = zero
			continue
		}
		out[i] = srcs[p.part][p.row]
	}
}

func (g *gatherer) fixedBytes(out []byte, width int) {
	for i, p := range g.picks {
		dst := out[i*width : (i+1)*width]
		if p.row < 0 {
			clear(dst)
			continue
		}
		part := g.parts[p.part]
		src := bytesOf(part, 1)
		if src == nil {
			clear(dst)
			continue
		}
		at := (int(p.row) + part.Offset()) * width
		copy(dst, src[at:at+width])
	}
}

// offsets returns the offsets of each part, from its first row on.
func (g *gatherer) offsets() [][]int32 {
	out := make([][]int32, len(g.parts))
	for i, p := range g.parts {
		if b := bytesOf(p, 1); len(b) > 0 {
			out[i] = arrow.Int32Traits.CastFromBytes(b)[p.Offset() : p.Offset()+p.Len()+1]
		} else {
			out[i] = make([]int32, p.Len()+1)
		}
	}
	return out
}

func (g *gatherer) variable(dt arrow.DataType) (arrow.ArrayData, error) {
	offsets := g.offsets()
	total := int64(0)
	for _, p := range g.picks {
		if p.row >= 0 {
			o := offsets[p.part]
			total += int64(o[p.row+1] - o[p.row])
		}
	}
	if total > math.MaxInt32 {
		return nil, fmt.Errorf("iceberg: %d bytes of text in one batch exceed Arrow's limit of 2 GiB", total)
	}
	ends, values := g.buffer(4*(len(g.picks)+1)), g.buffer(int(total))
	out, at := arrow.Int32Traits.CastFromBytes(ends.Bytes()), int32(0)
	dst := values.Bytes()
	srcs := make([][]byte, len(g.parts))
	for i, p := range g.parts {
		srcs[i] = bytesOf(p, 2)
	}
	out[0] = 0
	for i, p := range g.picks {
		if p.row >= 0 {
			o := offsets[p.part]
			at += int32(copy(dst[at:], srcs[p.part][o[p.row]:o[p.row+1]]))
		}
		out[i+1] = at
	}
	return g.finish(dt, nil, ends, values), nil
}

// list gathers lists and maps, whose entries are the rows of one child.
func (g *gatherer) list(dt, elem arrow.DataType) (arrow.ArrayData, error) {
	offsets := g.offsets()
	maps := make([][]byte, len(g.parts))
	children := make([]arrow.ArrayData, len(g.parts))
	for i, p := range g.parts {
		maps[i] = bytesOf(p, 0)
		children[i] = p.Children()[0]
	}
	ends := g.buffer(4 * (len(g.picks) + 1))
	out := arrow.Int32Traits.CastFromBytes(ends.Bytes())
	var sub []pick
	out[0] = 0
	for i, p := range g.picks {
		// A NULL list has no entries, whatever its offsets say: Parquet can't
		// take others.
		if p.row >= 0 && g.valid(maps, p) {
			o := offsets[p.part]
			for row := o[p.row]; row < o[p.row+1]; row++ {
				sub = append(sub, pick{p.part, row})
			}
		}
		out[i+1] = int32(len(sub))
	}
	child, err := gather(g.mem, elem, children, sub)
	if err != nil {
		ends.Release()
		return nil, err
	}
	return g.finish(dt, []arrow.ArrayData{child}, ends), nil
}

func (g *gatherer) structs(dt arrow.DataType, t *arrow.StructType) (arrow.ArrayData, error) {
	sub := make([]pick, len(g.picks))
	for i, p := range g.picks {
		sub[i] = p
		if p.row >= 0 {
			sub[i].row += int32(g.parts[p.part].Offset()) // children are not sliced with the struct
		}
	}
	var out []arrow.ArrayData
	for f := range t.NumFields() {
		children := make([]arrow.ArrayData, len(g.parts))
		for i, p := range g.parts {
			children[i] = p.Children()[f]
		}
		child, err := gather(g.mem, t.Field(f).Type, children, sub)
		if err != nil {
			for _, c := range out {
				c.Release()
			}
			return nil, err
		}
		out = append(out, child)
	}
	return g.finish(dt, out), nil
}
