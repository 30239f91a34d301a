package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// The messages of the replication stream, by their first byte
// (https://www.postgresql.org/docs/current/protocol-replication.html and
// protocol-logicalrep-message-formats.html).
const (
	msgCopyData      = 'd'
	msgCopyDone      = 'c'
	msgCopyBoth      = 'W'
	msgErrorResponse = 'E'

	walData      = 'w'
	walKeepalive = 'k'

	outBegin    = 'B'
	outOrigin   = 'O'
	outCommit   = 'C'
	outRelation = 'R'
	outInsert   = 'I'
	outUpdate   = 'U'
	outDelete   = 'D'
	outTruncate = 'T'

	cellNull      = 'n'
	cellUnchanged = 'u'
	cellText      = 't'
)

// frameHeader is the length of a message's type and size, walHeader that of a
// WAL message's own header: 'w', start, end, send time.
const (
	frameHeader = 5
	walHeader   = 25
)

// errProtocol is returned for bytes that are not the replication protocol.
var errProtocol = errors.New("malformed replication message")

// frame is one message of the wire protocol inside a buffer.
type frame struct {
	kind byte
	body []byte
	size int // with its header
}

// nextFrame returns the first frame of buf. Where it is not complete, ok is false
// and need says how long buf must be for it, 0 where even that isn't known yet.
func nextFrame(buf []byte) (f frame, need int, ok bool, err error) {
	if len(buf) < frameHeader {
		return f, 0, false, nil
	}
	size := int(binary.BigEndian.Uint32(buf[1:])) + 1
	if size < frameHeader || size > 1<<30+1<<20 { // the server's own limit is 1 GB less a little
		return f, 0, false, fmt.Errorf("%w: a frame of %d bytes", errProtocol, size)
	}
	if len(buf) < size {
		return f, size, false, nil
	}
	return frame{kind: buf[0], body: buf[frameHeader:size:size], size: size}, 0, true, nil
}

// walMessage is the payload of a WAL frame.
type walMessage struct {
	start, end uint64
	payload    []byte
}

func parseWAL(body []byte) (walMessage, error) {
	if len(body) < walHeader+1 {
		return walMessage{}, fmt.Errorf("%w: WAL data of %d bytes", errProtocol, len(body))
	}
	return walMessage{start: binary.BigEndian.Uint64(body[1:]), end: binary.BigEndian.Uint64(body[9:]), payload: body[walHeader:]}, nil
}

type keepaliveMessage struct {
	end   uint64
	reply bool
}

func parseKeepalive(body []byte) (keepaliveMessage, error) {
	if len(body) != 18 {
		return keepaliveMessage{}, fmt.Errorf("%w: keepalive of %d bytes", errProtocol, len(body))
	}
	return keepaliveMessage{end: binary.BigEndian.Uint64(body[1:]), reply: body[17] != 0}, nil
}

// transaction is what Begin announces.
type transaction struct {
	xid uint32
	// commit is the LSN of the commit record, time its time in microseconds since 1970.
	commit uint64
	time   int64
	// replicated is nil for a transaction of the server's own.
	replicated *replicated
}

func parseBegin(p []byte) (transaction, error) {
	if len(p) != 21 {
		return transaction{}, fmt.Errorf("%w: Begin of %d bytes", errProtocol, len(p))
	}
	return transaction{commit: binary.BigEndian.Uint64(p[1:]), time: int64(binary.BigEndian.Uint64(p[9:])) + epochMicros, xid: binary.BigEndian.Uint32(p[17:])}, nil
}

// parseCommit returns the end LSN and the time of a commit.
func parseCommit(p []byte) (end uint64, micros int64, err error) {
	if len(p) != 26 {
		return 0, 0, fmt.Errorf("%w: Commit of %d bytes", errProtocol, len(p))
	}
	return binary.BigEndian.Uint64(p[10:]), int64(binary.BigEndian.Uint64(p[18:])) + epochMicros, nil
}

// relationMessage is a table's definition at a position of the log.
type relationMessage struct {
	oid          uint32
	schema, name string
	identity     byte // relreplident
	columns      []relationColumn
}

type relationColumn struct {
	name string
	key  bool // part of the replica identity
	oid  uint32
	mod  int32
}

func parseRelation(p []byte) (relationMessage, error) {
	r := wireReader{p: p, at: 1}
	m := relationMessage{oid: r.uint32(), schema: r.cstring(), name: r.cstring(), identity: r.byte()}
	if m.schema == "" {
		m.schema = "pg_catalog" // the protocol's way to say so
	}
	n := int(r.uint16())
	for i := 0; i < n && !r.bad; i++ {
		m.columns = append(m.columns, relationColumn{key: r.byte()&1 != 0, name: r.cstring(), oid: r.uint32(), mod: int32(r.uint32())})
	}
	if r.bad || r.at != len(p) {
		return m, fmt.Errorf("%w: Relation", errProtocol)
	}
	return m, nil
}

// parseTruncate returns the truncated relations.
func parseTruncate(p []byte) ([]uint32, error) {
	r := wireReader{p: p, at: 1}
	n := int(r.uint32())
	r.byte() // CASCADE, RESTART IDENTITY
	var oids []uint32
	for i := 0; i < n && !r.bad; i++ {
		oids = append(oids, r.uint32())
	}
	if r.bad {
		return nil, fmt.Errorf("%w: Truncate", errProtocol)
	}
	return oids, nil
}

// wireReader reads network order fields; a read past the end sets bad.
type wireReader struct {
	p   []byte
	at  int
	bad bool
}

func (r *wireReader) take(n int) []byte {
	if r.bad || r.at+n > len(r.p) {
		r.bad = true
		return nil
	}
	v := r.p[r.at : r.at+n]
	r.at += n
	return v
}

func (r *wireReader) byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *wireReader) uint16() uint16 {
	if v := r.take(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (r *wireReader) uint32() uint32 {
	if v := r.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (r *wireReader) cstring() string {
	if r.bad {
		return ""
	}
	i := bytes.IndexByte(r.p[r.at:], 0)
	if i < 0 {
		r.bad = true
		return ""
	}
	s := string(r.p[r.at : r.at+i])
	r.at += i + 1
	return s
}

// parseServerError turns an ErrorResponse into the error that pgx would give.
func parseServerError(body []byte) error {
	var e pgproto3.ErrorResponse
	if err := e.Decode(body); err != nil {
		return fmt.Errorf("%w: ErrorResponse", errProtocol)
	}
	return pgconn.ErrorResponseToPgError(&e)
}
