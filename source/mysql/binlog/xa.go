package binlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// An XA transaction is in the log when it is prepared, but its rows count only
// when its XA COMMIT comes, in another transaction, which may be weeks later. Its
// events (of captured tables) are therefore kept, compressed, in the checkpoint; so a
// restart never needs the part of the binlog where they lie, which the server may have
// removed by then. The rows go out as rows of the transaction that commits them.

// Prepared is an XA transaction that is prepared and not decided. It is immutable
// and part of the checkpoint.
type Prepared struct {
	// ID is its name as SQL has it: X'gtrid',X'bqual',formatID.
	ID string `json:"id"`
	// Start is the position where it begins in the log, for people.
	Start uint64 `json:"start"`
	// Events are the table maps and rows of captured tables, packed with zstd; Size
	// is their size when unpacked, 0 if there are none.
	Events []byte `json:"events,omitempty"`
	Size   uint64 `json:"size,omitempty"`
}

// XAName prints the name of an XA transaction as SQL has it.
func XAName(id event.XAID) string {
	return fmt.Sprintf("X'%x',X'%x',%d", id.Global, id.Branch, id.FormatID)
}

// parseXAName reads what follows XA COMMIT or XA ROLLBACK, as the servers write it.
func parseXAName(text []byte) (string, error) {
	var id event.XAID
	id.FormatID = 1
	parts := bytes.Split(bytes.TrimSpace(text), []byte(","))
	if len(parts) > 3 {
		return "", fmt.Errorf("%w: XA name %q", ErrStream, text)
	}
	for i, p := range parts {
		p = bytes.TrimSpace(p)
		if i == 2 {
			n, err := strconv.ParseUint(string(p), 10, 32)
			if err != nil {
				return "", fmt.Errorf("%w: XA name %q", ErrStream, text)
			}
			id.FormatID = int32(n)
			continue
		}
		digits, ok := bytes.CutPrefix(bytes.ToLower(p), []byte("x'"))
		digits, closed := bytes.CutSuffix(digits, []byte("'"))
		v, err := hex.DecodeString(string(digits))
		if !ok || !closed || err != nil {
			return "", fmt.Errorf("%w: XA name %q", ErrStream, text)
		}
		if i == 0 {
			id.Global = v
		} else {
			id.Branch = v
		}
	}
	return XAName(id), nil
}

// holder packs the events of an XA transaction until it is decided.
type holder struct {
	out   bytes.Buffer
	zstd  *zstd.Encoder
	size  uint64
	rows  bool
	limit int
}

// holdRows makes the rows of the present transaction go to a holder.
func (s *scanner) holdRows() {
	limit := s.maxHeld
	for _, p := range s.prepared {
		limit -= len(p.Events)
	}
	s.hold = &holder{limit: limit}
}

// add keeps an event, without its checksum.
func (h *holder) add(head event.Header, body []byte) error {
	if h.zstd == nil {
		z, err := zstd.NewWriter(&h.out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		h.zstd = z
	}
	var b [event.HeaderSize]byte
	binary.LittleEndian.PutUint32(b[:], head.Timestamp)
	b[4] = byte(head.Type)
	binary.LittleEndian.PutUint32(b[5:], head.ServerID)
	binary.LittleEndian.PutUint32(b[9:], uint32(len(b)+len(body)))
	for _, part := range [][]byte{b[:], body} {
		if _, err := h.zstd.Write(part); err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		h.size += uint64(len(part))
	}
	h.rows = h.rows || head.Type.IsRows()
	if h.out.Len() > h.limit {
		return withHint(fmt.Errorf("%w: they are kept in the checkpoint until they are decided, and may take no more together", ErrXATooLarge),
			"commit or roll back what XA RECOVER lists, use smaller XA transactions, or allow more")
	}
	return nil
}

// drop forgets the events.
func (h *holder) drop() { h.zstd, h.size, h.rows = nil, 0, false; h.out.Reset() }

// finish returns the packed events, none if there are no rows.
func (h *holder) finish() (data []byte, size uint64, err error) {
	if !h.rows {
		return nil, 0, nil
	}
	if err := h.zstd.Close(); err != nil {
		return nil, 0, fmt.Errorf("zstd: %w", err)
	}
	return bytes.Clone(h.out.Bytes()), h.size, nil
}

// xaPrepare ends the part of an XA transaction that holds its rows.
func (s *scanner) xaPrepare(body []byte) (verdict, error) {
	var e event.XAPrepare
	if err := e.Parse(body); err != nil {
		return goOn, err
	}
	if !s.inTx || s.hold == nil {
		return goOn, fmt.Errorf("%w: XA_PREPARE of a transaction that did not begin", ErrStream)
	}
	data, size, err := s.hold.finish()
	if err != nil {
		return goOn, err
	}
	s.hold = nil
	if e.OnePhase {
		return s.finishXA(data, size)
	}
	if !s.passing() {
		p := &Prepared{ID: XAName(e.XAID), Start: s.tx.start, Events: data, Size: size}
		s.prepared = append(slices.Clip(slices.Clone(s.prepared)), p)
	}
	s.endTransaction()
	return goOn, nil
}

// xaQuery takes a statement that begins with XA.
func (s *scanner) xaQuery(h event.Header, sql []byte) (verdict, error) {
	rest := bytes.TrimSpace(sql[len("XA"):])
	switch {
	case keyword(rest, "START"):
		if err := s.beginQuery(h); err != nil {
			return goOn, err
		}
		if s.hold == nil { // MariaDB's GTID has said so already
			s.holdRows()
		}
		return goOn, nil
	case keyword(rest, "END"):
		return goOn, nil
	case keyword(rest, "COMMIT"):
		return s.decideXA(h, rest[len("COMMIT"):], true)
	case keyword(rest, "ROLLBACK"):
		return s.decideXA(h, rest[len("ROLLBACK"):], false)
	}
	return goOn, fmt.Errorf("%w: statement %q", ErrStream, sql)
}

// decideXA is XA COMMIT or XA ROLLBACK of a prepared transaction.
func (s *scanner) decideXA(h event.Header, name []byte, commit bool) (verdict, error) {
	id, err := parseXAName(name)
	if err != nil {
		return goOn, err
	}
	if !s.inTx {
		if err := s.startTransaction(h, GTID{}, 0); err != nil {
			return goOn, err
		}
	}
	if s.passing() {
		s.endTransaction()
		return goOn, nil
	}
	i := slices.IndexFunc(s.prepared, func(p *Prepared) bool { return p.ID == id })
	if i < 0 {
		if commit && s.unknownXA != nil {
			if err := s.unknownXA(id, s.tx.start); err != nil {
				return goOn, err
			}
		}
		s.endTransaction()
		return goOn, nil
	}
	p := s.prepared[i]
	s.prepared = slices.Delete(slices.Clone(s.prepared), i, i+1)
	if !commit {
		s.endTransaction()
		return goOn, nil
	}
	return s.finishXA(p.Events, p.Size)
}

// finishXA gives out the rows of an XA transaction, as part of the present one.
func (s *scanner) finishXA(data []byte, size uint64) (verdict, error) {
	if size == 0 || s.gather || s.passing() {
		s.endTransaction()
		return goOn, nil
	}
	s.nest()
	s.finishing = true
	s.forget() // its table maps are of another time
	s.payload = event.Payload{Compression: event.CompressionZstd, Size: size, Data: data}
	return unpack, nil
}
