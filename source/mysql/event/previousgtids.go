package event

// GTIDInterval are the transactions First to Last, both included, of one server
// and tag.
type GTIDInterval struct {
	UUID        UUID
	Tag         []byte
	First, Last int64
}

// PreviousGTIDs reads the body of a PREVIOUS_GTIDS event, all that was executed
// before the file, and calls fn for each interval. It reads the same form
// wherever else MySQL writes a set of GTIDs.
func PreviousGTIDs(body []byte, fn func(GTIDInterval) error) error {
	// A set with tags is marked by a 1 in both outer bytes of the count.
	r := reader{p: body}
	head := r.u64()
	tagged := head>>56 == 1
	n := head
	if tagged {
		n = head << 8 >> 16
	}
	for i := uint64(0); i < n && !r.bad; i++ {
		var iv GTIDInterval
		copy(iv.UUID[:], r.take(len(iv.UUID)))
		if tagged {
			m := message{reader: r}
			iv.Tag = m.bytes(maxTag)
			r = m.reader
		}
		count := r.u64()
		if count > uint64(r.left())/16 {
			r.bad = true
		}
		for j := uint64(0); j < count && !r.bad; j++ {
			iv.First = int64(r.u64())
			iv.Last = int64(r.u64()) - 1
			if iv.First <= 0 || iv.Last < iv.First {
				return corrupt(PreviousGTIDsType, "an empty interval")
			}
			if err := fn(iv); err != nil {
				return err
			}
		}
	}
	if r.bad {
		return corrupt(PreviousGTIDsType, "a cut body")
	}
	return nil
}
