package iceberg

import (
	"bytes"
	"hash/maphash"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// dictionarySample is how many rows of a file decide on dictionaries.
	dictionarySample = 2048
	// dictionaryShare: a column gets a dictionary when each of its sampled values
	// comes this often on average. A dictionary costs a hash per value and is
	// given up again when it outgrows a page; without repetition it is waste.
	dictionaryShare = 8
	// dictionaryRun: and when its values don't stand in runs of this length,
	// which zstd packs as well without one.
	dictionaryRun = 8
	// dictionaryLimit is the largest dictionary that we make ourselves.
	dictionaryLimit = 4096
)

var dictionarySeed = maphash.MakeSeed()

// dictionaryColumns returns the columns of chunks, by their Parquet path, whose
// values repeat. Nested columns go without.
func dictionaryColumns(sc *arrow.Schema, chunks []arrow.RecordBatch) map[string]bool {
	paths := map[string]bool{}
	total := int64(0)
	for _, rec := range chunks {
		total += rec.NumRows()
	}
	stride := max(1, total/dictionarySample)
	for i, field := range sc.Fields() {
		if repeats(chunks, i, stride) {
			paths[field.Name] = true
		}
	}
	return paths
}

// repeats samples every stride-th row of a column, and the row after it.
func repeats(chunks []arrow.RecordBatch, column int, stride int64) bool {
	seen, sampled, same := map[uint64]struct{}{}, 0, 0
	for _, rec := range chunks {
		col := rec.Column(column)
		value := valueBytes(col.Data())
		if value == nil {
			return false
		}
		for row := int64(0); row < rec.NumRows(); row += stride {
			if col.IsNull(int(row)) {
				continue
			}
			sampled++
			v := value(int(row))
			seen[maphash.Bytes(dictionarySeed, v)] = struct{}{}
			if row+1 < rec.NumRows() && bytes.Equal(v, value(int(row)+1)) {
				same++
			}
		}
	}
	runs := same*dictionaryRun > sampled*(dictionaryRun-1)
	return sampled > 0 && len(seen)*dictionaryShare <= sampled && !runs
}

// valueBytes returns a function that gives the bytes of a row's value, nil for
// types that get no dictionary.
func valueBytes(d arrow.ArrayData) func(row int) []byte {
	dt := d.DataType()
	if ext, ok := dt.(arrow.ExtensionType); ok {
		dt = ext.StorageType()
	}
	switch t := dt.(type) {
	case *arrow.BooleanType:
		return nil
	case *arrow.StringType, *arrow.BinaryType:
		values, offsets := bytesOf(d, 2), arrow.Int32Traits.CastFromBytes(bytesOf(d, 1))
		return func(row int) []byte { return values[offsets[d.Offset()+row]:offsets[d.Offset()+row+1]] }
	case arrow.FixedWidthDataType:
		values, width := bytesOf(d, 1), t.BitWidth()/8
		return func(row int) []byte { return values[(d.Offset()+row)*width : (d.Offset()+row+1)*width] }
	}
	return nil
}

// encodeDictionary returns the chunks of a text column as one array of indices
// into a dictionary, or nil when the dictionary would grow too large. It is several
// times cheaper than the encoder of the Parquet library, which boxes every value.
// The caller releases the result.
func encodeDictionary(mem memory.Allocator, chunks []arrow.Array) arrow.Array {
	rows := 0
	for _, c := range chunks {
		rows += c.Len()
	}
	e := dictionaryEncoder{slots: make([]uint16, 4*dictionaryLimit)}
	indices, valid := memory.NewResizableBuffer(mem), memory.NewResizableBuffer(mem)
	defer indices.Release()
	defer valid.Release()
	indices.Resize(4 * rows)
	valid.Resize(int(bitutil.BytesForBits(int64(rows))))
	clear(valid.Bytes())
	out, at, nulls := arrow.Int32Traits.CastFromBytes(indices.Bytes()), 0, 0
	for _, c := range chunks {
		value := valueBytes(c.Data())
		for row := range c.Len() {
			if c.IsNull(row) {
				out[at] = 0
				nulls++
			} else {
				i := e.index(value(row))
				if i < 0 {
					return nil
				}
				out[at] = i
				bitutil.SetBit(valid.Bytes(), at)
			}
			at++
		}
	}
	dictionary := e.values(mem, chunks[0].DataType())
	defer dictionary.Release()
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: chunks[0].DataType()}
	data := array.NewDataWithDictionary(dt, rows, []*memory.Buffer{valid, indices}, nulls, 0, dictionary.Data().(*array.Data))
	defer data.Release()
	return array.NewDictionaryData(data)
}

// dictionaryEncoder is a hash table of the values met.
type dictionaryEncoder struct {
	slots  []uint16 // index + 1 into seen, 0 is free
	seen   [][]byte // parts of the chunks
	hashes []uint32
}

// index returns the value's index, -1 when there is no room for another one.
func (e *dictionaryEncoder) index(v []byte) int32 {
	hash := uint32(maphash.Bytes(dictionarySeed, v))
	mask := uint32(len(e.slots) - 1)
	for slot := hash & mask; ; slot = (slot + 1) & mask {
		at := e.slots[slot]
		if at == 0 {
			if len(e.seen) == dictionaryLimit {
				return -1
			}
			e.seen, e.hashes = append(e.seen, v), append(e.hashes, hash)
			e.slots[slot] = uint16(len(e.seen))
			return int32(len(e.seen) - 1)
		}
		if e.hashes[at-1] == hash && bytes.Equal(e.seen[at-1], v) {
			return int32(at - 1)
		}
	}
}

func (e *dictionaryEncoder) values(mem memory.Allocator, dt arrow.DataType) arrow.Array {
	b := array.NewBinaryBuilder(mem, dt.(arrow.BinaryDataType))
	defer b.Release()
	for _, v := range e.seen {
		b.Append(v)
	}
	return b.NewArray()
}
