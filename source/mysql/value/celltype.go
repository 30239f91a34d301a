package value

import (
	"encoding/binary"
	"fmt"
)

// CellType is the type of a column as a TABLE_MAP event has it.
type CellType struct {
	// Type is the number of the type in the protocol.
	Type byte
	// Meta completes it. One byte is that byte. Of two, VARCHAR and BIT have the first
	// in the lower half; STRING, ENUM, SET and NEWDECIMAL have it in the upper.
	Meta uint16
	// Unsigned is what the event says, where it does. It is not looked at, because
	// MariaDB leaves it out: the column's definition knows.
	Unsigned bool
}

// The types of cells by their numbers in the protocol. MariaDB adds 140 and 141.
const (
	cellTiny              = 1
	cellShort             = 2
	cellLong              = 3
	cellFloat             = 4
	cellDouble            = 5
	cellNull              = 6
	cellTimestamp         = 7
	cellLongLong          = 8
	cellInt24             = 9
	cellDate              = 10
	cellTime              = 11
	cellDatetime          = 12
	cellYear              = 13
	cellNewDate           = 14
	cellVarchar           = 15
	cellBit               = 16
	cellTimestamp2        = 17
	cellDatetime2         = 18
	cellTime2             = 19
	cellBlobCompressed    = 140
	cellVarcharCompressed = 141
	cellVector            = 242
	cellBool              = 244
	cellJSON              = 245
	cellNewDecimal        = 246
	cellEnum              = 247
	cellSet               = 248
	cellTinyBlob          = 249
	cellMediumBlob        = 250
	cellLongBlob          = 251
	cellBlob              = 252
	cellVarString         = 253
	cellString            = 254
	cellGeometry          = 255
)

var cellNames = map[byte]string{
	0: "DECIMAL", cellTiny: "TINY", cellShort: "SHORT", cellLong: "LONG", cellFloat: "FLOAT", cellDouble: "DOUBLE", cellNull: "NULL",
	cellTimestamp: "TIMESTAMP", cellLongLong: "LONGLONG", cellInt24: "INT24", cellDate: "DATE", cellTime: "TIME", cellDatetime: "DATETIME",
	cellYear: "YEAR", cellNewDate: "NEWDATE", cellVarchar: "VARCHAR", cellBit: "BIT", cellTimestamp2: "TIMESTAMP2", cellDatetime2: "DATETIME2",
	cellTime2: "TIME2", 20: "TYPED_ARRAY", cellBlobCompressed: "BLOB_COMPRESSED", cellVarcharCompressed: "VARCHAR_COMPRESSED",
	cellVector: "VECTOR", cellBool: "BOOL", cellJSON: "JSON", cellNewDecimal: "NEWDECIMAL", cellEnum: "ENUM", cellSet: "SET",
	cellTinyBlob: "TINY_BLOB", cellMediumBlob: "MEDIUM_BLOB", cellLongBlob: "LONG_BLOB", cellBlob: "BLOB", cellVarString: "VAR_STRING",
	cellString: "STRING", cellGeometry: "GEOMETRY",
}

// String names the type as the server's sources do, with its metadata.
func (t CellType) String() string {
	name := cellNames[t.Type]
	if name == "" {
		name = fmt.Sprintf("type %d", t.Type)
	}
	if t.Meta == 0 {
		return name
	}
	return fmt.Sprintf("%s(%d)", name, t.Meta)
}

// real undoes what STRING hides in its metadata: ENUM and SET, whose length is that
// of the number, and the upper bits of a length over 255.
func (t CellType) real() (typ byte, length int) {
	first, second := byte(t.Meta>>8), int(t.Meta&0xFF)
	if first == 0 { // before MySQL 5.0
		return cellString, second
	}
	if first&0x30 != 0x30 {
		return first | 0x30, second | int(first&0x30^0x30)<<4
	}
	return first, second
}

// Shape says how the bytes of a cell of the binlog are found: a little-endian length
// of Prefix bytes in front, or, where Prefix is 0, always Size bytes.
type Shape struct{ Prefix, Size int }

// fixedSizes are the sizes of the types that have no metadata, plus 1.
var fixedSizes = [256]int{
	cellTiny: 2, cellBool: 2, cellShort: 3, cellInt24: 4, cellLong: 5, cellLongLong: 9, cellFloat: 5, cellDouble: 9, cellNull: 1,
	cellYear: 2, cellDate: 4, cellNewDate: 4, cellTime: 4, cellDatetime: 9, cellTimestamp: 5,
}

var wholeSeconds = [...]int{cellTimestamp2: 4, cellDatetime2: 5, cellTime2: 3}

// ShapeOf returns the shape of the cells of a type, for who walks over many of them;
// [Skip] does the same for one. See [ColumnShape] for old tables of MariaDB.
func ShapeOf(t CellType) (Shape, error) {
	if n := fixedSizes[t.Type]; n > 0 {
		return Shape{Size: n - 1}, nil
	}
	switch t.Type {
	case cellTimestamp2, cellDatetime2, cellTime2:
		if t.Meta > 6 {
			break
		}
		return Shape{Size: wholeSeconds[t.Type] + int(t.Meta+1)/2}, nil
	case cellNewDecimal:
		d, ok := newDecimalForm(int(t.Meta>>8), int(t.Meta&0xFF))
		if !ok {
			break
		}
		return Shape{Size: d.size}, nil
	case cellBit:
		n := int(t.Meta >> 8)
		if t.Meta&0xFF > 0 {
			n++
		}
		if n > 8 {
			break
		}
		return Shape{Size: n}, nil
	case cellVarchar, cellVarString, cellVarcharCompressed:
		return lengthOf(int(t.Meta)), nil
	case cellBlob, cellGeometry, cellJSON, cellVector, cellBlobCompressed, cellTinyBlob, cellMediumBlob, cellLongBlob:
		if t.Meta < 1 || t.Meta > 4 {
			break
		}
		return Shape{Prefix: int(t.Meta)}, nil
	case cellString, cellEnum, cellSet:
		switch typ, n := t.real(); {
		case typ == cellEnum && (n == 1 || n == 2), typ == cellSet && n >= 1 && n <= 8:
			return Shape{Size: n}, nil
		case typ == cellString, typ == cellVarString:
			return lengthOf(n), nil
		}
	}
	return Shape{}, fmt.Errorf("%w: cells of type %s in the binlog", ErrUnsupported, t)
}

// lengthOf is the shape of text of at most max bytes.
func lengthOf(max int) Shape {
	if max > 255 {
		return Shape{Prefix: 2}
	}
	return Shape{Prefix: 1}
}

// cut returns the value of a cell and the bytes that the cell takes.
func (s Shape) cut(p []byte) (v []byte, n int, err error) {
	size := s.Size
	if s.Prefix > 0 {
		if len(p) < s.Prefix {
			return nil, 0, errShort
		}
		size = int(littleEndian(p, s.Prefix))
	}
	end := s.Prefix + size
	if len(p) < end {
		return nil, 0, errShort
	}
	return p[s.Prefix:end:end], end, nil
}

// littleEndian reads a little-endian number of 1 to 8 bytes, which p has.
func littleEndian(p []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p))
	case 8:
		return binary.LittleEndian.Uint64(p)
	}
	var u uint64
	for i := range size {
		u |= uint64(p[i]) << (8 * i)
	}
	return u
}

// bigEndian reads a big-endian number of 1 to 8 bytes, which p has.
func bigEndian(p []byte, size int) uint64 {
	var u uint64
	for i := range size {
		u = u<<8 | uint64(p[i])
	}
	return u
}

// Skip returns how many bytes the cell at the start of p takes.
func Skip(t CellType, p []byte) (n int, err error) {
	s, err := ShapeOf(t)
	if err != nil {
		return 0, err
	}
	_, n, err = s.cut(p)
	return n, err
}
