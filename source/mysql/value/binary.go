package value

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// BinarySize returns how many bytes a value of a result type takes in the binary
// protocol (https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html);
// 0 says that a length-encoded integer before it has the number. typ is the number of the type.
func BinarySize(typ byte) int {
	switch typ {
	case cellTiny:
		return 1
	case cellShort, cellYear:
		return 2
	case cellLong, cellInt24, cellFloat:
		return 4
	case cellLongLong, cellDouble:
		return 8
	}
	return 0
}

// NewBinaryReader returns the reader of a column's values in the rows of a prepared
// statement, whose result has type typ there; otherwise it is NewTextReader. It
// fails with ErrMismatch where the column is of another type than its definition says.
func NewBinaryReader(c schema.Column, typ byte, unsigned bool, b array.Builder, o Options) (TextReader, error) {
	m := &textMaker{place: placeOf(c), c: c, name: baseName(c.Source.Name), o: o}
	read, err := m.binary(typ, unsigned, b)
	if err != nil {
		return nil, m.fail(err)
	}
	return read, nil
}

// resultTypes are the result types of what is not sent as a string.
var resultTypes = map[string]byte{
	"tinyint": cellTiny, "smallint": cellShort, "mediumint": cellInt24, "int": cellLong, "bigint": cellLongLong, "year": cellYear,
	"float": cellDouble, "double": cellDouble, // see SelectExpression
	"date": cellDate, "datetime": cellDatetime, "timestamp": cellTimestamp, "time": cellTime,
}

// binary dispatches on the type.
func (m *textMaker) binary(typ byte, unsigned bool, b array.Builder) (TextReader, error) {
	size, isTime := BinarySize(typ), typ == cellDate || typ == cellDatetime || typ == cellTimestamp || typ == cellTime
	if want, ok := resultTypes[m.name]; ok && typ != want || !ok && (size > 0 || isTime) {
		return nil, fmt.Errorf("%w: the result has type %s", ErrMismatch, CellType{Type: typ})
	}
	switch {
	case typ == cellDouble:
		return m.binaryFloat(b)
	case size > 0:
		return m.binaryInteger(size, unsigned, b)
	case typ == cellDate:
		add := addDate(b.(*array.Date32Builder), m.place, m.o.ZeroDates)
		return m.binaryDatetime(func(year, month, day int, _ int64) error { return add(year, month, day) }), nil
	case typ == cellDatetime, typ == cellTimestamp:
		return m.binaryDatetime(addDatetime(b.(*array.TimestampBuilder), m.place, m.o.ZeroDates)), nil
	case typ == cellTime:
		return m.binaryTime(addTime(b, m.place, m.o, fraction(m.c))), nil
	}
	return m.reader(b)
}

func (m *textMaker) binaryFloat(b array.Builder) (TextReader, error) {
	var add func(f float64) bool
	switch b := b.(type) {
	case *array.Float64Builder:
		add = func(f float64) bool { b.Append(f); return true }
	case *array.Float32Builder:
		add = func(f float64) bool {
			if float64(float32(f)) != f {
				return false
			}
			b.Append(float32(f))
			return true
		}
	default:
		return nil, fmt.Errorf("%w: a builder of %s for %s", ErrMismatch, b.Type(), m.c.Type)
	}
	return func(v []byte) error {
		if len(v) != 8 || !add(math.Float64frombits(binary.LittleEndian.Uint64(v))) {
			return m.fail(malformed(v, m.name))
		}
		return nil
	}, nil
}

// binaryInteger reads integers of size bytes.
func (m *textMaker) binaryInteger(size int, unsigned bool, b array.Builder) (TextReader, error) {
	switch b := b.(type) {
	case *array.Int8Builder:
		return binaryFixed(m, b, size, unsigned, 8), nil
	case *array.Int16Builder:
		return binaryFixed(m, b, size, unsigned, 16), nil
	case *array.Int32Builder:
		if m.name == "year" && m.c.Source.Length == 2 {
			return func(v []byte) error {
				if len(v) != 2 || v[0] > 99 || v[1] != 0 {
					return m.fail(malformed(v, "YEAR(2)"))
				}
				b.Append(fullYear(int32(v[0])))
				return nil
			}, nil
		}
		return binaryFixed(m, b, size, unsigned, 32), nil
	case *array.Int64Builder:
		return binaryFixed(m, b, size, unsigned, 64), nil
	case *array.Uint64Builder:
		if !unsigned || size != 8 {
			return nil, fmt.Errorf("%w: the result is not unsigned", ErrMismatch)
		}
		return func(v []byte) error {
			if len(v) != 8 {
				return m.fail(malformed(v, m.c.Type.String()))
			}
			b.Append(binary.LittleEndian.Uint64(v))
			return nil
		}, nil
	case *array.BooleanBuilder:
		return func(v []byte) error {
			if len(v) != size {
				return m.fail(malformed(v, "TINYINT"))
			}
			b.Append(v[0] != 0)
			return nil
		}, nil
	}
	return nil, fmt.Errorf("%w: a builder of %s for %s", ErrMismatch, b.Type(), m.c.Type)
}

// binaryFixed reads an integer that has to fit into bits.
func binaryFixed[T integer](m *textMaker, b interface{ Append(T) }, size int, unsigned bool, bits int) TextReader {
	shift, unused := 64-bits, 64-8*size
	return func(v []byte) error {
		if len(v) != size {
			return m.fail(malformed(v, m.c.Type.String()))
		}
		var u uint64
		switch size {
		case 1:
			u = uint64(v[0])
		case 2:
			u = uint64(binary.LittleEndian.Uint16(v))
		case 4:
			u = uint64(binary.LittleEndian.Uint32(v))
		default:
			u = binary.LittleEndian.Uint64(v)
		}
		n := int64(u<<unused) >> unused
		if unsigned {
			n = int64(u)
		}
		if n<<shift>>shift != n || unsigned && n < 0 {
			return m.fail(fmt.Errorf("%w: %d is no %s", ErrRange, u, m.c.Type))
		}
		b.Append(T(n))
		return nil
	}
}

// binaryDatetime reads year (2 bytes), month, day, hour, minute, second and
// microseconds (4), of which zeros at the end may be missing.
func (m *textMaker) binaryDatetime(add func(year, month, day int, micros int64) error) TextReader {
	return func(v []byte) error {
		var full [11]byte
		switch len(v) {
		case 0, 4, 7, 11:
			copy(full[:], v)
		default:
			return m.fail(malformed(v, m.name))
		}
		micros, ok := clock(full[4:])
		if !ok || full[2] > 12 || full[3] > 31 {
			return m.fail(malformed(v, m.name))
		}
		return add(int(binary.LittleEndian.Uint16(full[:])), int(full[2]), int(full[3]), micros)
	}
}

// clock returns the microseconds of hour, minute, second and their fraction.
func clock(v []byte) (micros int64, ok bool) {
	fraction := int64(binary.LittleEndian.Uint32(v[3:]))
	return (int64(v[0])*3600+int64(v[1])*60+int64(v[2]))*microsPerSecond + fraction,
		v[0] < 24 && v[1] < 60 && v[2] < 60 && fraction < microsPerSecond
}

// binaryTime reads the sign, days (4 bytes), hour, minute, second and microseconds
// (4), of which zeros at the end may be missing.
func (m *textMaker) binaryTime(add func(micros int64) error) TextReader {
	return func(v []byte) error {
		var full [12]byte
		switch len(v) {
		case 0, 8, 12:
			copy(full[:], v)
		default:
			return m.fail(malformed(v, m.name))
		}
		micros, ok := clock(full[5:])
		days := binary.LittleEndian.Uint32(full[1:])
		if !ok || days > 34 { // 838 hours
			return m.fail(malformed(v, m.name))
		}
		micros += int64(days) * microsPerDay
		if full[0] != 0 {
			micros = -micros
		}
		return add(micros)
	}
}
