package event

// XID returns the number of the transaction that the body of an XID event commits.
func XID(body []byte) (uint64, error) {
	r := reader{p: body}
	n := r.u64()
	if r.bad {
		return 0, corrupt(XIDType, "a cut body")
	}
	return n, nil
}

// XAID is the name of an XA transaction.
type XAID struct {
	FormatID int32
	// Global and Branch are the parts that the client chose, gtrid and bqual.
	Global, Branch []byte
}

// maxXAPart is the most that the servers take for either part of a name.
const maxXAPart = 64

// XAPrepare is an XA_PREPARE event: the end of the prepared part of an XA
// transaction.
type XAPrepare struct {
	// OnePhase: XA COMMIT ... ONE PHASE, which commits at once.
	OnePhase bool
	XAID
}

// Parse reads the body.
func (e *XAPrepare) Parse(body []byte) error {
	r := reader{p: body}
	e.OnePhase = r.u8() != 0
	e.FormatID = int32(r.u32())
	global, branch := r.u32(), r.u32()
	if global > maxXAPart || branch > maxXAPart {
		return corrupt(XAPrepareType, "a name that is too long")
	}
	e.Global, e.Branch = r.take(int(global)), r.take(int(branch))
	if r.bad {
		return corrupt(XAPrepareType, "a cut body")
	}
	return nil
}
