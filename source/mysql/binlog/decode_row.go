package binlog

import (
	"bytes"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// event appends the rows of an event.
func (t *tableDecoder) event(e *event.Rows) error {
	l := t.layout
	n := len(l.columns)
	if e.Columns != n {
		return fmt.Errorf("%w: rows of %d columns, announced were %d", ErrStream, e.Columns, n)
	}
	if l.rowBytes.Load() == 0 {
		l.rowBytes.Store(int64(max(len(e.Area), 1)))
	}
	t.size += len(e.Area)
	t.old.set(l, e.Before)
	t.new.set(l, e.After)
	if e.Kind != event.Insert && !l.table.HasKey() && !l.keylessUpdates {
		return withHint(fmt.Errorf("an update or delete of a table without a key, which the sink can't take"), "give the table a primary key, or write it in append mode")
	}
	t.number = -1
	for at := 0; at < len(e.Area); {
		t.number++
		next, err := t.row(e, at)
		if err != nil {
			return err
		}
		if next <= at {
			return errShort
		}
		at = next
	}
	return nil
}

// skipRow passes over the row that begins at offset at.
func (t *tableDecoder) skipRow(e *event.Rows, at int) (int, error) {
	var err error
	if e.Kind != event.Insert {
		if at, err = t.measure(&t.old, e.Before, e.Area, at); err != nil {
			return at, err
		}
	}
	if e.Partial {
		if at, err = t.partialBits(e.Area, at); err != nil {
			return at, err
		}
	}
	if e.Kind != event.Delete {
		return t.measure(&t.new, e.After, e.Area, at)
	}
	return at, nil
}

// row appends the row that begins at offset at and returns where the next one does.
func (t *tableDecoder) row(e *event.Rows, at int) (int, error) {
	if t.skip > 0 {
		t.skip--
		return t.skipRow(e, at)
	}
	switch e.Kind {
	case event.Insert:
		if t.new.full && t.layout.rowEnd < 0 {
			return t.insertFull(e.Area, at)
		}
		at, err := t.measure(&t.new, e.After, e.Area, at)
		if err != nil {
			return at, err
		}
		return at, t.insert(e.Area)
	case event.Delete:
		at, err := t.measure(&t.old, e.Before, e.Area, at)
		if err != nil {
			return at, err
		}
		return at, t.delete(e.Area)
	}
	at, err := t.measure(&t.old, e.Before, e.Area, at)
	if err != nil {
		return at, err
	}
	clear(t.partialCells)
	if e.Partial {
		if at, err = t.partialBits(e.Area, at); err != nil {
			return at, err
		}
	}
	if at, err = t.measure(&t.new, e.After, e.Area, at); err != nil {
		return at, err
	}
	return at, t.update(e.Area)
}

// insertFull is the hot path of inserts: values go from the event into the builders.
func (t *tableDecoder) insertFull(p []byte, at int) (int, error) {
	n := len(t.layout.columns)
	nulls := at
	if at += (n + 7) / 8; at > len(p) {
		return at, errShort
	}
	for i := range t.layout.columns {
		c := &t.layout.columns[i]
		null := p[nulls+i>>3]>>(i&7)&1 != 0
		switch read := t.builder.read[i]; {
		case null && read != nil:
			t.builder.cols[c.target].AppendNull()
		case null:
		case read != nil:
			size, err := read(p[at:])
			if err != nil {
				return at, t.insertError(p, nulls, i, err)
			}
			at += size
		default:
			end, ok := c.skip(p, at)
			if !ok {
				return at, errShort
			}
			at = end
		}
	}
	if t.before != nil {
		t.before.appendNulls()
	}
	t.begin(schema.OpInsert)
	return at, nil
}

// insertError names the row that begins at offset at.
func (t *tableDecoder) insertError(p []byte, at, column int, cause error) error {
	if _, err := t.measure(&t.new, fullBitmap(len(t.layout.columns)), p, at); err != nil {
		return err
	}
	return t.valueError(p, &t.new, column, cause)
}

func fullBitmap(n int) event.Bitmap { return bytes.Repeat([]byte{0xff}, (n+7)/8) }

// insert appends an after image that may lack columns.
func (t *tableDecoder) insert(p []byte) error {
	if t.history(p, &t.new) {
		return nil
	}
	for i := range t.layout.columns {
		if t.new.cells[i].at == cellMissing && t.layout.columns[i].target >= 0 {
			if err := t.appendDefault(p, i); err != nil {
				return err
			}
			continue
		}
		if err := t.appendCell(t.builder, p, &t.new, i); err != nil {
			return err
		}
	}
	if t.before != nil {
		t.before.appendNulls()
	}
	t.begin(schema.OpInsert)
	return nil
}

// delete appends a before image: the key, and what else is known.
func (t *tableDecoder) delete(p []byte) error {
	if t.history(p, &t.old) {
		return nil
	}
	return t.appendDelete(p)
}

func (t *tableDecoder) appendDelete(p []byte) error {
	if err := t.needKey(p, &t.old); err != nil {
		return err
	}
	if err := t.appendImage(t.builder, p, &t.old); err != nil {
		return err
	}
	if err := t.appendBefore(p); err != nil {
		return err
	}
	t.begin(schema.OpDelete)
	return nil
}

// appendBefore appends the row before the change, as far as the sink wants it:
// nothing of it unless it is all known.
func (t *tableDecoder) appendBefore(p []byte) error {
	if t.before == nil {
		return nil
	}
	if !t.old.known {
		if !t.layout.table.HasKey() {
			return t.imageError(p, &t.old, 0)
		}
		t.before.appendNulls()
		return nil
	}
	return t.appendImage(t.before, p, &t.old)
}

// appendImage appends an image; what is not in it is NULL, for it is not known.
func (t *tableDecoder) appendImage(b *rowBuilder, p []byte, img *image) error {
	for i := range t.layout.columns {
		if err := t.appendCell(b, p, img, i); err != nil {
			return err
		}
	}
	return nil
}

// appendCell appends one cell.
func (t *tableDecoder) appendCell(b *rowBuilder, p []byte, img *image, i int) error {
	read := b.read[i]
	if read == nil {
		return nil
	}
	c := img.cells[i]
	if c.at < 0 {
		b.cols[t.layout.columns[i].target].AppendNull()
		return nil
	}
	if _, err := read(p[c.at:c.end]); err != nil {
		return t.valueError(p, img, i, err)
	}
	return nil
}

// keyChanged compares the keys of the old and the new row.
func (t *tableDecoder) keyChanged(p []byte) bool {
	for _, i := range t.layout.keys {
		o, n := t.old.cells[i], t.new.cells[i]
		if (o.at < 0) != (n.at < 0) || o.at >= 0 && !bytes.Equal(p[o.at:o.end], p[n.at:n.end]) {
			return true
		}
	}
	return false
}
