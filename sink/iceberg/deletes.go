package iceberg

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	iceberggo "github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// deleteChunk is how many deleted positions are turned into Arrow at a time.
const deleteChunk = 1 << 16

// deleteSet gathers deleted positions by file.
type deleteSet map[fileRef][]uint32

// add notes that the row at a position of a file is gone.
func (d deleteSet) add(ref fileRef, position uint32) { d[ref] = append(d[ref], position) }

// sorted returns the deletes by path. Each position is there once.
func (d deleteSet) sorted(path func(fileRef) (string, error)) ([]fileDeletes, error) {
	if len(d) == 0 {
		return nil, nil
	}
	out := make([]fileDeletes, 0, len(d))
	for ref, positions := range d {
		p, err := path(ref)
		if err != nil {
			return nil, err
		}
		slices.Sort(positions)
		wide := make([]int64, len(positions))
		for i, pos := range positions {
			wide[i] = int64(pos)
		}
		out = append(out, fileDeletes{Path: p, Positions: slices.Compact(wide)})
	}
	return mergeDeletes(out), nil
}

// writePositionDeletes writes one position-delete file of format v2 at path,
// durable if the file system says so, and returns its manifest entry. deletes come
// from [mergeDeletes]: the file is sorted by data file and position, as the
// specification asks. It names no single referenced data file, and so may
// delete rows of files of its own snapshot.
func writePositionDeletes(fs iceio.WriteFileIO, path string, spec iceberggo.PartitionSpec, deletes []fileDeletes) (iceberggo.DataFile, error) {
	sc, err := table.SchemaToArrowSchema(iceberggo.PositionalDeleteSchema, nil, true, false)
	if err != nil {
		return nil, fmt.Errorf("iceberg: schema of position deletes: %w", err)
	}
	mem := memory.DefaultAllocator
	f := newParquetFile(parquetOptions{fs: fs, mem: mem, level: defaultCompressionLevel, spec: spec}, path, sc)
	b := array.NewRecordBuilder(mem, sc)
	defer b.Release()
	paths, positions := b.Field(0).(*array.StringBuilder), b.Field(1).(*array.Int64Builder)
	flush := func() error {
		if positions.Len() == 0 {
			return nil
		}
		_, err := f.append(b.NewRecordBatch())
		return err
	}
	for _, d := range deletes {
		for part := range slices.Chunk(d.Positions, deleteChunk) {
			for range part {
				paths.Append(d.Path)
			}
			positions.AppendValues(part, nil)
			if positions.Len() < deleteChunk {
				continue
			}
			if err := flush(); err != nil {
				return nil, abortWith(f, err)
			}
		}
	}
	if err := flush(); err != nil {
		return nil, abortWith(f, err)
	}
	df, err := f.close(iceberggo.PositionalDeleteSchema, iceberggo.EntryContentPosDeletes)
	if err != nil {
		return nil, abortWith(f, err)
	}
	return df, nil
}

// abortWith gives up a file after err. That the file can't be removed matters
// less than err: it is an orphan then, and orphans are removed later.
func abortWith(f *parquetFile, err error) error {
	_ = f.abort()
	return err
}

// schemaOf is the Arrow form of an Iceberg schema, with field ids.
func schemaOf(s *iceberggo.Schema) (*arrow.Schema, error) {
	return table.SchemaToArrowSchema(s, nil, true, false)
}
