package binlog

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// unpack scans the events inside of another one, piece by piece, as they are
// unpacked.
func (r *groupReader) unpack(ctx context.Context) error {
	s := r.stream.scan
	// The payload stays where it is until it is read: the segment is ours, or belongs
	// to the caller.
	if err := r.payload.Open(&s.payload, maxUnpacked); err != nil {
		return err
	}
	seg := r.stream.segments.get(segmentSize)
	defer func() { r.stream.segments.put(seg) }()
	at, end := 0, 0
	for {
		n, err := r.payload.Read(seg.buf[end:])
		end += n
		for end-at >= event.HeaderSize {
			h, err := event.ParseHeader(seg.buf[at:end])
			if err != nil {
				return s.fail(err)
			}
			size := int(h.Size)
			if size > maxEvent {
				return s.fail(fmt.Errorf("%w: an event of %d bytes", ErrStream, size))
			}
			if end-at < size {
				seg, at, end = r.nextSegment(seg, at, end, size)
				break
			}
			p := seg.buf[at : at+size]
			at += size
			if err := r.event(ctx, p, seg); err != nil {
				return err
			}
		}
		if len(seg.buf) == end {
			seg, at, end = r.nextSegment(seg, at, end, event.HeaderSize)
		}
		if errors.Is(err, io.EOF) {
			if at != end {
				return s.fail(fmt.Errorf("%w: a cut event in a payload", event.ErrCorrupt))
			}
			return s.endNested()
		}
		if err != nil {
			return s.fail(err)
		}
	}
}

// maxUnpacked bounds what a payload may become; it is never in memory as a whole.
const maxUnpacked = 1 << 40

// nextSegment makes room for the event of size bytes that begins at offset at.
func (r *groupReader) nextSegment(seg *segment, at, end, size int) (*segment, int, int) {
	if at+size <= len(seg.buf) && end < len(seg.buf) {
		return seg, at, end
	}
	next := r.stream.segments.get(size)
	n := copy(next.buf, seg.buf[at:end])
	r.stream.segments.put(seg)
	return next, 0, n
}
