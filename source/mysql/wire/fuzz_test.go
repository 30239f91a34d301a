package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// script is a server that says what it has to say, whatever it is asked.
type script struct{ r io.Reader }

func (s *script) Read(p []byte) (int, error)     { return s.r.Read(p) }
func (*script) Write(p []byte) (int, error)      { return len(p), nil }
func (*script) Close() error                     { return nil }
func (*script) LocalAddr() net.Addr              { return nil }
func (*script) RemoteAddr() net.Addr             { return nil }
func (*script) SetDeadline(time.Time) error      { return nil }
func (*script) SetReadDeadline(time.Time) error  { return nil }
func (*script) SetWriteDeadline(time.Time) error { return nil }

// answers returns a connection whose server sends the payloads.
func answers(payloads ...string) *Conn {
	var stream []byte
	seq := byte(1)
	for _, p := range payloads {
		stream, seq = appendPacket(stream, []byte(p), seq)
	}
	return newConn(&script{bytes.NewReader(stream)})
}

const (
	column = "\x03def\x00\x00\x00\x01n\x01n"
	eof    = "\xfe\x00\x00\x02\x00"
)

func TestQueryAnswers(t *testing.T) {
	ctx := context.Background()
	r, err := answers("\x02", column, column, eof, "\x011\xfb", "\x03abc\x00", eof).Query(ctx, "SELECT")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 || r.Value(0, "N").String() != "1" || !r.Rows[0][1].Null() || r.Rows[1][1].Null() {
		t.Errorf("%v", r)
	}
	for _, bad := range [][]string{
		{""}, {"\xfbfile"}, {"\xff"}, {"\x01"}, {"\x01", column}, {"\x01", column, eof, "\x05abc"}, {"\x01", column, eof, "\x01a\x01b", eof},
		{"\x01", column, "\x01a"}, {"\x01", "\x03d", eof}, {"\xfe\xff\xff\xff\xff\xff\xff\xff\xff"}, {"\x01", column, eof, "\xfe\x00\x00\x0a\x00"},
	} {
		c := answers(bad...)
		if _, err := c.Query(ctx, "SELECT"); err == nil {
			t.Errorf("%q: no error", bad)
		}
		if err := c.Exec(ctx, "SELECT"); !errors.Is(err, ErrClosed) {
			t.Errorf("%q: the connection goes on: %v", bad, err)
		}
	}
}

func TestServerErrorLeavesTheSession(t *testing.T) {
	c := answers("\xff\x7a\x04#42S02Table 'a.b' doesn't exist")
	err := c.Exec(context.Background(), "SELECT\n  1 FROM a.b")
	var e *mysql.MyError
	if !errors.As(err, &e) || e.Code != 1146 || e.State != "42S02" || Code(err) != 1146 {
		t.Fatalf("%v", err)
	}
	if want := "SELECT 1 FROM a.b: ERROR 1146 (42S02): Table 'a.b' doesn't exist"; err.Error() != want {
		t.Errorf("%q", err)
	}
	if c.closed.Load() {
		t.Error("closed")
	}
}

func TestErrorOfTheCallbackClosesTheConnection(t *testing.T) {
	c := answers("\x01", column, eof, "\x011", "\x012", eof)
	mine := errors.New("mine")
	if err := c.Stream(context.Background(), "SELECT", func([]byte) error { return mine }); err != mine {
		t.Error(err)
	}
	if err := c.Exec(context.Background(), "SELECT"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range [][]string{{"\x02", column, column, eof, "\x011\xfb", eof}, {"\x00\x00\x00"}, {"\xff\x7a\x04#42S02no"}} {
		c := answers(s...)
		stream, _ := io.ReadAll(c.net)
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		c := newConn(&script{bytes.NewReader(stream)})
		if r, err := c.Query(context.Background(), "SELECT 1"); err == nil {
			for _, row := range r.Rows {
				if len(row) != len(r.Columns) {
					t.Fatal("a row of another width")
				}
			}
		}
	})
}

func FuzzGreeting(f *testing.F) {
	f.Add([]byte("\x0a9.7.4-2\x00\x09\x00\x00\x00abcdefgh\x00\xff\xff\xff\x02\x00\xff\xdf\x15\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ijklmnopqrst\x00caching_sha2_password\x00"))
	f.Add([]byte("\xff\x10\x04Too many connections"))
	f.Fuzz(func(t *testing.T, p []byte) {
		g, err := parseGreeting(p)
		if err != nil {
			return
		}
		if len(g.seed) < 20 {
			t.Fatalf("a seed of %d bytes", len(g.seed))
		}
		parseVersion(g.version)
		a := &authenticator{password: "x", plugin: g.plugin, seed: g.seed}
		if response, err := a.first(); err == nil {
			g.answer("u", g.plugin, response, false)
		}
	})
}

func FuzzAuthentication(f *testing.F) {
	f.Add([]byte("\x01\x04"), []byte("\x01key"))
	f.Add([]byte("\xfeclient_ed25519\x00short"), []byte("\x00"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		a := &authenticator{password: "x", plugin: pluginCachingSHA2, seed: seed}
		for _, p := range [][]byte{one, two} {
			if _, done, err := a.next(p); done || err != nil {
				return
			}
		}
	})
}

// TestSilentServer: a dump that says nothing for three heartbeats and ten seconds ends.
func TestSilentServer(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	c := newConn(here)
	c.dump.Store(&dumpState{ctx: context.Background(), stop: func() bool { return true }, silence: 50 * time.Millisecond})
	start := time.Now()
	if _, err := c.ReadRaw(make([]byte, 10)); !errors.Is(err, ErrSilent) {
		t.Errorf("%v", err)
	}
	if d := time.Since(start); d < 50*time.Millisecond || d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
	if _, err := c.ReadRaw(make([]byte, 10)); err == nil {
		t.Error("it goes on")
	}
}
