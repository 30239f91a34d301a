package mysql

import (
	"errors"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
)

// ErrServerUnsuitable is wrapped by every problem of a server's settings that Check finds.
var ErrServerUnsuitable = errors.New("the server is not set up for change data capture")

// ErrPrivilege is wrapped by every missing privilege.
var ErrPrivilege = binlog.ErrPrivilege

// ErrConnect is wrapped by every failure to reach the server or to log in.
var ErrConnect = errors.New("cannot connect")

// ErrAuthentication is wrapped, beside ErrConnect, where the server turns the
// account away. Another attempt with the same credentials can't succeed.
var ErrAuthentication = errors.New("login refused")

// ErrNoGTID is returned where a snapshot of MySQL without gtid_mode was not accepted.
var ErrNoGTID = errors.New("a snapshot needs GTIDs")

// What can be wrong with the place in the binlog that the pipeline goes on from.
var (
	// ErrPurged: the server has removed binlog that is still needed.
	ErrPurged = binlog.ErrPurged
	// ErrHistory: the server's binlog is not the one that the checkpoint was made
	// from: RESET, a restored backup, or a crash that lost transactions.
	ErrHistory = binlog.ErrOtherHistory
	// ErrBehind: another server than the checkpoint's lacks transactions that were
	// captured; a replica that lags may still get them.
	ErrBehind = errors.New("server behind the checkpoint")
	// ErrPlace: the place that the options name does not exist.
	ErrPlace = errors.New("no such place in the binlog")
	// ErrServerID: another replica has the same server id.
	ErrServerID = binlog.ErrServerIDTaken
)

// hinted is an error with the way out.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() + " (" + e.hint + ")" }
func (e *hinted) Unwrap() error { return e.err }

// Hint returns the way out alone.
func (e *hinted) Hint() string { return e.hint }

// withHint adds the way out to err.
func withHint(err error, format string, args ...any) error {
	return &hinted{err: err, hint: fmt.Sprintf(format, args...)}
}

// LogError is a place in the binlog from which the pipeline can't go on.
type LogError struct {
	// Place is where it wanted to go on, as file:offset or as a GTID set.
	Place string
	// Problem says what is wrong, Hint the way out.
	Problem, Hint string
	// Err is one of the sentinels of this package.
	Err error
}

func (e *LogError) Error() string {
	return fmt.Sprintf("%v: binlog at %s: %s (%s)", e.Err, shorten(e.Place), e.Problem, e.Hint)
}

func (e *LogError) Unwrap() error { return e.Err }

// shorten cuts the middle out of a long GTID set.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most/2] + " ... " + s[len(s)-most/2:]
}

// ErrSchemaChange is wrapped by every SchemaChangeError.
var ErrSchemaChange = errors.New("schema change cannot be followed")

// SchemaChangeError is a statement that changes a table in a way that can't be followed.
type SchemaChangeError struct {
	Table schema.TableID
	// Place is where the binlog has the statement, as file:offset.
	Place string
	// What says what changed, Hint the way out.
	What, Hint string
}

func (e *SchemaChangeError) Error() string {
	return fmt.Sprintf("table %s at %s: %s (%s)", e.Table, e.Place, e.What, e.Hint)
}

func (e *SchemaChangeError) Unwrap() error { return ErrSchemaChange }
