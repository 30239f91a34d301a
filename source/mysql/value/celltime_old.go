package value

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// The formats of tables that are older than MySQL 5.6, and of MariaDB with
// mysql56_temporal_format=OFF. Without a fraction they are numbers in decimal,
// little-endian. With one, which only MariaDB has, they are one big-endian number
// in the smallest unit, of a width that the binlog leaves to the table's definition.

// oldWidths are the bytes of each type by its digits behind the second.
var oldWidths = map[byte][7]int{
	cellTime:      {3, 4, 4, 5, 5, 5, 6},
	cellDatetime:  {8, 6, 6, 7, 7, 7, 8},
	cellTimestamp: {4, 5, 5, 6, 6, 7, 7},
}

// ColumnShape is [ShapeOf] for the cells of a column: with a fraction the old formats
// have a width that the definition alone knows.
func ColumnShape(c schema.Column, t CellType) (Shape, error) {
	s, err := ShapeOf(t)
	if widths, ok := oldWidths[t.Type]; ok && err == nil {
		s.Size = widths[min(fraction(c), 6)]
	}
	return s, err
}

// microsPer is the microseconds of a unit in the last of the given digits.
func microsPer(digits int) int64 {
	unit := microsPerSecond
	for range digits {
		unit /= 10
	}
	return unit
}

// split takes a number in mixed units apart, the smallest first.
func split(n uint64, units ...uint64) (parts [6]int64, rest int64) {
	for i, u := range units {
		parts[i], n = int64(n%u), n/u
	}
	return parts, int64(n)
}

func (m *cellMaker) oldTime(add func(micros int64) error) CellReader {
	width, digits := m.shape.Size, m.fraction()
	unit := microsPer(digits)
	return func(p []byte) (int, error) {
		if len(p) < width {
			return 0, m.fail(errShort)
		}
		var micros int64
		if digits == 0 {
			n := int64(littleEndian(p, 3)<<40) >> 40 // hhmmss
			sign := int64(1)
			if n < 0 {
				sign, n = -1, -n
			}
			c, err := clockMicros(n/10_000, n/100%100, n%100, 0)
			if err != nil {
				return 0, m.fail(err)
			}
			micros = sign * c
		} else { // counted from -839:00:00
			n := int64(bigEndian(p, width))*unit - 839*3600*microsPerSecond
			if n <= -839*3600*microsPerSecond || n >= 839*3600*microsPerSecond {
				return 0, m.fail(malformed(p[:width], "TIME"))
			}
			micros = n
		}
		if err := add(micros); err != nil {
			return 0, err
		}
		return width, nil
	}
}

func (m *cellMaker) oldDatetime(add func(year, month, day int, micros int64) error) CellReader {
	width, digits := m.shape.Size, m.fraction()
	unit := microsPer(digits)
	return func(p []byte) (int, error) {
		if len(p) < width {
			return 0, m.fail(errShort)
		}
		var parts [6]int64 // second, minute, hour, day, month
		var year, micros int64
		if digits == 0 {
			parts, year = split(binary.LittleEndian.Uint64(p), 100, 100, 100, 100, 100)
		} else {
			n := bigEndian(p, width)
			perSecond := uint64(microsPerSecond / unit)
			micros = int64(n%perSecond) * unit
			parts, year = split(n/perSecond, 60, 60, 24, 32, 13)
		}
		if year > 9999 || parts[2] > 23 || parts[1] > 59 || parts[0] > 59 {
			return 0, m.fail(malformed(p[:width], "DATETIME"))
		}
		micros += (parts[2]*3600 + parts[1]*60 + parts[0]) * microsPerSecond
		if err := add(int(year), int(parts[4]), int(parts[3]), micros); err != nil {
			return 0, err
		}
		return width, nil
	}
}

func (m *cellMaker) oldTimestamp(b *array.TimestampBuilder, zero *absent) CellReader {
	width, digits := m.shape.Size, m.fraction()
	unit := microsPer(digits)
	return func(p []byte) (int, error) {
		if len(p) < width {
			return 0, m.fail(errShort)
		}
		var seconds, micros int64
		if digits == 0 {
			seconds = int64(binary.LittleEndian.Uint32(p))
		} else {
			seconds, micros = int64(binary.BigEndian.Uint32(p)), int64(bigEndian(p[4:], width-4))*unit
		}
		if micros >= microsPerSecond {
			return 0, m.fail(fmt.Errorf("%w: a fraction of %d microseconds", ErrMalformed, micros))
		}
		if seconds == 0 {
			if err := zero.add(0, 0, 0); err != nil {
				return 0, err
			}
			return width, nil
		}
		b.Append(arrow.Timestamp(seconds*microsPerSecond + micros))
		return width, nil
	}
}
