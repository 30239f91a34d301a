package snapshot

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

var (
	// ErrStale says that the table is not what its definition says: columns have
	// changed, or it is gone. Chunk.High lies behind the change.
	ErrStale = errors.New("the table's definition has changed")
	// ErrPrivilege is wrapped where the account may not do what is needed.
	ErrPrivilege = errors.New("missing privilege")
	// ErrNoKey is wrapped where no index tells the rows apart.
	ErrNoKey = errors.New("no index over the key")
	// ErrAmbiguous is wrapped where the order of the key's values is not one.
	ErrAmbiguous = errors.New("the server orders the key in two ways")

	errKeyValue = errors.New("unexpected value of a key")
	errNoLog    = errors.New("the server has no binlog: log_bin must be ON")
	errOtherLog = errors.New("binlogs of two names")
)

// TableError is an error of reading a table.
type TableError struct {
	Table schema.TableID
	// What was done when it happened.
	What string
	// Hint says what to do, empty where nothing special is to be done.
	Hint string
	// Retriable says that the same may succeed later: the server was busy, gone, or
	// ended the statement.
	Retriable bool
	Err       error
}

func (e *TableError) Error() string {
	text := fmt.Sprintf("%s: %v", e.What, e.Err)
	if !e.Table.IsZero() {
		text = fmt.Sprintf("table %s: %s", e.Table, text)
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *TableError) Unwrap() error { return e.Err }

// outcome is what an error of the server means for a table.
type outcome struct {
	stale, privilege, retriable bool
	hint                        string
}

const killedHint = "somebody or a limit of the server ends statements: reading goes on from the last checkpoint"

// outcomes by the server's error numbers, of MySQL and MariaDB.
var outcomes = map[uint16]outcome{
	1049: {stale: true},     // ER_BAD_DB_ERROR
	1054: {stale: true},     // ER_BAD_FIELD_ERROR
	1146: {stale: true},     // ER_NO_SUCH_TABLE
	1176: {stale: true},     // ER_KEY_DOES_NOT_EXITS
	1305: {stale: true},     // ER_SP_DOES_NOT_EXIST: a sequence that is gone
	1412: {retriable: true}, // ER_TABLE_DEF_CHANGED: rebuilt since the read view was opened

	1044: {privilege: true}, // ER_DBACCESS_DENIED_ERROR
	1142: {privilege: true}, // ER_TABLEACCESS_DENIED_ERROR
	1143: {privilege: true}, // ER_COLUMNACCESS_DENIED_ERROR
	1227: {privilege: true}, // ER_SPECIFIC_ACCESS_DENIED_ERROR

	1040: {retriable: true, hint: "raise max_connections, or lower the number of readers"}, // ER_CON_COUNT_ERROR
	1203: {retriable: true, hint: "raise max_user_connections, or lower the number of readers"},
	1226: {retriable: true, hint: "raise the account's limits"},                               // ER_USER_LIMIT_REACHED
	1053: {retriable: true},                                                                   // ER_SERVER_SHUTDOWN
	1158: {retriable: true},                                                                   // ER_NET_READ_ERROR
	1159: {retriable: true},                                                                   // ER_NET_READ_INTERRUPTED
	1160: {retriable: true},                                                                   // ER_NET_ERROR_ON_WRITE
	1161: {retriable: true},                                                                   // ER_NET_WRITE_INTERRUPTED
	1205: {retriable: true, hint: "a statement such as ALTER or LOCK TABLES holds the table"}, // ER_LOCK_WAIT_TIMEOUT
	1213: {retriable: true},                                                                   // ER_LOCK_DEADLOCK
	1317: {retriable: true, hint: killedHint},                                                 // ER_QUERY_INTERRUPTED
	1461: {retriable: true, hint: "raise max_prepared_stmt_count"},                            // ER_MAX_PREPARED_STMT_COUNT_REACHED
	1615: {retriable: true},                                                                   // ER_NEED_REPREPARE
	1927: {retriable: true, hint: killedHint},                                                 // ER_CONNECTION_KILLED (MariaDB)
	1969: {retriable: true, hint: killedHint},                                                 // ER_STATEMENT_TIMEOUT (MariaDB)
	3024: {retriable: true, hint: killedHint},                                                 // ER_QUERY_TIMEOUT
	3169: {retriable: true, hint: killedHint},                                                 // ER_SESSION_WAS_KILLED
	4031: {retriable: true, hint: killedHint},                                                 // ER_CLIENT_INTERACTION_TIMEOUT
}

// explain says what err means. The network's errors can be retried, as those that
// the server gives for what passes; bytes that are not understood can not.
func explain(table schema.TableID, what string, err error) error {
	var known *TableError
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &TableError{Table: table, What: what, Err: err}
	code := wire.Code(err)
	o, ok := outcomes[code]
	switch {
	case errors.Is(err, value.ErrMismatch), o.stale:
		e.Err = fmt.Errorf("%w: %w", ErrStale, err)
	case o.privilege:
		e.Err = fmt.Errorf("%w: %w", ErrPrivilege, err)
		e.Hint = fmt.Sprintf("GRANT SELECT ON %s and REPLICATION CLIENT (MariaDB: BINLOG MONITOR) ON *.* to the account", wire.Table(table.Schema, table.Table))
	case ok:
		e.Retriable, e.Hint = o.retriable, o.hint
	case code == 0:
		e.Retriable = isNetwork(err)
	}
	return e
}

// isNetwork reports errors of the connection: none of the server, none of ours.
func isNetwork(err error) bool {
	for _, ours := range []error{wire.ErrProtocol, wire.ErrAuth, wire.ErrTLS, value.ErrMalformed, value.ErrRange, value.ErrUnsupported,
		ErrStale, ErrNoKey, ErrAmbiguous, errKeyValue, errNoLog, errOtherLog} {
		if errors.Is(err, ours) {
			return false
		}
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, wire.ErrClosed)
}

// Retriable reports whether what failed with err may succeed later.
func Retriable(err error) bool {
	var e *TableError
	return errors.As(err, &e) && e.Retriable
}
