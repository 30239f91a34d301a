package value

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
)

// A value of a compressed column of MariaDB begins with a byte: 0 for one that is
// not compressed; else the method in the upper half, of which there is one, 8 for
// zlib; a bit for deflate without zlib's frame; and how many bytes the length has,
// which follows, big-endian. An empty value has no bytes at all.
const (
	compressMethod = 0xF0
	compressZlib   = 0x80
	compressRaw    = 0x08
	compressLength = 0x07
)

// maxRatio is the most that deflate makes of a byte; a greater claim is a lie.
const maxRatio = 1032

// inflated is next of the decompressed value; nil for the value itself.
func inflated(next form) form {
	z := &inflater{}
	return func(v []byte) ([]byte, error) {
		v, err := z.value(v)
		if err != nil || next == nil {
			return v, err
		}
		return next(v)
	}
}

// inflater keeps its memory between values.
type inflater struct {
	in   bytes.Reader
	raw  io.ReadCloser
	zlib io.ReadCloser
	out  []byte
}

func (z *inflater) value(v []byte) ([]byte, error) {
	if len(v) == 0 {
		return v, nil
	}
	head := v[0]
	if head == 0 {
		return v[1:], nil
	}
	size := int(head & compressLength)
	if head&compressMethod != compressZlib || size < 1 || size > 4 || len(v) < 1+size {
		return nil, fmt.Errorf("%w: %x is no compressed value", ErrMalformed, shorten(v))
	}
	length, body := bigEndian(v[1:], size), v[1+size:]
	if length > uint64(len(body)+1)*maxRatio {
		return nil, fmt.Errorf("%w: %d bytes that are said to be %d", ErrMalformed, len(body), length)
	}
	r, err := z.reader(body, head&compressRaw != 0)
	if err == nil {
		if uint64(cap(z.out)) < length {
			z.out = make([]byte, length)
		}
		z.out = z.out[:length]
		_, err = io.ReadFull(r, z.out)
	}
	if err == nil { // the end, and zlib's checksum
		var more [1]byte
		if n, end := r.Read(more[:]); n > 0 || end != io.EOF {
			err = fmt.Errorf("longer than %d bytes, or damaged: %v", length, end)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: a compressed value: %v", ErrMalformed, err)
	}
	return z.out, nil
}

func (z *inflater) reader(body []byte, raw bool) (io.Reader, error) {
	z.in.Reset(body)
	if raw {
		if z.raw == nil {
			z.raw = flate.NewReader(&z.in)
			return z.raw, nil
		}
		return z.raw, z.raw.(flate.Resetter).Reset(&z.in, nil)
	}
	if z.zlib == nil {
		var err error
		z.zlib, err = zlib.NewReader(&z.in)
		return z.zlib, err
	}
	return z.zlib, z.zlib.(zlib.Resetter).Reset(&z.in, nil)
}
