package binlog

import (
	"context"
	"fmt"
)

// packets takes the packets that have come and makes room for the next one.
func (r *groupReader) packets(ctx context.Context) error {
	for {
		size, ok, err := packetSize(r.seg.buf[r.r:r.w], r.seq)
		if err != nil {
			return err
		}
		if ok && size >= directPacket {
			if err := r.direct(ctx, size); err != nil {
				return err
			}
			continue
		}
		end := r.r + packetHeader + size
		if !ok || end > r.w {
			r.makeRoom(packetHeader + size)
			return nil
		}
		payload := r.seg.buf[r.r+packetHeader : end]
		r.r, r.seq = end, r.seq+1
		if err := r.packet(ctx, payload, r.seg); err != nil {
			return err
		}
	}
}

// makeRoom goes on in another segment when the packet of n bytes that begins at r
// has no room in this one.
func (r *groupReader) makeRoom(n int) {
	const least = 64 << 10 // a read of less is not worth it
	if r.r+max(n, least) <= len(r.seg.buf) && len(r.seg.buf)-r.w >= packetHeader {
		return
	}
	next := r.stream.segments.get(segmentSize)
	copied := copy(next.buf, r.seg.buf[r.r:r.w])
	r.stream.segments.put(r.seg)
	r.seg, r.r, r.w = next, 0, copied
}

// direct takes a large event, which may come in several packets, of which size is the
// first, into a segment of its own.
func (r *groupReader) direct(ctx context.Context, size int) error {
	big := &segment{buf: make([]byte, size)}
	big.refs.Store(1)
	n := 0
	for {
		r.r += packetHeader
		r.seq++
		if n+size > maxEvent {
			return fmt.Errorf("%w: an event of more than %d bytes", ErrStream, maxEvent)
		}
		if n+size > len(big.buf) {
			// It doubles, so that a size that is claimed takes no memory before it comes.
			grown := make([]byte, min(max(2*len(big.buf), n+size), maxEvent))
			copy(grown, big.buf[:n])
			big.buf = grown
		}
		if err := r.readFull(big.buf[n : n+size]); err != nil {
			return err
		}
		n += size
		if size < longPacket {
			break
		}
		var err error
		if size, err = r.nextSize(); err != nil {
			return err
		}
	}
	r.makeRoom(packetHeader)
	err := r.packet(ctx, big.buf[:n], big)
	r.stream.segments.put(big)
	return err
}

// readFull reads what is unread, then from the connection.
func (r *groupReader) readFull(p []byte) error {
	n := copy(p, r.seg.buf[r.r:r.w])
	r.r += n
	for n < len(p) {
		m, err := r.stream.conn.ReadRaw(p[n:])
		n += m
		if err != nil && n < len(p) {
			return err
		}
	}
	return nil
}

// nextSize reads the head of the next packet.
func (r *groupReader) nextSize() (int, error) {
	for {
		size, ok, err := packetSize(r.seg.buf[r.r:r.w], r.seq)
		if ok || err != nil {
			return size, err
		}
		if r.makeRoom(packetHeader); r.w < len(r.seg.buf) {
			n, err := r.stream.conn.ReadRaw(r.seg.buf[r.w:])
			r.w += n
			if err != nil && n == 0 {
				return 0, err
			}
		}
	}
}
