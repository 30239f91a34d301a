package binlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// decoded is a group behind the decoders.
type decoded struct {
	group *Group
	// head are the ordinals of rows of a transaction that has rows in earlier groups:
	// they count from the group's beginning.
	head [][]uint32
	// ordinals is the number of rows of the transaction in which the group ends.
	ordinals uint32
	// continues: that transaction has rows in earlier groups.
	continues bool
	err       error
}

// decode is one of the pool's goroutines: groups in, decoded groups out, each
// through the channel of its group, so that the order stays.
func (s *Stream) decode(ctx context.Context) {
	defer s.wg.Done()
	d := newDecoder(s.mem)
	defer d.release()
	for {
		select {
		case <-ctx.Done():
			return
		case g, ok := <-s.work:
			if !ok {
				return
			}
			g.done <- d.decode(g)
			s.recycle(g)
		}
	}
}

// deliver hands the groups on in the order of the log.
func (s *Stream) deliver(ctx context.Context) {
	defer s.wg.Done()
	defer s.cancel() // all that came before the end is delivered
	defer close(s.out)
	var carry uint32 // rows of the open transaction in earlier groups
	for {
		var g *rawGroup
		var d decoded
		select {
		case <-ctx.Done():
			return
		case next, ok := <-s.tickets:
			if !ok {
				return
			}
			g = next
		}
		select {
		case <-ctx.Done():
			s.orphan = g
			return
		case d = <-g.done:
		}
		if d.err != nil {
			s.noteEnd(d.err)
			return
		}
		for _, ordinals := range d.head {
			for i := range ordinals {
				ordinals[i] += carry
			}
		}
		if !d.continues {
			carry = 0
		}
		carry += d.ordinals
		select {
		case s.out <- d.group:
		case <-ctx.Done():
			d.group.Release()
			return
		}
	}
}

// maxInflated bounds what a compressed event of MariaDB may become.
const maxInflated = maxEvent

// decoder turns raw groups into batches. It keeps the builders of the tables that
// it has met.
type decoder struct {
	mem     memory.Allocator
	tables  map[*layout]*tableDecoder
	used    []*tableDecoder // in the present group, in the order of their first row
	last    *tableDecoder
	inflate event.Inflater
	area    []byte
	rows    event.Rows
	files   []schema.LogFile // of the present group, where asked for
}

func newDecoder(mem memory.Allocator) *decoder {
	return &decoder{mem: mem, tables: map[*layout]*tableDecoder{}}
}

func (d *decoder) release() {
	for _, t := range d.tables {
		t.release()
	}
}

// txCursor is where a decoder stands in the transactions of a group.
type txCursor struct {
	transaction
	index   int32
	ordinal uint32
}

func (d *decoder) decode(g *rawGroup) decoded {
	d.used, d.files = d.used[:0], nil
	if n := len(g.rows); n > 0 && g.rows[0].layout.wantOrigin {
		d.files = g.files.Between(g.rows[0].pos, g.rows[n-1].pos)
	}
	cur := txCursor{index: -1}
	for i := range g.rows {
		e := &g.rows[i]
		if e.tx != cur.index {
			cur = txCursor{transaction: g.txs[e.tx], index: e.tx}
		}
		if err := d.event(g, e, &cur); err != nil {
			return d.failed(g, e, err)
		}
	}
	return d.finish(g, cur)
}

// event decodes the rows of one event.
func (d *decoder) event(g *rawGroup, e *rowsEvent, cur *txCursor) error {
	if err := d.rows.Parse(e.format, e.kind, e.body); err != nil {
		return err
	}
	if d.rows.Compressed {
		var err error
		if d.area, err = d.inflate.Inflate(d.area[:0], d.rows.Area, maxInflated); err != nil {
			return err
		}
		d.rows.Area = d.area
	}
	t, err := d.table(e.layout, g.weight)
	if err != nil {
		return err
	}
	t.cur, t.pos, t.skip, t.sql = cur, e.pos, e.skip, e.sql
	return t.event(&d.rows)
}

// table returns the decoder of a table version.
func (d *decoder) table(l *layout, weight int) (*tableDecoder, error) {
	t := d.last
	if t == nil || t.layout != l {
		t = d.tables[l]
	}
	if t == nil {
		var err error
		if t, err = newTableDecoder(d.mem, l); err != nil {
			return nil, err
		}
		d.forget()
		d.tables[l] = t
	}
	d.last = t
	if !t.used {
		t.used = true
		t.reserve(weight)
		d.used = append(d.used, t)
	}
	return t, nil
}

// maxDecoders bounds the builders that a decoder keeps.
const maxDecoders = 64

// forget drops builders that are not in use when there are many: of tables whose
// definition has changed, or that were written long ago.
func (d *decoder) forget() {
	if len(d.tables) < maxDecoders {
		return
	}
	for l, t := range d.tables {
		if !t.used {
			t.release()
			delete(d.tables, l)
		}
	}
	d.last = nil
}

// finish makes the batches of the group.
func (d *decoder) finish(g *rawGroup, cur txCursor) decoded {
	out := decoded{group: &Group{Effects: g.effects, Catalog: g.catalog, Position: g.position, Files: g.files, GTIDs: g.gtids, Executed: g.executed,
		CommitTime: g.time, InTransaction: g.endInTx, Prepared: g.prepared, Bytes: g.bytes}}
	if len(g.effects) > 0 && g.effectsOf.origin != nil {
		t := g.effectsOf
		out.group.EffectsTx, out.group.EffectsOrigin = schema.Tx{ID: t.id, Commit: t.start, CommitTime: t.time}, t.origin.schema()
	}
	out.continues = g.openBefore
	if g.openRows {
		out.ordinals = cur.ordinal
	}
	for _, t := range d.used {
		t.used = false
		if t.rows == 0 {
			continue // all of the past
		}
		rows, head, err := t.finish(g.continues, d.files)
		if err != nil {
			out.group.Release()
			return d.failed(g, nil, err)
		}
		out.group.Rows = append(out.group.Rows, rows)
		if len(head) > 0 {
			out.head = append(out.head, head)
		}
	}
	return out
}

// failed throws away what was built.
func (d *decoder) failed(g *rawGroup, e *rowsEvent, err error) decoded {
	for _, t := range d.used {
		t.used = false
		t.reset()
	}
	var value *ValueError
	switch {
	case errors.As(err, &value):
		value.Place = g.files.Place(value.Position)
	case e != nil:
		err = &TableError{Table: e.layout.table.ID, Place: g.files.Place(e.pos), Err: err}
	}
	return decoded{err: err}
}

// errShort is a row that goes beyond its event.
var errShort = fmt.Errorf("%w: a cut row", event.ErrCorrupt)
