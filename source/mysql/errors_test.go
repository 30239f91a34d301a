package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

func TestConnectError(t *testing.T) {
	c, err := newConfig(with(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(code uint16) error {
		return fmt.Errorf("x: %w", &mysql.MyError{Code: code, State: "HY000", Message: "said the server"})
	}
	for _, test := range []struct {
		err     error
		refused bool
		says    string
	}{
		{answer(1045), true, "check username and password"},
		{answer(1820), true, "ALTER USER"},
		{answer(3118), true, "ACCOUNT UNLOCK"},
		{answer(1040), false, "max_connections"},
		{answer(1130), false, "for this host"},
		{answer(3159), false, "ssl.mode: required"},
		{answer(1999), false, "said the server"},
		{fmt.Errorf("%w: x", wire.ErrAuth), true, "another way to log in"},
		{fmt.Errorf("%w: x", wire.ErrTLS), false, "check ssl.mode"},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, false, "that the server runs"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host"}}, false, "check hostname"},
		{context.DeadlineExceeded, false, "no answer in 30s"},
		{io.ErrUnexpectedEOF, false, "unexpected EOF"},
	} {
		got := c.connectError(test.err)
		if !errors.Is(got, ErrConnect) || errors.Is(got, ErrAuthentication) != test.refused || !strings.Contains(got.Error(), test.says) || !strings.Contains(got.Error(), `db.example.org:3306, user "cdc"`) {
			t.Errorf("%v", got)
		}
	}
	if got := c.connectError(context.Canceled); got != context.Canceled {
		t.Errorf("%v", got)
	}
}

func TestSupported(t *testing.T) {
	for _, c := range []struct {
		flavor  wire.Flavor
		version wire.Version
		ok      bool
	}{
		{wire.MySQL, wire.Version{Major: 5, Minor: 7, Patch: 44}, false}, {wire.MySQL, wire.Version{Major: 8}, true}, {wire.MySQL, wire.Version{Major: 9, Minor: 7}, true},
		{wire.MariaDB, wire.Version{Major: 10, Minor: 5, Patch: 29}, false}, {wire.MariaDB, wire.Version{Major: 10, Minor: 6}, true}, {wire.MariaDB, wire.Version{Major: 11, Minor: 8}, true},
	} {
		if err := supported(c.flavor, c.version); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrServerUnsuitable) {
			t.Errorf("%s %s: %v", c.flavor, c.version, err)
		}
	}
}

func TestLogErrorIsShort(t *testing.T) {
	err := &LogError{Place: strings.Repeat("4d1ba4b0-0000-0000-0000-000000000001:1-5,", 1000), Problem: "it is gone", Hint: "begin anew", Err: ErrPurged}
	if text := err.Error(); len(text) > 400 || !strings.Contains(text, "it is gone (begin anew)") || !errors.Is(err, ErrPurged) {
		t.Error(text)
	}
}

func TestBinlogStatusLogs(t *testing.T) {
	for _, c := range []struct {
		do, ignore, database string
		want                 bool
	}{
		{"", "", "a", true}, {"a,b", "", "a", true}, {"a,b", "", "c", false}, {"", "a", "a", false}, {"", "a,b", "c", true}, {"a", "a", "a", true},
	} {
		if got := (binlogStatus{DoDB: c.do, IgnoreDB: c.ignore}).logs(c.database); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestLastFile(t *testing.T) {
	files := make([]logFile, 10)
	for i := range files {
		files[i].name = fmt.Sprintf("binlog.%06d", i)
	}
	for want := -1; want < len(files); want++ {
		got, err := lastFile(files, func(file string) (bool, error) {
			_, n, err := binlog.ParseFile(file)
			return int(n) <= want, err
		})
		if err != nil || got != want {
			t.Errorf("%d, want %d, %v", got, want, err)
		}
	}
	mine := errors.New("mine")
	if _, err := lastFile(files, func(string) (bool, error) { return false, mine }); err != mine {
		t.Error(err)
	}
}

func TestFormatPosition(t *testing.T) {
	src, err := New(with(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pos := uint64(3)<<40 | 1234
	if got := src.FormatPosition(pos); got != "000003:1234" {
		t.Error(got)
	}
	src.cfg.names.set(binlog.Files{Base: "mysql-bin", Delta: 1})
	if got := src.FormatPosition(pos); got != "mysql-bin.000002:1234" {
		t.Error(got)
	}
}

func TestUnquote(t *testing.T) {
	for in, want := range map[string]string{`'a'`: "a", `''`: "", `'it''s'`: "it's", `'a\\b\n'`: "a\\b\n"} {
		if got := unquote(in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}
