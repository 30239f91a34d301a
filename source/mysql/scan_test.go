package mysql

import (
	"encoding/binary"
	"testing"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// rawEvent writes an event with a header and no checksum.
func rawEvent(kind event.Type, logPos, flags uint32, body string) []byte {
	p := make([]byte, event.HeaderSize, event.HeaderSize+len(body))
	p[4] = byte(kind)
	binary.LittleEndian.PutUint32(p[9:], uint32(event.HeaderSize+len(body)))
	binary.LittleEndian.PutUint32(p[13:], logPos)
	binary.LittleEndian.PutUint16(p[17:], uint16(flags))
	return append(p, body...)
}

func fakeRotate(file string, at uint64) []byte {
	return rawEvent(event.RotateType, 0, uint32(event.FlagArtificial), string(binary.LittleEndian.AppendUint64(nil, at))+file)
}

// TestScannerPlaces: offsets go on beyond the 32 bits that an event has for them.
func TestScannerPlaces(t *testing.T) {
	const size = event.HeaderSize + 8
	xid := string(make([]byte, 8))
	s := scanner{}
	for i, c := range []struct {
		packet []byte
		ours   bool
		file   string
		start  uint64
	}{
		{fakeRotate("binlog.000001", 4), false, "", 0},
		{rawEvent(event.XIDType, 4+size, 0, xid), true, "binlog.000001", 4},
		{rawEvent(event.XIDType, 1000, 0, xid), true, "binlog.000001", 1000 - size}, // something between was not sent
		{rawEvent(event.XIDType, 1<<32-1, 0, xid), true, "binlog.000001", 1<<32 - 1 - size},
		{rawEvent(event.XIDType, size-1, 0, xid), true, "binlog.000001", 1<<32 - 1},
		{rawEvent(event.XIDType, 5000, 0, xid), true, "binlog.000001", 1<<32 + 5000 - size},
		{rawEvent(event.HeartbeatType, 7000, 0, "binlog.000001"), false, "", 0},
		{rawEvent(event.HeartbeatV2Type, 7000, 0, ""), false, "", 0},
		{fakeRotate("binlog.000002", 4), false, "", 0},
		{rawEvent(event.XIDType, 4+size, 0, xid), true, "binlog.000002", 4},
	} {
		e, ours, err := s.next(c.packet)
		if err != nil || ours != c.ours || e.file != c.file || e.start != c.start {
			t.Errorf("%d: ours %v, %s:%d, %v", i, ours, e.file, e.start, err)
		}
	}
}

func FuzzScanner(f *testing.F) {
	f.Add(fakeRotate("binlog.000001", 4), rawEvent(event.XIDType, 100, 0, "12345678"))
	f.Add(rawEvent(event.FormatType, 100, 0, "\x04\x00"), rawEvent(event.GTIDType, 100, 0, "123"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		s := scanner{}
		for _, p := range [][]byte{one, two, one} {
			if e, ours, err := s.next(p); err != nil {
				return
			} else if ours && s.end < e.start {
				t.Fatalf("from %d to %d", e.start, s.end)
			}
		}
	})
}
