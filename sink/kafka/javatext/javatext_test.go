package javatext

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestFloat holds what Java prints.
func TestFloat(t *testing.T) {
	for _, c := range []struct {
		v    float64
		bits int
		want string
	}{
		{0, 64, "0.0"}, {math.Copysign(0, -1), 64, "-0.0"}, {-1.25e300, 64, "-1.25E300"}, {math.NaN(), 64, "NaN"}, {math.Inf(1), 32, "Infinity"}, {math.Inf(-1), 64, "-Infinity"}, {1, 64, "1.0"}, {-1.5, 64, "-1.5"}, {0.001, 64, "0.001"}, {0.0009, 64, "9.0E-4"}, {9999999, 64, "9999999.0"},
		{1e7, 64, "1.0E7"}, {12345678.9, 64, "1.23456789E7"}, {1e21, 64, "1.0E21"}, {1e100, 64, "1.0E100"}, {5e-324, 64, "4.9E-324"},
		{1.7976931348623157e308, 64, "1.7976931348623157E308"}, {float64(float32(3.4028235e38)), 32, "3.4028235E38"},
		{float64(float32(1.4e-45)), 32, "1.4E-45"}, {float64(float32(0.1)), 32, "0.1"}, {float64(float32(0.1)), 64, "0.10000000149011612"},
	} {
		if got := string(AppendFloat(nil, c.v, c.bits)); got != c.want {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		back, err := strconv.ParseFloat(string(AppendFloat(nil, v, 64)), 64)
		if err != nil || back != v {
			t.Fatalf("%v came back as %v, %v", v, back, err)
		}
		f := rapid.Float32().Draw(t, "f")
		if back, err = strconv.ParseFloat(string(AppendFloat(nil, float64(f), 32)), 32); err != nil || float32(back) != f {
			t.Fatalf("%v came back as %v, %v", f, back, err)
		}
	})
}

// TestCivil compares the calendar with its inverse, day by day where leap years are.
func TestCivil(t *testing.T) {
	last := DaysOf(-401, 2, 28)
	for day := last; day < DaysOf(2401, 3, 2); day++ {
		y, m, d := Civil(day)
		if DaysOf(y, m, d) != day || m < 1 || m > 12 || d < 1 || d > 31 {
			t.Fatalf("day %d is %d-%d-%d, which is day %d", day, y, m, d, DaysOf(y, m, d))
		}
	}
	if got := string(AppendDate(nil, -719528)); got != "0000-01-01" {
		t.Error(got)
	}
}

// TestEscapes holds what the libraries print, and that both ways to escape are one; what is
// no UTF-8 does not end a text.
func TestEscapes(t *testing.T) {
	const text = "a\"b\\c\b\t\n\f\r\x01\x1fä\u2028😀"
	for _, c := range []struct {
		e    Escapes
		want string
	}{
		{Jackson, `"a\"b\\c\b\t\n\f\r\u0001\u001Fä` + "\u2028" + `\uD83D\uDE00"`},
		{Fastjson, `"a\"b\\c\b\t\n\f\r\u0001\u001fä` + "\u2028" + `😀"`},
	} {
		if got := string(c.e.Append(nil, text)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		rapid.Check(t, func(t *rapid.T) {
			s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
			out := c.e.Append([]byte("x"), s)[1:]
			behind, _ := c.e.Behind([]byte(`"`+s), 1, nil)
			if string(out) != string(behind)+`"` {
				t.Fatalf("%q is %s and %s", s, out, behind)
			}
			var got string
			if err := json.Unmarshal(out, &got); err != nil || utf8.ValidString(s) && got != s {
				t.Fatalf("%q became %q, %v", s, out, err)
			}
		})
	}
}
