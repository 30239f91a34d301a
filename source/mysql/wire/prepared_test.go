package wire

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
)

const (
	prepared   = "\x00\x07\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"
	definition = "\x03def\x01d\x01t\x01t\x01n\x01o\x0c\x3f\x00\x0b\x00\x00\x00\x03\x21\x00\x02\x00\x00"
)

// stream runs StreamPrepared against a server that gives the answers.
func stream(c *Conn) (columns []ColumnDefinition, rows []string, err error) {
	err = c.StreamPrepared(context.Background(), "SELECT", func(d []ColumnDefinition) error { columns = d; return nil }, func(row []byte) error {
		rows = append(rows, string(row))
		return nil
	})
	return columns, rows, err
}

func TestStreamPrepared(t *testing.T) {
	in := newConn(&replies{messages: [][]string{{prepared, definition, eof}, {"\x01", definition, eof, "\x00\x00abcd", "\x00\x04", eof}, {}, {"\xff\x48\x04#42S02No"}, {prepared, definition, eof}, {"\xff\x48\x04#42S02No"}}})
	columns, rows, err := stream(in)
	if err != nil {
		t.Fatal(err)
	}
	want := ColumnDefinition{Name: "n", Original: "o", Type: 3, Charset: 63, Length: 11, Flags: 0x21, Decimals: 2}
	if len(columns) != 1 || columns[0] != want || !columns[0].Unsigned() {
		t.Errorf("columns %+v", columns)
	}
	if len(rows) != 2 || rows[0] != "\x00\x00abcd" || rows[1] != "\x00\x04" {
		t.Errorf("rows %q", rows)
	}
	for _, when := range []string{"prepared", "executed"} {
		if _, _, err := stream(in); Code(err) != 1096 {
			t.Errorf("an error when %s: %v", when, err)
		}
	}
	var answer *mysql.MyError
	if _, _, err := stream(in); errors.As(err, &answer) || err == nil {
		t.Errorf("behind the last answer: %v", err)
	}
}

// TestStreamPreparedMalformed: what is not the protocol ends the connection.
func TestStreamPreparedMalformed(t *testing.T) {
	for _, bad := range [][][]string{
		{{""}}, {{"\xff"}}, {{"\x00\x07"}}, {{"\x00\x07\x00\x00\x00\x01\x00\x01\x00\x00\x00\x00"}}, {{prepared, definition, "\x00"}},
		{{prepared, definition, eof}, {"\x00"}}, {{prepared, definition, eof}, {"\xfb"}}, {{prepared, definition, eof}, {"\x01", "\x03def"}},
		{{prepared, definition, eof}, {"\x01", definition[:len(definition)-5], eof}}, {{prepared, definition, eof}, {"\x01", definition, "\x00"}},
	} {
		c := newConn(&replies{messages: bad})
		if _, _, err := stream(c); err == nil {
			t.Errorf("%q: no error", bad)
		}
		if err := c.Exec(context.Background(), "SELECT"); !errors.Is(err, ErrClosed) {
			t.Errorf("%q: the connection goes on: %v", bad, err)
		}
	}
	stop := errors.New("stop")
	c := newConn(&replies{messages: [][]string{{prepared, definition, eof}, {"\x01", definition, eof, "\x00\x00abcd", eof}}})
	err := c.StreamPrepared(context.Background(), "SELECT", func([]ColumnDefinition) error { return stop }, nil)
	if err != stop || !errors.Is(c.Exec(context.Background(), "SELECT"), ErrClosed) {
		t.Errorf("an error of the caller: %v", err)
	}
}

func FuzzColumnDefinition(f *testing.F) {
	f.Add([]byte(definition))
	f.Add([]byte(column))
	f.Fuzz(func(t *testing.T, p []byte) {
		if _, err := parseColumnDefinition(p); err != nil && !errors.Is(err, ErrProtocol) {
			t.Fatal(err)
		}
	})
}

func FuzzStreamPrepared(f *testing.F) {
	f.Add([]byte(prepared), []byte(definition), []byte("\x00\x00abcd"))
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		_, _, _ = stream(newConn(&replies{messages: [][]string{{string(first), string(second), eof}, {"\x01", string(second), eof, string(third), eof}}}))
	})
}

// replies is a server that answers each command with the next messages.
type replies struct {
	script
	messages [][]string
	pending  []byte
}

func (r *replies) Write(p []byte) (int, error) {
	if len(r.messages) > 0 {
		seq := byte(1)
		for _, m := range r.messages[0] {
			r.pending, seq = appendPacket(r.pending, []byte(m), seq)
		}
		r.messages = r.messages[1:]
	}
	return len(p), nil
}

func (r *replies) Read(p []byte) (int, error) {
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
