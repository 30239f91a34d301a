package binlog

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

const (
	// bulkReads reads within bulkWindow are backlog: groups may then become bulkAge
	// old before they are handed on, because larger ones cost less everywhere behind.
	bulkReads  = 16
	bulkWindow = 10 * time.Millisecond
	bulkAge    = 20 * time.Millisecond
	// bulkWait is how long a read waits for more of a group that is not full.
	bulkWait = 2 * time.Millisecond
	// directPacket is the size from which packets are read into memory of their own.
	directPacket = segmentSize / 2
)

// groupReader reads packets and cuts the events in them into raw groups.
type groupReader struct {
	stream *Stream
	seg    *segment
	r, w   int // what is unread in seg
	seq    byte

	born        time.Time // when the oldest bytes of the group came
	windowStart time.Time
	reads       int
	bulk        bool

	payload event.PayloadReader
}

// read is the reading goroutine.
func (s *Stream) read(ctx context.Context) {
	defer s.wg.Done()
	defer close(s.tickets)
	defer close(s.work)
	// Reads end when the connection is closed.
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	r := &groupReader{stream: s, seg: s.segments.get(segmentSize), seq: 1}
	defer r.payload.Close()
	err := r.run(ctx)
	if s.scan.mark.set { // what came before the end is whole and in order
		_ = r.flush(ctx, true)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	s.noteEnd(Explain(err))
}

// run reads until there is a reason to end, which it returns.
func (r *groupReader) run(ctx context.Context) error {
	for {
		if err := r.packets(ctx); err != nil {
			return err
		}
		p, err := r.fill()
		if err != nil {
			// What came before the end is whole and in order.
			return cmp.Or(r.packets(ctx), err)
		}
		if p == more {
			continue
		}
		// Everything that has come is scanned. While the decoders are busy a group may
		// as well grow, unless nothing more comes.
		if err := r.packets(ctx); err != nil {
			return err
		}
		if p == idle && r.busy() {
			r.bulk = true // the next read does not wait for long
			continue
		}
		if err := r.flush(ctx, false); err != nil {
			return err
		}
	}
}

// pace is what a read tells of the server.
type pace uint8

const (
	// more is likely to come at once.
	more pace = iota
	// idle: the server had nothing more to send just now, as far as can be told.
	idle
	// quiet: nothing has come for bulkWait.
	quiet
)

// fill reads once.
func (r *groupReader) fill() (pace, error) {
	p := r.seg.buf[r.w:]
	var n int
	var err error
	if r.bulk {
		n, err = r.stream.conn.ReadRawWithin(p, bulkWait)
		if r.bulk = n > 0; n == 0 && err == nil {
			return quiet, nil
		}
	} else {
		n, err = r.stream.conn.ReadRaw(p)
	}
	if n > 0 {
		r.countRead()
		if r.born.IsZero() {
			r.born = time.Now()
		}
		r.w += n
	}
	if n < len(p) && (!r.bulk || time.Since(r.born) >= bulkAge) {
		return idle, err
	}
	return more, err
}

func (r *groupReader) countRead() {
	now := time.Now()
	if now.Sub(r.windowStart) > bulkWindow {
		r.windowStart, r.reads = now, 0
	}
	if r.reads++; r.reads >= bulkReads {
		r.bulk, r.reads = true, 0
	}
}

// packet takes the payload of a packet, which lies in seg.
func (r *groupReader) packet(ctx context.Context, p []byte, seg *segment) error {
	if len(p) == 0 {
		return fmt.Errorf("%w: an empty packet", ErrStream)
	}
	switch p[0] {
	case packetEvent:
		return r.event(ctx, p[1:], seg)
	case packetError:
		return wire.ServerError(p)
	case packetEOF:
		return ErrEnded
	}
	return fmt.Errorf("%w: packet 0x%02x", ErrStream, p[0])
}

// event scans one event.
func (r *groupReader) event(ctx context.Context, p []byte, seg *segment) error {
	s := r.stream.scan
	v, err := s.event(p, seg)
	if err != nil {
		return err
	}
	r.stream.note(s.received)
	switch v {
	case cutAfter:
		return r.send(ctx, s.take())
	case unpack:
		return r.unpack(ctx)
	}
	if s.full() {
		return r.flush(ctx, true)
	}
	return nil
}

// note publishes the newest position seen.
func (s *Stream) note(pos uint64) {
	if pos > s.received.Load() {
		s.received.Store(pos)
	}
}

// flush cuts a group at the last place outside a transaction, or, where there is
// none and force is set, right here. It waits for the decoders.
func (r *groupReader) flush(ctx context.Context, force bool) error {
	s := r.stream.scan
	switch {
	case s.mark.set:
		return r.send(ctx, s.takeMarked())
	case force:
		return r.send(ctx, s.take())
	}
	return nil
}

func (r *groupReader) busy() bool { return len(r.stream.tickets) == cap(r.stream.tickets) }

// send hands a group to the decoders.
func (r *groupReader) send(ctx context.Context, g *rawGroup) error {
	r.born = time.Time{}
	if r.r < r.w || len(r.stream.scan.group.rows) > 0 {
		r.born = time.Now()
	}
	if g.empty() {
		r.stream.recycle(g)
		return nil
	}
	g.done = make(chan decoded, 1)
	select {
	case r.stream.tickets <- g:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case r.stream.work <- g:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
