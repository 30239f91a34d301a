package debezium

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// appendBits writes a text of zeros and ones as bytes, the last bit in the lowest
// bit of the first byte, without the zero bytes at the end.
func appendBits(dst []byte, s string) ([]byte, error) {
	var scratch [64]byte
	b := scratch[:0]
	for i := len(s); i > 0; i -= 8 {
		var v byte
		for _, c := range []byte(s[max(i-8, 0):i]) {
			if c != '0' && c != '1' {
				return dst, ErrText
			}
			v = v<<1 | (c - '0')
		}
		b = append(b, v)
	}
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return appendBase64(dst, b), nil
}

// wkbPoint is the start of a point in well-known binary, least byte first.
var wkbPoint = []byte{1, 1, 0, 0, 0}

// javaNaN is the NaN of Java.
const javaNaN = 0x7ff8000000000000

// appendPoint writes PostgreSQL's text of a point, (x,y), as Debezium's struct.
func appendPoint(dst []byte, s string) ([]byte, error) {
	body, ok := strings.CutPrefix(s, "(")
	body, ok2 := strings.CutSuffix(body, ")")
	left, right, ok3 := strings.Cut(body, ",")
	x, err1 := strconv.ParseFloat(left, 64)
	y, err2 := strconv.ParseFloat(right, 64)
	if !ok || !ok2 || !ok3 || err1 != nil || err2 != nil {
		return dst, ErrText
	}
	var scratch [21]byte
	wkb := append(scratch[:0], wkbPoint...)
	for _, v := range [...]float64{x, y} {
		b := math.Float64bits(v)
		if math.IsNaN(v) {
			b = javaNaN
		}
		wkb = binary.LittleEndian.AppendUint64(wkb, b)
	}
	dst = appendFloat(append(dst, `{"x":`...), x, 64)
	dst = appendFloat(append(dst, `,"y":`...), y, 64)
	return append(appendBase64(append(dst, `,"wkb":`...), wkb), `,"srid":null}`...), nil
}

// sridFlag is set in the type of extended well-known binary that has an SRID.
const sridFlag = 0x20000000

// appendPostGIS writes PostGIS's text of a geometry, extended well-known binary in
// hexadecimal digits.
func appendPostGIS(dst []byte, s string) ([]byte, error) {
	wkb, err := hex.DecodeString(s)
	if err != nil || len(wkb) < 5 {
		return dst, ErrText
	}
	var order binary.ByteOrder = binary.BigEndian
	if wkb[0] == 1 {
		order = binary.LittleEndian
	}
	dst = appendBase64(append(dst, `{"wkb":`...), wkb)
	dst = append(dst, `,"srid":`...)
	if order.Uint32(wkb[1:])&sridFlag == 0 || len(wkb) < 9 {
		return append(dst, "null}"...), nil
	}
	return append(strconv.AppendInt(dst, int64(int32(order.Uint32(wkb[5:]))), 10), '}'), nil
}

// geometryCell writes MySQL's geometries as the server keeps them: the SRID, least
// byte first, and well-known binary. A point has its coordinates beside.
type geometryCell struct {
	col   *array.Binary
	point bool
}

func (c *geometryCell) bind(col arrow.Array) { c.col = col.(*array.Binary) }

func (c *geometryCell) append(dst []byte, i int) ([]byte, error) {
	v := c.col.Value(i)
	if len(v) < 9 {
		return dst, ErrText
	}
	srid, wkb := binary.LittleEndian.Uint32(v), v[4:]
	dst = append(dst, '{')
	if c.point {
		if len(wkb) != 21 || wkb[0] != 1 {
			return dst, ErrText
		}
		dst = appendFloat(append(dst, `"x":`...), math.Float64frombits(binary.LittleEndian.Uint64(wkb[5:])), 64)
		dst = appendFloat(append(dst, `,"y":`...), math.Float64frombits(binary.LittleEndian.Uint64(wkb[13:])), 64)
		dst = append(dst, ',')
	}
	dst = appendBase64(append(dst, `"wkb":`...), wkb)
	dst = append(dst, `,"srid":`...)
	if srid == 0 {
		return append(dst, "null}"...), nil
	}
	return append(strconv.AppendUint(dst, uint64(srid), 10), '}'), nil
}

// vectorText writes pgvector's text of a vector, [1,2,3], with elements of so many bits.
func vectorText(size int) func(dst []byte, s string) ([]byte, error) {
	return func(dst []byte, s string) ([]byte, error) {
		body, ok := strings.CutPrefix(s, "[")
		body, ok2 := strings.CutSuffix(body, "]")
		if !ok || !ok2 {
			return dst, ErrText
		}
		dst = append(dst, '[')
		for first := true; body != ""; first = false {
			var text string
			text, body, _ = strings.Cut(body, ",")
			v, err := strconv.ParseFloat(text, size)
			if err != nil {
				return dst, ErrText
			}
			if !first {
				dst = append(dst, ',')
			}
			dst = appendFloat(dst, v, size)
		}
		return append(dst, ']'), nil
	}
}

// appendSparse writes pgvector's text of a sparse vector, {1:0.5,7:2}/10.
func appendSparse(dst []byte, s string) ([]byte, error) {
	body, ok := strings.CutPrefix(s, "{")
	body, size, ok2 := strings.Cut(body, "}/")
	dimensions, err := strconv.ParseUint(size, 10, 31)
	if !ok || !ok2 || err != nil {
		return dst, ErrText
	}
	dst = strconv.AppendUint(append(dst, `{"dimensions":`...), dimensions, 10)
	dst = append(dst, `,"vector":{`...)
	for first := true; body != ""; first = false {
		var part string
		part, body, _ = strings.Cut(body, ",")
		index, text, _ := strings.Cut(part, ":")
		n, err1 := strconv.ParseUint(index, 10, 31)
		v, err2 := strconv.ParseFloat(text, 64)
		if err1 != nil || err2 != nil {
			return dst, ErrText
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(append(dst, '"'), n, 10)
		dst = appendFloat(append(dst, '"', ':'), v, 64)
	}
	return append(dst, '}', '}'), nil
}
