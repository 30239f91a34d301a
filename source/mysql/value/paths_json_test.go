package value

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// deep is JSON nested n deep.
func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// wide is an object with n members, whose values are long.
func wideObject(n, length int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `, "k%05d": "%s"`, i, strings.Repeat("v", length))
	}
	return "{" + b.String()[2:] + "}"
}

var jsonCases = []typeCase{
	{typ: "JSON", on: "mysql", kind: "JSON", values: values(`'{"b": 1, "a": [1, 2, {"c": null}], "bb": true, "": false}'`, `'[]'`, `'{}'`, `'null'`, `'"x"'`, `'1'`, "NULL"),
		want: values(`{"": false, "a": [1, 2, {"c": null}], "b": 1, "bb": true}`, "[]", "{}", "null", `"x"`, "1", "NULL")},
	{typ: "JSON", on: "mysql", o: Options{LegacyJSON: true}, values: values(`'{"b": 1, "a": [1, 2, {"c": null}], "x y": "a, b: c \\" d, e"}'`), want: values(`{"a":[1,2,{"c":null}],"b":1,"x y":"a, b: c \" d, e"}`)},
	{typ: "JSON", on: "mysql", values: values(`'[0, 1, -1, 32767, -32768, 32768, 65535, 65536, 2147483647, -2147483648, 2147483648, 4294967295, 4294967296, 9223372036854775807, -9223372036854775808, 18446744073709551615]'`),
		want: values(`[0, 1, -1, 32767, -32768, 32768, 65535, 65536, 2147483647, -2147483648, 2147483648, 4294967295, 4294967296, 9223372036854775807, -9223372036854775808, 18446744073709551615]`)},
	{typ: "JSON", on: "mysql", values: values(`'[1.0, -0.0, 1e100, -2.2250738585072014e-308, 1e15, 1e16, 123456.789, 0.00001, 1e-15, 1e-16, 18446744073709551616, 1234567890123456.7]'`),
		want: values(`[1.0, -0.0, 1e100, -2.2250738585072014e-308, 1e15, 1e16, 123456.789, 0.00001, 0.000000000000001, 1e-16, 1.8446744073709552e19, 1234567890123456.8]`)},
	{typ: "JSON", on: "mysql", values: randomNumbers(20)},
	{typ: "JSON", on: "mysql", values: values(`JSON_ARRAY(CAST(99999999999999999999999999.000001 AS DECIMAL(65,6)), 1.10, -0.5, CAST('-0.000000000000000000000000000001' AS DECIMAL(65,30)), 0.00, CAST(12345678901234567890123456789012345678901234567890123456789012345 AS DECIMAL(65,0)))`),
		want: values(`[99999999999999999999999999.000001, 1.10, -0.5, -0.000000000000000000000000000001, 0.00, 12345678901234567890123456789012345678901234567890123456789012345]`)},
	{typ: "JSON", on: "mysql", values: values(`JSON_ARRAY(DATE'2024-02-29', TIMESTAMP'2024-02-29 01:02:03.4', CAST('10:11:12.5' AS TIME(6)), CAST('-10:11:12' AS TIME), CAST('0000-00-00' AS DATE), CAST('9999-12-31 23:59:59.999999' AS DATETIME(6)))`),
		want: values(`["2024-02-29", "2024-02-29 01:02:03.400000", "10:11:12.500000", "-10:11:12.000000", "0000-00-00", "9999-12-31 23:59:59.999999"]`)},
	{typ: "JSON", on: "MySQL97", values: values(`JSON_ARRAY(CAST('838:59:59' AS TIME), CAST('-838:59:58.5' AS TIME(1)), CAST('32:00:00' AS TIME))`), want: values(`["838:59:59.000000", "-838:59:58.500000", "32:00:00.000000"]`)},
	{typ: "JSON", on: "mysql", values: values(`JSON_ARRAY(x'00ff', REPEAT(x'01', 57), REPEAT(x'01', 58), REPEAT(x'02', 200), b'101', x'')`, `JSON_ARRAY(YEAR('2024-01-01'), ST_GeomFromText('POINT(1 2)'))`)},
	{typ: "JSON", on: "mysql", values: values(`JSON_ARRAY('a"\\\n\t\b\r\0\Z/ é😀', CHAR(12), CHAR(127 USING utf8mb4), CHAR(1 USING utf8mb4))`, `JSON_OBJECT('k"\n', 'v')`),
		want: values(`["a\"\\\n\t\b\r\u0000\u001a/ é😀", "base64:type15:DA==", "`+"\x7f"+`", "\u0001"]`, `{"k\"\n": "v"}`)},
	{typ: "JSON", on: "mysql", values: values("'" + deep(100) + "'"), want: values(deep(100))},
	{typ: "JSON", on: "mysql", values: values("'"+wideObject(10, 127)+"'", "'"+wideObject(10, 128)+"'", "'"+wideObject(3, 20000)+"'", "'"+wideObject(4, 30000)+"'", "'"+wideObject(5000, 30)+"'"),
		want: values(wideObject(10, 127), wideObject(10, 128), wideObject(3, 20000), wideObject(4, 30000), wideObject(5000, 30))},
	{typ: "JSON", on: "mysql", values: values(`CONCAT('[', REPEAT('1, 70000, 5000000000, true, null, "s", 1.5, ', 3000), '[]]')`, `CONCAT('{"a": [', REPEAT('-2147483648, 4294967295, ', 9000), '1]}')`)},
	{typ: "JSON NOT NULL", on: "mysql", values: values(`'[1]'`), want: values("[1]")},
}

func randomNumbers(n int) (list []string) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range n {
		var parts []string
		for range 100 {
			parts = append(parts, doubles(rng.IntN(200) + 1)[0], fmt.Sprint(rng.Int64()), fmt.Sprint(rng.Uint64()))
		}
		parts = append(parts, doubles(100)...)
		list = append(list, "'["+strings.Join(parts, ",")+"]'")
	}
	return list
}
