package window

// Set is seen(T): the keys that events have touched since T's snapshot started.
// The bytes given to it are copied. It is used by one goroutine.
type Set interface {
	// Add puts key into the set. A partial that is not nil says that the key's
	// event left out cells that did not change; it is what the source needs to
	// find the row later, and is kept until Filled. It counts for the first event
	// of a key alone: one that is complete, or a deletion, leaves nothing to fill.
	Add(key, partial []byte) error
	// Has reports whether key is in the set, and whether it waits for a fill.
	Has(key []byte) (ok, partial bool, err error)
	// Filled says that a key waits for no fill any more, now or later.
	Filled(key []byte) error
	// Partials calls fn for keys that wait for a fill, until it returns false.
	// The set must not be changed meanwhile.
	Partials(fn func(key, partial []byte) bool) error
	// Waiting returns the number of keys that wait for a fill.
	Waiting() int
	// Len returns the number of keys, or at least 1 when there are any.
	Len() int
	// Bytes estimates the memory that the set holds.
	Bytes() int64
	// Clear empties the set.
	Clear() error
}

// The values of a set's entries begin with one of these; a partial follows its mark.
const (
	markSeen    = ""
	markPartial = "p"
	markFilled  = "f"
)

// next returns the value of an entry that is added again, and whether it changes.
func next(was string, ok bool, partial []byte) (value string, changes bool) {
	switch {
	case ok:
		return was, false
	case partial != nil:
		return markPartial + string(partial), true
	}
	return markSeen, true
}

func isPartial(value string) bool { return len(value) > 0 && value[0] == markPartial[0] }

// MemSet is a Set in memory.
type MemSet struct {
	keys    map[string]string
	bytes   int64
	waiting int
}

// NewMemSet returns an empty set.
func NewMemSet() *MemSet { return &MemSet{} }

// entryBytes is what a map entry takes beside its bytes: two string headers, a
// control byte and the spare room of the table.
const entryBytes = 56

// Add implements Set.
func (s *MemSet) Add(key, partial []byte) error {
	was, ok := s.keys[string(key)]
	if value, changes := next(was, ok, partial); changes {
		s.put(key, value)
	}
	return nil
}

// put sets the value of an entry.
func (s *MemSet) put(key []byte, value string) {
	if s.keys == nil {
		s.keys = make(map[string]string)
	}
	was, ok := s.keys[string(key)]
	if !ok {
		s.bytes += int64(len(key)) + entryBytes
	}
	s.bytes += int64(len(value) - len(was))
	if isPartial(was) {
		s.waiting--
	}
	if isPartial(value) {
		s.waiting++
	}
	s.keys[string(key)] = value
}

// Has implements Set.
func (s *MemSet) Has(key []byte) (ok, partial bool, err error) {
	value, ok := s.keys[string(key)]
	return ok, isPartial(value), nil
}

// Filled implements Set.
func (s *MemSet) Filled(key []byte) error {
	s.put(key, markFilled)
	return nil
}

// Partials implements Set.
func (s *MemSet) Partials(fn func(key, partial []byte) bool) error {
	if s.waiting == 0 {
		return nil
	}
	for k, v := range s.keys {
		if isPartial(v) && !fn([]byte(k), []byte(v[1:])) {
			return nil
		}
	}
	return nil
}

// Waiting implements Set.
func (s *MemSet) Waiting() int { return s.waiting }

// Len implements Set.
func (s *MemSet) Len() int { return len(s.keys) }

// Bytes implements Set.
func (s *MemSet) Bytes() int64 { return s.bytes }

// Clear implements Set.
func (s *MemSet) Clear() error {
	*s = MemSet{}
	return nil
}

// all calls fn for every entry until it returns false.
func (s *MemSet) all(fn func(key, value string) bool) {
	for k, v := range s.keys {
		if !fn(k, v) {
			return
		}
	}
}
