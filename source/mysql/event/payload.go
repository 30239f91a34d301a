package event

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Compression is how a TRANSACTION_PAYLOAD is packed.
type Compression uint64

// The algorithms.
const (
	CompressionZstd Compression = 0
	CompressionNone Compression = 255
)

// Payload is a TRANSACTION_PAYLOAD event: all events of a transaction but its GTID,
// as one compressed piece. The events inside have no checksum, and positions that
// mean nothing.
type Payload struct {
	Compression Compression
	// Size is the size when unpacked, as the event claims.
	Size uint64
	Data []byte
}

// Parse reads the body.
func (e *Payload) Parse(body []byte) error {
	const (
		fieldEnd         = 0
		fieldSize        = 1
		fieldCompression = 2
		fieldUnpacked    = 3
	)
	*e = Payload{Compression: CompressionNone}
	r := reader{p: body}
	size := uint64(0)
	for {
		kind := r.packed()
		if r.bad || kind == fieldEnd {
			break
		}
		v := reader{p: r.packedBytes()}
		switch kind {
		case fieldSize:
			size = v.packed()
		case fieldCompression:
			e.Compression = Compression(v.packed())
		case fieldUnpacked:
			e.Size = v.packed()
		}
		r.bad = r.bad || v.bad
	}
	e.Data = r.rest()
	if r.bad || size != uint64(len(e.Data)) {
		return corrupt(PayloadType, "a cut body")
	}
	if e.Compression != CompressionZstd && e.Compression != CompressionNone {
		return fmt.Errorf("%w: TRANSACTION_PAYLOAD: compression %d", ErrCorrupt, e.Compression)
	}
	return nil
}

// PayloadReader unpacks payloads piece by piece. It is an io.Reader, used again
// for each payload.
type PayloadReader struct {
	zstd   *zstd.Decoder
	data   bytes.Reader
	source io.Reader
	left   uint64 // how much more may come
}

// Open begins to read e, whose Data must stay until the end. More than limit
// bytes, or more than the event claims, is ErrTooLarge.
func (r *PayloadReader) Open(e *Payload, limit uint64) error {
	r.data.Reset(e.Data)
	r.source, r.left = &r.data, limit
	if e.Compression == CompressionNone {
		return nil
	}
	r.left = min(limit, e.Size)
	if r.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		r.zstd = d
	}
	if err := r.zstd.Reset(&r.data); err != nil {
		return fmt.Errorf("%w: TRANSACTION_PAYLOAD: %w", ErrCorrupt, err)
	}
	r.source = r.zstd
	return nil
}

// Read implements io.Reader.
func (r *PayloadReader) Read(p []byte) (int, error) {
	n, err := r.source.Read(p)
	if uint64(n) > r.left {
		return 0, fmt.Errorf("%w (TRANSACTION_PAYLOAD)", ErrTooLarge)
	}
	r.left -= uint64(n)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: TRANSACTION_PAYLOAD: %w", ErrCorrupt, err)
	}
	return n, err
}

// Close frees what reading took.
func (r *PayloadReader) Close() {
	if r.zstd != nil {
		r.zstd.Close()
		r.zstd = nil
	}
}
