package event

// TableMap is a TABLE_MAP event: it names the table of the rows events that carry
// its id, and how their columns are written.
type TableMap struct {
	TableID uint64
	Flags   uint16
	// Database and Table are the names, in utf8mb3.
	Database, Table []byte
	// Types are the types of the columns by their numbers in the protocol.
	Types []byte
	// Metas has what completes each type; [TableMap.Parse] says how.
	Metas []uint16
	// Nullable has a bit for each column that may be NULL.
	Nullable Bitmap
	// Optional is what ParseMetadata reads; empty in old servers.
	Optional []byte

	mariadb bool // who wrote it
}

// The types of columns that come with metadata or need a look.
const (
	columnFloat             = 4
	columnDouble            = 5
	columnYear              = 13
	columnVarchar           = 15
	columnBit               = 16
	columnTimestamp2        = 17
	columnDatetime2         = 18
	columnTime2             = 19
	columnTypedArray        = 20
	columnMariaBlobCompress = 140
	columnMariaVarCompress  = 141
	columnVector            = 242
	columnJSON              = 245
	columnNewDecimal        = 246
	columnEnum              = 247
	columnSet               = 248
	columnTinyBlob          = 249
	columnMediumBlob        = 250
	columnLongBlob          = 251
	columnBlob              = 252
	columnVarString         = 253
	columnString            = 254
	columnGeometry          = 255
)

// Parse reads the body. Metas is reused.
//
// A meta of one byte (the length of a BLOB's length, the digits of a fraction, ...)
// is that byte. Of two bytes, VARCHAR and BIT have the lower one first; STRING, ENUM,
// SET and NEWDECIMAL have the first in the upper half: real type and length, or
// precision and scale. Types without metadata have 0.
func (e *TableMap) Parse(f *Format, body []byte) error {
	if n := f.headerLength(TableMapType, rowsFixed); len(body) < n || n < rowsFixed {
		return corrupt(TableMapType, "a cut body")
	}
	r := reader{p: body, at: 6}
	metas := e.Metas[:0]
	*e = TableMap{TableID: tableID(body), Flags: r.u16(), mariadb: f != nil && f.MariaDB}
	e.Database = r.name()
	e.Table = r.name()
	n := r.packed()
	if r.bad || n > maxColumns {
		return corrupt(TableMapType, "a cut body")
	}
	e.Types = r.take(int(n))
	m := reader{p: r.packedBytes()}
	e.Nullable = Bitmap(r.take(bitmapSize(int(n))))
	if r.bad {
		return corrupt(TableMapType, "a cut body")
	}
	for _, t := range e.Types {
		metas = append(metas, m.meta(t))
	}
	e.Metas = metas
	if m.bad || m.left() > 0 {
		return corrupt(TableMapType, "metadata that does not fit the columns")
	}
	e.Optional = r.rest()
	return nil
}

// name reads a length, a name and a 0.
func (r *reader) name() []byte {
	b := r.packedBytes()
	if r.u8() != 0 {
		r.bad = true
	}
	return b
}

// meta reads the metadata of a column of type t.
func (r *reader) meta(t byte) uint16 {
	switch t {
	case columnFloat, columnDouble, columnTimestamp2, columnDatetime2, columnTime2, columnTinyBlob, columnMediumBlob, columnLongBlob,
		columnBlob, columnJSON, columnGeometry, columnVector, columnMariaBlobCompress:
		return uint16(r.u8())
	case columnVarchar, columnVarString, columnBit, columnMariaVarCompress:
		return r.u16()
	case columnString, columnEnum, columnSet, columnNewDecimal:
		first := r.u8()
		return uint16(first)<<8 | uint16(r.u8())
	case columnTypedArray: // only in hidden columns, which are not logged
		r.bad = true
	}
	return 0
}
