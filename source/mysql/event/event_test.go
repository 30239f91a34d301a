package event

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
)

// build makes an event with a header, and a checksum if sum is set.
func build(t Type, flags Flags, body []byte, sum bool) []byte {
	size := HeaderSize + len(body)
	if sum {
		size += checksumSize
	}
	p := make([]byte, 4, size)
	p = append(p, byte(t))
	p = binary.LittleEndian.AppendUint32(p, 1)
	p = binary.LittleEndian.AppendUint32(p, uint32(size))
	if flags&FlagArtificial != 0 {
		p = binary.LittleEndian.AppendUint32(p, 0)
	} else {
		p = binary.LittleEndian.AppendUint32(p, 1000)
	}
	p = binary.LittleEndian.AppendUint16(p, uint16(flags))
	p = append(p, body...)
	if sum {
		p = binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(p))
	}
	return p
}

// testFormat is a FORMAT_DESCRIPTION that a server wrote.
func testFormat(t testing.TB, file string) *Format {
	var f *Format
	err := eachEvent(capturedFile(t, file), func(h Header, p []byte) error {
		if h.Type != FormatType {
			return nil
		}
		body, err := f.Body(h, p)
		if err != nil {
			return err
		}
		f, err = ParseFormat(body)
		return err
	})
	if err != nil || f == nil {
		t.Fatal(err)
	}
	return f
}

func TestFormat(t *testing.T) {
	for file, want := range map[string]string{"mysql97": "9.7.", "mysql80": "8.0.15", "mariadb1011": "10.11.", "mariadb118": "11.8."} {
		f := testFormat(t, file)
		if !strings.HasPrefix(f.ServerVersion, want) || f.MariaDB != strings.HasPrefix(file, "mariadb") || f.Checksum != ChecksumCRC32 {
			t.Errorf("%s: %+v", file, f)
		}
	}
}

// TestFlippedBit: every bit of an event counts.
func TestFlippedBit(t *testing.T) {
	f := testFormat(t, "mysql97")
	n := 0
	err := eachEvent(capturedFile(t, "mysql97"), func(h Header, p []byte) error {
		if n++; n > 6 && h.Type != RotateType {
			return nil
		}
		for i := range len(p) * 8 {
			q := bytes.Clone(p)
			q[i/8] ^= 1 << (i % 8)
			g, err := ParseHeader(q)
			if err == nil {
				_, err = f.Body(g, q)
			}
			inUse := h.Type == FormatType && i/8 == 17 && i%8 == 0 // changes in place
			algorithm := h.Type == FormatType && i/8 == len(q)-checksumSize-1
			typ := i/8 == 4 && g.Type == FormatType
			if err == nil && !inUse && !algorithm && !typ {
				t.Errorf("%s: bit %d", h.Type, i)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestChecksums(t *testing.T) {
	f := testFormat(t, "mysql97")
	plain := *f
	plain.Checksum = ChecksumNone
	rotate := append(binary.LittleEndian.AppendUint64(nil, 4), "binlog.000007"...)
	for _, c := range []struct {
		name   string
		format *Format
		event  []byte
		ok     bool
	}{
		{"checksum", f, build(RotateType, 0, rotate, true), true},
		{"missing checksum", f, build(RotateType, 0, rotate, false), false},
		{"no checksums", &plain, build(RotateType, 0, rotate, false), true},
		{"artificial with checksum", &plain, build(RotateType, FlagArtificial, rotate, true), true},
		{"artificial without", f, build(RotateType, FlagArtificial, rotate, false), true},
		{"before the format", nil, build(RotateType, FlagArtificial, rotate, true), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := ParseHeader(c.event)
			if err != nil {
				t.Fatal(err)
			}
			body, err := c.format.Body(h, c.event)
			if c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrChecksum) {
				t.Fatalf("error %v", err)
			}
			var e Rotate
			if c.ok && (e.Parse(body) != nil || e.Position != 4 || string(e.File) != "binlog.000007") {
				t.Fatalf("%+v", e)
			}
		})
	}
}

func TestUnknownType(t *testing.T) {
	h, _ := ParseHeader(build(99, 0, nil, false))
	var unknown *UnknownTypeError
	if err := h.Check(); !errors.As(err, &unknown) || !errors.Is(err, ErrUnknownType) || unknown.Type != 99 || unknown.LogPos != 1000 {
		t.Fatalf("error %v", err)
	}
	h, _ = ParseHeader(build(99, FlagIgnorable, nil, false))
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestHeartbeat(t *testing.T) {
	h, _ := ParseHeader(build(HeartbeatType, 0, nil, false))
	var e Heartbeat
	if err := e.Parse(h, []byte("binlog.000001")); err != nil || string(e.File) != "binlog.000001" || e.Position != 1000 || e.Exact {
		t.Fatalf("%+v, %v", e, err)
	}
	h.Type = HeartbeatV2Type
	v2 := "\x01\x0dbinlog.000001" + "\x02\x09\xfe\x01\x00\x00\x00\x02\x00\x00\x00" + "\x09\x01\x05" + "\x00"
	if err := e.Parse(h, []byte(v2)); err != nil || string(e.File) != "binlog.000001" || e.Position != 2<<32+1 || !e.Exact {
		t.Fatalf("%+v, %v", e, err)
	}
	if err := e.Parse(h, []byte("\x01\x0dbinlog.000001\x00")); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("error %v", err)
	}
}

func TestIncident(t *testing.T) {
	var e Incident
	if err := e.Parse([]byte("\x01\x00\x04lost")); err != nil || e.Number != 1 || string(e.Message) != "lost" {
		t.Fatalf("%+v, %v", e, err)
	}
	if err := e.Parse([]byte("\x01\x00\x05lost")); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("error %v", err)
	}
}

// TestNumbers reads the variable-length numbers of the format of tagged GTIDs.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		bytes    string
		unsigned uint64
		signed   int64
	}{
		{"\x00", 0, 0},
		{"\x02", 1, -1},
		{"\x04", 2, 1},
		{"\xfe", 127, -64},
		{"\x01\x02", 128, 64},
		{"\xfd\xff", 16383, -8192},
		{"\x03\x00\x02", 1 << 14, 1 << 13},
		{"\x7f\x01\x02\x03\x04\x05\x06\x87", 0x87060504030201, -0x43830282018101},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1<<64 - 1, -1 << 63},
	} {
		m := message{reader: reader{p: []byte(c.bytes)}}
		if got := m.unsigned(); got != c.unsigned || m.bad || m.left() != 0 {
			t.Errorf("%x: %d, want %d", c.bytes, got, c.unsigned)
		}
		m = message{reader: reader{p: []byte(c.bytes)}}
		if got := m.signed(); got != c.signed || m.bad {
			t.Errorf("%x: %d, want %d", c.bytes, got, c.signed)
		}
	}
	m := message{reader: reader{p: []byte("\x03\x00")}}
	if m.unsigned(); !m.bad {
		t.Error("a cut number")
	}
}

func TestInflate(t *testing.T) {
	pack := func(data []byte, size int) []byte {
		b := bytes.NewBuffer([]byte{3, byte(size >> 16), byte(size >> 8), byte(size)})
		w := zlib.NewWriter(b)
		_, _ = w.Write(data)
		w.Close()
		return b.Bytes()
	}
	data := bytes.Repeat([]byte("0123456789"), 300_000)
	var f Inflater
	for range 2 { // again with the same reader
		out, err := f.Inflate([]byte("x"), pack(data, len(data)), len(data))
		if err != nil || string(out[:1]) != "x" || !bytes.Equal(out[1:], data) {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		p     []byte
		limit int
		want  error
	}{
		"too large": {pack(data, len(data)), len(data) - 1, ErrTooLarge},
		"longer":    {pack(data, len(data)-1), 1 << 24, ErrCorrupt},
		"shorter":   {pack(data, len(data)+1), 1 << 24, ErrCorrupt},
		"empty":     {nil, 1, ErrCorrupt},
		"algorithm": {[]byte{0x13, 0, 0, 0}, 1, ErrCorrupt},
	} {
		if out, err := f.Inflate(nil, c.p, c.limit); !errors.Is(err, c.want) || len(out) != 0 {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestPayloadLimit(t *testing.T) {
	var payload []byte
	f := testFormat(t, "mysql97")
	err := eachEvent(capturedFile(t, "mysql97"), func(h Header, p []byte) (err error) {
		if h.Type == PayloadType {
			payload, err = f.Body(h, p)
		}
		return err
	})
	if err != nil || payload == nil {
		t.Fatal(err)
	}
	var e Payload
	if err := e.Parse(payload); err != nil {
		t.Fatal(err)
	}
	var r PayloadReader
	defer r.Close()
	for _, limit := range []uint64{e.Size - 1, e.Size} {
		if err := r.Open(&e, limit); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(&r); (limit < e.Size) != errors.Is(err, ErrTooLarge) {
			t.Fatalf("limit %d: error %v", limit, err)
		}
	}
	e.Size-- // more comes than is announced
	if err := r.Open(&e, 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(&r); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("error %v", err)
	}
}

func TestBitmap(t *testing.T) {
	b := Bitmap{0b10000001, 0b11111111}
	if !b.Has(0) || b.Has(1) || !b.Has(7) || !b.Has(15) || b.Has(16) {
		t.Error("Has")
	}
	if b.Count(1) != 1 || b.Count(8) != 2 || b.Count(10) != 4 || b.Count(99) != 10 || !b.Full(1) || b.Full(2) {
		t.Error("Count")
	}
}

// TestNoAllocation: following a log allocates nothing for an event.
func TestNoAllocation(t *testing.T) {
	f := testFormat(t, "mysql97")
	data := capturedFile(t, "mysql97")
	var rows Rows
	var table TableMap
	var gtid GTID
	var query Query
	one := func(h Header, p []byte) error {
		body, err := f.Body(h, p)
		if err != nil {
			return err
		}
		switch h.Type {
		case TableMapType:
			return table.Parse(f, body)
		case GTIDType, GTIDTaggedType:
			return gtid.Parse(h.Type, body)
		case QueryType:
			return query.Parse(f, body)
		case WriteRows, UpdateRows, DeleteRows:
			return rows.Parse(f, h.Type, body)
		}
		return nil
	}
	walk := func() {
		if err := eachEvent(data, one); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(10, walk); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
