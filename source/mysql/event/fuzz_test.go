package event

import (
	"io"
	"testing"
)

// FuzzEvent gives every parser bytes from anywhere: it must end, with or without
// an error.
func FuzzEvent(f *testing.F) {
	formats := map[bool]*Format{false: testFormat(f, "mysql97"), true: testFormat(f, "mariadb118")}
	for _, file := range []string{"mysql97", "mysql80", "mariadb1011", "mariadb118", "mysql97-next", "mariadb118-next"} {
		format := testFormat(f, file)
		err := eachEvent(capturedFile(f, file), func(h Header, p []byte) error {
			body, err := format.Body(h, p)
			f.Add(byte(h.Type), format.MariaDB, body)
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add(byte(HeartbeatV2Type), false, []byte("\x01\x0dbinlog.000001\x02\x01\x04\x00"))
	f.Add(byte(IncidentType), false, []byte("\x01\x00\x04lost"))
	f.Fuzz(func(t *testing.T, typ byte, mariadb bool, body []byte) {
		format := *formats[mariadb]
		format.Checksum = ChecksumNone
		p := printer{format: &format}
		defer p.payload.Close()
		event := build(Type(typ), 0, body, false)
		h, err := ParseHeader(event)
		if err != nil {
			t.Fatal(err)
		}
		_ = p.event(h, event)
	})
}

// FuzzFile walks over a file of which anything may be wrong.
func FuzzFile(f *testing.F) {
	for _, file := range []string{"mysql97-next", "mysql80-next", "mariadb1011-next"} {
		f.Add(capturedFile(f, file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p printer
		defer p.payload.Close()
		_ = eachEvent(data, p.event)
	})
}

// FuzzMessage reads the self-describing format of tagged GTIDs.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("\x02\x10\x00\x00\x02\x04\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e GTID
		if err := e.Parse(GTIDTaggedType, data); err == nil && e.Number <= 0 {
			t.Error("a number that no transaction has")
		}
	})
}

// FuzzInflate: what is unpacked never goes beyond the limit.
func FuzzInflate(f *testing.F) {
	f.Add([]byte("\x01\x05\x78\x9c\x4b\x4c\x4a\x4e\x49\x05\x00\x05\xbc\x01\xf0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var i Inflater
		if out, err := i.Inflate(nil, data, 1000); err == nil && len(out) > 1000 {
			t.Errorf("%d bytes", len(out))
		}
	})
}

// FuzzPayload: the same for a compressed transaction.
func FuzzPayload(f *testing.F) {
	f.Add([]byte("\x02\x01\x00\x03\x02\xfc\x10\x00\x01\x01\x0d\x00\x28\xb5\x2f\xfd\x04\x00\x21\x00\x00\x61\x62\x63\x64"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Payload
		if e.Parse(data) != nil {
			return
		}
		var r PayloadReader
		defer r.Close()
		if r.Open(&e, 1000) != nil {
			return
		}
		if out, err := io.ReadAll(&r); err == nil && len(out) > 1000 {
			t.Errorf("%d bytes", len(out))
		}
	})
}
