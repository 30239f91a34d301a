package postgres

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// parseText appends one value of a type and prints what the builder holds.
func parseText(t testing.TB, typ schema.Type, source, text string, o textOptions) (string, error) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	b := array.NewBuilder(mem, typ.Arrow())
	defer b.Release()
	if err := appender(typ, source, b, o)([]byte(text)); err != nil {
		return "", err
	}
	a := b.NewArray()
	defer a.Release()
	if a.Len() != 1 {
		t.Fatalf("%q as %s: %d values", text, typ, a.Len())
	}
	switch a := a.(type) {
	case *array.Date32:
		return fmt.Sprint(int32(a.Value(0))), nil
	case *array.Timestamp:
		return fmt.Sprint(int64(a.Value(0))), nil
	case *array.Time64:
		return fmt.Sprint(int64(a.Value(0))), nil
	case *array.FixedSizeBinary:
		return fmt.Sprintf("%x", a.Value(0)), nil
	case *array.Binary:
		return fmt.Sprintf("%x", a.Value(0)), nil
	}
	return a.ValueStr(0), nil
}

func TestText(t *testing.T) {
	ints := schema.Array(schema.Int())
	texts := schema.Array(schema.String())
	for _, c := range []struct {
		typ          schema.Type
		source       string
		text, expect string // expect "!" is an error
	}{
		{schema.Boolean(), "bool", "t", "true"}, {schema.Boolean(), "bit", "0", "false"}, {schema.Boolean(), "bool", "yes", "!"},
		{schema.SmallInt(), "int2", "-32768", "-32768"}, {schema.SmallInt(), "int2", "32768", "!"},
		{schema.Int(), "int4", "-2147483648", "-2147483648"}, {schema.Int(), "int4", "2147483648", "!"}, {schema.Int(), "int4", "", "!"}, {schema.Int(), "int4", "-", "!"},
		{schema.BigInt(), "int8", "-9223372036854775808", "-9223372036854775808"}, {schema.BigInt(), "int8", "9223372036854775808", "!"},
		{schema.BigInt(), "oid", "4294967295", "4294967295"}, {schema.BigInt(), "xid8", "18446744073709551615", "!"},
		{schema.Float(), "float4", "NaN", "NaN"}, {schema.Float(), "float4", "1.1754944e-38", "1.1754944e-38"}, {schema.Float(), "float4", "1e39", "!"},
		{schema.Double(), "float8", "-Infinity", "-Inf"}, {schema.Double(), "float8", "5e-324", "5e-324"}, {schema.Double(), "float8", "0x", "!"},
		{schema.Decimal(12, 2), "numeric", "1234567890.12", "1234567890.12"}, {schema.Decimal(12, 2), "numeric", "-0.05", "-0.05"},
		{schema.Decimal(12, 2), "numeric", "5", "5"}, {schema.Decimal(4, 2), "numeric", "123.45", "!"}, {schema.Decimal(12, 2), "numeric", "1.234", "!"},
		{schema.Decimal(12, 2), "numeric", ".", "!"}, {schema.Decimal(12, 2), "numeric", "NaN", "!"}, {schema.Decimal(12, 2), "numeric", "1e5", "!"},
		{schema.Decimal(38, 0), "numeric", "-" + strings.Repeat("9", 38), "-" + strings.Repeat("9", 38)}, {schema.Decimal(38, 0), "numeric", "1" + strings.Repeat("0", 38), "!"},
		{schema.Decimal(38, 38), "numeric", "0." + strings.Repeat("9", 38), "0." + strings.Repeat("9", 38)},
		{schema.Decimal(38, 0), "numeric", "9" + strings.Repeat("9", 60), "!"},
		{schema.Decimal(76, 2), "numeric", strings.Repeat("9", 74) + ".01", strings.Repeat("9", 74) + ".01"}, {schema.Decimal(40, 0), "numeric", strings.Repeat("9", 41), "!"},
		{schema.Decimal(19, 2), "money", "-$92,233,720,368,547,758.08", "-92233720368547758.08"}, {schema.Decimal(19, 2), "money", "$1.05", "1.05"},
		{schema.Numeric(), "numeric", "NaN", "NaN"}, {schema.Numeric(), "numeric", "1.500", "1.500"},
		{schema.Bytes(), "bytea", `\x00ff`, "00ff"}, {schema.Bytes(), "bytea", `\x`, ""}, {schema.Bytes(), "bytea", `\xf`, "!"}, {schema.Bytes(), "bytea", `abc`, "!"},
		{schema.Date(), "date", "1970-01-01", "0"}, {schema.Date(), "date", "2000-02-29", "11016"}, {schema.Date(), "date", "4714-11-24 BC", "-2440588"},
		{schema.Date(), "date", "0001-12-31 BC", "-719163"}, {schema.Date(), "date", "5874897-12-31", "2145042905"},
		{schema.Date(), "date", "infinity", "2147483647"}, {schema.Date(), "date", "-infinity", "-2147483648"}, {schema.Date(), "date", "2000-13-01", "!"},
		{schema.Time(6), "time", "24:00:00", "86400000000"}, {schema.Time(6), "time", "00:00:00.000001", "1"}, {schema.Time(6), "time", "24:00:01", "!"}, {schema.Time(6), "time", "12:00:00.", "!"},
		{schema.Timestamp(6), "timestamp", "1969-12-31 23:59:59.5", "-500000"}, {schema.Timestamp(6), "timestamp", "0044-03-15 12:00:00 BC", "-63517780800000000"},
		{schema.Timestamp(6), "timestamp", "infinity", fmt.Sprint(int64(math.MaxInt64))}, {schema.Timestamp(6), "timestamp", "294276-12-31 23:59:59.999999", "!"},
		{schema.Timestamp(6), "timestamp", "1970-01-01 00:00:00+00", "!"},
		{schema.TimestampLTZ(6), "timestamptz", "1970-01-01 00:00:00+00", "0"}, {schema.TimestampLTZ(6), "timestamptz", "1970-01-01 01:30:00+01:30", "0"},
		{schema.TimestampLTZ(6), "timestamptz", "1970-01-01 00:00:00-00:00:01", "1000000"}, {schema.TimestampLTZ(6), "timestamptz", "1970-01-01 00:00:00", "!"},
		{schema.UUID(), "uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"}, {schema.UUID(), "uuid", "a0eebc999c0b4ef8bb6d6bb9bd380a11", "!"},
		{ints, "_int4", "{}", "[]"}, {ints, "_int4", "{1,NULL,-3}", "[1,null,-3]"}, {ints, "_int4", "[0:1]={1,2}", "[1,2]"}, {ints, "_int4", "{{1},{2}}", "!"},
		{ints, "_int4", "{1", "!"}, {ints, "_int4", "{1}}", "!"}, {ints, "_int4", "{1,}", "!"}, {ints, "_int4", "", "!"}, {ints, "_int4", "{a}", "!"},
		{schema.Array(ints), "_int4", "{{1,2},{3,NULL}}", "[[1,2],[3,null]]"}, {schema.Array(ints), "_int4", "{1}", "!"}, {schema.Array(ints), "_int4", "{}", "[]"},
		{schema.Array(ints), "_int4", "[1:1][-2:-1]={{1,2}}", "[[1,2]]"}, {schema.Array(ints), "_x", `{"{1,2}",NULL}`, "[[1,2],null]"},
		{texts, "_text", `{"a\"b\\",NULL,"NULL",null,x y,"",","}`, `["a\"b\\",null,"NULL",null,"x y","",","]`}, {texts, "_box", `{(1,1),(0,0);(2,2),(0,0)}`, `["(1,1),(0,0)","(2,2),(0,0)"]`},
		{schema.Array(schema.Decimal(19, 2)), "_money", `{"$1,000.50"}`, `["1000.5"]`}, {schema.Array(schema.Boolean()), "_bit", "{1,0}", "[true,false]"},
		{schema.Map(schema.String(), schema.String()), "hstore", "", "[]"}, {schema.Map(schema.String(), schema.String()), "hstore", `"a"=>"1", "b\"\\"=>NULL, ""=>"NULL"`, `[{"key":"a","value":"1"},{"key":"b\"\\","value":null},{"key":"","value":"NULL"}]`},
		{schema.Map(schema.String(), schema.String()), "hstore", `"a"=>1`, "!"}, {schema.Map(schema.String(), schema.String()), "hstore", `"a"=>"1",`, "!"},
	} {
		got, err := parseText(t, c.typ, c.source, c.text, textOptions{})
		if c.expect == "!" {
			if err == nil {
				t.Errorf("%q as %s: got %s, want an error", c.text, c.typ, got)
			}
			continue
		}
		if err != nil || got != c.expect {
			t.Errorf("%q as %s: got %s %v, want %s", c.text, c.typ, got, err, c.expect)
		}
	}
	if got, err := parseText(t, schema.Decimal(4, 2), "numeric", "NaN", textOptions{SpecialNull: true}); err != nil || got != "(null)" {
		t.Errorf("NaN as NULL: %s, %v", got, err)
	}
	if _, err := parseText(t, schema.Decimal(4, 2), "numeric", "NaN", textOptions{}); !errors.Is(err, errSpecialDecimal) {
		t.Errorf("NaN: %v", err)
	}
}

// TestTextDecimal compares with big integers.
func TestTextDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		precision := rapid.IntRange(1, 76).Draw(t, "precision")
		scale := rapid.IntRange(0, precision).Draw(t, "scale")
		digits := rapid.StringMatching(fmt.Sprintf(`[0-9]{1,%d}`, precision)).Draw(t, "digits")
		n, _ := new(big.Int).SetString(digits, 10)
		padded := strings.Repeat("0", max(0, scale+1-len(digits))) + digits
		text := padded[:len(padded)-scale]
		text = strings.TrimLeft(text[:len(text)-1], "0") + text[len(text)-1:]
		if scale > 0 {
			text += "." + padded[len(padded)-scale:]
		}
		if rapid.Bool().Draw(t, "negative") && n.Sign() > 0 {
			n.Neg(n)
			text = "-" + text
		}
		typ := schema.Decimal(precision, scale)
		b := array.NewBuilder(memory.DefaultAllocator, typ.Arrow())
		if err := appender(typ, "numeric", b, textOptions{})([]byte(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got *big.Int
		switch a := b.NewArray().(type) {
		case *array.Decimal128:
			got = a.Value(0).BigInt()
		case *array.Decimal256:
			got = a.Value(0).BigInt()
		}
		if got.Cmp(n) != 0 {
			t.Fatalf("%s: got %s, want %s", text, got, n)
		}
	})
}

// TestTextDates compares with the printed form, over all years.
func TestTextDates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := arrow.Date32(rapid.Int32Range(-2440588, 2145042905).Draw(t, "day"))
		b := array.NewDate32Builder(memory.DefaultAllocator)
		b.Append(day)
		text, err := printTemporal(b.NewArray(), schema.Column{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseDate([]byte(text)); err != nil || got != day {
			t.Fatalf("%s: got %d, want %d: %v", text, got, day, err)
		}
	})
}

// fuzzText feeds a parser anything: it must return, and leave exactly one value behind if it is content.
func fuzzText(f *testing.F, typ schema.Type, source string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, v []byte) { _, _ = parseText(t, typ, source, string(v), textOptions{}) })
}

func FuzzTextNumeric(f *testing.F) {
	fuzzText(f, schema.Decimal(38, 10), "numeric", "0", "-1.5", "NaN", "99999999999999999999999999999.0000000001", "$1")
}
func FuzzTextNumericLarge(f *testing.F) {
	fuzzText(f, schema.Decimal(76, 20), "numeric", "0", "-1.5", strings.Repeat("9", 56)+".1")
}
func FuzzTextInt(f *testing.F) {
	fuzzText(f, schema.BigInt(), "int8", "0", "-9223372036854775808", "9223372036854775807")
}
func FuzzTextDate(f *testing.F) {
	fuzzText(f, schema.Date(), "date", "2024-02-29", "0044-03-15 BC", "infinity", "5874897-12-31")
}
func FuzzTextTimestamp(f *testing.F) {
	fuzzText(f, schema.TimestampLTZ(6), "timestamptz", "2024-02-29 12:00:00.123456+00", "0044-03-15 12:00:00-05:30:01 BC", "-infinity")
}
func FuzzTextTime(f *testing.F) { fuzzText(f, schema.Time(6), "time", "24:00:00", "12:34:56.789") }
func FuzzTextArray(f *testing.F) {
	fuzzText(f, schema.Array(schema.Array(schema.String())), "_text", `{{a,"b\"",NULL},{c,d,e}}`, `[0:1][2:3]={{1,2},{3,4}}`, `{"{1}",NULL}`, "{}")
}
func FuzzTextHstore(f *testing.F) {
	fuzzText(f, schema.Map(schema.String(), schema.String()), "hstore", `"a"=>"1", "b"=>NULL`, `""=>""`)
}
func FuzzTextBytea(f *testing.F) { fuzzText(f, schema.Bytes(), "bytea", `\x00ff`, `\x`) }
func FuzzTextUUID(f *testing.F) {
	fuzzText(f, schema.UUID(), "uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
}
