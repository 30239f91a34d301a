package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// connect opens a session. The error says plainly what is wrong.
func (c *config) connect(ctx context.Context) (*wire.Conn, error) {
	conn, err := wire.Connect(ctx, c.conn)
	if err != nil {
		return nil, c.connectError(err)
	}
	if err := supported(conn.Flavor(), conn.Version()); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// supported refuses servers that are too old. MySQL 5.7 has neither the
// dictionary nor the table metadata that decoding relies on.
func supported(f wire.Flavor, v wire.Version) error {
	if f == wire.MariaDB {
		if !v.AtLeast(10, 6, 0) {
			return withHint(fmt.Errorf("%w: MariaDB %s", ErrServerUnsuitable, v), "MariaDB 10.6 or newer is needed")
		}
		return nil
	}
	if !v.AtLeast(8, 0, 0) {
		return withHint(fmt.Errorf("%w: MySQL %s", ErrServerUnsuitable, v), "MySQL 8.0 or newer is needed")
	}
	return nil
}

// Numbers of the server's errors.
const (
	errTooManyConnections = 1040
	errAccessDenied       = 1045
	errAccessDeniedToDB   = 1044
	errTableAccessDenied  = 1142
	errColumnAccessDenied = 1143
	errNoSuchTable        = 1146
	errSpecificAccess     = 1227
	errHostNotPrivileged  = 1130
	errHostBlocked        = 1129
	errAccessDeniedNoPass = 1698
	errTooManyUserConns   = 1203
	errUserLimitReached   = 1226
	errMustChangePassword = 1820
	errAccountLocked      = 3118
	errSecureTransport    = 3159
	errPasswordExpired    = 1862
)

// connectError names the cause of a failed connection and the way out.
func (c *config) connectError(err error) error {
	wrap := func(msg, hint string) error {
		return withHint(fmt.Errorf("%w (%s): %s", ErrConnect, c.conn, msg), "%s", hint)
	}
	refused := func(msg, hint string) error {
		return withHint(fmt.Errorf("%w (%s): %w: %s", ErrConnect, c.conn, ErrAuthentication, msg), "%s", hint)
	}
	var answer *mysql.MyError
	if errors.As(err, &answer) {
		switch answer.Code {
		case errAccessDenied, errAccessDeniedNoPass:
			return refused(answer.Message, "check username and password, and that the account may log in from this host")
		case errHostNotPrivileged, errHostBlocked:
			return wrap(answer.Message, "create the account for this host, or unblock it: FLUSH HOSTS")
		case errTooManyConnections, errTooManyUserConns, errUserLimitReached:
			return wrap(answer.Message, "raise max_connections or the account's limit, or stop other clients")
		case errMustChangePassword, errPasswordExpired:
			return refused(answer.Message, "give the account a new password: ALTER USER ... IDENTIFIED BY ...")
		case errAccountLocked:
			return refused(answer.Message, "unlock the account: ALTER USER ... ACCOUNT UNLOCK")
		case errSecureTransport:
			return wrap(answer.Message, "set ssl.mode: required")
		}
		return fmt.Errorf("%w (%s): %w", ErrConnect, c.conn, err)
	}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, wire.ErrAuth):
		return refused(err.Error(), "give the account another way to log in, or set ssl.mode: required where it wants TLS")
	case errors.Is(err, wire.ErrTLS):
		return wrap(err.Error(), "check ssl.mode, ssl.ca, ssl.cert and ssl.key")
	case errors.As(err, &dns):
		return wrap("unknown host "+c.conn.Host, "check hostname")
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return wrap("no answer in "+c.conn.Timeout.String(), "check hostname and port, and that a firewall lets them through")
	case errors.As(err, &op):
		return wrap(op.Err.Error(), "check hostname and port, and that the server runs")
	}
	return fmt.Errorf("%w (%s): %w", ErrConnect, c.conn, err)
}

// denied says that the server refused a statement for lack of a privilege.
func denied(err error) bool {
	switch wire.Code(err) {
	case errAccessDenied, errAccessDeniedToDB, errTableAccessDenied, errColumnAccessDenied, errSpecificAccess:
		return true
	}
	return false
}
