package value

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

var numberCases = []typeCase{
	{typ: "TINYINT", kind: "TINYINT", values: values("-128", "127", "0", "NULL"), want: values("-128", "127", "0", "NULL")},
	{typ: "TINYINT UNSIGNED", kind: "SMALLINT", values: values("0", "255", "128"), want: values("0", "255", "128")},
	{typ: "TINYINT(1)", kind: "TINYINT", values: values("0", "1", "-5", "127"), want: values("0", "1", "-5", "127")},
	{typ: "BOOL", kind: "BOOLEAN", o: Options{TinyInt1IsBool: true}, values: values("FALSE", "TRUE", "-5", "127", "NULL"), want: values("false", "true", "true", "true", "NULL")},
	{typ: "TINYINT(1) UNSIGNED", kind: "SMALLINT", o: Options{TinyInt1IsBool: true}, values: values("0", "255"), want: values("0", "255")},
	{typ: "SMALLINT", kind: "SMALLINT", values: values("-32768", "32767"), want: values("-32768", "32767")},
	{typ: "SMALLINT UNSIGNED", kind: "INT", values: values("0", "65535", "32768"), want: values("0", "65535", "32768")},
	{typ: "MEDIUMINT", kind: "INT", values: values("-8388608", "8388607", "-1"), want: values("-8388608", "8388607", "-1")},
	{typ: "MEDIUMINT UNSIGNED", kind: "INT", values: values("0", "16777215"), want: values("0", "16777215")},
	{typ: "INT", kind: "INT", values: values("-2147483648", "2147483647"), want: values("-2147483648", "2147483647")},
	{typ: "INT UNSIGNED", kind: "BIGINT", values: values("0", "4294967295"), want: values("0", "4294967295")},
	{typ: "INT(6) ZEROFILL", kind: "BIGINT", values: values("0", "42", "4294967295"), want: values("0", "42", "4294967295")},
	{typ: "BIGINT", kind: "BIGINT", values: values("-9223372036854775808", "9223372036854775807"), want: values("-9223372036854775808", "9223372036854775807")},
	{typ: "BIGINT UNSIGNED", kind: "BIGINT UNSIGNED", values: values("0", "18446744073709551615"), want: values("0", "18446744073709551615")},
	{typ: "BIGINT(30) ZEROFILL", kind: "BIGINT UNSIGNED", values: values("7", "18446744073709551615"), want: values("7", "18446744073709551615")},
	{typ: "FLOAT", kind: "FLOAT", values: values("0.1", "-3.4028235e38", "1.17549435e-38", "1e-45", "16777217", "123456.789", "0"),
		want: values("0.1", "-3.4028235e+38", "1.1754944e-38", "1e-45", "1.6777216e+07", "123456.79", "0")},
	{typ: "FLOAT", on: "mysql", values: values("-0.0e0"), want: values("-0")},
	{typ: "FLOAT(7,3)", kind: "DOUBLE", values: values("2.125", "-9999.999", "0.001"), want: values("2.125", "-9999.9990234375", "0.0010000000474974513")},
	{typ: "FLOAT UNSIGNED", kind: "FLOAT", values: values("0.1"), want: values("0.1")},
	{typ: "FLOAT(53)", kind: "DOUBLE", values: values("0.1"), want: values("0.1")},
	{typ: "DOUBLE", kind: "DOUBLE", values: values("0.1", "1.7976931348623157e308", "5e-324", "-2.2250738585072014e-308", "123456789012345678", "0.30000000000000004"),
		want: values("0.1", "1.7976931348623157e+308", "5e-324", "-2.2250738585072014e-308", "1.2345678901234568e+17", "0.30000000000000004")},
	{typ: "DOUBLE", on: "mysql", values: values("-0.0e0"), want: values("-0")},
	{typ: "DOUBLE", values: doubles(300)},
	{typ: "FLOAT", values: floats(300)},
	{typ: "DOUBLE(40,30)", kind: "DOUBLE", values: values("0.1", "1e-20", "1.23456789e-12", "123456789.123456789")},
	{typ: "DOUBLE(10,2) ZEROFILL", kind: "DOUBLE", values: values("8.5", "99999999.99"), want: values("8.5", "9.999999999e+07")},
	{typ: "DECIMAL(12,2)", kind: "DECIMAL(12, 2)", values: values("0", "-0.01", "9999999999.99", "-9999999999.99", "123.4", "NULL"),
		want: values("0.00", "-0.01", "9999999999.99", "-9999999999.99", "123.40", "NULL")},
	{typ: "DECIMAL(10,0)", kind: "DECIMAL(10, 0)", values: values("9999999999", "-1"), want: values("9999999999", "-1")},
	{typ: "DECIMAL(5,5)", kind: "DECIMAL(5, 5)", values: values("0.99999", "-0.00001", "0"), want: values("0.99999", "-0.00001", "0.00000")},
	{typ: "DECIMAL(18,9)", kind: "DECIMAL(18, 9)", values: values("999999999.999999999", "-1.000000001"), want: values("999999999.999999999", "-1.000000001")},
	{typ: "DECIMAL(19,1)", kind: "DECIMAL(19, 1)", values: values("999999999999999999.9", "-999999999999999999.9", "0.1"), want: values("999999999999999999.9", "-999999999999999999.9", "0.1")},
	{typ: "DECIMAL(38,10)", kind: "DECIMAL(38, 10)", values: values("9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999", "1e-10"),
		want: values("9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999", "0.0000000001")},
	{typ: "DECIMAL(65,30)", kind: "DECIMAL(65, 30)", values: values(strings.Repeat("9", 35)+"."+strings.Repeat("9", 30), "-"+strings.Repeat("9", 35)+"."+strings.Repeat("9", 30), "-1e-30", "0"),
		want: values(strings.Repeat("9", 35)+"."+strings.Repeat("9", 30), "-"+strings.Repeat("9", 35)+"."+strings.Repeat("9", 30), "-0."+strings.Repeat("0", 29)+"1", "0."+strings.Repeat("0", 30))},
	{typ: "DECIMAL(65,0)", values: values(strings.Repeat("9", 65), "-"+strings.Repeat("1", 65)), want: values(strings.Repeat("9", 65), "-"+strings.Repeat("1", 65))},
	{typ: "DECIMAL(38,30)", values: values("0."+strings.Repeat("9", 30), "-99999999."+strings.Repeat("9", 30)), want: values("0."+strings.Repeat("9", 30), "-99999999."+strings.Repeat("9", 30))},
	{typ: "DECIMAL(8,3) UNSIGNED ZEROFILL", kind: "DECIMAL(8, 3)", values: values("1.5", "99999.999"), want: values("1.500", "99999.999")},
	{typ: "BIT", kind: "BOOLEAN", values: values("b'0'", "b'1'", "NULL"), want: values("false", "true", "NULL")},
	{typ: "BIT(8)", kind: "BINARY(1)", values: values("b'10100000'", "0"), want: values("a0", "00")},
	{typ: "BIT(12)", kind: "BINARY(2)", values: values("b'101000000001'", "b'1'"), want: values("010a", "0100")},
	{typ: "BIT(64)", kind: "BINARY(8)", values: values("18446744073709551615", "1"), want: values("ffffffffffffffff", "0100000000000000")},
	{typ: "YEAR", kind: "INT", values: values("0", "1901", "2155", "2024", "NULL"), want: values("0", "1901", "2155", "2024", "NULL")},
}

// doubles and floats are random numbers of all sizes.
func doubles(n int) (list []string) {
	rng := rand.New(rand.NewPCG(1, 2))
	for len(list) < n {
		v := math.Float64frombits(rng.Uint64())
		if len(list)%2 == 0 {
			v = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20))
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, strconv.FormatFloat(v, 'e', -1, 64))
		}
	}
	return list
}

func floats(n int) (list []string) {
	rng := rand.New(rand.NewPCG(3, 4))
	for len(list) < n {
		if v := float64(math.Float32frombits(rng.Uint32())); !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, strconv.FormatFloat(v, 'e', -1, 64))
		}
	}
	return list
}

const noDate = "is no date"

var timeCases = []typeCase{
	{typ: "DATE", kind: "DATE", values: values("'2024-02-29'", "'1000-01-01'", "'9999-12-31'", "'0001-01-01'", "'1969-12-31'", "'1900-02-28'", "NULL"),
		want: values("2024-02-29", "1000-01-01", "9999-12-31", "0001-01-01", "1969-12-31", "1900-02-28", "NULL")},
	{typ: "DATE", values: values("'0000-00-00'", "'2024-00-15'", "'2024-02-00'", "'2023-02-29'", "'2024-02-31'", "'2024-04-31'", "'0000-01-01'"),
		want: values("NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "0000-01-01")},
	{typ: "DATE NOT NULL", o: Options{ZeroDates: ZeroDateEpoch}, values: values("'0000-00-00'", "'2024-02-31'", "'2024-02-01'"), want: values("1970-01-01", "1970-01-01", "2024-02-01")},
	{typ: "DATE", o: Options{ZeroDates: ZeroDateError}, values: values("'0000-00-00'", "'2024-02-31'", "'2024-02-01'"), want: values("!0000-00-00 "+noDate, "!2024-02-31 "+noDate, "2024-02-01")},
	{typ: "DATETIME", kind: "TIMESTAMP(0)", values: values("'2024-02-29 12:34:56'", "'1000-01-01'", "'9999-12-31 23:59:59'", "'0000-00-00 00:00:00'", "'2024-02-31 11:11:11'", "'0001-01-01 00:00:01'", "NULL"),
		want: values("2024-02-29 12:34:56.000000", "1000-01-01 00:00:00.000000", "9999-12-31 23:59:59.000000", "NULL", "NULL", "0001-01-01 00:00:01.000000", "NULL")},
	{typ: "DATETIME(1)", kind: "TIMESTAMP(1)", values: values("'2024-02-29 12:34:56.7'", "'1969-12-31 23:59:59.9'"), want: values("2024-02-29 12:34:56.700000", "1969-12-31 23:59:59.900000")},
	{typ: "DATETIME(2)", values: values("'2024-02-29 12:34:56.78'"), want: values("2024-02-29 12:34:56.780000")},
	{typ: "DATETIME(3)", values: values("'2024-02-29 12:34:56.789'", "'2024-02-29 12:34:56.001'"), want: values("2024-02-29 12:34:56.789000", "2024-02-29 12:34:56.001000")},
	{typ: "DATETIME(4)", values: values("'2024-02-29 12:34:56.7891'"), want: values("2024-02-29 12:34:56.789100")},
	{typ: "DATETIME(5)", values: values("'2024-02-29 12:34:56.78912'"), want: values("2024-02-29 12:34:56.789120")},
	{typ: "DATETIME(6)", kind: "TIMESTAMP(6)", values: values("'2024-02-29 12:34:56.789012'", "'1000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'", "'0000-00-00 00:00:00'"),
		want: values("2024-02-29 12:34:56.789012", "1000-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999", "NULL")},
	{typ: "DATETIME(3) NOT NULL", o: Options{ZeroDates: ZeroDateError}, values: values("'0000-00-00'"), want: values("!" + noDate)},
	{typ: "DATETIME NOT NULL", o: Options{ZeroDates: ZeroDateEpoch}, values: values("'0000-00-00'", "'2024-02-31 10:00:00'"), want: values("1970-01-01 00:00:00.000000", "1970-01-01 00:00:00.000000")},
	{typ: "TIMESTAMP NULL", kind: "TIMESTAMP_LTZ(0)", values: values("'2024-02-29 12:34:56'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'", "'0000-00-00 00:00:00'", "NULL"),
		want: values("2024-02-29 12:34:56.000000", "1970-01-01 00:00:01.000000", "2038-01-19 03:14:07.000000", "NULL", "NULL")},
	{typ: "TIMESTAMP(3) NULL", kind: "TIMESTAMP_LTZ(3)", values: values("'1970-01-01 00:00:01.001'", "'2038-01-19 03:14:07.999'"), want: values("1970-01-01 00:00:01.001000", "2038-01-19 03:14:07.999000")},
	{typ: "TIMESTAMP(6) NULL", values: values("'2024-02-29 12:34:56.789012'", "'0000-00-00 00:00:00'"), want: values("2024-02-29 12:34:56.789012", "NULL")},
	{typ: "TIMESTAMP NOT NULL DEFAULT '2000-01-01 00:00:00'", o: Options{ZeroDates: ZeroDateEpoch}, values: values("'0000-00-00'"), want: values("1970-01-01 00:00:00.000000")},
	{typ: "TIMESTAMP NOT NULL DEFAULT '2000-01-01 00:00:00'", o: Options{ZeroDates: ZeroDateError}, values: values("'0000-00-00'"), want: values("!" + noDate)},
	{typ: "TIMESTAMP(6) NULL", on: "MariaDB118", values: values("'2106-02-07 06:28:15.999999'"), want: values("2106-02-07 06:28:15.999999")},
	{typ: "TIME", kind: "TIME(0)", values: values("'00:00:00'", "'12:34:56'", "'23:59:59'", "NULL"), want: values("00:00:00.000000", "12:34:56.000000", "23:59:59.000000", "NULL")},
	{typ: "TIME", values: values("'-00:00:01'", "'24:00:00'", "'838:59:59'", "'-838:59:59'"), want: values("!-00:00:01 is no time of day", "!24:00:00 is no", "!838:59:59", "!-838:59:59")},
	{typ: "TIME", kind: "TIME(0)", o: Options{Time: TimeOrNull}, values: values("'-00:00:01'", "'24:00:00'", "'23:59:59'"), want: values("NULL", "NULL", "23:59:59.000000")},
	{typ: "TIME", kind: "STRING", o: Options{Time: TimeText}, values: values("'-00:00:01'", "'24:00:00'", "'838:59:59'", "'-838:59:59'", "'07:08:09'", "'100:00:00'"),
		want: values("-00:00:01", "24:00:00", "838:59:59", "-838:59:59", "07:08:09", "100:00:00")},
	{typ: "TIME(1)", o: Options{Time: TimeText}, values: values("'-00:00:00.1'", "'838:59:58.9'", "'-838:59:58.9'"), want: values("-00:00:00.1", "838:59:58.9", "-838:59:58.9")},
	{typ: "TIME(2)", o: Options{Time: TimeText}, values: values("'-00:00:00.01'", "'-01:00:00.99'", "'00:00:00.99'"), want: values("-00:00:00.01", "-01:00:00.99", "00:00:00.99")},
	{typ: "TIME(3)", o: Options{Time: TimeText}, values: values("'-00:00:00.001'", "'-12:34:56.789'", "'12:34:56.789'"), want: values("-00:00:00.001", "-12:34:56.789", "12:34:56.789")},
	{typ: "TIME(4)", kind: "TIME(4)", values: values("'12:34:56.7891'", "'00:00:00.0001'"), want: values("12:34:56.789100", "00:00:00.000100")},
	{typ: "TIME(5)", o: Options{Time: TimeText}, values: values("'-00:00:00.00001'", "'23:59:59.99999'"), want: values("-00:00:00.00001", "23:59:59.99999")},
	{typ: "TIME(6)", kind: "TIME(6)", values: values("'12:34:56.789012'", "'23:59:59.999999'"), want: values("12:34:56.789012", "23:59:59.999999")},
	{typ: "TIME(6)", o: Options{Time: TimeText}, values: values("'-00:00:00.000001'", "'-838:59:58.999999'", "'838:59:58.999999'", "'00:00:00'"),
		want: values("-00:00:00.000001", "-838:59:58.999999", "838:59:58.999999", "00:00:00.000000")},
}

var textCases = []typeCase{
	{typ: "CHAR(5)", kind: "CHAR(5)", values: values("'ab'", "''", "'ab  '", "'é€😀'", "NULL"), want: values("ab", "", "ab", "é€😀", "NULL")},
	{typ: "CHAR(0)", kind: "CHAR(0)", values: values("''", "NULL"), want: values("", "NULL")},
	{typ: "CHAR(255)", values: values("REPEAT('😀', 255)", "REPEAT('x', 255)"), want: values(strings.Repeat("😀", 255), strings.Repeat("x", 255))},
	{typ: "VARCHAR(10)", kind: "VARCHAR(10)", values: values("'ab  '", "''", "'\\0\\n''\"\\\\'", "'é€😀'"), want: values("ab  ", "", "\x00\n'\"\\", "é€😀")},
	{typ: "VARCHAR(5000)", kind: "VARCHAR(5000)", values: values("REPEAT('ä', 5000)", "'x'"), want: values(strings.Repeat("ä", 5000), "x")},
	{typ: "TINYTEXT", kind: "STRING", values: values("REPEAT('x', 255)", "''"), want: values(strings.Repeat("x", 255), "")},
	{typ: "TEXT", values: values("REPEAT('é', 20000)", "' blank '"), want: values(strings.Repeat("é", 20000), " blank ")},
	{typ: "MEDIUMTEXT", values: values("REPEAT('abc', 30000)"), want: values(strings.Repeat("abc", 30000))},
	{typ: "LONGTEXT", values: values("REPEAT('abc', 100000)", "NULL"), want: values(strings.Repeat("abc", 100000), "NULL")},
	{typ: "VARCHAR(10) CHARACTER SET utf8", values: values("'é€'", "'x'"), want: values("é€", "x")},
	{typ: "VARCHAR(10) CHARACTER SET latin1", kind: "VARCHAR(10)", values: values("'é€ß'", "x'80818d8f909dff'"), want: values("é€ß", "€\u0081\u008d\u008f\u0090\u009dÿ")},
	{typ: "CHAR(6) CHARACTER SET latin1", kind: "CHAR(6)", values: values("'é '", "'ÿ'"), want: values("é", "ÿ")},
	{typ: "TEXT CHARACTER SET gbk", values: values("'中文abc'", "x'fea0'"), want: values("中文abc", "!has no meaning in the character set gbk")},
	{typ: "VARCHAR(20) CHARACTER SET sjis", values: values("'日本語ｱ'", "x'5c8160'"), want: values("日本語ｱ", "\\〜")},
	{typ: "VARCHAR(20) CHARACTER SET cp932", values: values("'日本語～①'"), want: values("日本語～①")},
	{typ: "VARCHAR(20) CHARACTER SET ujis", values: values("'日本語'", "x'8fb0a1'", "x'8eb1'"), want: values("日本語", "丂", "ｱ")},
	{typ: "VARCHAR(20) CHARACTER SET eucjpms", values: values("'日本語～①'"), want: values("日本語～①")},
	{typ: "VARCHAR(20) CHARACTER SET euckr", values: values("'한국어'"), want: values("한국어")},
	{typ: "VARCHAR(20) CHARACTER SET big5", values: values("'繁體'"), want: values("繁體")},
	{typ: "VARCHAR(20) CHARACTER SET gb2312", values: values("'简体'"), want: values("简体")},
	{typ: "VARCHAR(20) CHARACTER SET gb18030", on: "mysql", values: values("'简体😀'", "x'8431a437'"), want: values("简体😀", "\ufffd")},
	{typ: "VARCHAR(20) CHARACTER SET ucs2", values: values("'é€'", "'a '"), want: values("é€", "a ")},
	{typ: "CHAR(20) CHARACTER SET utf16", values: values("'é€😀'", "'a '"), want: values("é€😀", "a")},
	{typ: "CHAR(20) CHARACTER SET utf16le", values: values("'é€😀'", "'a '"), want: values("é€😀", "a")},
	{typ: "TEXT CHARACTER SET utf32", values: values("'é€😀'", "''"), want: values("é€😀", "")},
	{typ: "VARCHAR(20) CHARACTER SET ascii", values: values("'abc'"), want: values("abc")},
	{typ: "VARCHAR(20) CHARACTER SET cp1251", values: values("'Привет'"), want: values("Привет")},
	{typ: "VARCHAR(20) CHARACTER SET koi8r", values: values("'Привет'"), want: values("Привет")},
	{typ: "VARCHAR(20) CHARACTER SET greek", values: values("'αβγ'", "x'd2'"), want: values("αβγ", "!has no meaning")},
	{typ: "VARCHAR(20) CHARACTER SET tis620", values: values("'สวัสดี'", "x'db'"), want: values("สวัสดี", "!has no meaning")},
	{typ: "VARCHAR(20) CHARACTER SET swe7", values: values("'ÅÄÖé'"), want: values("ÅÄÖé")},
	{typ: "VARCHAR(10) CHARACTER SET binary", kind: "VARBINARY(10)", values: values("x'00ff'"), want: values("00ff")},
	{typ: "ENUM('a,b','it''s','back\\\\slash','new\\nline','é','x\"q','',')(')", kind: "STRING", values: values("1", "2", "3", "4", "5", "6", "7", "8", "NULL", "0"),
		want: values("a,b", "it's", "back\\slash", "new\nline", "é", "x\"q", "", ")(", "NULL", "")},
	{typ: "ENUM(" + manyLabels(255) + ")", values: values("1", "255"), want: values("label 0", "label 254")},
	{typ: "ENUM(" + manyLabels(256) + ")", values: values("1", "256"), want: values("label 0", "label 255")},
	{typ: "ENUM(" + manyLabels(300) + ")", values: values("1", "300", "NULL"), want: values("label 0", "label 299", "NULL")},
	{typ: "ENUM('é','ÿ') CHARACTER SET latin1", values: values("'é'", "2"), want: values("é", "ÿ")},
	{typ: "SET('x','y','z')", kind: "STRING", values: values("''", "'z,x'", "7", "NULL"), want: values("", "x,z", "x,y,z", "NULL")},
	{typ: "SET(" + manyLabels(9) + ")", values: values("256", "511"), want: values("label 8", joinedLabels(9))},
	{typ: "SET(" + manyLabels(17) + ")", values: values("65536", "131071"), want: values("label 16", joinedLabels(17))},
	{typ: "SET(" + manyLabels(33) + ")", values: values("4294967296"), want: values("label 32")},
	{typ: "SET(" + manyLabels(64) + ")", values: values("18446744073709551615", "9223372036854775808", "0"), want: values(joinedLabels(64), "label 63", "")},
}

func labelList(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("label %d", i))
	}
	return list
}

func manyLabels(n int) string   { return "'" + strings.Join(labelList(n), "','") + "'" }
func joinedLabels(n int) string { return strings.Join(labelList(n), ",") }

var byteCases = []typeCase{
	{typ: "BINARY(4)", kind: "BINARY(4)", values: values("x'01'", "x'00'", "''", "x'01000000'", "x'20202020'", "x'ffffffff'", "NULL"),
		want: values("01000000", "00000000", "00000000", "01000000", "20202020", "ffffffff", "NULL")},
	{typ: "BINARY", kind: "BINARY(1)", values: values("x'00'"), want: values("00")},
	{typ: "BINARY(255)", values: values("x'01'"), want: values("01" + strings.Repeat("00", 254))},
	{typ: "VARBINARY(10)", kind: "VARBINARY(10)", values: values("x'010000'", "''", "x'ff'"), want: values("010000", "", "ff")},
	{typ: "VARBINARY(300)", values: values("REPEAT(x'ab', 300)"), want: values(strings.Repeat("ab", 300))},
	{typ: "TINYBLOB", kind: "BYTES", values: values("x'00ff'"), want: values("00ff")},
	{typ: "BLOB", values: values("REPEAT(x'00', 60000)", "''", "NULL"), want: values(strings.Repeat("00", 60000), "", "NULL")},
	{typ: "MEDIUMBLOB", values: values("x'0a'"), want: values("0a")},
	{typ: "LONGBLOB", values: values("REPEAT(x'ab', 100000)"), want: values(strings.Repeat("ab", 100000))},
	{typ: "POINT", kind: "STRING", values: values("ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(-0.1 1e300)')", "NULL"),
		want: values(`{"coordinates":[1,2],"type":"Point","srid":0}`, `{"coordinates":[-0.1,1e300],"type":"Point","srid":0}`, "NULL")},
	{typ: "POINT", on: "mysql", values: values("ST_GeomFromText('POINT(10 20)',4326)"), want: values(`{"coordinates":[20,10],"type":"Point","srid":4326}`)},
	{typ: "POINT", on: "mariadb", values: values("ST_GeomFromText('POINT(10 20)',4326)"), want: values(`{"coordinates":[10,20],"type":"Point","srid":4326}`)},
	{typ: "LINESTRING", values: values("ST_GeomFromText('LINESTRING(0 0,1 1.5)')"), want: values(`{"coordinates":[[0,0],[1,1.5]],"type":"LineString","srid":0}`)},
	{typ: "POLYGON", values: values("ST_GeomFromText('POLYGON((0 0,0 1,1 1,0 0))')", "ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 10,0 0),(4 4,6 4,6 6,4 4))')"),
		want: values(`{"coordinates":[[[0,0],[1,1],[0,1],[0,0]]],"type":"Polygon","srid":0}`,
			`{"coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[4,4],[6,6],[6,4],[4,4]]],"type":"Polygon","srid":0}`)},
	{typ: "MULTIPOINT", values: values("ST_GeomFromText('MULTIPOINT(1 1,2 2)')"), want: values(`{"coordinates":[[1,1],[2,2]],"type":"MultiPoint","srid":0}`)},
	{typ: "MULTILINESTRING", values: values("ST_GeomFromText('MULTILINESTRING((0 0,1 1),(2 2,3 3))')"), want: values(`{"coordinates":[[[0,0],[1,1]],[[2,2],[3,3]]],"type":"MultiLineString","srid":0}`)},
	{typ: "MULTIPOLYGON", values: values("ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))')"),
		want: values(`{"coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],[[[5,5],[6,5],[6,6],[5,5]]]],"type":"MultiPolygon","srid":0}`)},
	{typ: "GEOMETRYCOLLECTION", values: values("ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))')", "ST_GeomFromText('GEOMETRYCOLLECTION EMPTY')"),
		want: values(`{"geometries":[{"type":"Point","coordinates":[1,1]},{"type":"LineString","coordinates":[[0,0],[1,1]]}],"type":"GeometryCollection","srid":0}`,
			`{"geometries":[],"type":"GeometryCollection","srid":0}`)},
	{typ: "GEOMETRYCOLLECTION", on: "mysql", values: values("ST_GeomFromText('GEOMETRYCOLLECTION(GEOMETRYCOLLECTION(POINT(1 2)),MULTIPOINT(3 4))')"),
		want: values(`{"geometries":[{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]}]},{"type":"MultiPoint","coordinates":[[3,4]]}],"type":"GeometryCollection","srid":0}`)},
	{typ: "GEOMETRY", values: values("ST_GeomFromText('POINT(3 4)')"), want: values(`{"coordinates":[3,4],"type":"Point","srid":0}`)},
	{typ: "VECTOR(3)", kind: "ARRAY<FLOAT>", on: "MySQL97", values: values("TO_VECTOR('[1,2.5,-3e38]')", "NULL"), want: values("[1,2.5,-3e+38]", "NULL")},
	{typ: "VECTOR(3)", kind: "ARRAY<FLOAT>", on: "MariaDB118", values: values("VEC_FromText('[1,2.5,-3e-7]')", "NULL"), want: values("[1,2.5,-3e-07]", "NULL")},
	{typ: "VECTOR(300)", on: "MySQL97", values: values("TO_VECTOR(CONCAT('[', REPEAT('1,', 299), '2]'))")},
	{typ: "VECTOR(300)", on: "MariaDB118", values: values("VEC_FromText(CONCAT('[', REPEAT('1,', 299), '2]'))")},
}

var mariadbCases = []typeCase{
	{typ: "UUID", on: "mariadb", kind: "UUID", values: values("'123e4567-e89b-12d3-a456-426655440000'", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'12345678-1234-7abc-8def-000000000000'", "NULL"),
		want: values("123e4567e89b12d3a456426655440000", strings.Repeat("00", 16), strings.Repeat("ff", 16), "1234567812347abc8def000000000000", "NULL")},
	{typ: "INET6", on: "mariadb", kind: "STRING", values: values("'::'", "'::1'", "'1:0:0:2:0:0:0:3'", "'1:2:3:0:4:5:6:7'", "'::1.2.3.4'", "'::ffff:1.2.3.4'", "'::ffff:0:1.2.3.4'", "'0:0:1::'", "'::1:0'", "'0:1:0:1:0:1:0:1'", "'fe80::1:2:0:0'", "'1::'", "NULL"),
		want: values("::", "::1", "1:0:0:2::3", "1:2:3::4:5:6:7", "::1.2.3.4", "::ffff:1.2.3.4", "::ffff:0:102:304", "0:0:1::", "::0.1.0.0", "::1:0:1:0:1:0:1", "fe80::1:2:0:0", "1::", "NULL")},
	{typ: "INET6", on: "mariadb", values: addresses(200)},
	{typ: "INET4", on: "mariadb", kind: "STRING", values: values("'0.0.0.0'", "'1.2.3.0'", "'255.255.255.255'"), want: values("0.0.0.0", "1.2.3.0", "255.255.255.255")},
	{typ: "YEAR(2)", on: "mariadb", kind: "INT", values: values("24", "70", "69", "0", "99"), want: values("2024", "1970", "2069", "2000", "1999")},
	{typ: "VARCHAR(1000) COMPRESSED", on: "mariadb", kind: "VARCHAR(1000)", values: values("''", "'short'", "REPEAT('é long ', 100)", "NULL"), want: values("", "short", strings.Repeat("é long ", 100), "NULL")},
	{typ: "VARCHAR(200) COMPRESSED CHARACTER SET latin1", on: "mariadb", values: values("''", "'é'", "REPEAT('é', 200)"), want: values("", "é", strings.Repeat("é", 200))},
	{typ: "TEXT COMPRESSED", on: "mariadb", values: values("''", "'short'", "REPEAT('abc', 20000)"), want: values("", "short", strings.Repeat("abc", 20000))},
	{typ: "LONGTEXT COMPRESSED", on: "mariadb", values: values("REPEAT('abc', 200000)"), want: values(strings.Repeat("abc", 200000))},
	{typ: "BLOB COMPRESSED", on: "mariadb", setup: "SET column_compression_zlib_wrap = ON", values: values("REPEAT(x'00ff', 10000)", "x'00'", "''"), want: values(strings.Repeat("00ff", 10000), "00", "")},
	{typ: "VARBINARY(500) COMPRESSED", on: "mariadb", setup: "SET column_compression_zlib_level = 0", values: values("REPEAT(x'00', 400)"), want: values(strings.Repeat("00", 400))},
	{typ: "JSON", on: "mariadb", kind: "STRING", values: values(`'{"b": 1, "a":  [1,2]}'`), want: values(`{"b": 1, "a":  [1,2]}`)},
}

// addresses are random, with many zero words.
func addresses(n int) (list []string) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range n {
		words := make([]string, 8)
		for i := range words {
			w := rng.IntN(0x10000)
			if rng.IntN(2) == 0 {
				w = 0
			} else if rng.IntN(4) == 0 {
				w = 0xFFFF
			}
			words[i] = strconv.FormatInt(int64(w), 16)
		}
		list = append(list, "'"+strings.Join(words, ":")+"'")
	}
	return list
}
