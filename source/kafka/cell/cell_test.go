package cell

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// column returns a column and a function that gives the text of its last value.
func column(t testing.TB, typ schema.Type) (*Column, func() string) {
	b := array.NewBuilder(memory.DefaultAllocator, typ.Arrow())
	t.Cleanup(b.Release)
	return New(typ, b), func() string {
		a := b.NewArray()
		defer a.Release()
		return a.ValueStr(a.Len() - 1)
	}
}

func TestValues(t *testing.T) {
	number := func(s string) func(*Column) error { return func(c *Column) error { return c.Number([]byte(s)) } }
	text := func(s string) func(*Column) error { return func(c *Column) error { return c.Text([]byte(s)) } }
	whole := func(v int64) func(*Column) error { return func(c *Column) error { return c.Int(v) } }
	unscaled := func(scale int, b ...byte) func(*Column) error {
		return func(c *Column) error { return c.Unscaled(b, scale) }
	}
	const refused = "refused"
	for _, c := range []struct {
		typ  schema.Type
		put  func(*Column) error
		want string
	}{
		{schema.TinyInt(), whole(-128), "-128"}, {schema.TinyInt(), whole(128), refused}, {schema.SmallInt(), whole(32768), refused}, {schema.Int(), whole(1 << 31), refused},
		{schema.BigInt(), number("9223372036854775807"), "9223372036854775807"}, {schema.BigInt(), number("9223372036854775808"), refused},
		{schema.BigInt(), number("1e3"), "1000"}, {schema.BigInt(), number("1.0"), "1"}, {schema.BigInt(), number("1.5"), refused}, {schema.BigInt(), number("1e999999999"), refused},
		{schema.UBigInt(), number("18446744073709551615"), "18446744073709551615"}, {schema.UBigInt(), whole(-1), refused},
		{schema.Double(), whole(1 << 53), "9.007199254740992e+15"}, {schema.Double(), whole(1<<53 + 1), refused}, {schema.Double(), whole(math.MaxInt64), refused},
		{schema.Float(), func(c *Column) error { return c.Float(1.5, 64) }, "1.5"}, {schema.Float(), func(c *Column) error { return c.Float(0.1, 64) }, refused},
		{schema.Decimal(5, 2), number("123.45"), "123.45"}, {schema.Decimal(5, 2), number("1234.5"), refused}, {schema.Decimal(5, 2), number("1.234"), refused}, {schema.Decimal(5, 2), number("1.230"), "1.23"},
		{schema.Decimal(5, 2), number("-1e-2"), "-0.01"}, {schema.Decimal(5, 2), text("NaN"), refused}, {schema.Decimal(5, 2), text(""), refused}, {schema.Decimal(5, 2), text("1_0"), refused},
		{schema.Decimal(5, 2), unscaled(2, 0xff), "-0.01"}, {schema.Decimal(5, 2), unscaled(1, 0x0f), "1.5"}, {schema.Decimal(5, 2), unscaled(2, 0x01, 0x86, 0xa0), refused}, {schema.Decimal(5, 2), unscaled(2), refused},
		{schema.Decimal(38, 0), number("99999999999999999999999999999999999999"), "99999999999999999999999999999999999999"}, {schema.Decimal(38, 0), number("100000000000000000000000000000000000000"), refused},
		{schema.Decimal(50, 1), number("1234567890123456789012345678901234567890.5"), "1234567890123456789012345678901234567890.5"}, {schema.Decimal(50, 1), unscaled(1, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "236118324143482260684.7"},
		{schema.Numeric(), number("-1.50e2"), "-150"}, {schema.Numeric(), number("15e-4"), "0.0015"}, {schema.Numeric(), text("NAN"), "NaN"}, {schema.Numeric(), text("NEGATIVE_INFINITY"), "-Infinity"}, {schema.Numeric(), unscaled(-2, 5), "500"}, {schema.Numeric(), text("x"), refused},
		{schema.String(), whole(5), "5"}, {schema.String(), text("é"), "é"}, {schema.String(), text("\xff"), refused}, {schema.String(), func(c *Column) error { return c.Bool(true) }, "true"},
		{schema.Boolean(), whole(1), "true"}, {schema.Boolean(), whole(2), refused}, {schema.Boolean(), text("false"), "false"}, {schema.Boolean(), text("no"), refused}, {schema.TinyInt(), func(c *Column) error { return c.Bool(true) }, "1"},
		{schema.UUID(), text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), "oO68mZwLTvi7bWu5vTgKEQ=="}, {schema.UUID(), text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1"), refused}, {schema.UUID(), text("g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), refused},
		{schema.Date(), text("2024-02-29"), "2024-02-29"}, {schema.Date(), text("2023-02-29"), refused}, {schema.Date(), text("2024-02-29Z"), "2024-02-29"}, {schema.Date(), text("2024-02-29 00:00:00"), "2024-02-29"}, {schema.Date(), text("2024-02-29 00:00:01"), refused},
		{schema.Date(), func(c *Column) error { return c.Date(math.MaxInt32) }, refused},
		{schema.Time(6), text("23:59:59.999999"), "23:59:59.999999"}, {schema.Time(6), text("10:00:60"), refused}, {schema.Time(3), func(c *Column) error { return c.Time(1, Millis) }, "00:00:00.001000"}, {schema.Time(6), func(c *Column) error { return c.Time(1001, Nanos) }, refused},
		{schema.Timestamp(3), func(c *Column) error { return c.Timestamp(-1, Millis) }, "1969-12-31T23:59:59.999"}, {schema.Timestamp(9), func(c *Column) error { return c.Timestamp(1, Nanos) }, "1970-01-01T00:00:00.000000001"},
		{schema.Timestamp(9), func(c *Column) error { return c.Timestamp(5, Micros) }, "1970-01-01T00:00:00.000005"}, {schema.Timestamp(6), func(c *Column) error { return c.Timestamp(1, Nanos) }, refused}, {schema.Timestamp(9), func(c *Column) error { return c.Timestamp(math.MaxInt64, Micros) }, refused},
		{schema.Timestamp(6), text("2024-02-29T10:00:00Z"), "2024-02-29T10:00:00"}, {schema.Timestamp(6), text("2024-02-29T10:00:00+01:00"), refused}, {schema.TimestampLTZ(6), text("2024-02-29T10:00:00.5+01:30"), "2024-02-29T08:30:00.5Z"},
		{schema.TimestampLTZ(6), text("0000-12-31T23:59:59.999999Z"), "0000-12-31T23:59:59.999999Z"}, {schema.TimestampLTZ(6), text("2024-02-29"), "2024-02-29T00:00:00Z"}, {schema.TimestampLTZ(6), text("2024-02-29T10"), refused},
		{schema.Interval(), func(c *Column) error { return c.Micros(-1500000) }, "PT-1.5S"}, {schema.Interval(), func(c *Column) error { return c.Micros(math.MinInt64) }, "PT-9223372036854.775808S"}, {schema.Interval(), func(c *Column) error { return c.Micros(86400e6) }, "PT86400S"},
		{schema.Bytes(), func(c *Column) error { return c.Bytes([]byte{1, 2}) }, "AQI="}, {schema.Int(), func(c *Column) error { return c.Bytes([]byte{1}) }, refused},
		{schema.Int(), text("5"), "5"}, {schema.Int(), text("5x"), refused}, {schema.Int(), func(c *Column) error { return c.Float(5, 64) }, "5"}, {schema.Array(schema.Int()), whole(5), refused},
	} {
		col, last := column(t, c.typ)
		col.Null() // an error leaves the builder as it is
		err := c.put(col)
		switch {
		case c.want == refused && !errors.Is(err, ErrValue):
			t.Errorf("%s takes it as %s, %v", c.typ, last(), err)
		case c.want != refused && err != nil:
			t.Errorf("%s, want %s: %v", c.typ, c.want, err)
		case c.want != refused:
			if got := last(); got != c.want {
				t.Errorf("%s: got %s, want %s", c.typ, got, c.want)
			}
		case col.Len() != 1:
			t.Errorf("%s: a refused value is there", c.typ)
		}
	}
}

// TestInfinity: what Debezium writes for infinite timestamps.
func TestInfinity(t *testing.T) {
	col, _ := column(t, schema.Timestamp(6))
	for _, c := range []struct {
		v    int64
		unit Unit
	}{{debeziumMax, Micros}, {debeziumMin, Micros}, {9223372036825200, Millis}, {-9223372036832400, Millis}} {
		if err := col.Timestamp(c.v, c.unit); err != nil {
			t.Errorf("%d: %v", c.v, err)
		}
	}
	if err := col.Text([]byte("-infinity")); err != nil {
		t.Error(err)
	}
	a := col.b.(*array.TimestampBuilder).NewTimestampArray()
	defer a.Release()
	for i, want := range []int64{math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64, math.MinInt64} {
		if got := int64(a.Value(i)); got != want {
			t.Errorf("value %d is %d", i, got)
		}
	}
}

func TestOmitted(t *testing.T) {
	col, _ := column(t, schema.String())
	col.Placeholder = []byte("gone")
	if err := col.Text([]byte("gone")); err != nil || !col.Omitted || !col.NullLast() {
		t.Errorf("%v, %t", err, col.Omitted)
	}
}

// TestEpochDays compares with the standard library.
func TestEpochDays(t *testing.T) {
	for day := int64(-800000); day < 800000; day += 37 {
		at := time.Unix(day*86400, 0).UTC()
		if got := epochDays(int64(at.Year()), int64(at.Month()), int64(at.Day())); got != day {
			t.Fatalf("%s: %d, want %d", at, got, day)
		}
	}
}

func TestMerge(t *testing.T) {
	types := []schema.Type{schema.Boolean(), schema.TinyInt(), schema.SmallInt(), schema.Int(), schema.BigInt(), schema.UBigInt(), schema.Float(), schema.Double(), schema.Decimal(5, 2), schema.Decimal(40, 20), schema.Numeric(),
		schema.Char(3), schema.Varchar(9), schema.String(), schema.Bytes(), schema.Date(), schema.Time(3), schema.Time(6), schema.Timestamp(3), schema.Timestamp(9), schema.TimestampLTZ(6), schema.JSON(), schema.Array(schema.Int()), schema.Array(schema.BigInt())}
	for _, a := range types {
		for _, b := range types {
			ab, ok1 := Merge(a, b)
			ba, ok2 := Merge(b, a)
			if ok1 != ok2 || ok1 && !ab.Equal(ba) {
				t.Errorf("%s and %s: %s %t, %s %t", a, b, ab, ok1, ba, ok2)
			}
			if again, ok := Merge(ab, b); ok1 && (!ok || !again.Equal(ab)) {
				t.Errorf("%s and %s make %s, which merged again is %s", a, b, ab, again)
			}
		}
	}
	for _, c := range []struct {
		a, b schema.Type
		want string
	}{
		{schema.Int(), schema.BigInt(), "BIGINT"}, {schema.BigInt(), schema.Decimal(5, 2), "DECIMAL(21, 2)"}, {schema.SmallInt(), schema.Float(), "FLOAT"}, {schema.Int(), schema.Float(), "DOUBLE"},
		{schema.BigInt(), schema.UBigInt(), "DECIMAL(20, 0)"}, {schema.Decimal(5, 2), schema.Decimal(6, 4), "DECIMAL(7, 4)"}, {schema.Decimal(76, 0), schema.Decimal(5, 5), "NUMERIC"}, {schema.Varchar(3), schema.Varchar(9), "VARCHAR(9)"},
		{schema.Varchar(3), schema.Char(9), "STRING"}, {schema.Date(), schema.Timestamp(3), "TIMESTAMP(3)"}, {schema.Row(schema.Column{Name: "a", Type: schema.Int()}), schema.Row(schema.Column{Name: "b", Type: schema.Int()}), "ROW<a INT, b INT>"},
		{schema.Int(), schema.String(), ""}, {schema.Boolean(), schema.Int(), ""}, {schema.Timestamp(3), schema.TimestampLTZ(3), ""}, {schema.Array(schema.Int()), schema.Array(schema.String()), ""},
	} {
		got, ok := Merge(c.a, c.b)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s and %s: %s, %t", c.a, c.b, got, ok)
		}
	}
}

// FuzzNumber: a decimal has the value of its text, or is refused.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-1.50", "1e5", "123456789012345678", "0.000000000000000001", "1e-30", "99999999999999999999999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, ok := new(big.Rat).SetString(s)
		if len(s) > 60 || !ok {
			return
		}
		for _, typ := range []schema.Type{schema.Decimal(38, 10), schema.Decimal(60, 20), schema.Numeric(), schema.BigInt()} {
			col, last := column(t, typ)
			if col.Number([]byte(s)) != nil {
				continue
			}
			if got, ok := new(big.Rat).SetString(last()); !ok || got.Cmp(want) != 0 {
				t.Fatalf("%s as %s is %s", s, typ, got)
			}
		}
	})
}
