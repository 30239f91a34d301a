package value

import "encoding/binary"

// jsonContainer is an object or an array: the number of its elements and its size,
// an entry for each key, an entry for each value, the keys, the values. Offsets
// count from the first of these.
type jsonContainer struct {
	data   []byte
	count  int
	object bool
	width  int // of numbers and offsets
	keys   int // where the entries of the keys begin
	values int // where the entries of the values begin
}

func parseContainer(typ byte, v []byte) (c jsonContainer, err error) {
	c.object = typ == jsonSmallObject || typ == jsonLargeObject
	c.width = 2
	if typ == jsonLargeObject || typ == jsonLargeArray {
		c.width = 4
	}
	if len(v) < 2*c.width {
		return c, errShort
	}
	count, size := littleEndian(v, c.width), littleEndian(v[c.width:], c.width)
	c.keys = 2 * c.width
	c.values = c.keys
	if size > uint64(len(v)) || count > size {
		return c, errShort
	}
	c.data, c.count = v[:size], int(count)
	if c.object {
		c.values += c.count * (c.width + 2)
	}
	if c.values+c.count*(1+c.width) > len(c.data) {
		return c, errShort
	}
	return c, nil
}

// key i of an object.
func (c *jsonContainer) key(i int) ([]byte, error) {
	entry := c.data[c.keys+i*(c.width+2):]
	from, length := littleEndian(entry, c.width), uint64(binary.LittleEndian.Uint16(entry[c.width:]))
	if from > uint64(len(c.data)) || length > uint64(len(c.data))-from {
		return nil, errShort
	}
	return c.data[from : from+length], nil
}

// value i: its type and where its data begins. Small ones lie in the entry itself.
func (c *jsonContainer) value(i int) (typ byte, v []byte, err error) {
	entry := c.data[c.values+i*(1+c.width):]
	typ, entry = entry[0], entry[1:1+c.width]
	switch typ {
	case jsonLiteral, jsonInt16, jsonUint16:
		return typ, entry, nil
	case jsonInt32, jsonUint32:
		if c.width == 4 {
			return typ, entry, nil
		}
	}
	from := littleEndian(entry, c.width)
	if from > uint64(len(c.data)) {
		return 0, nil, errShort
	}
	return typ, c.data[from:], nil
}

// jsonBytes reads a length, seven bits a byte, the lowest first, and as many bytes.
func jsonBytes(v []byte) (s, rest []byte, err error) {
	var n uint64
	for i := 0; ; i++ {
		if i == 5 {
			return nil, nil, badJSON("a length of more than 5 bytes")
		}
		if i == len(v) {
			return nil, nil, errShort
		}
		n |= uint64(v[i]&0x7F) << (7 * i)
		if v[i]&0x80 == 0 {
			v = v[i+1:]
			break
		}
	}
	if n > uint64(len(v)) {
		return nil, nil, errShort
	}
	return v[:n], v[n:], nil
}
