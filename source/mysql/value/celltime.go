package value

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// temporal returns the reader of a DATE, TIME, DATETIME or TIMESTAMP, nil for others.
func (m *cellMaker) temporal(b array.Builder) CellReader {
	switch b := b.(type) {
	case *array.Date32Builder:
		return m.date(addDate(b, m.place, m.o.ZeroDates))
	case *array.Time64Builder, *array.StringBuilder:
		if m.name == "time" {
			return m.time(addTime(b, m.place, m.o, m.fraction()))
		}
	case *array.TimestampBuilder:
		if m.name == "timestamp" {
			return m.timestamp(b)
		}
		return m.datetime(addDatetime(b, m.place, m.o.ZeroDates))
	}
	return nil
}

// date is day, month and year in 5, 4 and 15 bits.
func (m *cellMaker) date(add func(year, month, day int) error) CellReader {
	return func(p []byte) (int, error) {
		if len(p) < 3 {
			return 0, m.fail(errShort)
		}
		u := int(littleEndian(p, 3))
		return 3, add(u>>9, u>>5&15, u&31)
	}
}

// fractionMicros reads the digits behind the second: big-endian, two digits a byte.
func fractionMicros(p []byte, digits int) int64 {
	switch digits {
	case 1, 2:
		return int64(p[0]) * 10_000
	case 3, 4:
		return int64(binary.BigEndian.Uint16(p)) * 100
	case 5, 6:
		return int64(bigEndian(p, 3))
	}
	return 0
}

// datetime is DATETIME of MySQL 5.6 on: 40 bits, big-endian, with the sign bit set:
// year*13+month, day, hour, minute and second in 17, 5, 5, 6 and 6 bits; then the fraction.
func (m *cellMaker) datetime(add func(year, month, day int, micros int64) error) CellReader {
	if m.t.Type == cellDatetime {
		return m.oldDatetime(add)
	}
	size, digits := m.shape.Size, int(m.t.Meta)
	return func(p []byte) (int, error) {
		if len(p) < size {
			return 0, m.fail(errShort)
		}
		packed := uint64(p[0])<<32 | uint64(binary.BigEndian.Uint32(p[1:]))
		micros := fractionMicros(p[5:], digits)
		yearMonth := int(packed>>22) & 0x1FFFF
		hour, minute, second := int64(packed>>12&31), int64(packed>>6&63), int64(packed&63)
		if packed>>39 == 0 || hour > 23 || minute > 59 || second > 59 || micros >= microsPerSecond {
			return 0, m.fail(malformed(p[:size], "DATETIME"))
		}
		micros += (hour*3600 + minute*60 + second) * microsPerSecond
		if err := add(yearMonth/13, yearMonth%13, int(packed>>17&31), micros); err != nil {
			return 0, err
		}
		return size, nil
	}
}

// timestamp is seconds since 1970, big-endian, and the fraction. 0 stands for
// 0000-00-00 00:00:00; the type begins one second later. MariaDB's goes to 2106.
func (m *cellMaker) timestamp(b *array.TimestampBuilder) CellReader {
	zero := &absent{place: m.place, mode: m.o.ZeroDates, null: b.AppendNull, epoch: func() { b.Append(0) }}
	if m.t.Type == cellTimestamp {
		return m.oldTimestamp(b, zero)
	}
	size, digits := m.shape.Size, int(m.t.Meta)
	return func(p []byte) (int, error) {
		if len(p) < size {
			return 0, m.fail(errShort)
		}
		seconds, micros := int64(binary.BigEndian.Uint32(p)), fractionMicros(p[4:], digits)
		if micros >= microsPerSecond {
			return 0, m.fail(malformed(p[:size], "TIMESTAMP"))
		}
		if seconds == 0 {
			if err := zero.add(0, 0, 0); err != nil {
				return 0, err
			}
			return size, nil
		}
		b.Append(arrow.Timestamp(seconds*microsPerSecond + micros))
		return size, nil
	}
}

// time is TIME of MySQL 5.6 on: 24 bits, big-endian, around 0x800000: hour, minute
// and second in 10, 6 and 6 bits; then the fraction. Both together are one number,
// whose sign is that of the value.
func (m *cellMaker) time(add func(micros int64) error) CellReader {
	if m.t.Type == cellTime {
		return m.oldTime(add)
	}
	size, digits := m.shape.Size, int(m.t.Meta)
	fractionBits := 8 * (size - 3)
	return func(p []byte) (int, error) {
		if len(p) < size {
			return 0, m.fail(errShort)
		}
		n := int64(bigEndian(p, size)) - 0x800000<<fractionBits
		negative := n < 0
		if negative {
			n = -n
		}
		var fraction [3]byte
		f := n & (1<<fractionBits - 1)
		switch fractionBits {
		case 8:
			fraction[0] = byte(f)
		case 16:
			fraction[0], fraction[1] = byte(f>>8), byte(f)
		case 24:
			fraction[0], fraction[1], fraction[2] = byte(f>>16), byte(f>>8), byte(f)
		}
		micros, err := clockMicros(n>>fractionBits>>12&0x3FF, n>>fractionBits>>6&63, n>>fractionBits&63, fractionMicros(fraction[:], digits))
		if err != nil {
			return 0, m.fail(err)
		}
		if negative {
			micros = -micros
		}
		if err := add(micros); err != nil {
			return 0, err
		}
		return size, nil
	}
}

// clockMicros puts the parts of a TIME together.
func clockMicros(hour, minute, second, micros int64) (int64, error) {
	if hour > 838 || minute > 59 || second > 59 || micros >= microsPerSecond {
		return 0, fmt.Errorf("%w: %d:%d:%d.%d is no TIME", ErrMalformed, hour, minute, second, micros)
	}
	return (hour*3600+minute*60+second)*microsPerSecond + micros, nil
}
