package event

// UUID identifies a MySQL server.
type UUID [16]byte

// GTID is MySQL's GTID, ANONYMOUS_GTID or GTID_TAGGED event, the first of every
// transaction.
type GTID struct {
	// UUID, Tag and Number are the transaction's identifier, all empty for an
	// anonymous one. Tag is new in MySQL 8.3 and mostly empty.
	UUID   UUID
	Tag    []byte
	Number int64
	// MayHaveStatements: something in the transaction may be in statement format.
	MayHaveStatements bool
	// LastCommitted and SequenceNumber count transactions within the file: one
	// that is no later than LastCommitted must be applied before.
	LastCommitted, SequenceNumber int64
	// ImmediateCommit and OriginalCommit are the commit's times at this server and
	// at the first, in microseconds since 1970; 0 before MySQL 8.0.1.
	ImmediateCommit, OriginalCommit uint64
	// Length is that of all the transaction's events, this one included; 0 before
	// MySQL 8.0.2.
	Length uint64
	// ImmediateVersion and OriginalVersion are the servers' versions, as 80036.
	ImmediateVersion, OriginalVersion uint32
}

const (
	gtidFlagStatements = 1
	logicalTimestamps  = 2 // the only kind of typecode
	timestampSize      = 7
	// secondTimestamp in the first timestamp says that another follows.
	secondTimestamp = 1 << 55
	secondVersion   = 1 << 31
)

// Parse reads the body of an event of type t.
func (e *GTID) Parse(t Type, body []byte) error {
	*e = GTID{}
	if t == GTIDTaggedType {
		return e.parseTagged(body)
	}
	r := reader{p: body}
	e.MayHaveStatements = r.u8()&gtidFlagStatements != 0
	copy(e.UUID[:], r.take(len(e.UUID)))
	e.Number = int64(r.u64())
	if r.left() > 0 && r.u8() == logicalTimestamps {
		e.LastCommitted, e.SequenceNumber = int64(r.u64()), int64(r.u64())
		e.parseTail(&r)
	}
	if r.bad || t == GTIDType && e.Number <= 0 {
		return corrupt(t, "a cut body")
	}
	return nil
}

// parseTail reads what newer servers have added, as far as it is there.
func (e *GTID) parseTail(r *reader) {
	if r.left() < timestampSize {
		return
	}
	e.ImmediateCommit = r.fixed(timestampSize)
	if e.OriginalCommit = e.ImmediateCommit; e.ImmediateCommit&secondTimestamp != 0 {
		e.ImmediateCommit &^= secondTimestamp
		e.OriginalCommit = r.fixed(timestampSize)
	}
	if r.left() == 0 {
		return
	}
	e.Length = r.packed()
	if r.left() < 4 {
		return
	}
	e.ImmediateVersion = r.u32()
	if e.OriginalVersion = e.ImmediateVersion; e.ImmediateVersion&secondVersion != 0 {
		e.ImmediateVersion &^= secondVersion
		e.OriginalVersion = r.u32()
	}
}

// maxTag is the longest tag that servers take.
const maxTag = 32

// The fields of a GTID_TAGGED event.
const (
	taggedFlags = iota
	taggedUUID
	taggedNumber
	taggedTag
	taggedLastCommitted
	taggedSequenceNumber
	taggedImmediateCommit
	taggedOriginalCommit
	taggedLength
	taggedImmediateVersion
	taggedOriginalVersion
	taggedTicket // of a group commit
)

func (e *GTID) parseTagged(body []byte) error {
	m, ok := openMessage(body)
	if !ok || m.lastNeeded > taggedTicket {
		return corrupt(GTIDTaggedType, "a newer form of the event")
	}
	for {
		id, more := m.next()
		if !more {
			break
		}
		switch id {
		case taggedFlags:
			e.MayHaveStatements = m.unsigned()&gtidFlagStatements != 0
		case taggedUUID:
			for i := range e.UUID {
				e.UUID[i] = byte(m.unsigned())
			}
		case taggedNumber:
			e.Number = m.signed()
		case taggedTag:
			e.Tag = m.bytes(maxTag)
		case taggedLastCommitted:
			e.LastCommitted = m.signed()
		case taggedSequenceNumber:
			e.SequenceNumber = m.signed()
		case taggedImmediateCommit:
			e.ImmediateCommit = m.unsigned()
			e.OriginalCommit = e.ImmediateCommit
		case taggedOriginalCommit:
			e.OriginalCommit = m.unsigned()
		case taggedLength:
			e.Length = m.unsigned()
		case taggedImmediateVersion:
			e.ImmediateVersion = uint32(m.unsigned())
			e.OriginalVersion = e.ImmediateVersion
		case taggedOriginalVersion:
			e.OriginalVersion = uint32(m.unsigned())
		case taggedTicket:
			m.unsigned()
		}
	}
	if m.bad || e.Number <= 0 {
		return corrupt(GTIDTaggedType, "a cut body")
	}
	return nil
}
