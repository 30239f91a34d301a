package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// ErrClosed is returned by every call on a connection that has ended.
var ErrClosed = errors.New("connection is closed")

// ErrProtocol is wrapped by every error about bytes that are not the protocol.
var ErrProtocol = errors.New("unexpected answer of the server")

// ErrTLS is wrapped when the wanted encryption can't be had.
var ErrTLS = errors.New("no encrypted connection")

// ErrAuth is wrapped when the server wants a way to log in that is not supported,
// or that would give the password away.
var ErrAuth = errors.New("cannot log in")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// Code returns the server's error number when err is or wraps its answer, for
// instance 1146, else 0.
func Code(err error) uint16 {
	var e *mysql.MyError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// serverError decodes an ERR packet, whose first byte is 0xff.
func serverError(p []byte) error {
	if len(p) < 3 {
		return malformed("an error packet of %d bytes", len(p))
	}
	e := &mysql.MyError{Code: uint16(p[1]) | uint16(p[2])<<8, State: "HY000"}
	p = p[3:]
	// Before the handshake is through there is no SQL state.
	if len(p) >= 6 && p[0] == '#' {
		e.State, p = string(p[1:6]), p[6:]
	}
	e.Message = string(p)
	return e
}

// maxShown is how much of a statement an error shows.
const maxShown = 100

// statementError names the statement that failed.
func statementError(sql string, err error) error {
	short := strings.Join(strings.Fields(sql), " ")
	if len(short) > maxShown {
		short = strings.ToValidUTF8(short[:maxShown], "") + " ..."
	}
	return fmt.Errorf("%s: %w", short, err)
}
