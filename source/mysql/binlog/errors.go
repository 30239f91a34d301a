package binlog

import (
	"errors"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
)

// What can be wrong with a binlog, for errors.Is.
var (
	// ErrStream is wrapped by everything that a server must not send.
	ErrStream = errors.New("unexpected event in the binlog")
	// ErrEnded: the server ended the dump, which it does when it shuts down.
	ErrEnded = errors.New("the server ended the binlog stream")
	// ErrPurged: the server has removed what is still needed.
	ErrPurged = errors.New("binlog purged")
	// ErrServerIDTaken: another replica uses our server id or UUID.
	ErrServerIDTaken = errors.New("server id in use")
	// ErrOtherHistory: the server's binlog is not the one that was read before.
	ErrOtherHistory = errors.New("the binlog is another one than before")
	// ErrBinlogOff: the server writes no binlog.
	ErrBinlogOff = errors.New("binary logging is off")
	// ErrGTIDsOff: the server has no GTIDs, which the start needs.
	ErrGTIDsOff = errors.New("GTIDs are off")
	// ErrPrivilege: the account may not read the binlog.
	ErrPrivilege = errors.New("missing privilege")
	// ErrCorrupt: the server can't read its own binlog.
	ErrCorrupt = errors.New("damaged binlog")
	// ErrIncident: the server says that it may have lost events.
	ErrIncident = errors.New("the binlog has an incident")
	// ErrStatementFormat: rows of a captured table were changed by a statement
	// that is in the log as text.
	ErrStatementFormat = errors.New("change in statement format")
	// ErrDefinition: rows are not written as the table's definition says.
	ErrDefinition = errors.New("the binlog disagrees with the table's definition")
	// ErrUnknownXA: an XA transaction commits that was prepared before the start.
	ErrUnknownXA = errors.New("XA transaction prepared before the start of the log")
	// ErrXATooLarge: the prepared XA transactions take more than they may.
	ErrXATooLarge = errors.New("prepared XA transactions are too large")
	// ErrRolledBack: rows that went out already were rolled back inside the log.
	ErrRolledBack = errors.New("the binlog takes rows back")
	// ErrImage: a row has not all the columns that are needed.
	ErrImage = errors.New("incomplete row image")
	// ErrValue is wrapped by every ValueError.
	ErrValue = errors.New("value cannot be represented")
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

// ValueError is a value that its column's type can't hold, or that is missing.
type ValueError struct {
	Table  schema.TableID
	Column string
	// Key shows the row's key as column=value, empty for a table without one.
	Key string
	// Position is that of the event, Place the same as the server's users know it.
	Position uint64
	Place    Place
	Err      error
}

func (e *ValueError) Error() string {
	where := fmt.Sprintf("table %s, column %s", e.Table, e.Column)
	if e.Key != "" {
		where += ", row " + e.Key
	}
	return fmt.Sprintf("%s, at %s: %v", where, e.Place, e.Err)
}

// Unwrap gives ErrValue and the cause.
func (e *ValueError) Unwrap() []error { return []error{ErrValue, e.Err} }

// TableError is anything else that is wrong about a table at a place.
type TableError struct {
	Table schema.TableID
	Place Place
	Err   error
}

func (e *TableError) Error() string {
	return fmt.Sprintf("table %s, at %s: %v", e.Table, e.Place, e.Err)
}

func (e *TableError) Unwrap() error { return e.Err }
