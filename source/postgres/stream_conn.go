package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// bulkLowat is how much the kernel gathers before it wakes the reader while
	// there is backlog: the server sends every change by itself, and waking up for
	// each costs more than all the rest of reading.
	bulkLowat = 64 << 10
	// bulkWait bounds what that may add to the latency.
	bulkWait = 2 * time.Millisecond
	// bulkReads reads within bulkWindow are backlog.
	bulkReads  = 16
	bulkWindow = 10 * time.Millisecond
	// writeTimeout bounds the sending of a status update; the server reads them
	// even while it is blocked on sending.
	writeTimeout = 30 * time.Second
)

// walConn is the replication connection in copy mode: read by one goroutine,
// written under a lock by any.
type walConn struct {
	net net.Conn
	raw syscall.RawConn // nil where the low-water mark can't be used

	bulk        bool
	reads       int
	windowStart time.Time

	mu sync.Mutex // guards writes
}

// hijack takes the bare connection out of an idle session.
func hijack(conn *pgconn.PgConn) (*walConn, error) {
	h, err := conn.Hijack()
	if err != nil {
		return nil, fmt.Errorf("take over the replication connection: %w", err)
	}
	if h.Frontend.ReadBufferLen() > 0 {
		h.Conn.Close()
		return nil, fmt.Errorf("%w: unread messages before the start of replication", errProtocol)
	}
	c := &walConn{net: h.Conn}
	if s, ok := h.Conn.(syscall.Conn); ok && lowatSupported { // plain TCP or Unix, not TLS
		c.raw, _ = s.SyscallConn()
	}
	return c, nil
}

// read reads into p. idle says that the server had nothing more to send just now
// as far as can be told. With wait > 0 it gives up after that time with n = 0.
func (c *walConn) read(p []byte, wait time.Duration) (n int, idle bool, err error) {
	if c.bulk {
		return c.readBulk(p)
	}
	var deadline time.Time
	if wait > 0 {
		deadline = time.Now().Add(wait)
	}
	_ = c.net.SetReadDeadline(deadline)
	n, err = c.net.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, true, nil
	}
	c.countRead()
	return n, n < len(p), err
}

// readBulk waits for bulkLowat bytes or bulkWait, whichever comes first; when
// nothing has come at all, the backlog is over.
func (c *walConn) readBulk(p []byte) (n int, idle bool, err error) {
	for range 2 {
		_ = c.net.SetReadDeadline(time.Now().Add(bulkWait))
		n, err = c.net.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, n < bulkLowat/2, err
		}
		// The deadline has passed with less than the mark; the next try takes what
		// is there without waiting.
	}
	c.setBulk(false)
	return 0, true, nil
}

func (c *walConn) countRead() {
	if c.raw == nil {
		return
	}
	now := time.Now()
	if now.Sub(c.windowStart) > bulkWindow {
		c.windowStart, c.reads = now, 0
	}
	if c.reads++; c.reads >= bulkReads {
		c.setBulk(true)
		c.reads = 0
	}
}

func (c *walConn) setBulk(on bool) {
	mark := 1
	if on {
		mark = bulkLowat
	}
	if setLowat(c.raw, mark) != nil {
		c.raw, on = nil, false
	}
	c.bulk = on
}

// write sends one message.
func (c *walConn) write(kind byte, body []byte) error {
	return c.writeWithin(writeTimeout, kind, body)
}

func (c *walConn) writeWithin(limit time.Duration, kind byte, body []byte) error {
	msg := make([]byte, 0, frameHeader+len(body))
	msg = append(msg, kind)
	msg = binary.BigEndian.AppendUint32(msg, uint32(4+len(body)))
	msg = append(msg, body...)
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.net.SetWriteDeadline(time.Now().Add(limit))
	if _, err := c.net.Write(msg); err != nil {
		return fmt.Errorf("send to the server: %w", err)
	}
	return nil
}

// close ends the connection; a goodbye lets the server free the slot at once.
func (c *walConn) close() error {
	const patience = time.Second
	if c.writeWithin(patience, msgCopyDone, nil) == nil {
		_ = c.writeWithin(patience, 'X', nil)
	}
	return c.net.Close()
}
