package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

func TestPacketsOfAllSizes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var stream []byte
	var want [][]byte
	var seq byte
	for _, n := range []int{0, 1, 250, readBuffer - 4, readBuffer, readBuffer + 1, keptBuffer + 5, maxPayload - 1, maxPayload, 2*maxPayload + 7, 3, 0} {
		payload := make([]byte, n)
		for i := range payload {
			payload[i] = byte(i*7 + n)
		}
		want = append(want, payload)
		stream, seq = appendPacket(stream, payload, seq)
	}
	for _, src := range []io.Reader{bytes.NewReader(stream), &choppy{bytes.NewReader(stream), random}} {
		r := newPacketReader(src)
		for i, w := range want {
			got, err := r.read()
			if err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
			if !bytes.Equal(got, w) {
				t.Fatalf("message %d of %d bytes differs", i, len(w))
			}
		}
		if _, err := r.read(); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
		if len(r.buf) > keptBuffer {
			t.Errorf("%d bytes stay allocated", len(r.buf))
		}
	}
}

// choppy reads in pieces of random size.
type choppy struct {
	r      io.Reader
	random *rand.Rand
}

func (c *choppy) Read(p []byte) (int, error) {
	return c.r.Read(p[:1+c.random.IntN(min(len(p), 100_000))])
}

func TestPacketErrors(t *testing.T) {
	if _, err := newPacketReader(bytes.NewReader([]byte{1, 0, 0, 5, 'x'})).read(); !errors.Is(err, ErrProtocol) {
		t.Errorf("wrong number: %v", err)
	}
	if _, err := newPacketReader(bytes.NewReader([]byte{9, 0, 0, 0, 'x'})).read(); err != io.ErrUnexpectedEOF {
		t.Errorf("cut: %v", err)
	}
	if _, err := newPacketReader(iotest.ErrReader(io.ErrClosedPipe)).read(); err != io.ErrClosedPipe {
		t.Errorf("broken: %v", err)
	}
}
