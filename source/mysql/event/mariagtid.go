package event

import "encoding/binary"

// MariaFlags are the flags of a MariaDB GTID event, FL_... in its source.
type MariaFlags byte

// The flags.
const (
	// MariaStandalone: no COMMIT or XID ends the group; it is the one event that
	// follows, and a TABLE_MAP or the like before it.
	MariaStandalone MariaFlags = 1 << iota
	MariaGroupCommit
	MariaTransactional
	MariaAllowParallel
	MariaWaited
	MariaDDL
	// MariaPreparedXA: the group ends with an XA_PREPARE, see MariaGTID.XID.
	MariaPreparedXA
	// MariaCompletedXA: the group is an XA COMMIT or XA ROLLBACK of what was
	// prepared.
	MariaCompletedXA
)

// MariaExtraFlags are more of them, FL_..._E1.
type MariaExtraFlags byte

// The extra flags. An ALTER TABLE in two phases comes twice: when it starts, and
// when it has been done or has failed; only ExtraCommitAlter changes the table.
const (
	ExtraMultiEngine MariaExtraFlags = 1 << iota
	ExtraStartAlter
	ExtraCommitAlter
	ExtraRollbackAlter
	ExtraThreadID // since 11.5
)

// MariaGTID is MariaDB's GTID event, the first of every group. The server id of the
// identifier is that of the event's header.
type MariaGTID struct {
	Domain   uint32
	Sequence uint64
	Flags    MariaFlags
	Extra    MariaExtraFlags
	CommitID uint64
	// XID is set with MariaPreparedXA and MariaCompletedXA.
	XID XAID
	// StartAlter is the sequence number of the group that started the ALTER which
	// this one ends.
	StartAlter uint64
	// ThreadID is the number of the session, 0 before MariaDB 11.5.
	ThreadID uint32
}

// mariaGTIDSize is what the event has at least; it is padded with zeros.
const mariaGTIDSize = 19

// Parse reads the body.
func (e *MariaGTID) Parse(body []byte) error {
	r := reader{p: body}
	*e = MariaGTID{Sequence: r.u64(), Domain: r.u32(), Flags: MariaFlags(r.u8())}
	if e.Flags&MariaGroupCommit != 0 {
		e.CommitID = r.u64()
	}
	if e.Flags&(MariaPreparedXA|MariaCompletedXA) != 0 {
		e.XID.FormatID = int32(r.u32())
		global, branch := r.u8(), r.u8()
		e.XID.Global, e.XID.Branch = r.take(int(global)), r.take(int(branch))
	}
	if r.left() > 0 {
		e.Extra = MariaExtraFlags(r.u8())
		if e.Extra&ExtraMultiEngine != 0 {
			r.skip(1)
		}
		if e.Extra&(ExtraCommitAlter|ExtraRollbackAlter) != 0 {
			e.StartAlter = r.u64()
		}
		if e.Extra&ExtraThreadID != 0 {
			e.ThreadID = r.u32()
		}
	}
	if r.bad || len(body) < mariaGTIDSize {
		return corrupt(MariaGTIDType, "a cut body")
	}
	return nil
}

// MariaGTIDEntry is one identifier of a GTID_LIST.
type MariaGTIDEntry struct {
	Domain, Server uint32
	Sequence       uint64
}

// GTIDList reads the body of a GTID_LIST event, the last identifiers by domain and
// server before the file, and calls fn for each. In an artificial one the flags
// say more.
func GTIDList(body []byte, fn func(MariaGTIDEntry)) error {
	const entrySize = 16
	r := reader{p: body}
	n := r.u32() & (1<<28 - 1) // the upper bits are flags
	if uint64(n)*entrySize > uint64(r.left()) {
		r.bad = true
	}
	for i := uint32(0); i < n && !r.bad; i++ {
		e := r.take(entrySize)
		fn(MariaGTIDEntry{Domain: binary.LittleEndian.Uint32(e), Server: binary.LittleEndian.Uint32(e[4:]), Sequence: binary.LittleEndian.Uint64(e[8:])})
	}
	if r.bad {
		return corrupt(GTIDListType, "a cut body")
	}
	return nil
}
