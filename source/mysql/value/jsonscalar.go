package value

import (
	"encoding/base64"
	"math"
	"strconv"
)

// appendJSONDouble prints a double as the server does in JSON: a whole number has ".0".
func appendJSONDouble(dst []byte, bits uint64) ([]byte, error) {
	v := math.Float64frombits(bits)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, badJSON("a number that is none")
	}
	from := len(dst)
	dst = appendDouble(dst, v)
	for _, c := range dst[from:] {
		if c == '.' || c == 'e' {
			return dst, nil
		}
	}
	return append(dst, ".0"...), nil
}

// appendDouble prints the fewest digits that give the same double again, as MySQL
// does everywhere: plain from 1e-15 up to 15 digits before the point, and where
// there are digits behind it; else with an exponent, which has no plus sign and no zeros.
func appendDouble(dst []byte, v float64) []byte {
	if math.Signbit(v) {
		dst, v = append(dst, '-'), -v
	}
	if v == 0 {
		return append(dst, '0')
	}
	// d.ddde±xx, taken apart: the digits and where the point belongs.
	var buf [32]byte
	s := strconv.AppendFloat(buf[:0], v, 'e', -1, 64)
	e := len(s) - 1
	for s[e] != 'e' {
		e--
	}
	exp, _ := strconv.Atoi(string(s[e+1:]))
	digits := append(s[:1:1], s[min(2, e):e]...)
	point := exp + 1
	switch {
	case point < -14 || point > 15 && len(digits) <= point:
		dst = append(dst, s[:e+1]...)
		return strconv.AppendInt(dst, int64(exp), 10)
	case point <= 0:
		dst = append(dst, "0."...)
		for range -point {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	case point < len(digits):
		dst = append(append(dst, digits[:point]...), '.')
		return append(dst, digits[point:]...)
	}
	dst = append(dst, digits...)
	for range point - len(digits) {
		dst = append(dst, '0')
	}
	return dst
}

// opaque prints a value of another type of the server: its number, a length, the data.
func (p *jsonPrinter) opaque(v []byte) error {
	if len(v) == 0 {
		return errShort
	}
	typ := v[0]
	data, _, err := jsonBytes(v[1:])
	if err == nil {
		err = p.spend(len(data))
	}
	if err != nil {
		return err
	}
	switch typ {
	case cellNewDecimal:
		p.out, err = appendJSONDecimal(p.out, data)
		return err
	case cellDate, cellNewDate, cellDatetime, cellTimestamp, cellTime:
		p.out, err = appendJSONTemporal(p.out, typ, data)
		return err
	}
	p.out = append(p.out, `"base64:type`...)
	p.out = append(strconv.AppendUint(p.out, uint64(typ), 10), ':')
	// The server breaks the lines of base64 behind 76 characters, 57 bytes.
	for i := 0; len(data) > 0; i++ {
		if i > 0 {
			p.out = append(p.out, `\n`...)
		}
		n := min(len(data), 57)
		p.out = base64.StdEncoding.AppendEncode(p.out, data[:n])
		data = data[n:]
	}
	p.out = append(p.out, '"')
	return nil
}

// appendJSONDecimal prints the precision, the scale and the digits of a DECIMAL.
func appendJSONDecimal(dst, v []byte) ([]byte, error) {
	if len(v) < 2 {
		return dst, errShort
	}
	scale := int(v[1])
	f, ok := newDecimalForm(int(v[0]), scale)
	if !ok || len(v) != 2+f.size {
		return dst, badJSON("a DECIMAL(%d,%d) of %d bytes", v[0], scale, len(v)-2)
	}
	w, negative, ok := f.large(v[2:])
	if !ok {
		return dst, malformedDecimal(v[2:])
	}
	if negative {
		dst = append(dst, '-')
	}
	digits := w.bigInt().Append(nil, 10)
	for len(digits) <= scale {
		digits = append([]byte{'0'}, digits...)
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[len(digits)-scale:]...)
	}
	return dst, nil
}

// appendJSONTemporal prints what is stored as one number of 64 bits: year*13+month,
// day, hour, minute and second in 17 (for a TIME 10 in all), 5, 5, 6 and 6 bits, and microseconds in 24.
func appendJSONTemporal(dst []byte, typ byte, v []byte) ([]byte, error) {
	if len(v) != 8 {
		return dst, badJSON("a date or time of %d bytes", len(v))
	}
	n, from := int64(littleEndian(v, 8)), len(dst)
	dst = append(dst, '"')
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	if n < 0 {
		return dst, badJSON("the time %x", v)
	}
	micros, clock, yearMonth := n&0xFFFFFF, n>>24, n>>46
	hours := clock >> 12 & 0x3FF
	if typ != cellTime {
		hours = clock >> 12 & 31
		year, month, day := yearMonth/13, yearMonth%13, clock>>17&31
		if len(dst) > from+1 || year > 9999 {
			return dst, badJSON("the date %x", v)
		}
		dst = append(appendTwo(appendTwo(dst, year/100), year%100), '-')
		dst = appendTwo(append(appendTwo(dst, month), '-'), day)
		if typ == cellDate || typ == cellNewDate {
			return append(dst, '"'), nil
		}
		dst = append(dst, ' ')
	}
	minutes, seconds := clock>>6&63, clock&63
	if hours > 838 || minutes > 59 || seconds > 59 || micros >= microsPerSecond {
		return dst, badJSON("the time %x", v)
	}
	dst = appendTime(dst, ((hours*60+minutes)*60+seconds)*microsPerSecond+micros, 6)
	return append(dst, '"'), nil
}
