package binlog

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// testLog writes a binlog file as MySQL would.
type testLog struct {
	name   string
	data   []byte // from offset 4
	number uint64 // of the last GTID
	time   uint32
	plain  bool // the events are for a payload
}

// formatBody is a FORMAT_DESCRIPTION of a server with checksums.
func formatBody(version string) []byte {
	p := binary.LittleEndian.AppendUint16(nil, 4)
	p = append(p, version...)
	p = append(p, make([]byte, 50-len(version)+4)...)
	p = append(p, event.HeaderSize)
	lengths := make([]byte, 171)
	for t := range lengths {
		switch event.Type(t + 1) {
		case event.QueryType:
			lengths[t] = 13
		case event.RotateType, event.TableMapType, event.WriteRowsV1, event.UpdateRowsV1, event.DeleteRowsV1:
			lengths[t] = 8
		case event.WriteRows, event.UpdateRows, event.DeleteRows, event.PartialUpdateRows:
			lengths[t] = 10
		}
	}
	return append(append(p, lengths...), 1)
}

func newTestLog(name string) *testLog {
	l := &testLog{name: name, time: 1_790_000_000}
	l.add(event.FormatType, 0, formatBody("9.7.0-test"))
	return l
}

// makeEvent makes an event that ends at end in its file, 0 for an artificial one.
func makeEvent(t event.Type, flags event.Flags, time uint32, end uint64, body []byte, sum bool) []byte {
	size := event.HeaderSize + len(body)
	if sum {
		size += 4
	}
	p := binary.LittleEndian.AppendUint32(make([]byte, 0, size), time)
	p = append(p, byte(t))
	p = binary.LittleEndian.AppendUint32(p, 1)
	p = binary.LittleEndian.AppendUint32(p, uint32(size))
	p = binary.LittleEndian.AppendUint32(p, uint32(end))
	p = binary.LittleEndian.AppendUint16(p, uint16(flags))
	p = append(p, body...)
	if sum {
		p = binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(p))
	}
	return p
}

// end is the offset behind what was written.
func (l *testLog) end() uint64 { return FirstOffset + uint64(len(l.data)) }

func (l *testLog) add(t event.Type, flags event.Flags, body []byte) {
	size := uint64(event.HeaderSize + len(body))
	if l.plain {
		l.data = append(l.data, makeEvent(t, flags, l.time, 0, body, false)...)
		return
	}
	l.data = append(l.data, makeEvent(t, flags, l.time, l.end()+size+4, body, true)...)
}

func (l *testLog) gtid() {
	l.number++
	p := append([]byte{0}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	p = binary.LittleEndian.AppendUint64(p, l.number)
	p = append(p, 2)
	p = append(p, make([]byte, 16)...)
	micros := binary.LittleEndian.AppendUint64(nil, uint64(l.time)*1e6+l.number)
	l.add(event.GTIDType, 0, append(p, micros[:7]...))
}

func (l *testLog) query(sql string) {
	p := make([]byte, 8)
	p = append(p, 1, 0, 0, 0, 0)
	p = append(p, 'd', 0)
	l.add(event.QueryType, 0, append(p, sql...))
}

func (l *testLog) xid() { l.add(event.XIDType, 0, make([]byte, 8)) }

func (l *testLog) rotate(next string) {
	l.add(event.RotateType, 0, append(binary.LittleEndian.AppendUint64(nil, FirstOffset), next...))
}

func (l *testLog) heartbeat() []byte {
	return makeEvent(event.HeartbeatType, 0, 0, l.end(), []byte(l.name), true)
}

func tableIDBytes(id uint64) []byte { return binary.LittleEndian.AppendUint64(nil, id)[:6] }

// tableMap maps a table of INTs and VARCHARs, as the letters i and v say, all but the
// first of which may be NULL.
func (l *testLog) tableMap(id uint64, table, columns string) {
	p := append(tableIDBytes(id), 1, 0)
	p = append(p, 1, 'd', 0, byte(len(table)))
	p = append(append(p, table...), 0, byte(len(columns)))
	var metas []byte
	for _, c := range columns {
		if c == 'v' {
			p, metas = append(p, 15), append(metas, 200, 0)
		} else {
			p = append(p, 3)
		}
	}
	p = append(append(p, byte(len(metas))), metas...)
	nullable := make([]byte, (len(columns)+7)/8)
	for i := 1; i < len(columns); i++ {
		nullable[i/8] |= 1 << (i % 8)
	}
	l.add(event.TableMapType, 0, append(p, nullable...))
}

// row writes an image: values of the columns, nil for NULL.
func row(p []byte, values ...any) []byte {
	nulls := make([]byte, (len(values)+7)/8)
	var cells []byte
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			nulls[i/8] |= 1 << (i % 8)
		case int:
			cells = binary.LittleEndian.AppendUint32(cells, uint32(v))
		case string:
			cells = append(append(cells, byte(len(v))), v...)
		}
	}
	return append(append(p, nulls...), cells...)
}

// rows adds a rows event with full images of n columns.
func (l *testLog) rows(t event.Type, id uint64, n int, area []byte) {
	p := append(tableIDBytes(id), 1, 0, 2, 0, byte(n))
	full := strings.Repeat("\xff", (n+7)/8)
	p = append(p, full...)
	if t == event.UpdateRows {
		p = append(p, full...)
	}
	l.add(t, 0, append(p, area...))
}

// payload adds a TRANSACTION_PAYLOAD of what fill writes.
func (l *testLog) payload(fill func(inner *testLog)) {
	inner := &testLog{plain: true, time: l.time}
	fill(inner)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	packed := z.EncodeAll(inner.data, nil)
	number := func(kind byte, v int) []byte {
		p := []byte{kind, 9, 254}
		return binary.LittleEndian.AppendUint64(p, uint64(v))
	}
	p := append(number(1, len(packed)), 2, 1, 0)
	p = append(p, number(3, len(inner.data))...)
	l.add(event.PayloadType, 0, append(append(p, 0), packed...))
}

// capturedLog is a file that a real server wrote.
func capturedLog(t testing.TB, name string) *testLog {
	data, err := os.ReadFile(filepath.Join("..", "event", "testdata", "binlogs", name+".binlog"))
	if err != nil {
		t.Fatal(err)
	}
	return &testLog{name: "binlog.000002", data: data[FirstOffset:]}
}

// untilStatement cuts a captured log before its statement in statement format, which
// no stream passes.
func (l *testLog) untilStatement() *testLog {
	cut, begin := l.end(), l.end()
	l.events(func(offset uint64, h event.Header, p []byte) {
		switch h.Type {
		case event.GTIDType, event.MariaGTIDType:
			begin = offset
		case event.QueryType:
			if strings.Contains(string(p), "(@v,") {
				cut = begin
			}
		}
	})
	return &testLog{name: l.name, data: l.data[:cut-FirstOffset]}
}

// events cuts the file.
func (l *testLog) events(fn func(offset uint64, h event.Header, p []byte)) {
	for at := 0; at < len(l.data); {
		h, err := event.ParseHeader(l.data[at:])
		if err != nil {
			panic(err)
		}
		fn(FirstOffset+uint64(at), h, l.data[at:at+int(h.Size)])
		at += int(h.Size)
	}
}

// dump is what a server sends for the log from an offset on: packets.
func (l *testLog) dump(from uint64) []byte {
	var d packets
	d.event(makeEvent(event.RotateType, event.FlagArtificial, 0, 0, append(binary.LittleEndian.AppendUint64(nil, from), l.name...), true))
	l.events(func(offset uint64, h event.Header, p []byte) {
		switch {
		case h.Type == event.FormatType && from > FirstOffset:
			body := p[event.HeaderSize : len(p)-4]
			d.event(makeEvent(h.Type, 0, h.Timestamp, 0, body, true))
		case offset >= from:
			d.event(p)
		}
	})
	return d.data
}

// packets frames events as a server does.
type packets struct {
	data []byte
	seq  byte
}

func (d *packets) event(p []byte) { d.packet(append([]byte{packetEvent}, p...)) }

func (d *packets) packet(p []byte) {
	for {
		n := min(len(p), longPacket)
		d.seq++
		d.data = append(d.data, byte(n), byte(n>>8), byte(n>>16), d.seq)
		d.data = append(d.data, p[:n]...)
		if p = p[n:]; n < longPacket {
			return
		}
	}
}

// recorded is a connection that plays what a server has sent, in pieces.
type recorded struct {
	data  []byte
	piece func() int
	// hang, if not nil, keeps the end open until the connection is closed.
	hang  chan struct{}
	close sync.Once
}

func (r *recorded) ReadRaw(p []byte) (int, error) {
	if len(r.data) == 0 {
		if r.hang != nil {
			<-r.hang
		}
		return 0, io.EOF
	}
	n := len(p)
	if r.piece != nil {
		n = min(n, r.piece())
	}
	n = copy(p[:n], r.data)
	r.data = r.data[n:]
	return n, nil
}

func (r *recorded) ReadRawWithin(p []byte, wait time.Duration) (int, error) {
	if len(r.data) == 0 && r.hang != nil {
		select {
		case <-r.hang:
		case <-time.After(wait):
			return 0, nil
		}
	}
	return r.ReadRaw(p)
}

func (r *recorded) Close() error {
	if r.hang != nil {
		r.close.Do(func() { close(r.hang) })
	}
	return nil
}

// dumpByGTID is what a server sends of the log to who has set already: it leaves
// out transactions.
func (l *testLog) dumpByGTID(t testing.TB, set *GTIDSet) []byte {
	var d packets
	d.event(makeEvent(event.RotateType, event.FlagArtificial, 0, 0, append(binary.LittleEndian.AppendUint64(nil, FirstOffset), l.name...), true))
	skip := false
	l.events(func(_ uint64, h event.Header, p []byte) {
		body := p[event.HeaderSize : len(p)-4]
		switch h.Type {
		case event.GTIDType, event.GTIDTaggedType:
			var e event.GTID
			if err := e.Parse(h.Type, body); err != nil {
				t.Fatal(err)
			}
			skip = set.Has(GTID{Source: Source{UUID: e.UUID, Tag: string(e.Tag)}, Number: uint64(e.Number)})
		case event.MariaGTIDType:
			var e event.MariaGTID
			if err := e.Parse(body); err != nil {
				t.Fatal(err)
			}
			skip = set.Has(GTID{Domain: e.Domain, Server: h.ServerID, Number: e.Sequence})
		case event.RotateType:
			skip = false
		}
		if !skip {
			d.event(p)
		}
	})
	return d.data
}
