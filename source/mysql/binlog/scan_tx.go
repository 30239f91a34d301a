package binlog

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// savepoint is how many rows events the group had at a SAVEPOINT, -1 when the group
// begins behind it.
type savepoint struct {
	name string
	rows int
}

// mysqlGTID begins a transaction.
func (s *scanner) mysqlGTID(h event.Header, body []byte) error {
	e := &s.myGTID
	if err := e.Parse(h.Type, body); err != nil {
		return err
	}
	var g GTID
	if h.Type != event.AnonymousGTIDType {
		g = GTID{Source: Source{UUID: e.UUID}, Number: uint64(e.Number)}
		if len(e.Tag) > 0 {
			g.Source.Tag = string(e.Tag)
		}
	}
	return s.startTransaction(h, g, int64(e.OriginalCommit))
}

// mariaGTID begins a group of events.
func (s *scanner) mariaGTID(h event.Header, body []byte) error {
	e := &s.maria
	if err := e.Parse(body); err != nil {
		return err
	}
	if err := s.startTransaction(h, GTID{Domain: e.Domain, Server: h.ServerID, Number: e.Sequence}, 0); err != nil {
		return err
	}
	s.explicit = e.Flags&event.MariaStandalone == 0
	s.alter = e.Extra
	s.noteThread(e.ThreadID)
	if e.Flags&event.MariaPreparedXA != 0 {
		s.holdRows()
	}
	return nil
}

// startTransaction begins a transaction at the present event; micros is its
// commit's time, 0 where the event does not tell.
func (s *scanner) startTransaction(h event.Header, g GTID, micros int64) error {
	if s.inTx {
		return fmt.Errorf("%w: a transaction begins inside another one", ErrStream)
	}
	if s.files.Base == "" {
		return fmt.Errorf("%w: a transaction before the first ROTATE", ErrStream)
	}
	if micros == 0 {
		micros = int64(h.Timestamp) * 1e6
	}
	id := g.Number
	if g.IsZero() {
		id = s.place
	}
	s.inTx, s.explicit, s.gtid, s.alter = true, false, g, 0
	s.tx = transaction{id: id, start: s.place, time: micros}
	if s.origins {
		s.tx.origin, s.sqlOfRows = &txOrigin{server: h.ServerID, gtid: g}, nil
	}
	s.txIndex, s.txFirst, s.txOut = -1, 0, false
	s.savepoints = s.savepoints[:0]
	if s.place < s.after && !s.passing() {
		return withHint(fmt.Errorf("%w: a transaction, %s, that was not read before lies before %s, up to where everything was", ErrOtherHistory, g, s.files.Format(s.after)),
			"the server's binlog was reset or replaced: start the pipeline anew with an empty checkpoint directory")
	}
	return nil
}

// txRows returns how many rows events of the transaction are in the group.
func (s *scanner) txRows() int {
	if s.txIndex < 0 {
		return 0
	}
	return len(s.group.rows) - s.txFirst
}

// commit ends the transaction.
func (s *scanner) commit() error {
	if !s.inTx {
		return fmt.Errorf("%w: the end of a transaction that did not begin", ErrStream)
	}
	if s.hold != nil { // MariaDB writes XA COMMIT ... ONE PHASE as a plain transaction
		return fmt.Errorf("%w: a prepared XA transaction ends like a plain one", ErrStream)
	}
	s.endTransaction()
	return nil
}

// endTransaction makes the transaction part of the group.
func (s *scanner) endTransaction() {
	s.inTx, s.txOut, s.hold = false, false, nil
	if !s.gtid.IsZero() && !s.passing() {
		s.group.gtids = append(s.group.gtids, s.gtid)
	}
	s.group.time = max(s.group.time, s.tx.time)
	s.boundary()
}

// rollback ends a transaction that took everything back; servers write that only
// where it holds something that can't be rolled back, too.
func (s *scanner) rollback() error {
	if !s.inTx {
		return fmt.Errorf("%w: the end of a transaction that did not begin", ErrStream)
	}
	if err := s.dropRows(s.txFirst); err != nil {
		return err
	}
	s.endTransaction()
	return nil
}

// abandon drops a transaction that has no end.
func (s *scanner) abandon() error {
	if err := s.dropRows(s.txFirst); err != nil {
		return err
	}
	s.inTx, s.hold, s.txOut, s.inside = false, nil, false, false
	return nil
}

// dropRows takes back what came of the transaction behind the group's first n rows events.
func (s *scanner) dropRows(n int) error {
	if s.hold != nil {
		s.hold.drop()
		return nil
	}
	if s.txOut && n <= s.txFirst {
		return withHint(fmt.Errorf("%w: a transaction of more than %d rows or %d MB was rolled back in the log", ErrRolledBack, maxGroupRows, maxGroupBytes>>20),
			"start the pipeline anew with an empty checkpoint directory, so that the tables are read again")
	}
	if s.txIndex >= 0 && n < len(s.group.rows) {
		s.group.rows = s.group.rows[:n]
		if n == s.txFirst {
			s.group.txs = s.group.txs[:s.txIndex]
			s.txIndex = -1
		}
	}
	return nil
}

// setSavepoint remembers where the transaction stands.
func (s *scanner) setSavepoint(name string) {
	s.savepoints = slices.DeleteFunc(s.savepoints, func(p savepoint) bool { return p.name == name })
	s.savepoints = append(s.savepoints, savepoint{name, len(s.group.rows)})
}

// rollbackTo goes back to a savepoint.
func (s *scanner) rollbackTo(name string) error {
	i := slices.IndexFunc(s.savepoints, func(p savepoint) bool { return p.name == name })
	if s.hold != nil || i < 0 || s.savepoints[i].rows < 0 {
		if s.txRows() == 0 && !s.txOut && s.hold == nil {
			return nil // nothing of it matters
		}
		return withHint(fmt.Errorf("%w: ROLLBACK TO %s, which lies too far back", ErrRolledBack, name),
			"start the pipeline anew with an empty checkpoint directory, so that the tables are read again")
	}
	s.savepoints = s.savepoints[:i+1]
	if n := s.savepoints[i].rows; n < len(s.group.rows) && s.txIndex >= 0 {
		return s.dropTo(n)
	}
	return nil
}

// dropTo takes back the transaction's rows events behind the group's first n.
func (s *scanner) dropTo(n int) error {
	if n <= s.txFirst && !s.txOut {
		return s.dropRows(s.txFirst)
	}
	s.group.rows = s.group.rows[:n]
	return nil
}

// shiftSavepoints follows a cut that took the first n rows events away.
func (s *scanner) shiftSavepoints(n int) {
	for i := range s.savepoints {
		s.savepoints[i].rows = max(s.savepoints[i].rows-n, -1)
	}
}

// savepointName reads the name behind SAVEPOINT.
func savepointName(sql []byte) string {
	return string(bytes.ToLower(bytes.Trim(bytes.TrimSpace(sql), "`\"")))
}
