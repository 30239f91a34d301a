package event

// Query is a QUERY event: a statement as the client sent it, or BEGIN, COMMIT and
// the like that the server writes itself.
type Query struct {
	ThreadID, ExecSeconds uint32
	ErrorCode             uint16
	// Database was the default one.
	Database []byte
	SQL      []byte

	// What follows are the session's settings, as far as the event has them.

	// SQLMode has the bits of sql_mode.
	SQLMode uint64
	// ClientCharset, ConnectionCollation and ServerCollation are numbers of
	// collations (character_set_client, collation_connection, collation_server);
	// 0: not given.
	ClientCharset, ConnectionCollation, ServerCollation uint16
	// DatabaseCollation is the default collation of Database, 0: not given.
	DatabaseCollation uint16
	// DefaultUTF8MB4Collation is default_collation_for_utf8mb4, 0: not given.
	DefaultUTF8MB4Collation uint16
	// CollationOverrides is MariaDB's character_set_collations: pairs of the
	// numbers of a character set and of its default collation, two bytes each.
	CollationOverrides []byte
	TimeZone           []byte
	Microseconds       uint32 // of the statement's start, behind the header's seconds
	// ImplicitTimestamps: explicit_defaults_for_timestamp is off; MySQL says so with
	// statements that define columns.
	ImplicitTimestamps bool
	// AlterFlags are MariaDB's GTID flags of a two-phase ALTER, see MariaGTID.
	AlterFlags MariaExtraFlags
}

const queryFixed = 4 + 4 + 1 + 2 + 2

// Parse reads the body.
func (e *Query) Parse(f *Format, body []byte) error {
	return e.parse(f, QueryType, queryFixed, body)
}

// ParseExecuteLoad reads the body of an EXECUTE_LOAD_QUERY: a LOAD DATA statement
// in statement format.
func (e *Query) ParseExecuteLoad(f *Format, body []byte) error {
	const fixed = queryFixed + 4 + 4 + 4 + 1 // the file and where its name stands in the statement
	return e.parse(f, ExecuteLoadType, fixed, body)
}

func (e *Query) parse(f *Format, t Type, fixed int, body []byte) error {
	*e = Query{}
	fixed = f.headerLength(t, fixed)
	r := reader{p: body}
	e.ThreadID, e.ExecSeconds = r.u32(), r.u32()
	database := int(r.u8())
	e.ErrorCode = r.u16()
	vars := int(r.u16())
	r.skip(fixed - queryFixed)
	status := r.take(vars)
	e.Database = r.take(database)
	if r.u8() != 0 {
		r.bad = true
	}
	e.SQL = r.rest()
	if r.bad || !e.status(status, f != nil && f.MariaDB) {
		return corrupt(t, "a cut body")
	}
	return nil
}

// The codes of the status variables, Q_..._CODE in the servers' sources.
const (
	statusFlags2           = 0
	statusSQLMode          = 1
	statusCatalog          = 2
	statusAutoIncrement    = 3
	statusCharset          = 4
	statusTimeZone         = 5
	statusCatalogNZ        = 6
	statusLCTimeNames      = 7
	statusCharsetDatabase  = 8
	statusTableMapUpdate   = 9
	statusDataWritten      = 10
	statusInvokers         = 11
	statusUpdatedDatabases = 12
	statusMicroseconds     = 13
	statusExplicitDefaults = 16
	statusDDLXID           = 17
	statusUTF8MB4          = 18
	statusRequireKey       = 19
	statusTableEncryption  = 20
	statusMariaHRNow       = 128
	statusMariaXID         = 129
	statusMariaGTIDFlags   = 130
	statusMariaCollations  = 131
)

// status reads the status variables. Behind one that is not known nothing can be
// read; the servers stop there too.
func (e *Query) status(p []byte, mariadb bool) bool {
	const mariaExplicitDefaults = 1 << 24 // OPTION_EXPLICIT_DEF_TIMESTAMP
	r := reader{p: p}
	for r.left() > 0 {
		code := r.u8()
		switch code {
		case statusFlags2:
			e.ImplicitTimestamps = r.u32()&mariaExplicitDefaults == 0 && mariadb
		case statusSQLMode:
			e.SQLMode = r.u64()
		case statusCharset:
			e.ClientCharset, e.ConnectionCollation, e.ServerCollation = r.u16(), r.u16(), r.u16()
		case statusTimeZone:
			e.TimeZone = r.take(int(r.u8()))
		case statusCharsetDatabase:
			e.DatabaseCollation = r.u16()
		case statusUTF8MB4:
			e.DefaultUTF8MB4Collation = r.u16()
		case statusMicroseconds, statusMariaHRNow:
			e.Microseconds = uint32(r.fixed(3))
		case statusExplicitDefaults:
			e.ImplicitTimestamps = r.u8() == 0
		case statusMariaCollations:
			e.CollationOverrides = r.take(4 * int(r.u8()))
		case statusMariaGTIDFlags:
			e.AlterFlags = MariaExtraFlags(r.u8())
			if e.AlterFlags&(ExtraCommitAlter|ExtraRollbackAlter) != 0 {
				r.skip(8)
			}
		default:
			if !skipStatus(&r, code) {
				return !r.bad
			}
		}
	}
	return !r.bad
}

// skipStatus passes a variable that is of no use here; false: it is not known.
func skipStatus(r *reader, code byte) bool {
	const tooMany = 254 // more databases than are listed
	switch code {
	case statusRequireKey, statusTableEncryption:
		r.skip(1)
	case statusLCTimeNames:
		r.skip(2)
	case statusAutoIncrement, statusDataWritten:
		r.skip(4)
	case statusTableMapUpdate, statusDDLXID, statusMariaXID:
		r.skip(8)
	case statusCatalog:
		r.skip(int(r.u8()) + 1)
	case statusCatalogNZ:
		r.skip(int(r.u8()))
	case statusInvokers:
		r.skip(int(r.u8()))
		r.skip(int(r.u8()))
	case statusUpdatedDatabases:
		n := r.u8()
		for i := byte(0); n != tooMany && i < n && !r.bad; i++ {
			for r.u8() != 0 {
			}
		}
	default:
		return false
	}
	return true
}
