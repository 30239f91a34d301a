package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// copySignature begins every COPY (FORMAT binary) stream; two 32-bit words follow
// it, flags and the length of an extension
// (https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format").
const copySignature = "PGCOPY\n\xff\r\n\x00"

// errCopyFormat is returned for bytes that are no COPY stream.
var errCopyFormat = errors.New("malformed binary COPY stream")

// copyOptions say how a COPY stream is decoded.
type copyOptions struct {
	// MaxRows and MaxBytes close a record batch; bytes are those on the wire.
	MaxRows, MaxBytes int
	// Text returns the parser of a column that is sent as text.
	Text func(column int, b array.Builder) func(v []byte) error
	// SpecialNull makes NaN and the infinities of a DECIMAL NULL, otherwise they are an error.
	SpecialNull bool
	// Extra is the number of fields before the columns; OnExtra gets them (nil for NULL).
	Extra   int
	OnExtra func(field int, v []byte) error
}

// copyDecoder decodes a COPY (FORMAT binary) stream straight into Arrow builders.
// It is an io.Writer, and the stream may come in any pieces.
type copyDecoder struct {
	table   *schema.Table
	opts    copyOptions
	builder *array.RecordBuilder
	fields  []copyField
	flush   func(arrow.RecordBatch) error
	pending []byte // the beginning of a row whose rest has not come yet
	begun   bool
	ended   bool
	rows    int
	bytes   int
	columns []copyColumn // nil where a field appends to its builder
}

// newCopyDecoder returns a decoder for a stream whose fields, after opts.Extra
// others, are the columns of table: in binary where copyInBinary says so, else as
// text. flush takes over each record batch. Release must follow in any case.
func newCopyDecoder(mem memory.Allocator, table *schema.Table, opts copyOptions, flush func(arrow.RecordBatch) error) *copyDecoder {
	d := &copyDecoder{table: table, opts: opts, flush: flush, builder: array.NewRecordBuilder(mem, table.ArrowSchema())}
	d.fields = make([]copyField, len(table.Columns))
	d.columns = make([]copyColumn, len(table.Columns))
	for i := range table.Columns {
		d.fields[i], d.columns[i] = d.field(mem, i, d.builder.Field(i))
	}
	return d
}

// field returns what decodes column i, and the same as a column if it needs no builder.
func (d *copyDecoder) field(mem memory.Allocator, i int, b array.Builder) (copyField, copyColumn) {
	c := d.table.Columns[i]
	if copyInBinary(c) {
		if col := newCopyColumn(mem, c, d.opts.SpecialNull); col != nil {
			return col, col
		}
		if f := binaryField(c, b); f != nil {
			return f, nil
		}
	}
	return textField{b: b, parse: d.opts.Text(i, b)}, nil
}

// Write decodes the complete rows of p and keeps the rest for the next call.
func (d *copyDecoder) Write(p []byte) (int, error) {
	n := len(p)
	if len(d.pending) > 0 {
		d.pending = append(d.pending, p...)
		p = d.pending
	}
	rest, err := d.decode(p)
	if err != nil {
		return 0, err
	}
	d.pending = append(d.pending[:0], rest...)
	return n, nil
}

// decode consumes whole rows from p and returns what is left.
func (d *copyDecoder) decode(p []byte) ([]byte, error) {
	if !d.begun {
		rest, ok, err := copyHeader(p)
		if err != nil || !ok {
			return p, err
		}
		p, d.begun = rest, true
	}
	for len(p) >= 2 {
		if d.ended {
			return nil, fmt.Errorf("table %s: %w: bytes after the trailer", d.table.ID, errCopyFormat)
		}
		fields := int(int16(binary.BigEndian.Uint16(p)))
		if fields < 0 {
			d.ended, p = true, p[2:]
			continue
		}
		size, ok := rowSize(p, fields)
		if !ok {
			return p, nil
		}
		if fields != d.opts.Extra+len(d.fields) {
			return nil, fmt.Errorf("table %s: %w: a row of %d fields, expected %d", d.table.ID, errCopyFormat, fields, d.opts.Extra+len(d.fields))
		}
		if err := d.row(p[2:size]); err != nil {
			return nil, err
		}
		p = p[size:]
	}
	return p, nil
}

func copyHeader(p []byte) (rest []byte, ok bool, err error) {
	const fixed = len(copySignature) + 8
	if len(p) < fixed {
		return p, false, nil
	}
	if string(p[:len(copySignature)]) != copySignature {
		return nil, false, fmt.Errorf("%w: bad signature", errCopyFormat)
	}
	extension := int(binary.BigEndian.Uint32(p[len(copySignature)+4:]))
	if len(p) < fixed+extension {
		return p, false, nil
	}
	return p[fixed+extension:], true, nil
}

// rowSize returns the length of the row at the start of p, if it is all there.
func rowSize(p []byte, fields int) (int, bool) {
	at := 2
	for range fields {
		if at+4 > len(p) {
			return 0, false
		}
		n := int(int32(binary.BigEndian.Uint32(p[at:])))
		at += 4 + max(n, 0)
	}
	return at, at <= len(p)
}

// row decodes one complete row.
func (d *copyDecoder) row(p []byte) error {
	d.bytes += len(p)
	for i := range d.opts.Extra {
		var v []byte
		v, p = nextField(p)
		if err := d.opts.OnExtra(i, v); err != nil {
			return err
		}
	}
	values := p
	for i, f := range d.fields {
		var v []byte
		v, p = nextField(p)
		if v == nil {
			f.appendNull()
		} else if err := f.appendValue(v); err != nil {
			return d.valueError(values, i, err)
		}
	}
	d.rows++
	if d.rows == d.opts.MaxRows || d.opts.MaxBytes > 0 && d.bytes >= d.opts.MaxBytes {
		return d.cut()
	}
	return nil
}

// nextField returns the next field, nil for NULL, and what follows it.
func nextField(p []byte) (v, rest []byte) {
	n := int(int32(binary.BigEndian.Uint32(p)))
	if n < 0 {
		return nil, p[4:]
	}
	return p[4 : 4+n : 4+n], p[4+n:]
}

func (d *copyDecoder) cut() error {
	if d.rows == 0 {
		return nil
	}
	arrays := make([]arrow.Array, len(d.fields))
	for i, col := range d.columns {
		if col != nil {
			arrays[i] = col.newArray()
		} else {
			arrays[i] = d.builder.Field(i).NewArray()
		}
	}
	record := array.NewRecordBatch(d.builder.Schema(), arrays, int64(d.rows))
	for _, a := range arrays {
		a.Release()
	}
	d.rows, d.bytes = 0, 0
	return d.flush(record)
}

// Close hands on the last rows. A stream without its trailer is an error.
func (d *copyDecoder) Close() error {
	if !d.ended {
		return fmt.Errorf("table %s: %w: it ends without a trailer", d.table.ID, errCopyFormat)
	}
	return d.cut()
}

// Release frees what was not handed on.
func (d *copyDecoder) Release() {
	d.builder.Release()
	for _, col := range d.columns {
		if col != nil {
			col.release()
		}
	}
}
