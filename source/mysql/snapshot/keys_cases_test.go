package snapshot

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// keyCase is a kind of key, with what makes values of it.
type keyCase struct {
	name    string
	columns string   // definitions of the key columns
	index   string   // PRIMARY KEY (...) or the like
	key     []string // its columns
	on      string   // mysql, mariadb, or a part of the servers' names
	options string   // of the table
	value   func(r *rand.Rand) string
}

// text makes the SQL of a string in a character set from some letters, often with
// blanks at the end, often the same letters as another.
func text(charset string, letters string) func(r *rand.Rand) string {
	runes := []rune(letters)
	return func(r *rand.Rand) string {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteRune(runes[r.IntN(len(runes))])
		}
		b.WriteString(strings.Repeat(" ", r.IntN(3)/2))
		return fmt.Sprintf("CONVERT(_utf8mb4 x'%x' USING %s)", b.String(), charset)
	}
}

func oneOf(values ...string) func(r *rand.Rand) string {
	return func(r *rand.Rand) string { return values[r.IntN(len(values))] }
}

// mix draws from several.
func mix(parts ...func(r *rand.Rand) string) func(r *rand.Rand) string {
	return func(r *rand.Rand) string { return parts[r.IntN(len(parts))](r) }
}

// join puts the values of several columns side by side.
func join(parts ...func(r *rand.Rand) string) func(r *rand.Rand) string {
	return func(r *rand.Rand) string {
		list := make([]string, len(parts))
		for i, p := range parts {
			list[i] = p(r)
		}
		return strings.Join(list, ", ")
	}
}

func format(f string, args func(r *rand.Rand) []any) func(r *rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprintf(f, args(r)...) }
}

func numbers(from, to int64) func(r *rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprint(from + r.Int64N(to-from)) }
}

func bytesOf(longest int) func(r *rand.Rand) string {
	return func(r *rand.Rand) string {
		b := make([]byte, r.IntN(longest+1))
		for i := range b {
			b[i] = []byte{0, 1, ' ', 'a', 'A', 0xFF}[r.IntN(6)]
		}
		return fmt.Sprintf("x'%x'", b)
	}
}

var (
	nasty   = "aAäÄbBßsS éÉeE'\\\"`%_\t0x😀🐘ÿñŒœ漢"
	western = "aAäÄbBßsSéÉeE'\\`%_ \tñÿ"
	dates   = mix(oneOf("'0000-00-00'", "'2024-02-30'", "'9999-12-31'", "'2024-00-15'"), format("'%04d-%02d-%02d'", func(r *rand.Rand) []any {
		return []any{1900 + r.IntN(200), 1 + r.IntN(12), 1 + r.IntN(28)}
	}))
	clocks = format("'%s%d:%02d:%02d.%06d'", func(r *rand.Rand) []any {
		return []any{[]string{"", "-"}[r.IntN(2)], r.IntN(838), r.IntN(60), r.IntN(60), r.IntN(1_000_000)}
	})
	moments = mix(oneOf("'0000-00-00 00:00:00'", "'2024-02-31 10:00:00'"), format("'%d-%02d-%02d %02d:%02d:%02d.%06d'", func(r *rand.Rand) []any {
		return []any{1971 + r.IntN(60), 1 + r.IntN(12), 1 + r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1_000_000)}
	}))
	decimals = mix(oneOf("0", "-0.000000000000000000000000000001", "0.000000000000000000000000000001", "99999999999999999999999999999999999.999999999999999999999999999999"),
		format("%s%d.%d", func(r *rand.Rand) []any { return []any{[]string{"", "-"}[r.IntN(2)], r.Uint64(), r.Uint64()} }))
	floats = mix(oneOf("0", "16777217", "3.4028235e38", "-3.4028235e38", "1e-45"), format("%v", func(r *rand.Rand) []any { return []any{float32(r.NormFloat64()) * 1e3} }))
)

var keyCases = []keyCase{
	{name: "dense", columns: "k INT", value: numbers(1, 900)},
	{name: "skewed", columns: "k BIGINT", value: mix(numbers(1, 2000), numbers(1, 1<<60), oneOf("-9223372036854775808", "9223372036854775807", "0"))},
	{name: "unsigned", columns: "k BIGINT UNSIGNED", value: format("%d", func(r *rand.Rand) []any { return []any{r.Uint64() | uint64(r.IntN(2))<<63} })},
	{name: "tinyint", columns: "k TINYINT, l SMALLINT UNSIGNED", key: []string{"k", "l"}, value: join(numbers(-128, 127), numbers(0, 20))},
	{name: "zerofill", columns: "k INT(8) ZEROFILL", value: numbers(0, 5000)},
	{name: "decimal", columns: "k DECIMAL(65,30)", value: decimals},
	{name: "money", columns: "k DECIMAL(12,2)", value: format("%d.%02d", func(r *rand.Rand) []any { return []any{r.IntN(600) - 300, r.IntN(100)} })},
	{name: "float", columns: "k FLOAT", value: floats},
	{name: "double", columns: "k DOUBLE", value: mix(floats, format("%v", func(r *rand.Rand) []any { return []any{r.NormFloat64() * 1e-5} }), oneOf("1.7976931348623157e308", "-2.2250738585072014e-308"))},
	{name: "double of 2", columns: "k DOUBLE(12,2)", value: format("%.2f", func(r *rand.Rand) []any { return []any{r.NormFloat64() * 1e6} })},
	{name: "0900_ai_ci", on: "mysql", columns: "k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci", value: text("utf8mb4", nasty)},
	{name: "0900_as_cs", on: "mysql", columns: "k CHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs", value: text("utf8mb4", nasty)},
	{name: "0900_bin", on: "MySQL97", columns: "k CHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin", value: text("utf8mb4", nasty)},
	{name: "uca1400", on: "MariaDB118", columns: "k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE uca1400_ai_ci", value: text("utf8mb4", nasty)},
	{name: "nopad", on: "mariadb", columns: "k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", value: text("utf8mb4", nasty)},
	{name: "nopad char", on: "mariadb", columns: "k CHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_nopad_ci", value: text("utf8mb4", strings.ReplaceAll(nasty, "\t", "~"))},
	{name: "general_ci", columns: "k CHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", value: text("utf8mb4", nasty)},
	{name: "unicode_ci", columns: "k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci", value: text("utf8mb4", nasty)},
	{name: "utf8mb4_bin", columns: "k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", value: text("utf8mb4", nasty)},
	{name: "utf8mb3", columns: "k VARCHAR(20) CHARACTER SET utf8mb3", value: text("utf8mb3", western+"漢字")},
	{name: "german1", columns: "k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german1_ci", value: text("latin1", western)},
	{name: "german2", columns: "k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german2_ci", value: text("latin1", western)},
	{name: "sjis", columns: "k VARCHAR(20) CHARACTER SET sjis", value: text("sjis", "aAbBソ表能ｱﾞ漢 '")},
	{name: "cp932", columns: "k CHAR(20) CHARACTER SET cp932 COLLATE cp932_bin", value: mix(text("cp932", "aAソ表①Ⅱ㈱"), oneOf("_cp932 x'ED40'", "_cp932 x'FA5C'", "_cp932 x'8740'"))},
	{name: "gbk", columns: "k VARCHAR(20) CHARACTER SET gbk", value: text("gbk", "aAbB漢字中文'\\ ")},
	{name: "big5", columns: "k VARCHAR(20) CHARACTER SET big5", value: text("big5", "aAbB功許蓋'\\ ")},
	{name: "ucs2", columns: "k VARCHAR(20) CHARACTER SET ucs2", value: text("ucs2", western+"漢字")},
	{name: "utf16", columns: "k VARCHAR(20) CHARACTER SET utf16", value: text("utf16", nasty)},
	{name: "utf32", columns: "k VARCHAR(20) CHARACTER SET utf32", value: text("utf32", nasty)},
	{name: "czech", columns: "k VARCHAR(20) CHARACTER SET latin2 COLLATE latin2_czech_cs", value: text("latin2", "aAcChHčČsSšŠ ")},
	{name: "binary", columns: "k BINARY(6)", value: bytesOf(6)},
	{name: "varbinary", columns: "k VARBINARY(9)", value: bytesOf(9)},
	{name: "date", columns: "k DATE, l TIME(6)", key: []string{"k", "l"}, value: join(dates, clocks)},
	{name: "datetime", columns: "k DATETIME(6), l TIMESTAMP(3) NOT NULL DEFAULT '2000-01-01'", key: []string{"k", "l"}, value: join(moments, oneOf("'2026-03-29 02:30:00.123'", "'2026-10-25 02:30:00'", "0"))},
	{name: "year", columns: "k YEAR, l INT", key: []string{"k", "l"}, value: join(mix(oneOf("0"), numbers(1901, 2155)), numbers(0, 4))},
	{name: "enum", columns: "k ENUM('z','','m','b,','''') CHARACTER SET latin1, l INT", key: []string{"k", "l"}, value: join(oneOf("1", "2", "3", "4", "5"), numbers(0, 300))},
	{name: "set", columns: "k SET('a','b','c','d','e','f','g','h','i','j')", value: numbers(0, 1024)},
	{name: "bit", columns: "k BIT(64)", value: format("%d", func(r *rand.Rand) []any { return []any{r.Uint64()} })},
	{name: "uuid", on: "mariadb", columns: "k UUID", value: format("'%08x-%04x-%04x-%04x-%012x'", func(r *rand.Rand) []any {
		return []any{r.Uint32(), r.IntN(1 << 16), r.IntN(1 << 16), r.IntN(1 << 16), r.Int64N(1 << 48)}
	})},
	{name: "inet6", on: "mariadb", columns: "k INET6", value: format("'%x::%x'", func(r *rand.Rand) []any { return []any{r.IntN(1 << 16), r.IntN(1 << 16)} })},
	{name: "inet4", on: "mariadb", columns: "k INET4", value: format("'%d.0.%d.1'", func(r *rand.Rand) []any { return []any{r.IntN(256), r.IntN(256)} })},
	{name: "composite", columns: "k VARCHAR(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, l INT, m DECIMAL(5,2)", key: []string{"k", "l", "m"},
		value: join(oneOf("'a'", "'A'", "'ä'", "'b '", "''"), numbers(-3, 3), format("%d.5", func(r *rand.Rand) []any { return []any{r.IntN(99)} }))},
	{name: "hot", columns: "k INT, l INT", key: []string{"k", "l"}, value: join(oneOf("1", "2", "2", "2", "2", "3"), numbers(0, 5000))},
	{name: "descending", on: "MySQL", columns: "k INT, l VARCHAR(9), m INT", index: "PRIMARY KEY (k DESC, l, m DESC)", key: []string{"k", "l", "m"}, value: join(numbers(-20, 20), oneOf("'x'", "'y'"), numbers(0, 30))},
	{name: "descending dense", on: "MariaDB118", columns: "k INT", index: "PRIMARY KEY (k DESC)", value: numbers(-400, 400)},
	{name: "prefix", columns: "k TEXT CHARACTER SET utf8mb4 NOT NULL", index: "PRIMARY KEY (k(3))", value: text("utf8mb4", nasty)},
	{name: "prefix of many", columns: "k VARBINARY(90) NOT NULL, l INT", index: "PRIMARY KEY (l, k(4))", key: []string{"l", "k"}, value: join(bytesOf(9), numbers(0, 9))},
	{name: "unique", columns: "k VARCHAR(9) CHARACTER SET utf8mb4 NOT NULL, l INT NOT NULL", index: "UNIQUE KEY `u``k` (l, k), UNIQUE KEY other (n)", key: []string{"k", "l"}, value: join(text("utf8mb4", nasty), numbers(0, 9))},
	{name: "partitioned", columns: "k INT, l INT", key: []string{"k", "l"}, options: "PARTITION BY HASH(l) PARTITIONS 5", value: join(numbers(-30, 30), numbers(0, 99))},
	{name: "partitioned by range", columns: "k VARCHAR(9) CHARACTER SET utf8mb4, l INT", key: []string{"k", "l"}, options: "PARTITION BY RANGE (l) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE)",
		value: join(text("utf8mb4", nasty), numbers(0, 20))},
	{name: "versioned", on: "mariadb", columns: "k INT", options: "WITH SYSTEM VERSIONING", value: numbers(-400, 400)},
	{name: "odd names", columns: "`k``'\"é` INT, `select` CHAR(3) CHARACTER SET utf8mb4", index: "PRIMARY KEY (`select`, `k``'\"é`)", key: []string{"select", "k`'\"é"}, value: join(numbers(0, 9), text("utf8mb4", "abcdef"))},
}
