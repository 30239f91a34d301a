package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pglogrepl"

	"github.com/freshet-cdc/freshet/schema"
)

// ErrServerUnsuitable is wrapped by every problem of a server's settings that Check finds.
var ErrServerUnsuitable = errors.New("the server is not set up for logical replication")

// ErrPrivilege is wrapped by every missing privilege.
var ErrPrivilege = errors.New("missing privilege")

// ErrConnect is wrapped by every failure to reach the server or to log in.
var ErrConnect = errors.New("cannot connect to PostgreSQL")

// ErrAuthentication is wrapped, beside ErrConnect, where the server turns the
// role away: a wrong password, a role that is gone or may not log in, pg_hba.conf.
// Another attempt with the same credentials can't succeed.
var ErrAuthentication = errors.New("login refused")

// ErrStandby is wrapped where the server is a standby. It passes by itself when the
// server is promoted.
var ErrStandby = errors.New("the server is a standby")

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

// SlotError is a replication slot that can't be used as it is.
type SlotError struct {
	Slot string
	// Problem says what is wrong, Hint the way out.
	Problem, Hint string
	// Err is one of the sentinels of this package.
	Err error
}

// What can be wrong with a slot.
var (
	// ErrSlotMissing: the slot that a checkpoint relies on does not exist.
	ErrSlotMissing = errors.New("replication slot missing")
	// ErrSlotLost: the server has removed log that the slot still needed.
	ErrSlotLost = errors.New("replication slot lost")
	// ErrSlotAhead: the slot has released log that the restored checkpoint still needs.
	ErrSlotAhead = errors.New("replication slot ahead of the checkpoint")
	// ErrSlotForeign: the slot belongs to another plugin, kind or database.
	ErrSlotForeign = errors.New("foreign replication slot")
	// ErrSlotActive: another process reads from the slot.
	ErrSlotActive = errors.New("replication slot in use")
)

// ErrHistory is wrapped by every HistoryError.
var ErrHistory = errors.New("the server's history is not that of the checkpoint")

// HistoryError says that the server can't go on from a checkpoint: it is another
// cluster, or the failover that made it the primary lost what was captured.
type HistoryError struct {
	// Problem says what is wrong, Hint the way out.
	Problem, Hint string
}

func (e *HistoryError) Error() string {
	return fmt.Sprintf("%v: %s (%s)", ErrHistory, e.Problem, e.Hint)
}

func (e *HistoryError) Unwrap() error { return ErrHistory }

// Permanent says that another attempt finds the same.
func (e *HistoryError) Permanent() bool { return true }

func (e *SlotError) Error() string {
	return fmt.Sprintf("replication slot %q: %s (%s)", e.Slot, e.Problem, e.Hint)
}

func (e *SlotError) Unwrap() error { return e.Err }

// ErrPublication is wrapped by every PublicationError.
var ErrPublication = errors.New("publication does not fit")

// PublicationError is a publication that lacks what the pipeline needs.
type PublicationError struct {
	Publication   string
	Problem, Hint string
}

func (e *PublicationError) Error() string {
	return fmt.Sprintf("publication %q: %s (%s)", e.Publication, e.Problem, e.Hint)
}

func (e *PublicationError) Unwrap() error { return ErrPublication }

// IdentityError is a partition whose old rows in the log lack the key of the table.
type IdentityError struct {
	Table schema.TableID
	// Position is where the log shows it, 0 where the catalogue did.
	Position  uint64
	Partition string
	// Key are the columns of the table's key, Logged those that the partition logs.
	Key, Logged []string
}

func (e *IdentityError) Error() string {
	where := "table " + e.Table.String()
	if e.Position != 0 {
		where += " at " + pglogrepl.LSN(e.Position).String()
	}
	return fmt.Sprintf("%s: updates and deletes in partition %s carry (%s) of the old row, not the key (%s) (%s; its changes until then can't be followed, so the table has to be read again)",
		where, e.Partition, strings.Join(e.Logged, ", "), strings.Join(e.Key, ", "), identityHint(e.Partition, e.Key))
}

// Permanent says that another attempt finds the same.
func (e *IdentityError) Permanent() bool { return true }

// ErrSchemaChange is wrapped by every SchemaChangeError.
var ErrSchemaChange = errors.New("schema change cannot be followed")

// SchemaChangeError is a change of a table's definition that can't be followed.
type SchemaChangeError struct {
	Table schema.TableID
	// Position is the LSN at which the log shows the change.
	Position uint64
	// What says what changed, Hint the way out.
	What, Hint string
}

func (e *SchemaChangeError) Error() string {
	return fmt.Sprintf("table %s at %s: %s (%s)", e.Table, pglogrepl.LSN(e.Position), e.What, e.Hint)
}

func (e *SchemaChangeError) Unwrap() error { return ErrSchemaChange }

// ErrValue is wrapped by every ValueError.
var ErrValue = errors.New("value cannot be represented")

// ValueError is a value that its column's type can't hold.
type ValueError struct {
	Table  schema.TableID
	Column string
	// Key shows the row's key as column=value, empty for a table without one.
	Key string
	// Position is the LSN of the row's record in the log, 0 for a snapshot.
	Position uint64
	Err      error
}

func (e *ValueError) Error() string {
	where := fmt.Sprintf("table %s, column %s", e.Table, e.Column)
	if e.Key != "" {
		where += ", row " + e.Key
	}
	if e.Position != 0 {
		where += ", at " + pglogrepl.LSN(e.Position).String()
	}
	return where + ": " + e.Err.Error()
}

// Unwrap gives ErrValue and the cause.
func (e *ValueError) Unwrap() []error { return []error{ErrValue, e.Err} }
