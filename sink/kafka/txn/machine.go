package txn

import (
	"fmt"
	"slices"
	"strings"
)

// Config is what a machine is made for.
type Config struct {
	// Prefix begins all transactional ids; nobody else may use it.
	Prefix string
	// Lineage names the checkpoints that the pipeline belongs to.
	Lineage string
	// MaxIDs bounds the ids, and so the transactions that are open at once; by
	// default 8. Two are used while checkpoints complete one after the other.
	MaxIDs int
	// Tries bounds the attempts at a request; by default 20.
	Tries int
}

// phase is how far a machine has come.
type phase uint8

const (
	created   phase = iota
	fencing         // ids without a prepared transaction
	reading         // the marker, for the first time
	resolving       // what the checkpoint holds as prepared
	sealing         // the ids of those
	ready
	failed
)

// slot is one transactional id.
type slot struct {
	id    string
	state slotState
	tries int
	c     Committable // from open on
}

type slotState uint8

const (
	stale slotState = iota // must be initialised before it is used
	initing
	free
	beginning
	open
	preparing
	prepared
)

// entry is a prepared transaction in the order of checkpoints.
type entry struct {
	c      Committable
	slot   *slot
	stored bool // its checkpoint is
	live   bool // its producer is this process's
	asked  bool // End or ReadMarker is under way
	doubt  bool // it was refused: the marker decides
	tries  int
}

// Machine is the protocol's state. It is used by one goroutine at a time.
type Machine struct {
	cfg      Config
	phase    phase
	restored Restore
	slots    []*slot // by id's number
	extra    []*slot // ids that are only fenced
	queue    []*entry
	wanted   bool // Write waits for a transaction
	readings int  // attempts at the present reading of the marker
	out      []Action
}

// New returns a machine that waits for [Restore].
func New(cfg Config) *Machine {
	if cfg.MaxIDs == 0 {
		cfg.MaxIDs = 8
	}
	if cfg.Tries == 0 {
		cfg.Tries = 20
	}
	return &Machine{cfg: cfg}
}

// Step takes an input and returns what is to be done, in order. After an error the
// machine takes no more inputs.
func (m *Machine) Step(in Input) ([]Action, error) {
	m.out = nil
	if m.phase == failed {
		return nil, fmt.Errorf("%w: %T after an error", ErrOrder, in)
	}
	if err := m.step(in); err != nil {
		m.phase = failed
		return nil, err
	}
	return m.out, nil
}

func (m *Machine) step(in Input) error {
	switch in := in.(type) {
	case Restore:
		return m.restore(in)
	case Inited:
		return m.inited(in)
	case Write:
		return m.write()
	case Began:
		return m.began(in)
	case Prepare:
		return m.prepare(in)
	case Flushed:
		return m.flushed(in)
	case Stored:
		return m.stored(in)
	case Ended:
		return m.ended(in)
	case MarkerRead:
		return m.markerRead(in)
	}
	return m.disorder(in)
}

// Open returns the id of the transaction that records go to, if there is one.
func (m *Machine) Open() (id string, ok bool) {
	if s := m.in(open); s != nil {
		return s.id, true
	}
	return "", false
}

// Pending returns what is prepared and not known to be committed, in order: what a
// checkpoint must hold.
func (m *Machine) Pending() []Committable {
	out := make([]Committable, len(m.queue))
	for i, e := range m.queue {
		out[i] = e.c
	}
	return out
}

func (m *Machine) do(a ...Action) { m.out = append(m.out, a...) }

func (m *Machine) disorder(in Input) error { return fmt.Errorf("%w: %T", ErrOrder, in) }

// in returns the first id in a state, nil for none.
func (m *Machine) in(s slotState) *slot {
	if i := slices.IndexFunc(m.slots, func(x *slot) bool { return x.state == s }); i >= 0 {
		return m.slots[i]
	}
	return nil
}

func (m *Machine) slotOf(id string) *slot {
	for _, s := range slices.Concat(m.slots, m.extra) {
		if s.id == id {
			return s
		}
	}
	return nil
}

// idOf is the id with a number.
func (m *Machine) idOf(n int) string { return fmt.Sprintf("%s-%d", m.cfg.Prefix, n) }

// add makes one more id.
func (m *Machine) add() *slot {
	s := &slot{id: m.idOf(len(m.slots))}
	m.slots = append(m.slots, s)
	return s
}

// owns reports whether an id is one that a machine with this prefix makes.
func (m *Machine) owns(id string) bool {
	n, ok := strings.CutPrefix(id, m.cfg.Prefix+"-")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}
