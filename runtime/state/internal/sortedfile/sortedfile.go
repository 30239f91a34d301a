// Package sortedfile is the format in which keyed state is written as one run of
// entries in key order, apart from any back end.
//
// A file is a header of 8 bytes, blocks, and an end:
//
//	block: length of the payload (uint32, > 0), CRC-32C of the payload (uint32), payload
//	payload: entries, each: length of the key (uvarint), of the value (uvarint), key, value
//	end: 0 (uint32), number of entries (uint64), CRC-32C of that number (uint32)
//
// Integers are little endian. A missing end is a truncated file.
package sortedfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/freshet-cdc/freshet/runtime/state"
)

const (
	header    = "FRSTATE\x01"
	blockSize = 64 << 10
)

var table = crc32.MakeTable(crc32.Castagnoli)

// Writer writes a sorted file.
type Writer struct {
	w       io.Writer
	block   []byte
	last    []byte
	count   uint64
	written int64
	err     error
}

// NewWriter returns a Writer to w; it writes in pieces of about 64 KiB and does not close w.
func NewWriter(w io.Writer) *Writer {
	sw := &Writer{w: w}
	sw.write([]byte(header))
	return sw
}

// Add writes an entry, whose key must be above the one before it.
func (w *Writer) Add(key, value []byte) error {
	if w.err != nil {
		return w.err
	}
	if w.count > 0 && bytes.Compare(key, w.last) <= 0 {
		w.err = fmt.Errorf("%w: %x after %x", state.ErrUnordered, key, w.last)
		return w.err
	}
	w.last = append(w.last[:0], key...)
	w.count++
	w.block = binary.AppendUvarint(w.block, uint64(len(key)))
	w.block = binary.AppendUvarint(w.block, uint64(len(value)))
	w.block = append(append(w.block, key...), value...)
	if len(w.block) >= blockSize {
		w.flush()
	}
	return w.err
}

// Finish writes what is left and returns the size of the file.
func (w *Writer) Finish() (size int64, err error) {
	w.flush()
	var end [16]byte
	binary.LittleEndian.PutUint64(end[4:], w.count)
	binary.LittleEndian.PutUint32(end[12:], crc32.Checksum(end[4:12], table))
	w.write(end[:])
	return w.written, w.err
}

func (w *Writer) flush() {
	if len(w.block) == 0 {
		return
	}
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(w.block)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(w.block, table))
	w.write(head[:])
	w.write(w.block)
	w.block = w.block[:0]
}

func (w *Writer) write(p []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(p)
	w.written += int64(n)
	w.err = err
}

// Reader reads a sorted file. Damage is an error that wraps state.ErrCorrupt.
type Reader struct {
	r     *bufio.Reader
	block bytes.Buffer
	rest  []byte
	count uint64
	begun bool
	done  bool
	err   error
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, blockSize)} }

// Next returns the next entry, valid until the next call, or false at the end
// and after an error.
func (r *Reader) Next() (key, value []byte, ok bool) {
	for len(r.rest) == 0 {
		if r.done || r.err != nil || !r.readBlock() {
			return nil, nil, false
		}
	}
	klen, n := binary.Uvarint(r.rest)
	if n <= 0 {
		return r.corrupt("entry")
	}
	r.rest = r.rest[n:]
	vlen, n := binary.Uvarint(r.rest)
	if n <= 0 || klen > uint64(len(r.rest)-n) || vlen > uint64(len(r.rest)-n)-klen {
		return r.corrupt("entry")
	}
	r.rest = r.rest[n:]
	key, value = r.rest[:klen:klen], r.rest[klen:klen+vlen:klen+vlen]
	r.rest = r.rest[klen+vlen:]
	r.count++
	return key, value, true
}

// Err returns the error that ended the reading, or nil after the last entry.
func (r *Reader) Err() error { return r.err }

func (r *Reader) corrupt(what string) (key, value []byte, ok bool) {
	r.err = fmt.Errorf("%w: bad %s after %d entries", state.ErrCorrupt, what, r.count)
	r.rest = nil
	return nil, nil, false
}

// readBlock reads the next block into rest; false at the end or after an error.
func (r *Reader) readBlock() bool {
	if !r.begun {
		r.begun = true
		var head [len(header)]byte
		if !r.read(head[:]) {
			return false
		}
		if string(head[:]) != header {
			_, _, ok := r.corrupt("header")
			return ok
		}
	}
	var word [4]byte
	if !r.read(word[:]) {
		return false
	}
	length := binary.LittleEndian.Uint32(word[:])
	if length == 0 {
		return r.readEnd()
	}
	if !r.read(word[:]) {
		return false
	}
	r.block.Reset()
	if _, err := io.CopyN(&r.block, r.r, int64(length)); err != nil {
		return r.fail(err)
	}
	if crc32.Checksum(r.block.Bytes(), table) != binary.LittleEndian.Uint32(word[:]) {
		_, _, ok := r.corrupt("checksum of a block")
		return ok
	}
	r.rest = r.block.Bytes()
	return true
}

func (r *Reader) readEnd() bool {
	var end [12]byte
	if !r.read(end[:]) {
		return false
	}
	count := binary.LittleEndian.Uint64(end[:])
	if crc32.Checksum(end[:8], table) != binary.LittleEndian.Uint32(end[8:]) || count != r.count {
		_, _, ok := r.corrupt("end")
		return ok
	}
	r.done = true
	return false
}

func (r *Reader) read(p []byte) bool {
	if _, err := io.ReadFull(r.r, p); err != nil {
		return r.fail(err)
	}
	return true
}

// fail keeps an error of the medium apart from a file that is too short.
func (r *Reader) fail(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.err = fmt.Errorf("%w: truncated after %d entries", state.ErrCorrupt, r.count)
	} else {
		r.err = err
	}
	return false
}
