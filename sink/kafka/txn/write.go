package txn

// write wants an open transaction.
func (m *Machine) write() error {
	if m.phase != ready || m.wanted || m.in(preparing) != nil {
		return m.disorder(Write{})
	}
	if m.in(open) != nil {
		return nil
	}
	m.wanted = true
	s := m.in(free)
	if s == nil {
		if s = m.in(stale); s == nil {
			if len(m.slots) >= m.cfg.MaxIDs {
				return &ManyError{Prepared: len(m.queue)}
			}
			s = m.add()
		}
		m.init(s)
		return nil
	}
	m.begin()
	return nil
}

// begin opens the transaction that Write waits for.
func (m *Machine) begin() {
	if s := m.in(free); m.wanted && s != nil {
		s.state = beginning
		m.do(Begin{ID: s.id})
	}
}

func (m *Machine) began(in Began) error {
	s := m.slotOf(in.ID)
	if s == nil || s.state != beginning {
		return m.disorder(in)
	}
	switch in.Result {
	case Refused:
		return &FencedError{ID: in.ID}
	case Again, Unknown:
		return &UnavailableError{Request: "beginning a transaction of " + in.ID, Tries: 1}
	}
	s.state, m.wanted = open, false
	s.c = Committable{ID: in.ID, ProducerID: in.ProducerID, Epoch: in.Epoch, Version: in.Version}
	return nil
}

// prepare ends the open transaction's writing.
func (m *Machine) prepare(in Prepare) error {
	if m.phase != ready || m.wanted || m.in(preparing) != nil {
		return m.disorder(in)
	}
	if n := len(m.queue); n > 0 && m.queue[n-1].c.Checkpoint >= in.Checkpoint {
		return m.disorder(in)
	}
	s := m.in(open)
	if s == nil { // an empty transaction can't be ended, and nobody would miss it
		m.do(Prepared{Checkpoint: in.Checkpoint, Empty: true})
		return nil
	}
	s.state = preparing
	s.c.Checkpoint, s.c.Position = in.Checkpoint, in.Position
	m.do(WriteMarker{ID: s.id, Marker: Marker{Lineage: m.cfg.Lineage, Checkpoint: in.Checkpoint, Position: in.Position,
		ID: s.id, ProducerID: s.c.ProducerID, Epoch: s.c.Epoch}}, Flush{ID: s.id})
	return nil
}

func (m *Machine) flushed(in Flushed) error {
	s := m.slotOf(in.ID)
	if s == nil || s.state != preparing {
		return m.disorder(in)
	}
	switch in.Result {
	case Refused:
		return &FencedError{ID: in.ID}
	case Again, Unknown: // the transaction may lack records: it must never be committed
		return &FlushError{ID: in.ID}
	}
	s.state = prepared
	m.queue = append(m.queue, &entry{c: s.c, slot: s, live: true})
	m.do(Prepared{Checkpoint: s.c.Checkpoint, Committable: s.c})
	return nil
}

// stored lets everything up to a checkpoint be committed.
func (m *Machine) stored(in Stored) error {
	if m.phase != ready {
		return m.disorder(in)
	}
	for _, e := range m.queue {
		e.stored = e.stored || e.c.Checkpoint <= in.Checkpoint
	}
	return m.advance()
}

// ended goes on by how the first transaction's end went.
func (m *Machine) ended(in Ended) error {
	if len(m.queue) == 0 || !m.queue[0].asked || m.queue[0].doubt || m.queue[0].c.ID != in.ID {
		return m.disorder(in)
	}
	e := m.queue[0]
	switch in.Result {
	case Refused:
		e.doubt = true
		m.read()
		return nil
	case Again, Unknown:
		if e.tries >= m.cfg.Tries {
			return &UnavailableError{Request: "EndTxn of " + in.ID, Tries: e.tries}
		}
		if in.Result == Unknown { // the producer no longer knows its own state
			e.live = false
		}
		m.end(e)
		return nil
	}
	then := stale
	if e.live && e.c.Version >= V2 { // its epoch is a new one, and the producer knows it
		then = free
	}
	m.pop(then)
	return m.advance()
}
