package event

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// Inflater unpacks what MariaDB compresses inside of an event. It is used again
// and again.
type Inflater struct {
	data bytes.Reader
	zlib io.ReadCloser
}

// Inflate appends the unpacked form of p to dst: the Area of compressed [Rows], or
// the SQL of a compressed [Query]. More than limit bytes are ErrTooLarge.
func (f *Inflater) Inflate(dst, p []byte, limit int) ([]byte, error) {
	size, packed, ok := inflatedSize(p)
	if !ok {
		return dst, fmt.Errorf("%w: the head of a compressed part", ErrCorrupt)
	}
	if size > uint64(limit) {
		return dst, fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
	}
	f.data.Reset(packed)
	if f.zlib == nil {
		z, err := zlib.NewReader(&f.data)
		if err != nil {
			return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		f.zlib = z
	} else if err := f.zlib.(zlib.Resetter).Reset(&f.data, nil); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return f.read(dst, int(size))
}

// read unpacks exactly size bytes. It trusts the size no further than the data goes.
func (f *Inflater) read(dst []byte, size int) ([]byte, error) {
	const step = 1 << 20
	start := len(dst)
	for len(dst)-start < size {
		n := min(size-(len(dst)-start), max(step, len(dst)-start))
		dst = append(dst, make([]byte, n)...)
		if _, err := io.ReadFull(f.zlib, dst[len(dst)-n:]); err != nil {
			return dst[:start], fmt.Errorf("%w: a compressed part: %w", ErrCorrupt, err)
		}
	}
	var more [1]byte
	if n, err := f.zlib.Read(more[:]); n != 0 || err != io.EOF {
		return dst[:start], fmt.Errorf("%w: a compressed part is not as long as it says", ErrCorrupt)
	}
	return dst, nil
}

// inflatedSize reads the head: the algorithm in the upper four bits (0: zlib), in the lower
// three the length of the size, which follows with its highest byte first.
func inflatedSize(p []byte) (size uint64, packed []byte, ok bool) {
	if len(p) == 0 || p[0]>>4&7 != 0 {
		return 0, nil, false
	}
	n := int(p[0] & 7)
	if n == 0 || n > 4 || len(p) < 1+n {
		return 0, nil, false
	}
	for _, b := range p[1 : 1+n] {
		size = size<<8 | uint64(b)
	}
	return size, p[1+n:], true
}
