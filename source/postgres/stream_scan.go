package postgres

import (
	"bytes"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
)

// rawGroup is a stretch of whole frames on its way through the decoders.
type rawGroup struct {
	buf       []byte
	relations map[uint32]*relation // as they hold for all rows of the group
	tx        transaction          // in which the group begins
	inTx      bool                 // whether it begins inside one
	last      uint64               // end of the commit before it
	rows      int                  // upper bound of messages with rows
	changes   []*schema.Change     // behind the rows
	report    *catalogueReport     // behind the changes
	position  uint64               // where the log stands behind the group, 0: nowhere new
	commit    uint64               // end of the last commit
	time      int64                // of the last commit
	xids      []uint32
	endInTx   bool
	done      chan decoded
}

func (g *rawGroup) empty() bool {
	return g.rows == 0 && len(g.changes) == 0 && g.report == nil && g.position == 0 && len(g.xids) == 0
}

// verdict is what a frame means for the cutting of groups.
type verdict uint8

const (
	goOn verdict = iota
	// cutBefore: the group must end before the frame, since rows behind it belong
	// to another version of a table.
	cutBefore
	// cutAfter: the group must end behind the frame.
	cutAfter
)

// scanner walks over frames without decoding rows: it follows transactions,
// positions and relations, and knows where groups may be cut. It is a pure state
// machine; what needs the catalogue is behind resolve.
type scanner struct {
	// resolve returns the relation of a Relation message that was not seen in this
	// form before, and the changes that lead to it.
	resolve func(m relationMessage, tx transaction) (*relation, []*schema.Change, error)
	// recheck says that a Relation message must be resolved though it is an old one.
	recheck func(oid uint32, tx transaction) bool
	// leaf takes the Relation message of a partition, which follows that of its root,
	// and returns another version of the root's relation, nil for the same.
	leaf func(m relationMessage, root *relation, tx transaction) (*relation, error)
	// due returns a report of the catalogue that takes effect at position, or nil,
	// and compare the changes and relations that it brings.
	due     func(position uint64) *catalogueReport
	compare func(r *catalogueReport, known map[uint32]*relation, position uint64) ([]*schema.Change, map[uint32]*relation, error)
	// truncated returns the changes for truncated relations.
	truncated func(oids []uint32, tx transaction) []*schema.Change

	last      uint64 // end of the newest commit
	position  uint64 // of the last commit or keepalive
	received  uint64 // newest end of the server's log
	reply     bool   // the server has asked for an answer
	relations map[uint32]*relation
	shared    bool   // a group refers to relations
	root      uint32 // the last message announced this partitioned table, 0 for none

	tx   transaction
	inTx bool

	group     rawGroup
	reported  uint64 // position of the last group
	lastEnd   int    // offset behind the last commit or keepalive outside a transaction
	rowsAtEnd int
}

// frame takes the frame that begins at offset at of the group.
func (s *scanner) frame(f frame, at int) (verdict, error) {
	switch f.kind {
	case msgCopyData:
	case msgErrorResponse:
		return goOn, parseServerError(f.body)
	case msgCopyDone:
		return goOn, fmt.Errorf("%w: the server ended the replication", errProtocol)
	default: // notices, parameter changes
		return s.outside(at + f.size), nil
	}
	if len(f.body) == 0 {
		return goOn, fmt.Errorf("%w: empty copy data", errProtocol)
	}
	switch f.body[0] {
	case walKeepalive:
		k, err := parseKeepalive(f.body)
		if err != nil {
			return goOn, err
		}
		s.received = max(s.received, k.end)
		s.reply = s.reply || k.reply
		if s.inTx {
			return goOn, nil
		}
		s.position = max(s.position, k.end)
		return s.standing(at + f.size)
	case walData:
		m, err := parseWAL(f.body)
		if err != nil {
			return goOn, err
		}
		s.received = max(s.received, m.end)
		return s.message(m.payload, at, f.size)
	}
	return goOn, fmt.Errorf("%w: copy data of kind %q", errProtocol, f.body[0])
}

// standing notes that the log stands between two transactions at offset end, where
// a report of the catalogue may take effect.
func (s *scanner) standing(end int) (verdict, error) {
	s.outside(end)
	if s.due == nil {
		return goOn, nil
	}
	report := s.due(s.position)
	if report == nil {
		return goOn, nil
	}
	changes, relations, err := s.compare(report, s.relations, s.position)
	if err != nil {
		return goOn, err
	}
	s.group.report, s.group.changes, s.group.relations = report, changes, s.relations
	s.shared = true
	for oid, r := range relations {
		s.setRelation(oid, r)
	}
	return cutAfter, nil
}

// outside notes that the group may be cut at offset end, if no transaction is open.
func (s *scanner) outside(end int) verdict {
	if !s.inTx {
		s.lastEnd, s.rowsAtEnd = end, s.group.rows
	}
	return goOn
}

func (s *scanner) message(p []byte, at, size int) (verdict, error) {
	if p[0] != outRelation {
		s.root = 0
	}
	switch p[0] {
	case outInsert, outUpdate, outDelete:
		if !s.inTx {
			return goOn, fmt.Errorf("%w: a row outside a transaction", errProtocol)
		}
		s.group.rows++
	case outBegin:
		tx, err := parseBegin(p)
		if err != nil || s.inTx {
			return goOn, fmt.Errorf("%w: Begin", errProtocol)
		}
		s.tx, s.inTx = tx, true
	case outOrigin:
		o, err := parseOrigin(p)
		if err != nil {
			return goOn, err
		}
		s.tx.replicated = o
	case outCommit:
		end, micros, err := parseCommit(p)
		if err != nil || !s.inTx {
			return goOn, fmt.Errorf("%w: Commit", errProtocol)
		}
		s.inTx, s.last = false, end
		s.position = max(s.position, end)
		s.group.commit, s.group.time = end, micros
		s.group.xids = append(s.group.xids, s.tx.xid)
		return s.standing(at + size)
	case outRelation:
		return s.relation(p, at)
	case outTruncate:
		oids, err := parseTruncate(p)
		if err != nil {
			return goOn, err
		}
		if changes := s.truncated(oids, s.tx); len(changes) > 0 {
			for _, c := range changes {
				c.Tx = schema.Tx{ID: uint64(s.tx.xid), Commit: s.tx.commit, CommitTime: s.tx.time}
				c.Origin = &schema.Origin{Txs: []schema.TxOrigin{s.tx.source(s.last)}}
			}
			s.group.changes = changes
			return cutAfter, nil
		}
	}
	return goOn, nil
}

// relation takes a Relation message. The server repeats it when anything about the
// table may have changed; the same bytes mean the same columns. The message of a
// partition comes right behind that of its root.
func (s *scanner) relation(p []byte, at int) (verdict, error) {
	m, err := parseRelation(p)
	if err != nil {
		return goOn, err
	}
	root := s.root
	s.root = 0
	old := s.relations[m.oid]
	same := old != nil && bytes.Equal(old.raw, p)
	if same && (s.recheck == nil || !s.recheck(m.oid, s.tx)) {
		s.followRoot(old)
		return goOn, nil
	}
	r, changes, err := s.resolve(m, s.tx)
	if err != nil {
		return goOn, err
	}
	s.followRoot(r)
	if same && len(changes) == 0 {
		return goOn, nil
	}
	r.raw = bytes.Clone(p)
	if root != 0 && r.table == nil && s.leaf != nil {
		changed, err := s.leaf(m, s.relations[root], s.tx)
		if err != nil {
			return goOn, err
		}
		s.setRelation(m.oid, r)
		if changed == nil {
			return goOn, nil
		}
		r, m.oid, old = changed, root, s.relations[root]
	}
	if len(changes) == 0 && (old == nil || s.group.rows == 0) {
		s.setRelation(m.oid, r)
		return goOn, nil
	}
	// The rows before it are decoded with what they know now.
	s.group.changes = changes
	s.group.relations = s.relations
	s.shared = true
	s.setRelation(m.oid, r)
	return cutBefore, nil
}

// followRoot remembers that the next message may be that of a partition of r.
func (s *scanner) followRoot(r *relation) {
	if r.partitioned {
		s.root = r.oid
	}
}

// setRelation keeps groups on their way from seeing the change.
func (s *scanner) setRelation(oid uint32, r *relation) {
	next := s.relations
	if s.shared || next == nil {
		next = make(map[uint32]*relation, len(s.relations)+1)
		for k, v := range s.relations {
			next[k] = v
		}
		s.shared = false
	}
	next[oid] = r
	s.relations = next
}

// full reports whether the group of at bytes is large enough to be handed on: at
// a commit a little earlier than inside a transaction.
func (s *scanner) full(at int) bool {
	if !s.inTx && s.lastEnd == at {
		return s.group.rows >= maxGroupRows*3/4 || at >= maxGroupBytes*3/4
	}
	return s.group.rows >= maxGroupRows || at >= maxGroupBytes
}

// cutPoint returns the offset of the last place outside a transaction, 0 for none.
func (s *scanner) cutPoint() int { return s.lastEnd }

// take ends the group at offset at, which is as far as was scanned.
func (s *scanner) take(at int) *rawGroup { return s.takeTo(at, at) }

// takeTo ends the group at offset at, where scanned bytes were scanned; behind a
// cut at a commit the scanner stands outside a transaction, and the rest is
// scanned again.
func (s *scanner) takeTo(at, scanned int) *rawGroup {
	g := s.group
	if g.relations == nil {
		g.relations = s.relations
		s.shared = true
	}
	if at < scanned {
		g.rows = s.rowsAtEnd
		s.inTx = false
	}
	g.endInTx = s.inTx
	if s.position > s.reported {
		g.position, s.reported = s.position, s.position
	}
	s.group = rawGroup{tx: s.tx, inTx: s.inTx, last: s.last}
	s.lastEnd, s.rowsAtEnd = 0, 0
	return &g
}
