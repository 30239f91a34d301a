package binlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Numbers of the errors that a server gives for a dump. Nearly everything comes as
// fatalDump with a text.
const (
	fatalDump         = 1236 // ER_SOURCE_FATAL_ERROR_READING_BINLOG
	accessDenied      = 1227 // ER_SPECIFIC_ACCESS_DENIED_ERROR
	accessDeniedUser  = 1045
	purgedRequiredNow = 1789 // ER_SOURCE_HAS_PURGED_REQUIRED_GTIDS
	noBinlog          = 1381 // ER_NO_BINARY_LOGGING
	sameServerID      = 4052 // MariaDB's ER_SLAVE_SAME_ID
)

// cause is a kind of failure that a server names by a text.
type cause struct {
	texts []string // in lower case
	err   error
	hint  string
}

const startOver = "start the pipeline anew with an empty checkpoint directory, so that the tables are read again"

// causes of fatalDump, the more special ones first.
var causes = []cause{
	{[]string{"same server_uuid", "same server_id", "server_uuid/server_id", "same server id"}, ErrServerIDTaken,
		"set server-id to a number that no server and no replica has, or leave it out; run a pipeline once only"},
	{[]string{"purged", "could not find first log file", "slave state is too old", "start gtid position is too old", "not in the master's binlog since", "is missing in the binlog", "could not find gtid state"}, ErrPurged,
		startOver + "; and keep the binlog longer: binlog_expire_logs_seconds"},
	{[]string{"alternate history", "has more gtids than", "replica has more", "slave has more", "not in the master's binlog", "not in the primary's binlog", "which is not in", "position > file size",
		"impossible position", "greater than the binlog", "bigger than the size"}, ErrOtherHistory,
		"the server's binlog was reset or replaced, or this is another server that lacks transactions: connect to one that has them, or " + startOver},
	{[]string{"binary log is not open", "binary logging is not", "binlog is not open"}, ErrBinlogOff, "start the server with log_bin"},
	{[]string{"gtid_mode = off", "@@global.gtid_mode", "auto_position", "source_auto_position"}, ErrGTIDsOff,
		"set gtid_mode=ON and enforce_gtid_consistency=ON at the server"},
	{[]string{"max_allowed_packet"}, ErrCorrupt, "SET GLOBAL max_allowed_packet = 1073741824, for an event of the binlog is larger"},
	{[]string{"bogus data", "event too small", "event too big", "event read from binlog did not pass crc check", "checksum", "corrupt", "truncated", "i/o error reading", "memory allocation failed", "unexpected eof"}, ErrCorrupt,
		"the server can't read its binlog (its error log says more): move the pipeline to a replica that has the transactions, or " + startOver},
}

// because makes err an error of a kind.
func because(kind, err error) error { return fmt.Errorf("%w: %w", kind, err) }

// Explain names the kind of an error that ended a dump, and the way out. It returns
// what it does not know as it is.
func Explain(err error) error {
	switch wire.Code(err) {
	case 0:
		if errors.Is(err, event.ErrChecksum) {
			return withHint(err, "an event was damaged on its way or on the server's disk; where it fails again at the same place, %s", startOver)
		}
		return err
	case accessDenied, accessDeniedUser:
		return withHint(because(ErrPrivilege, err), "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO the account")
	case purgedRequiredNow:
		return withHint(because(ErrPurged, err), "%s", causes[1].hint)
	case sameServerID:
		return withHint(because(ErrServerIDTaken, err), "%s", causes[0].hint)
	case noBinlog:
		return withHint(because(ErrBinlogOff, err), "start the server with log_bin")
	case fatalDump:
		text := strings.ToLower(err.Error())
		for _, c := range causes {
			for _, t := range c.texts {
				if strings.Contains(text, t) {
					return withHint(because(c.err, err), "%s", c.hint)
				}
			}
		}
	}
	return err
}
