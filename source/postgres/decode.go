package postgres

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pglogrepl"
)

// decoded is a group behind the decoders.
type decoded struct {
	group *logGroup
	// unresolved are cells that must be read from the tables before the group goes on.
	unresolved []unresolved
	// head are the batches that begin with rows of the transaction in which the
	// group begins: their ordinals count from the group's start.
	head []headRun
	// ordinals is the number of rows of the transaction in which the group ends,
	// counted from that transaction's beginning if begun, else from the group's.
	ordinals uint32
	begun    bool
	err      error
}

// headRun is a number of rows at the head of a batch.
type headRun struct {
	ordinals []uint32
}

// decode is one of the pool's goroutines: groups in, decoded groups out, each
// through the channel of its group, so that the order stays.
func (l *logStream) decode(ctx context.Context) {
	defer l.wg.Done()
	d := newDecoder(l.mem, l.cfg.text)
	defer d.release()
	for {
		select {
		case <-ctx.Done():
			return
		case g, ok := <-l.work:
			if !ok {
				return
			}
			g.done <- d.decode(g)
			l.recycle(g.buf)
		}
	}
}

// deliver hands the groups on in the order of the log.
func (l *logStream) deliver(ctx context.Context) {
	defer l.wg.Done()
	defer close(l.out)
	defer l.fill.close()
	var carry uint32 // rows of the open transaction in earlier groups
	for {
		var g *rawGroup
		var d decoded
		select {
		case <-ctx.Done():
			return
		case next, ok := <-l.tickets:
			if !ok {
				return
			}
			g = next
		}
		select {
		case <-ctx.Done():
			l.orphan = g
			return
		case d = <-g.done:
		}
		if d.err == nil {
			for _, h := range d.head {
				for i := range h.ordinals {
					h.ordinals[i] += carry
				}
			}
			if d.begun {
				carry = 0
			}
			carry += d.ordinals
			d.err = l.fill.resolve(ctx, &d)
		}
		if d.err != nil {
			if d.group != nil {
				d.group.release()
			}
			l.fail(d.err)
			return
		}
		select {
		case l.out <- d.group:
		case <-ctx.Done():
			d.group.release()
			return
		}
	}
}

// decoder turns raw groups into batches. It keeps the builders of the tables that
// it has met.
type decoder struct {
	mem    memory.Allocator
	text   textOptions
	tables map[*relation]*tableDecoder
	used   []*tableDecoder // in the present group, in the order of their first row
}

func newDecoder(mem memory.Allocator, o textOptions) *decoder {
	return &decoder{mem: mem, text: o, tables: map[*relation]*tableDecoder{}}
}

func (d *decoder) release() {
	for _, t := range d.tables {
		t.release()
	}
}

// txCursor is where a decoder stands in the transactions of a group.
type txCursor struct {
	transaction
	serial  int // counts transactions of the group; 0 is the one in which it begins
	ordinal uint32
	// lastCommit is the end of the commit before the transaction.
	lastCommit uint64
}

func (d *decoder) decode(g *rawGroup) (out decoded) {
	d.used = d.used[:0]
	cur := txCursor{transaction: g.tx, lastCommit: g.last}
	for at := 0; at < len(g.buf); {
		f, _, ok, err := nextFrame(g.buf[at:])
		if err != nil || !ok {
			return d.failed(fmt.Errorf("%w: a cut frame", errProtocol))
		}
		at += f.size
		if f.kind != msgCopyData || f.body[0] != walData {
			continue
		}
		m, err := parseWAL(f.body)
		if err != nil {
			return d.failed(err)
		}
		switch m.payload[0] {
		case outBegin:
			if cur.transaction, err = parseBegin(m.payload); err != nil {
				return d.failed(err)
			}
			cur.serial, cur.ordinal = cur.serial+1, 0
		case outCommit:
			if cur.lastCommit, _, err = parseCommit(m.payload); err != nil {
				return d.failed(err)
			}
		case outOrigin:
			if cur.replicated, err = parseOrigin(m.payload); err != nil {
				return d.failed(err)
			}
		case outInsert, outUpdate, outDelete:
			if err := d.row(g, m, &cur); err != nil {
				return d.failed(err)
			}
		}
	}
	return d.finish(g, cur)
}

// row decodes one row message.
func (d *decoder) row(g *rawGroup, m walMessage, cur *txCursor) error {
	r := wireReader{p: m.payload, at: 1}
	oid := r.uint32()
	rel := g.relations[oid]
	if rel == nil {
		return fmt.Errorf("%w: a row of relation %d, which was not announced", errProtocol, oid)
	}
	if rel.table == nil { // a table of the publication that is not captured
		cur.ordinal++
		return nil
	}
	t := d.tables[rel]
	if t == nil {
		t = newTableDecoder(d.mem, rel, d.text)
		d.tables[rel] = t
		d.forget(g.relations)
	}
	if t.rows == 0 {
		d.used = append(d.used, t)
		// Not for all rows of the group, which may be of hundreds of tables.
		t.builder.Reserve(min(g.rows, maxGroupRows, 2*t.last+reserveRows))
	}
	t.cur, t.lsn = cur, m.start
	switch m.payload[0] {
	case outInsert:
		return t.insert(&r)
	case outUpdate:
		return t.update(&r)
	}
	return t.delete(&r)
}

// forget drops the builders of versions that are no longer in force.
func (d *decoder) forget(relations map[uint32]*relation) {
	for rel, t := range d.tables {
		if t.rows == 0 && relations[rel.oid] != rel {
			t.release()
			delete(d.tables, rel)
		}
	}
}

// finish makes the batches of the group.
func (d *decoder) finish(g *rawGroup, cur txCursor) decoded {
	out := decoded{ordinals: cur.ordinal, begun: cur.serial > 0, group: &logGroup{Changes: g.changes, Report: g.report, Position: g.position, Commit: g.commit, CommitTime: g.time,
		XIDs: g.xids, InTransaction: g.endInTx, Bytes: int64(len(g.buf))}}
	for _, t := range d.used {
		rows, missing, head, err := t.finish(g.inTx)
		if err != nil {
			out.group.release()
			return d.failed(err)
		}
		for i := range missing {
			missing[i].at = len(out.group.Rows)
		}
		out.unresolved = append(out.unresolved, missing...)
		out.group.Rows = append(out.group.Rows, rows)
		if len(head) > 0 {
			out.head = append(out.head, headRun{head})
		}
	}
	return out
}

// failed throws away what was built.
func (d *decoder) failed(err error) decoded {
	for _, t := range d.used {
		t.reset()
	}
	return decoded{err: err}
}

// formatLSN prints a position as the server does.
func formatLSN(pos uint64) string { return pglogrepl.LSN(pos).String() }
