package event

import "bytes"

// Rotate is a ROTATE event: the log goes on in another file. An artificial one
// says in which file and where the stream begins.
type Rotate struct {
	Position uint64
	File     []byte
}

// Parse reads the body.
func (e *Rotate) Parse(body []byte) error {
	r := reader{p: body}
	e.Position = r.u64()
	e.File = r.rest()
	if r.bad || len(e.File) == 0 {
		return corrupt(RotateType, "a cut body")
	}
	return nil
}

// Heartbeat is a HEARTBEAT event: the log stands at this place and has nothing new.
type Heartbeat struct {
	File []byte
	// Position is the place in the file, modulo 2^32 unless Exact.
	Position uint64
	Exact    bool
}

// Parse reads the body of either version.
func (e *Heartbeat) Parse(h Header, body []byte) error {
	*e = Heartbeat{File: body, Position: uint64(h.LogPos)}
	if h.Type == HeartbeatV2Type {
		return e.parseV2(body)
	}
	if len(body) == 0 {
		return corrupt(h.Type, "no file name")
	}
	return nil
}

// parseV2 reads fields of type, length and value up to an end mark.
func (e *Heartbeat) parseV2(body []byte) error {
	const (
		fieldEnd      = 0
		fieldFile     = 1
		fieldPosition = 2
	)
	e.File = nil
	r := reader{p: body}
	for r.left() > 0 {
		kind := r.packed()
		if kind == fieldEnd {
			break
		}
		v := reader{p: r.packedBytes()}
		switch kind {
		case fieldFile:
			e.File = v.p
		case fieldPosition:
			e.Position, e.Exact = v.packed(), true
			r.bad = r.bad || v.bad
		}
	}
	if r.bad || len(e.File) == 0 || !e.Exact {
		return corrupt(HeartbeatV2Type, "a cut body")
	}
	return nil
}

// Incident is an INCIDENT event: the server may have lost events.
type Incident struct {
	Number  uint16 // 1: LOST_EVENTS
	Message []byte
}

// Parse reads the body.
func (e *Incident) Parse(body []byte) error {
	r := reader{p: body}
	e.Number = r.u16()
	e.Message = r.take(int(r.u8()))
	if r.bad {
		return corrupt(IncidentType, "a cut body")
	}
	return nil
}

// RowsQuery returns the statement in the body of a ROWS_QUERY event: what the
// client sent that led to the rows behind it.
func RowsQuery(body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, corrupt(RowsQueryType, "a cut body")
	}
	return body[1:], nil // the first byte is the length, cut to 255: of no use
}

// AnnotateRows returns the statement in the body of MariaDB's ANNOTATE_ROWS.
func AnnotateRows(body []byte) []byte { return body }

// BinlogCheckpoint returns the file that MariaDB's crash recovery would begin with.
func BinlogCheckpoint(body []byte) ([]byte, error) {
	r := reader{p: body}
	name := r.take(int(r.u32()))
	if r.bad {
		return nil, corrupt(BinlogCheckpointType, "a cut body")
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	return name, nil
}
