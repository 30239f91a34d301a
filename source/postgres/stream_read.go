package postgres

import (
	"context"
	"fmt"
	"time"
)

// groupReader reads frames into buffers and cuts them into raw groups.
type groupReader struct {
	stream *logStream
	buf    []byte
	at     int // scanned so far
	wait   time.Duration
	born   time.Time // when the first bytes of the group came
}

// bulkAge is how old a group may become before it is handed on while changes
// keep coming: larger groups cost less everywhere behind.
const bulkAge = 20 * time.Millisecond

// minRead is the least space that a read is given.
const minRead = 128 << 10

// run reads until there is a reason to end, which it returns.
func (r *groupReader) run(ctx context.Context) error {
	for {
		r.makeRoom()
		n, idle, err := r.stream.conn.read(r.buf[len(r.buf):cap(r.buf)], r.wait)
		r.buf = r.buf[:len(r.buf)+n]
		if n > 0 {
			if len(r.buf) == n {
				r.born = time.Now()
			}
			if scanErr := r.scanFrames(ctx); scanErr != nil {
				return scanErr
			}
		}
		if err != nil {
			// What came before the end is whole and in order: it is handed on.
			if r.stream.scan.cutPoint() > 0 {
				_ = r.flush(ctx, true)
			}
			return fmt.Errorf("read the log: %w", err)
		}
		if idle && (!r.stream.conn.bulk || time.Since(r.born) >= bulkAge) {
			if err := r.flush(ctx, false); err != nil {
				return err
			}
		}
	}
}

// makeRoom grows the buffer so that the next frame fits.
func (r *groupReader) makeRoom() {
	need := len(r.buf) + minRead
	if _, size, _, _ := nextFrame(r.buf[r.at:]); size > 0 {
		need = max(need, r.at+size)
	}
	if need <= cap(r.buf) {
		return
	}
	grown := r.stream.buffer(max(need, min(2*cap(r.buf), maxGroupBytes+minRead)))
	if cap(grown) < need {
		grown = make([]byte, 0, need)
	}
	grown = append(grown, r.buf...)
	r.stream.recycle(r.buf)
	r.buf = grown
}

// scanFrames walks over the complete frames that have come.
func (r *groupReader) scanFrames(ctx context.Context) error {
	s := r.stream.scan
	defer r.stream.note(s)
	for {
		f, _, ok, err := nextFrame(r.buf[r.at:])
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		verdict, err := s.frame(f, r.at)
		if err != nil {
			return r.stream.cfg.streamError(err)
		}
		switch verdict {
		case cutBefore: // the changes of s belong behind what was scanned before
			if err := r.cut(ctx, r.at, s.take(r.at)); err != nil {
				return err
			}
			r.at = 0
			continue // the frame is looked at again, as the first of its group
		case cutAfter:
			r.at += f.size
			if err := r.cut(ctx, r.at, s.take(r.at)); err != nil {
				return err
			}
			r.at = 0
		default:
			r.at += f.size
			if s.full(r.at) {
				if err := r.flush(ctx, true); err != nil {
					return err
				}
			}
		}
	}
}

// flush cuts a group at the last place outside a transaction, or, where there is
// none and force is set, right here. Without force it leaves the group to grow
// while the decoders are busy.
func (r *groupReader) flush(ctx context.Context, force bool) error {
	s := r.stream.scan
	r.wait = 0
	at := s.cutPoint()
	if at == 0 {
		if !force || r.at == 0 {
			return nil
		}
		at = r.at
	}
	if !force && len(r.stream.tickets) == cap(r.stream.tickets) {
		r.wait = bulkWait
		return nil
	}
	if err := r.cut(ctx, at, s.takeTo(at, r.at)); err != nil {
		return err
	}
	r.at = 0 // frames behind the cut are scanned again, as the beginning of the next group
	return nil
}

// cut hands on the first at bytes as a group and keeps the rest.
func (r *groupReader) cut(ctx context.Context, at int, g *rawGroup) error {
	old := r.buf
	rest := old[at:]
	r.buf = append(r.stream.buffer(max(firstBuffer, len(rest)+minRead)), rest...)
	r.born = time.Now()
	g.buf = old[:at]
	if g.empty() {
		r.stream.recycle(old)
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
