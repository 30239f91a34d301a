package wire

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// Conn is a session. Its calls are made one after the other; Close may be called
// at any time by anybody.
type Conn struct {
	raw         net.Conn // the socket, for deadlines and the end
	net         net.Conn // where bytes go: the socket, or TLS above it
	in          *packetReader
	out         []byte
	id          uint32
	flavor      Flavor
	version     Version
	versionText string
	closed      atomic.Bool
	idle        atomic.Bool // between two statements
	dump        atomic.Pointer[dumpState]
}

func newConn(n net.Conn) *Conn { return &Conn{raw: n, net: n, in: newPacketReader(n)} }

// Flavor says whether the server is MySQL or MariaDB.
func (c *Conn) Flavor() Flavor { return c.flavor }

// Version returns the server's version.
func (c *Conn) Version() Version { return c.version }

// VersionText returns the version as the server greets with it.
func (c *Conn) VersionText() string { return c.versionText }

// ID returns the session's number in SHOW PROCESSLIST. The protocol carries its
// lower 32 bits.
func (c *Conn) ID() uint32 { return c.id }

// Close ends the session. A statement that runs in another goroutine fails.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.leaveDump()
	if c.idle.Load() {
		// COM_QUIT, so that the server does not count an aborted client.
		_ = c.raw.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.net.Write([]byte{1, 0, 0, 0, 0x01})
	}
	return c.raw.Close()
}

// fail closes the connection without a word, because nobody knows what the server sends next.
func (c *Conn) fail() {
	if !c.closed.Swap(true) {
		c.leaveDump()
		_ = c.raw.Close()
	}
}

// guard runs a call and breaks it off when ctx ends. The connection is closed
// then, for the server's answer may still come.
func (c *Conn) guard(ctx context.Context, fn func() error) error {
	if c.closed.Load() {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	c.idle.Store(false)
	stop := context.AfterFunc(ctx, func() { _ = c.raw.SetDeadline(time.Unix(1, 0)) })
	err := fn()
	if !stop() {
		c.fail()
		return context.Cause(ctx)
	}
	return err
}

// command sends a command and begins a new sequence of packets.
func (c *Conn) command(code byte, payload []byte) error {
	c.out = append(append(c.out[:0], code), payload...)
	c.in.seq = 0
	return c.write(c.out)
}

// write sends a message with the number that is due.
func (c *Conn) write(payload []byte) error {
	packet, seq := appendPacket(nil, payload, c.in.seq)
	c.in.seq = seq
	_, err := c.net.Write(packet)
	return err
}
