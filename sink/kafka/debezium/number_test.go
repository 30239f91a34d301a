package debezium

import (
	"encoding/base64"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// decimalText draws a decimal number as PostgreSQL prints one.
func decimalText(t *rapid.T) string {
	whole := rapid.StringMatching(`0|[1-9][0-9]{0,80}`).Draw(t, "whole")
	fraction := rapid.StringMatching(`[0-9]{0,40}`).Draw(t, "fraction")
	sign := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// twos returns the fewest bytes of two's complement, by the definition: the smallest n
// with -2^(8n-1) <= v < 2^(8n-1).
func twos(v *big.Int) []byte {
	for n := 1; ; n++ {
		limit := new(big.Int).Lsh(big.NewInt(1), uint(8*n-1))
		if v.Cmp(limit) < 0 && v.Cmp(new(big.Int).Neg(limit)) >= 0 {
			u := new(big.Int).Add(v, new(big.Int).Lsh(limit, 1))
			return new(big.Int).And(u, new(big.Int).Sub(new(big.Int).Lsh(limit, 1), big.NewInt(1))).FillBytes(make([]byte, n))
		}
	}
}

func TestNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := decimalText(t)
		_, fraction, _ := strings.Cut(text, ".")
		unscaled, ok := new(big.Int).SetString(strings.ReplaceAll(text, ".", ""), 10)
		if !ok {
			t.Fatal(text)
		}
		var n number
		if err := n.setText(text, 0, false); err != nil || n.scale != len(fraction) {
			t.Fatalf("%s: scale %d, %v", text, n.scale, err)
		}
		want := `"` + base64.StdEncoding.EncodeToString(twos(unscaled)) + `"`
		if got := string(n.appendUnscaled(nil)); got != want {
			t.Fatalf("%s: %s, want %s", text, got, want)
		}
		plain := text
		if unscaled.Sign() == 0 {
			plain = strings.TrimPrefix(text, "-")
		}
		if got := string(n.appendPlain(nil)); got != plain {
			t.Fatalf("%s printed as %s", text, got)
		}
		// With more digits behind the point it is the same number.
		more := len(fraction) + rapid.IntRange(0, 30).Draw(t, "more")
		if err := n.setText(text, more, true); err != nil {
			t.Fatal(err)
		}
		if got, _ := n.appendAs(nil, DecimalPrecise, FormatBase64); string(got) != `"`+base64.StdEncoding.EncodeToString(twos(unscaled.Mul(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(more-len(fraction))), nil))))+`"` {
			t.Fatalf("%s with %d digits: %s", text, more, got)
		}
	})
}

// TestNumberWords takes numbers as Arrow's decimals have them.
func TestNumberWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 63, 1<<64 - 1})), 2, 2).Draw(t, "words")
		if rapid.Bool().Draw(t, "large") {
			words = append(words, rapid.Uint64().Draw(t, "third"), rapid.Uint64().Draw(t, "fourth"))
		}
		v := new(big.Int)
		for i := len(words) - 1; i >= 0; i-- {
			v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(words[i]))
		}
		if words[len(words)-1]>>63 == 1 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(64*len(words))))
		}
		var n number
		n.setTwos(words...)
		if got, want := string(n.appendUnscaled(nil)), `"`+base64.StdEncoding.EncodeToString(twos(v))+`"`; got != want {
			t.Fatalf("%s: %s, want %s", v, got, want)
		}
		n.setTwos(words...)
		if got := string(n.appendPlain(nil)); got != v.String() {
			t.Fatalf("%s, want %s", got, v)
		}
	})
}

func TestNumberMalformed(t *testing.T) {
	for _, s := range []string{"", "-", ".", "1.2.3", "1e5", "x", " 1", "--1"} {
		var n number
		if err := n.setText(s, 0, false); err == nil {
			t.Errorf("%q was taken for %s", s, n.appendPlain(nil))
		}
	}
}
