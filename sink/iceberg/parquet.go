package iceberg

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	iceberggo "github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

const (
	// rowGroupBytes is how many bytes of Arrow memory become one row group: large
	// enough for readers, small enough that every open file can hold one.
	rowGroupBytes = 24 << 20
	// pageBytes bounds the pages of a column chunk. arrow-go ends a page after the
	// batch that goes over it, and its buffers are powers of two, which it clears
	// each time: at 1 MiB every page would take 2.
	pageBytes = 896 << 10
	// defaultCompressionLevel is zstd's: measured on floors.md's orders, level 3
	// costs a third more CPU than 1 for files 4 % smaller.
	defaultCompressionLevel = 1
)

// parquetOptions are what all files of a writer have in common.
type parquetOptions struct {
	fs    iceio.WriteFileIO
	mem   memory.Allocator
	level int
	spec  iceberggo.PartitionSpec
	// beforeOpen, if set, is called before the file is created.
	beforeOpen func() error
}

// parquetFile writes one Parquet file: records gather until they make a row
// group, whose columns are then encoded one after the other straight into the
// file, so that no more than the row group's Arrow memory is held. The file is
// created with its first row group, when the values that decide on dictionaries
// are there.
type parquetFile struct {
	opts   parquetOptions
	path   string
	schema *arrow.Schema

	out io.WriteCloser
	pq  *pqarrow.FileWriter
	// dictionaries are the columns that get one.
	dictionaries map[string]bool
	// written counts bytes of the file, flushed and rows the rows in it and in all.
	written       int64
	flushed, rows int64

	chunks []arrow.RecordBatch
	bytes  int64 // of chunks
	done   bool
}

// newParquetFile returns a writer of records of the schema, whose fields carry
// Iceberg's field ids. Nothing is created yet.
func newParquetFile(opts parquetOptions, path string, sc *arrow.Schema) *parquetFile {
	registerCodec()
	return &parquetFile{opts: opts, path: path, schema: sc}
}

// append takes over rec and returns the position of its first row in the file.
func (f *parquetFile) append(rec arrow.RecordBatch) (position int64, err error) {
	position = f.rows
	f.rows += rec.NumRows()
	f.bytes += recordBytes(rec)
	f.chunks = append(f.chunks, rec)
	if f.bytes >= rowGroupBytes {
		err = f.flush()
	}
	return position, err
}

// buffered returns the record and row at a position that is not written yet.
func (f *parquetFile) buffered(position int64) (rec arrow.RecordBatch, row int, ok bool) {
	at := position - f.flushed
	if at < 0 {
		return nil, 0, false
	}
	for _, rec := range f.chunks {
		if at < rec.NumRows() {
			return rec, int(at), true
		}
		at -= rec.NumRows()
	}
	return nil, 0, false
}

// flush writes what is gathered as one row group.
func (f *parquetFile) flush() error {
	if len(f.chunks) == 0 {
		return nil
	}
	if err := f.writeRowGroup(); err != nil {
		return fmt.Errorf("iceberg: writing %s: %w", f.path, err)
	}
	f.flushed = f.rows
	f.release()
	return nil
}

func (f *parquetFile) release() {
	for _, rec := range f.chunks {
		rec.Release()
	}
	clear(f.chunks)
	f.chunks, f.bytes = f.chunks[:0], 0
}

func (f *parquetFile) writeRowGroup() error {
	if err := f.open(); err != nil {
		return err
	}
	if err := f.pq.NewRowGroupChecked(); err != nil {
		return err
	}
	for i, field := range f.schema.Fields() {
		arrays := make([]arrow.Array, len(f.chunks))
		rows := int64(0)
		for j, rec := range f.chunks {
			arrays[j] = rec.Column(i)
			rows += rec.NumRows()
		}
		if err := f.writeColumn(field, arrays, rows); err != nil {
			return fmt.Errorf("column %s: %w", field.Name, err)
		}
	}
	return nil
}

func (f *parquetFile) writeColumn(field arrow.Field, arrays []arrow.Array, rows int64) error {
	if _, text := field.Type.(arrow.BinaryDataType); text && f.dictionaries[field.Name] {
		if indices := encodeDictionary(f.opts.mem, arrays); indices != nil {
			defer indices.Release()
			return f.pq.WriteColumnData(indices)
		}
	}
	chunked := arrow.NewChunked(field.Type, arrays)
	defer chunked.Release()
	return f.pq.WriteColumnChunked(chunked, 0, rows)
}

// open creates the file.
func (f *parquetFile) open() error {
	if f.pq != nil {
		return nil
	}
	if f.opts.beforeOpen != nil {
		if err := f.opts.beforeOpen(); err != nil {
			return err
		}
	}
	out, err := f.opts.fs.Create(f.path)
	if err != nil {
		return err
	}
	properties := []parquet.WriterProperty{
		parquet.WithAllocator(f.opts.mem),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(f.opts.level),
		parquet.WithDataPageSize(pageBytes),
		parquet.WithDictionaryDefault(false),
		parquet.WithCreatedBy("freshet"),
		parquet.WithRootName("table"),
		parquet.WithMaxRowGroupLength(1 << 40),  // row groups end where we say
		parquet.WithStoreDecimalAsInteger(true), // as Iceberg's specification asks
	}
	f.dictionaries = dictionaryColumns(f.schema, f.chunks)
	for path := range f.dictionaries {
		properties = append(properties, parquet.WithDictionaryFor(path, true))
	}
	f.pq, err = pqarrow.NewFileWriter(f.schema, &countingWriter{w: out, n: &f.written},
		parquet.NewWriterProperties(properties...), pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(f.opts.mem)))
	if err != nil {
		return errors.Join(err, out.Close(), f.opts.fs.Remove(f.path))
	}
	f.out = out
	return nil
}

// opened says whether the file exists already.
func (f *parquetFile) opened() bool { return f.out != nil }

// close ends the file, durable if the file system says so, and returns its entry
// for a manifest. schema is the Iceberg schema that the rows have.
func (f *parquetFile) close(schema *iceberggo.Schema, content iceberggo.ManifestEntryContent) (iceberggo.DataFile, error) {
	if f.rows == 0 {
		return nil, errors.New("iceberg: a data file without rows")
	}
	if err := f.flush(); err != nil {
		return nil, err
	}
	f.done = true
	if err := f.pq.Close(); err != nil {
		return nil, fmt.Errorf("iceberg: ending %s: %w", f.path, errors.Join(err, f.out.Close()))
	}
	if err := f.out.Close(); err != nil {
		return nil, fmt.Errorf("iceberg: syncing %s: %w", f.path, err)
	}
	meta, err := f.pq.FileMetadata()
	if err != nil {
		return nil, fmt.Errorf("iceberg: %s: %w", f.path, err)
	}
	df, err := table.DataFileFromMetadata(table.DataFileArgs{
		Schema: schema, Spec: f.opts.spec, Format: iceberggo.ParquetFile, Metadata: meta,
		FilePath: f.path, FileSize: f.written, Content: content, FormatVersion: 2,
	})
	if err != nil {
		return nil, fmt.Errorf("iceberg: describing %s: %w", f.path, err)
	}
	return df, nil
}

// abort gives up the file and removes it.
func (f *parquetFile) abort() error {
	f.release()
	if f.out == nil {
		return nil
	}
	if !f.done {
		f.done = true
		_ = f.pq.Close() // gives its buffers back; what it writes goes away with the file
		_ = f.out.Close()
	}
	return f.opts.fs.Remove(f.path)
}

// countingWriter hides the Close of the file, which must come after the footer.
type countingWriter struct {
	w io.Writer
	n *int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	*c.n += int64(n)
	return n, err
}

const (
	// arrayOverhead is the memory of an Arrow array and its data without buffers,
	// bufferOverhead that of a buffer without its bytes, padding included. For batches
	// of a few rows they are nearly all of the memory.
	arrayOverhead  = 384
	bufferOverhead = 192
)

// recordBytes estimates the memory of a record. A slice of a larger record counts
// with its share, where that can be told without looking at the values.
func recordBytes(rec arrow.RecordBatch) int64 {
	total := int64(0)
	for _, col := range rec.Columns() {
		total += dataBytes(col.Data())
	}
	return total
}

func dataBytes(d arrow.ArrayData) int64 {
	n := int64(arrayOverhead)
	for i, b := range d.Buffers() {
		if b == nil {
			continue
		}
		size := int64(b.Len())
		if i < 2 && d.Offset()+d.Len() > 0 {
			if fixed, ok := d.DataType().(arrow.FixedWidthDataType); ok && i == 1 {
				size = min(size, int64(d.Len()*fixed.BitWidth()+7)/8)
			}
		}
		n += size + bufferOverhead
	}
	for _, c := range d.Children() {
		n += dataBytes(c)
	}
	return n
}
