package txn

import (
	"fmt"
	"slices"
)

// restore begins: ids without a prepared transaction are fenced first, so that nobody
// who had them goes on, and nothing of theirs hides the marker from its reader.
func (m *Machine) restore(in Restore) error {
	if m.phase != created {
		return m.disorder(in)
	}
	m.restored, m.phase = in, fencing
	for range 2 {
		m.add()
	}
	kept := map[string]bool{}
	for _, c := range in.Pending {
		if kept[c.ID] {
			return fmt.Errorf("%w: two prepared transactions of %s", ErrOrder, c.ID)
		}
		kept[c.ID] = true
		s := m.known(c.ID)
		s.state, s.c = prepared, c
		m.queue = append(m.queue, &entry{c: c, slot: s, stored: true})
	}
	for _, id := range in.Listed {
		if m.owns(id) && !kept[id] {
			m.known(id)
		}
	}
	for _, s := range m.all() {
		if s.state == stale {
			m.init(s)
		}
	}
	return m.fenced()
}

// known returns the slot of an id, which it makes if there is none. One that is
// not among the first MaxIDs is never used, only fenced.
func (m *Machine) known(id string) *slot {
	for len(m.slots) < m.cfg.MaxIDs && m.slotOf(id) == nil && m.owns(id) && slices.Contains(m.names(), id) {
		m.add()
	}
	if s := m.slotOf(id); s != nil {
		return s
	}
	s := &slot{id: id}
	m.extra = append(m.extra, s)
	return s
}

// names are all ids that may be used.
func (m *Machine) names() []string {
	out := make([]string, m.cfg.MaxIDs)
	for i := range out {
		out[i] = m.idOf(i)
	}
	return out
}

func (m *Machine) all() []*slot { return slices.Concat(m.slots, m.extra) }

func (m *Machine) init(s *slot) {
	s.state = initing
	s.tries++
	m.do(Init{ID: s.id, Try: s.tries})
}

// inited goes on when an id is fenced.
func (m *Machine) inited(in Inited) error {
	s := m.slotOf(in.ID)
	if s == nil || s.state != initing {
		return m.disorder(in)
	}
	switch in.Result {
	case Refused:
		return &FencedError{ID: in.ID}
	case Again, Unknown: // to do it twice does no harm
		if s.tries >= m.cfg.Tries {
			return &UnavailableError{Request: "InitProducerID of " + s.id, Tries: s.tries}
		}
		m.init(s)
		return nil
	}
	s.state, s.tries = free, 0
	if m.phase == ready {
		m.begin()
		return nil
	}
	return m.fenced()
}

// fenced goes on when all ids are fenced that had to be.
func (m *Machine) fenced() error {
	if slices.ContainsFunc(m.all(), func(s *slot) bool { return s.state == initing }) {
		return nil
	}
	switch m.phase {
	case fencing:
		m.phase = reading
		m.read()
	case sealing:
		m.phase, m.extra = ready, nil
		m.do(Ready{})
	}
	return nil
}

func (m *Machine) read() {
	m.readings++
	m.do(ReadMarker{Try: m.readings})
}

// markerRead decides by the last committed marker.
func (m *Machine) markerRead(in MarkerRead) error {
	doubt := len(m.queue) > 0 && m.queue[0].doubt
	if m.phase != reading && !doubt || m.readings == 0 {
		return m.disorder(in)
	}
	if in.Result != Done {
		if m.readings >= m.cfg.Tries {
			return &UnavailableError{Request: "reading the last marker", Tries: m.readings}
		}
		m.read()
		return nil
	}
	m.readings = 0
	if err := m.check(in); err != nil {
		return err
	}
	last := -1 // commits come in order: what is before a committed one is committed
	for i, e := range m.queue {
		if in.Found && in.Marker.of(e.c) {
			last = i
		}
	}
	if doubt && last < 0 {
		if c := m.queue[0].c; in.Found && in.Marker.Checkpoint >= c.Checkpoint {
			return &FencedError{ID: c.ID} // somebody goes on where we would
		}
		return &LostError{Committable: m.queue[0].c, Last: in.Marker}
	}
	for range last + 1 {
		m.pop(stale)
	}
	if m.phase == reading {
		m.phase = resolving
	}
	return m.advance()
}

// check looks at whose marker it is.
func (m *Machine) check(in MarkerRead) error {
	switch {
	case !in.Found:
		return nil
	case in.Marker.Lineage != m.cfg.Lineage:
		return &ForeignError{Lineage: m.cfg.Lineage, Marker: in.Marker}
	case m.phase != reading:
		return nil
	case !m.restored.Restored || in.Marker.Checkpoint > m.restored.Checkpoint:
		return &AheadError{Restored: m.restored.Checkpoint, Marker: in.Marker}
	case in.Marker.Checkpoint == m.restored.Checkpoint && !slices.ContainsFunc(m.queue, func(e *entry) bool { return in.Marker.of(e.c) }):
		return &ForeignError{Lineage: m.cfg.Lineage, Marker: in.Marker} // another checkpoint of that number
	}
	return nil
}

// pop takes the first prepared transaction as committed.
func (m *Machine) pop(then slotState) {
	e := m.queue[0]
	m.queue = m.queue[1:]
	e.slot.state = then
	m.do(Committed{Committable: e.c})
}

// advance ends the first transaction whose checkpoint is stored, or goes on where
// there is none.
func (m *Machine) advance() error {
	if len(m.queue) > 0 {
		e := m.queue[0]
		if !e.stored || e.asked {
			return nil
		}
		e.asked = true
		m.end(e)
		return nil
	}
	if m.phase == resolving {
		m.phase = sealing
		for _, s := range m.all() {
			if s.state == stale {
				m.init(s)
			}
		}
		return m.fenced()
	}
	return nil
}

func (m *Machine) end(e *entry) {
	e.tries++
	m.do(End{Committable: e.c, Live: e.live, Try: e.tries})
}
