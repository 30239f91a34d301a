package binlog

import (
	"bytes"
	"fmt"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// other takes everything but table maps and rows.
func (s *scanner) other(h event.Header, body []byte) (verdict, error) {
	switch h.Type {
	case event.GTIDType, event.AnonymousGTIDType, event.GTIDTaggedType:
		return goOn, s.mysqlGTID(h, body)
	case event.MariaGTIDType:
		return goOn, s.mariaGTID(h, body)
	case event.QueryType, event.QueryCompressedType, event.ExecuteLoadType:
		return s.queryEvent(h, body)
	case event.XIDType:
		return goOn, s.commit()
	case event.PayloadType:
		if !s.inTx {
			return goOn, fmt.Errorf("%w: a TRANSACTION_PAYLOAD outside a transaction", ErrStream)
		}
		s.nest()
		return unpack, s.payload.Parse(body)
	case event.XAPrepareType:
		return s.xaPrepare(body)
	case event.RotateType:
		return goOn, s.rotateEvent(h, body)
	case event.FormatType:
		return goOn, s.formatEvent(h, body)
	case event.HeartbeatType, event.HeartbeatV2Type:
		return goOn, s.heartbeat(h, body)
	case event.IncidentType:
		var e event.Incident
		if err := e.Parse(body); err != nil {
			return goOn, err
		}
		return goOn, withHint(fmt.Errorf("%w: number %d, %q", ErrIncident, e.Number, e.Message),
			"the server lost events: start the pipeline anew with an empty checkpoint directory, so that the tables are read again")
	case event.RowsQueryType, event.AnnotateRowsType:
		return goOn, s.rowsQuery(h, body)
	case event.PreviousGTIDsType:
		return goOn, s.previousGTIDs(body)
	case event.GTIDListType:
		return goOn, s.gtidList(h, body)
	}
	if err := h.Check(); err != nil {
		return goOn, err
	}
	s.outside() // what is left has nothing to say, but moves the position
	return goOn, nil
}

// outside notes a boundary if no transaction is open.
func (s *scanner) outside() {
	if !s.inTx && s.files.Base != "" {
		s.boundary()
	}
}

// rotateEvent: an artificial one says which file comes now, the other one ends a file.
func (s *scanner) rotateEvent(h event.Header, body []byte) error {
	if err := s.rotate.Parse(body); err != nil {
		return err
	}
	if h.LogPos != 0 || !h.Artificial() {
		s.outside()
		return nil
	}
	name := string(s.rotate.File)
	base, number, err := ParseFile(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStream, err)
	}
	if err := s.firstFile(name, base); err != nil {
		return err
	}
	if _, err := s.files.position(number, s.rotate.Position); err != nil {
		return err
	}
	if number != s.files.Number {
		s.files.Number, s.files.Born = number, 0
	}
	s.offset, s.begin = s.rotate.Position, s.rotate.Position
	s.place = s.files.at(s.offset)
	s.received = max(s.received, s.place)
	s.forget()
	s.outside()
	return nil
}

// firstFile checks the name of a file, the first one against how they were called
// before.
func (s *scanner) firstFile(name, base string) (err error) {
	switch {
	case s.following:
		s.files, err = Follow(name, s.after)
	case s.firstTime:
		s.files = Files{Base: base}
	case base != s.files.Base:
		return withHint(fmt.Errorf("%w: file %s, the files were called %s.NNNNNN so far", ErrOtherHistory, name, s.files.Base),
			"go on by GTID, or start the pipeline anew with an empty checkpoint directory")
	}
	if err == nil && s.startPlace.File != "" {
		s.from, err = s.files.Position(s.startPlace)
		s.startPlace = Place{}
	}
	s.following, s.firstTime = false, false
	return err
}

// formatEvent begins a file, or the dump in the middle of one.
func (s *scanner) formatEvent(h event.Header, body []byte) error {
	f, err := event.ParseFormat(body)
	if err != nil {
		return err
	}
	if s.files.Born != 0 && s.files.Born != h.Timestamp {
		return withHint(fmt.Errorf("%w: file %s was begun at %d, the one that was read before at %d (seconds since 1970)", ErrOtherHistory, s.files.Place(s.place).File,
			h.Timestamp, s.files.Born), "the server's binlog was reset or replaced: start the pipeline anew with an empty checkpoint directory")
	}
	s.files.Born = h.Timestamp
	s.format = f
	nested := *f
	nested.Checksum = event.ChecksumNone
	s.nested = &nested
	s.forget()
	if s.inTx {
		// A server that died has left half a transaction at the end of a file.
		if err := s.abandon(); err != nil {
			return err
		}
	}
	s.outside()
	return nil
}

// heartbeat: the server has nothing to send behind this place.
func (s *scanner) heartbeat(h event.Header, body []byte) error {
	if err := s.beat.Parse(h, body); err != nil {
		return err
	}
	if s.inTx || s.files.Base == "" {
		return nil
	}
	_, number, err := ParseFile(string(s.beat.File))
	if err != nil || number != s.files.Number {
		return nil // of a file whose ROTATE comes next
	}
	if s.beat.Exact {
		s.offset = max(s.offset, min(s.beat.Position, maxOffset))
	} else if ahead := int32(uint32(s.beat.Position) - uint32(s.offset)); ahead > 0 {
		s.offset += uint64(ahead)
	}
	s.received = max(s.received, s.files.at(s.offset))
	s.boundary()
	return nil
}

// previousGTIDs tells what was executed before the file.
func (s *scanner) previousGTIDs(body []byte) error {
	set := &GTIDSet{}
	err := event.PreviousGTIDs(body, func(iv event.GTIDInterval) error {
		set.AddPrevious(iv)
		return nil
	})
	if err != nil {
		return err
	}
	s.setExecuted(set)
	return nil
}

// gtidList is what MariaDB has in place of PREVIOUS_GTIDS. One that is made for the
// connection tells something else.
func (s *scanner) gtidList(h event.Header, body []byte) error {
	set := &GTIDSet{}
	if err := event.GTIDList(body, func(e event.MariaGTIDEntry) {
		set.Add(GTID{Domain: e.Domain, Server: e.Server, Number: e.Sequence})
	}); err != nil {
		return err
	}
	if h.LogPos != 0 && !h.Artificial() {
		s.setExecuted(set)
	}
	s.outside()
	return nil
}

// setExecuted keeps the set if it is about the place where the group begins.
func (s *scanner) setExecuted(set *GTIDSet) {
	if !s.inTx && len(s.group.gtids) == 0 && len(s.group.rows) == 0 {
		s.group.executed = set
	}
	s.outside()
}

// nest prepares for the events of a payload.
func (s *scanner) nest() {
	s.payload = event.Payload{}
	s.inside = true
}

// endNested ends the events of a payload.
func (s *scanner) endNested() error {
	s.inside = false
	if s.finishing {
		s.finishing = false
		s.endTransaction()
		return nil
	}
	if s.inTx {
		return s.fail(fmt.Errorf("%w: a TRANSACTION_PAYLOAD without the end of its transaction", ErrStream))
	}
	return nil
}

// keyword reports whether sql begins with the words, in capitals, each followed by
// blanks or the end.
func keyword(sql []byte, words ...string) bool {
	for _, w := range words {
		sql = bytes.TrimLeft(sql, " \t\r\n")
		if len(sql) < len(w) || !bytes.EqualFold(sql[:len(w)], []byte(w)) {
			return false
		}
		sql = sql[len(w):]
		if len(sql) > 0 && (sql[0] == '_' || sql[0] >= '0' && sql[0] <= '9' || sql[0]|0x20 >= 'a' && sql[0]|0x20 <= 'z') {
			return false
		}
	}
	return true
}
