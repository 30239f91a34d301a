package binlog

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// cell is where a value lies in the rows of an event.
type cell struct{ at, end int32 }

// The cells that have no bytes.
const (
	cellNull    = -1 // at of a NULL
	cellMissing = -2 // at of a column that is not in the image
)

// image is one row before or after a change.
type image struct {
	cells []cell
	full  bool // has all columns
	known bool // has all that are sent
}

// set notes which columns are in the image.
func (img *image) set(l *layout, present event.Bitmap) {
	img.full = present.Full(len(l.columns))
	img.known = img.full || !slices.ContainsFunc(l.sent, func(i int) bool { return !present.Has(i) })
}

// skip returns the end of the cell at offset at.
func (c *logColumn) skip(p []byte, at int) (int, bool) {
	n := c.shape.Size
	if c.shape.Prefix > 0 {
		if at+c.shape.Prefix > len(p) {
			return at, false
		}
		switch q := p[at:]; c.shape.Prefix {
		case 1:
			n = int(q[0])
		case 2:
			n = int(binary.LittleEndian.Uint16(q))
		case 3:
			n = int(q[0]) | int(q[1])<<8 | int(q[2])<<16
		default:
			n = int(binary.LittleEndian.Uint32(q))
		}
		n += c.shape.Prefix
	}
	return at + n, at+n <= len(p)
}

// measure finds the cells of an image and returns its end.
func (t *tableDecoder) measure(img *image, present event.Bitmap, p []byte, at int) (int, error) {
	n := len(t.layout.columns)
	in := n
	if !img.full {
		in = present.Count(n)
	}
	nulls := at
	if at += (in + 7) / 8; at > len(p) {
		return at, errShort
	}
	bit := 0
	for i := range img.cells {
		if !img.full && !present.Has(i) {
			img.cells[i] = cell{at: cellMissing}
			continue
		}
		null := p[nulls+bit>>3]>>(bit&7)&1 != 0
		bit++
		if null {
			img.cells[i] = cell{at: cellNull}
			continue
		}
		end, ok := t.layout.columns[i].skip(p, at)
		if !ok {
			return at, errShort
		}
		img.cells[i] = cell{at: int32(at), end: int32(end)}
		at = end
	}
	return at, nil
}

// partialBits reads what stands in front of the after image of a partial update.
func (t *tableDecoder) partialBits(p []byte, at int) (int, error) {
	const partialJSON = 1
	if at >= len(p) {
		return at, errShort
	}
	options := p[at] // a packed number; there are no options beyond the first bit
	if options > 250 {
		return at, fmt.Errorf("%w: options of a partial update", event.ErrCorrupt)
	}
	at++
	if options&^partialJSON != 0 {
		return at, fmt.Errorf("%w: options %d of a partial update are not known", ErrStream, options)
	}
	if options == 0 {
		return at, nil
	}
	bits := at
	if at += (t.layout.json + 7) / 8; at > len(p) {
		return at, errShort
	}
	n := 0
	for i := range t.layout.columns {
		if t.layout.columns[i].typ.Type == jsonType {
			t.partialCells[i] = p[bits+n>>3]>>(n&7)&1 != 0
			n++
		}
	}
	return at, nil
}
