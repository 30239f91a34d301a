package binlog

import (
	"fmt"
	"sync/atomic"
)

// segment is a buffer that events lie in. Groups refer to it while they are
// decoded, the reader while it fills it; the last one lets it be used again.
type segment struct {
	buf  []byte
	refs atomic.Int32
}

const (
	// segmentSize is how much is read at once at most, and the size of the segments.
	segmentSize = 512 << 10
	// packetHeader is the length and the sequence number of a packet.
	packetHeader = 4
	// longPacket is the length of packets that go on in the next one.
	longPacket = 1<<24 - 1
	// maxEvent is more than any event can have: max_allowed_packet is 1 GB at most.
	maxEvent = 1<<30 + 1<<20
)

// The first bytes of the packets of a dump.
const (
	packetEvent = 0x00
	packetEOF   = 0xfe
	packetError = 0xff
)

// packetSize returns the payload's length of the packet at the start of p, false
// when its header has not come yet. seq is the number that it must have.
func packetSize(p []byte, seq byte) (int, bool, error) {
	if len(p) < packetHeader {
		return 0, false, nil
	}
	if p[3] != seq {
		return 0, false, fmt.Errorf("%w: packet %d where %d was due", ErrStream, p[3], seq)
	}
	return int(p[0]) | int(p[1])<<8 | int(p[2])<<16, true, nil
}

// segments keeps those that are free.
type segments struct{ free chan *segment }

func newSegments(n int) *segments { return &segments{free: make(chan *segment, n)} }

// get returns an empty segment for at least size bytes with one reference.
func (s *segments) get(size int) *segment {
	if size <= segmentSize {
		select {
		case g := <-s.free:
			g.refs.Store(1)
			return g
		default:
		}
		size = segmentSize
	}
	g := &segment{buf: make([]byte, size)}
	g.refs.Store(1)
	return g
}

// put gives back one reference.
func (s *segments) put(g *segment) {
	if g.refs.Add(-1) > 0 || len(g.buf) != segmentSize {
		return
	}
	select {
	case s.free <- g:
	default:
	}
}
