package mysql

import (
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// Permanent returns the errors that another attempt can't cure: somebody has to act.
// ErrConnect, ErrServerID and ErrBehind are not among them; they pass by themselves,
// when a server is back, another session has ended, a replica has caught up.
func Permanent() []error {
	return []error{
		ErrServerUnsuitable, ErrAuthentication, ErrPrivilege, ErrNoTables, ErrNoGTID, ErrState,
		ErrPurged, ErrHistory, ErrPlace, ErrSchemaChange,
		binlog.ErrBinlogOff, binlog.ErrGTIDsOff, binlog.ErrIncident, binlog.ErrStatementFormat, binlog.ErrDefinition,
		binlog.ErrUnknownXA, binlog.ErrXATooLarge, binlog.ErrRolledBack, binlog.ErrImage, binlog.ErrValue,
		ddl.ErrUnknown, ddl.ErrNotEvolvable, ddl.ErrUnparsable, ddl.ErrRowChange, ddl.ErrMismatch,
		snapshot.ErrPrivilege, snapshot.ErrNoKey, snapshot.ErrAmbiguous,
		value.ErrUnsupported, value.ErrMalformed, value.ErrRange, value.ErrMismatch,
	}
}
