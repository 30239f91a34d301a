package wire

import (
	"errors"
	"os"
	"time"
)

// ReadRawWithin is ReadRaw that gives up after wait, with 0 bytes and no error.
func (c *Conn) ReadRawWithin(p []byte, wait time.Duration) (int, error) {
	if len(c.in.buffered()) > 0 {
		return c.ReadRaw(p)
	}
	d := c.dump.Load()
	if d == nil || c.closed.Load() {
		return 0, c.dumpError(ErrClosed)
	}
	d.next = time.Time{} // ReadRaw has to set its own deadline again
	_ = c.raw.SetReadDeadline(time.Now().Add(wait))
	n, err := c.net.Read(p)
	switch {
	case n > 0 || err == nil, d.ctx.Err() == nil && errors.Is(err, os.ErrDeadlineExceeded):
		return n, nil
	}
	return n, c.dumpError(err)
}
