package wire

import (
	"encoding/binary"
)

// NextCell cuts the first value off a row packet of the text protocol. cell is a
// part of row; null says that it is NULL.
func NextCell(row []byte) (cell []byte, null bool, rest []byte, err error) {
	if len(row) == 0 {
		return nil, false, nil, malformed("a row ends early")
	}
	// Nearly every value is shorter than 251 bytes.
	if n := int(row[0]); n < 251 {
		if len(row) <= n {
			return nil, false, nil, malformed("a value ends early")
		}
		return row[1 : 1+n], false, row[1+n:], nil
	}
	if row[0] == 0xfb {
		return nil, true, row[1:], nil
	}
	n, size, err := lenencInt(row)
	if err != nil {
		return nil, false, nil, err
	}
	if n > uint64(len(row)-size) {
		return nil, false, nil, malformed("a value of %d bytes ends early", n)
	}
	end := size + int(n)
	return row[size:end], false, row[end:], nil
}

// lenencInt reads a length-encoded integer and says how many bytes it took.
func lenencInt(p []byte) (n uint64, size int, err error) {
	if len(p) == 0 {
		return 0, 0, malformed("a number ends early")
	}
	switch p[0] {
	case 0xfc:
		if len(p) >= 3 {
			return uint64(binary.LittleEndian.Uint16(p[1:])), 3, nil
		}
	case 0xfd:
		if len(p) >= 4 {
			return uint64(p[1]) | uint64(p[2])<<8 | uint64(p[3])<<16, 4, nil
		}
	case 0xfe:
		if len(p) >= 9 {
			return binary.LittleEndian.Uint64(p[1:]), 9, nil
		}
	case 0xfb, 0xff:
		return 0, 0, malformed("0x%x is no number", p[0])
	default:
		return uint64(p[0]), 1, nil
	}
	return 0, 0, malformed("a number ends early")
}

// appendLenenc appends s with its length in front.
func appendLenenc(dst, s []byte) []byte {
	switch n := len(s); {
	case n < 251:
		dst = append(dst, byte(n))
	case n < 1<<16:
		dst = append(dst, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		dst = append(dst, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	default:
		dst = binary.LittleEndian.AppendUint64(append(dst, 0xfe), uint64(n))
	}
	return append(dst, s...)
}
