package event

import "math/bits"

// RowsKind is what the rows of an event are.
type RowsKind byte

// The kinds.
const (
	Insert RowsKind = iota + 1
	Update
	Delete
)

// rowsType says how a type of rows event is written.
type rowsType struct {
	kind       RowsKind
	extra      bool // has the extra data of version 2
	partial    bool
	compressed bool
}

var rowsKinds = [256]rowsType{
	WriteRowsV1: {kind: Insert}, UpdateRowsV1: {kind: Update}, DeleteRowsV1: {kind: Delete},
	WriteRows: {kind: Insert, extra: true}, UpdateRows: {kind: Update, extra: true}, DeleteRows: {kind: Delete, extra: true},
	PartialUpdateRows: {kind: Update, extra: true, partial: true},
	WriteRowsCompV1:   {kind: Insert, compressed: true}, UpdateRowsCompV1: {kind: Update, compressed: true}, DeleteRowsCompV1: {kind: Delete, compressed: true},
	WriteRowsComp: {kind: Insert, extra: true, compressed: true}, UpdateRowsComp: {kind: Update, extra: true, compressed: true},
	DeleteRowsComp: {kind: Delete, extra: true, compressed: true},
}

// RowsFlags are the flags of a rows event.
type RowsFlags uint16

// RowsStatementEnd marks the last event of the statement; the TABLE_MAPs before it are
// no longer valid.
const RowsStatementEnd RowsFlags = 1

// dummyTable is the table id of a rows event that holds nothing and only ends the
// statement.
const dummyTable = 0x00ffffff

// Bitmap has one bit a column, the first in the lowest bit of the first byte.
type Bitmap []byte

// Has reports bit i. A bitmap that is too short has zeros there.
func (b Bitmap) Has(i int) bool { return i>>3 < len(b) && b[i>>3]>>(i&7)&1 != 0 }

// Count returns how many of the first n bits are set.
func (b Bitmap) Count(n int) int {
	set := 0
	for i, v := range b {
		if left := n - 8*i; left < 8 {
			if left <= 0 {
				break
			}
			v &= 1<<left - 1
		}
		set += bits.OnesCount8(v)
	}
	return set
}

// Full reports whether the first n bits are all set.
func (b Bitmap) Full(n int) bool { return b.Count(n) == n }

// bitmapSize returns the bytes that a bitmap of n bits takes.
func bitmapSize(n int) int { return (n + 7) / 8 }

// Rows is any event that carries rows of a table.
//
// The rows area is one row behind the other. A row of an insert is its after
// image, of a delete its before image, of an update both. An image is a bitmap with
// a bit for each column present, set for NULL, then the values of the others. In
// a partial update each after image begins with a packed number of options; if
// its lowest bit is set, a bitmap follows with a bit for every JSON column of the
// table, present or not, set where a diff stands for the value.
type Rows struct {
	Kind RowsKind
	// Partial: a PARTIAL_UPDATE_ROWS.
	Partial bool
	TableID uint64
	Flags   RowsFlags
	// Columns is how many columns the table has.
	Columns int
	// Before and After say which columns the images hold; Before is nil for an
	// insert, After for a delete.
	Before, After Bitmap
	// Area are the rows, still compressed where Compressed is set, see [Inflater].
	Area       []byte
	Compressed bool
}

// rowsFixed is the table's id and the flags.
const rowsFixed = 8

// maxColumns is more than any table can have (4096 in MySQL and MariaDB).
const maxColumns = 1 << 14

// TableID reads the id of the table from the body of a rows event, nothing else.
func TableID(f *Format, t Type, body []byte) (uint64, error) {
	if n := f.headerLength(t, rowsFixed); len(body) < n || n < rowsFixed {
		return 0, corrupt(t, "a cut body")
	}
	return tableID(body), nil
}

func tableID(p []byte) uint64 {
	_ = p[5]
	return uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 | uint64(p[4])<<32 | uint64(p[5])<<40
}

// Dummy reports whether the event has no rows and only ends a statement.
func (e *Rows) Dummy() bool { return e.TableID == dummyTable && len(e.Area) == 0 }

// Parse reads the body of a rows event of type t up to the rows.
func (e *Rows) Parse(f *Format, t Type, body []byte) error {
	how := rowsKinds[t]
	if how.kind == 0 {
		return corrupt(t, "no rows event")
	}
	if n := f.headerLength(t, rowsFixed); len(body) < n || n < rowsFixed {
		return corrupt(t, "a cut body")
	}
	*e = Rows{Kind: how.kind, Partial: how.partial, Compressed: how.compressed, TableID: tableID(body)}
	r := reader{p: body, at: 6}
	e.Flags = RowsFlags(r.u16())
	if how.extra {
		extra := int(r.u16())
		r.skip(extra - 2) // its length counts itself
	}
	n := r.packed()
	if n > maxColumns {
		return corrupt(t, "too many columns")
	}
	e.Columns = int(n)
	if how.kind != Insert {
		e.Before = Bitmap(r.take(bitmapSize(e.Columns)))
	}
	if how.kind != Delete {
		e.After = Bitmap(r.take(bitmapSize(e.Columns)))
	}
	if r.bad {
		return corrupt(t, "a cut body")
	}
	e.Area = r.rest()
	return nil
}
