package wire

import (
	"io"
)

const (
	// maxPayload is the largest payload of one packet; a longer one goes on in the next.
	maxPayload = 1<<24 - 1
	// maxMessage is the most that a message may have: the protocol's limit of
	// max_allowed_packet, with room for its frame.
	maxMessage = 1<<30 + 1<<16
	// readBuffer is the usual size of the buffer, keptBuffer the most that stays
	// allocated after a long message.
	readBuffer = 256 << 10
	keptBuffer = 4 << 20
)

// packetReader cuts a byte stream into messages. What read returns is valid until
// the next call.
type packetReader struct {
	src  io.Reader
	buf  []byte
	r, w int
	seq  byte
	long []byte // a message of several packets
}

func newPacketReader(src io.Reader) *packetReader {
	return &packetReader{src: src, buf: make([]byte, readBuffer)}
}

// buffered returns the bytes that were read ahead.
func (p *packetReader) buffered() []byte { return p.buf[p.r:p.w] }

// read returns the payload of the next message.
func (p *packetReader) read() ([]byte, error) {
	if cap(p.long) > keptBuffer {
		p.long = nil
	}
	payload, err := p.packet()
	if err != nil || len(payload) < maxPayload {
		return payload, err
	}
	p.long = append(p.long[:0], payload...)
	for len(payload) == maxPayload {
		if payload, err = p.packet(); err != nil {
			return nil, err
		}
		if len(p.long)+len(payload) > maxMessage {
			return nil, malformed("a message of more than %d bytes", maxMessage)
		}
		p.long = append(p.long, payload...)
	}
	return p.long, nil
}

// packet returns the payload of one packet.
func (p *packetReader) packet() ([]byte, error) {
	if err := p.fill(4); err != nil {
		return nil, err
	}
	h := p.buf[p.r : p.r+4]
	n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
	if h[3] != p.seq {
		return nil, malformed("packet %d where %d was due", h[3], p.seq)
	}
	p.seq++
	p.r += 4
	if err := p.fill(n); err != nil {
		return nil, err
	}
	payload := p.buf[p.r : p.r+n]
	p.r += n
	return payload, nil
}

// fill makes n bytes available at p.r.
func (p *packetReader) fill(n int) error {
	if p.w-p.r >= n {
		return nil
	}
	p.makeRoom(n)
	for p.w-p.r < n {
		m, err := p.src.Read(p.buf[p.w:])
		p.w += m
		if p.w-p.r >= n {
			return nil
		}
		if err == io.EOF && p.w > p.r {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeRoom moves what is unread to the front of a buffer that holds n bytes, a
// smaller one again after a long packet.
func (p *packetReader) makeRoom(n int) {
	rest := p.buf[p.r:p.w]
	switch {
	case n > len(p.buf):
		buf := make([]byte, n+readBuffer)
		copy(buf, rest)
		p.buf = buf
	case len(p.buf) > keptBuffer && max(n, len(rest)) <= readBuffer:
		buf := make([]byte, readBuffer)
		copy(buf, rest)
		p.buf = buf
	case p.r > 0:
		copy(p.buf, rest)
	}
	p.r, p.w = 0, len(rest)
}

// appendPacket appends payload as packets to dst, numbered from seq, and returns
// the number of the next one.
func appendPacket(dst, payload []byte, seq byte) ([]byte, byte) {
	for {
		n := min(len(payload), maxPayload)
		dst = append(dst, byte(n), byte(n>>8), byte(n>>16), seq)
		dst = append(dst, payload[:n]...)
		payload = payload[n:]
		seq++
		if n < maxPayload {
			return dst, seq
		}
	}
}
