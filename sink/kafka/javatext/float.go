package javatext

import (
	"math"
	"strconv"
)

// AppendFloat appends a float of 32 or 64 bits as Double.toString and Float.toString
// print it: the fewest digits, one of them behind the point, with an exponent from 10^7 on
// and below 10^-3; NaN, Infinity and -Infinity.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	start := len(dst)
	if abs := math.Abs(v); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
		for _, c := range dst[start:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, '.', '0')
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	first := start
	if v < 0 {
		first++
	}
	if dst[first+1] != '.' { // Java prints two digits at least, the nearest ones
		dst = strconv.AppendFloat(dst[:start], v, 'e', 1, bits)
	}
	// What is left to do is to turn e+07 into E7 and e-05 into E-5.
	e := first
	for dst[e] != 'e' {
		e++
	}
	exponent, _ := strconv.Atoi(string(dst[e+1:])) // at most five characters: no allocation
	return strconv.AppendInt(append(dst[:e], 'E'), int64(exponent), 10)
}
