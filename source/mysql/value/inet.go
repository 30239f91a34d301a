package value

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// inetForm prints an INET6 of 16 or an INET4 of 4 bytes as MariaDB does.
func inetForm() form {
	var buf []byte
	return func(v []byte) ([]byte, error) {
		switch len(v) {
		case 4:
			buf = appendIPv4(buf[:0], v)
		case 16:
			buf = appendIPv6(buf[:0], v)
		default:
			return nil, fmt.Errorf("%w: an address of %d bytes", ErrMalformed, len(v))
		}
		return buf, nil
	}
}

func appendIPv4(dst, v []byte) []byte {
	for i, c := range v {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return dst
}

// appendIPv6 leaves out the first of the longest runs of zero words, even of one
// (RFC 5952 would not), and prints the addresses that embed one of IPv4 with it at the end.
func appendIPv6(dst, v []byte) []byte {
	var words [8]uint16
	for i := range words {
		words[i] = binary.BigEndian.Uint16(v[2*i:])
	}
	from, length := 0, 0
	for i := 0; i < len(words); i++ {
		n := 0
		for i+n < len(words) && words[i+n] == 0 {
			n++
		}
		if n > length {
			from, length = i, n
		}
		i += n
	}
	end := len(words)
	embeds := from == 0 && (length == 6 || length == 5 && words[5] == 0xFFFF)
	if embeds {
		end = 6
	}
	for i := 0; i < end; i++ {
		switch {
		case length > 0 && i == from:
			dst = append(dst, "::"...)
			i += length - 1
			continue
		case i > 0 && (length == 0 || i != from+length):
			dst = append(dst, ':')
		}
		dst = strconv.AppendUint(dst, uint64(words[i]), 16)
	}
	if embeds {
		if length == 5 {
			dst = append(dst, ':')
		}
		dst = appendIPv4(dst, v[12:])
	}
	return dst
}
