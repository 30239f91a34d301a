package cell

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// one prints the only value of a column that fill has filled.
func one(t rapid.TB, typ schema.Type, o Options, fill func(array.Builder)) string {
	b := array.NewBuilder(memory.DefaultAllocator, typ.Arrow())
	defer b.Release()
	fill(b)
	c, _, err := New(typ, o)
	if err != nil {
		t.Fatal(err)
	}
	c.Bind(b.NewArray())
	out, err := c.Append([]byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(out), "x")
}

// TestDecimal: the text of a number, in either notation, is that number, and the plain
// one has as many digits behind the point as the scale says.
func TestDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[1-9][0-9]{0,30}0{0,8}|0`).Draw(t, "digits")
		unscaled, _ := new(big.Int).SetString(digits, 10)
		if rapid.Bool().Draw(t, "negative") {
			unscaled.Neg(unscaled)
		}
		scale := rapid.IntRange(0, 39).Draw(t, "scale")
		want := new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
		for _, scientific := range []bool{false, true} {
			o := Options{Scientific: scientific}
			text := one(t, schema.Decimal(76, scale), o, func(b array.Builder) { b.(*array.Decimal256Builder).Append(decimal256.FromBigInt(unscaled)) })
			got, ok := new(big.Rat).SetString(text)
			if !ok || got.Cmp(want) != 0 {
				t.Fatalf("%s scale %d became %s", unscaled, scale, text)
			}
			_, fraction, _ := strings.Cut(text, ".")
			if !scientific && len(fraction) != scale {
				t.Fatalf("%s scale %d became %s", unscaled, scale, text)
			}
			plain := want.FloatString(scale)
			again := one(t, schema.Numeric(), o, func(b array.Builder) { b.(*array.StringBuilder).Append(plain) })
			if again != text {
				t.Fatalf("%s is %s as a DECIMAL and %s as a number of any size", plain, text, again)
			}
		}
	})
}

// TestNumericText: what is no number is an error.
func TestNumericText(t *testing.T) {
	for _, s := range []string{"", "-", ".", "1.", ".5", "1e5", "0x1", "1.2.3", "+1", "--1", "01", " 1"} {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(s)
		c, _, _ := New(schema.Numeric(), Options{})
		c.Bind(b.NewArray())
		if out, err := c.Append(nil, 0); err == nil {
			t.Errorf("%q was taken, as %s", s, out)
		}
	}
}

// TestTimestamp: a time is printed as the package time prints it, before 1970 as well,
// in any zone, with all digits or those that are needed.
func TestTimestamp(t *testing.T) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, loc)
	}
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(-62_135_500_000_000_000, 253_402_200_000_000_000).Draw(t, "micros")
		micros -= micros % rapid.SampledFrom([]int64{1, 10, 1000, 1_000_000}).Draw(t, "round")
		at := time.UnixMicro(micros).UTC()
		fill := func(b array.Builder) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(micros)) }
		if got, want := one(t, schema.Timestamp(6), Options{}, fill), at.Format("2006-01-02 15:04:05.999999"); got != want {
			t.Fatalf("%d: %s, want %s", micros, got, want)
		}
		if got, want := one(t, schema.TimestampLTZ(6), Options{ISO: true}, fill), at.Format("2006-01-02T15:04:05.999999Z"); got != want {
			t.Fatalf("%d: %s, want %s", micros, got, want)
		}
		loc := rapid.SampledFrom(zones).Draw(t, "zone")
		if got, want := one(t, schema.TimestampLTZ(6), Options{AllDigits: true, Zone: In(loc)}, fill), at.In(loc).Format("2006-01-02 15:04:05.000000"); got != want {
			t.Fatalf("%d in %s: %s, want %s", micros, loc, got, want)
		}
	})
}

// TestEdges: the ends of what the types hold.
func TestEdges(t *testing.T) {
	stamp := func(v int64) func(array.Builder) {
		return func(b array.Builder) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(v)) }
	}
	clock := func(v int64) func(array.Builder) {
		return func(b array.Builder) { b.(*array.Time64Builder).Append(arrow.Time64(v)) }
	}
	day := func(v int32) func(array.Builder) {
		return func(b array.Builder) { b.(*array.Date32Builder).Append(arrow.Date32(v)) }
	}
	for _, c := range []struct {
		typ  schema.Type
		o    Options
		fill func(array.Builder)
		want string
	}{
		{schema.Timestamp(6), Options{}, stamp(math.MaxInt64), "infinity"},
		{schema.TimestampLTZ(6), Options{}, stamp(math.MinInt64), "-infinity"},
		{schema.Timestamp(6), Options{}, stamp(-62_135_596_800_000_001), "0000-12-31 23:59:59.999999"},
		{schema.TimestampLTZ(6), Options{}, stamp(253_402_300_800_000_000), "+10000-01-01 00:00:00Z"},
		{schema.Timestamp(9), Options{}, stamp(-1), "1969-12-31 23:59:59.999999999"},
		{schema.Timestamp(3), Options{AllDigits: true}, stamp(120_000), "1970-01-01 00:00:00.120"},
		{schema.Timestamp(0), Options{AllDigits: true}, stamp(0), "1970-01-01 00:00:00"},
		{schema.Time(6), Options{}, clock(86_400_000_000), "24:00:00"},
		{schema.Time(2), Options{AllDigits: true}, clock(10_000), "00:00:00.01"},
		{schema.Date(), Options{}, day(math.MaxInt32), "infinity"},
		{schema.Date(), Options{}, day(math.MinInt32), "-infinity"},
		{schema.Date(), Options{}, day(-719_529), "-0001-12-31"},
		{schema.Bytes(), Options{Latin1: true}, func(b array.Builder) { b.(*array.BinaryBuilder).Append([]byte{0, 'a', 0xff}) }, "\x00aÿ"},
		{schema.Bytes(), Options{}, func(b array.Builder) { b.(*array.BinaryBuilder).Append([]byte{0, 255, 62}) }, "AP8+"},
		{schema.UBigInt(), Options{}, func(b array.Builder) { b.(*array.Uint64Builder).Append(math.MaxUint64) }, "18446744073709551615"},
	} {
		if got := one(t, c.typ, c.o, c.fill); got != c.want {
			t.Errorf("%s: %q, want %q", c.typ, got, c.want)
		}
	}
	for _, v := range []int64{-1, 86_400_000_001} {
		b := array.NewTime64Builder(memory.DefaultAllocator, &arrow.Time64Type{Unit: arrow.Microsecond})
		b.Append(arrow.Time64(v))
		c, _, _ := New(schema.Time(6), Options{})
		c.Bind(b.NewArray())
		if out, err := c.Append(nil, 0); err == nil {
			t.Errorf("the time %d was taken, as %s", v, out)
		}
	}
	for _, typ := range []schema.Type{schema.Array(schema.Int()), schema.Map(schema.String(), schema.Int()), schema.Row()} {
		if _, _, err := New(typ, Options{}); err == nil {
			t.Errorf("%s was taken", typ)
		}
	}
}
