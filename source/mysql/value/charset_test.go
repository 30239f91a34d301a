package value

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

func TestDecodeText(t *testing.T) {
	for _, c := range []struct{ charset, in, want string }{ // want "!" is an error
		{"utf8mb4", "é😀", "é😀"}, {"utf8mb4", "a\xff", "!"}, {"utf8mb3", "\xed\xa0\x80", "!"},
		{"latin1", "\x80\x81\xe9", "€\u0081é"}, {"cp1250", "\x8a", "Š"}, {"cp1250", "\x81", "!"}, {"latin5", "\xf0", "ğ"}, {"hebrew", "\xe0", "א"},
		{"ascii", "abc", "abc"}, {"ascii", "\x80", "!"}, {"swe7", "[\\]{|}", "ÄÖÅäöå"}, {"swe7", "\x80", "!"}, {"swe7", "\x7f", "!"},
		{"ucs2", "\x20\xac", "€"}, {"ucs2", "\xd8\x3d\xde\x00", "!"}, {"ucs2", "\x20", "!"},
		{"utf16", "\xd8\x3d\xde\x00", "😀"}, {"utf16", "\xd8\x3d", "!"}, {"utf16", "\xde\x00\xd8\x3d", "!"}, {"utf16", "\x00\x61\x00", "!"}, {"utf16", "\xff\xfd", "\ufffd"},
		{"utf16le", "\x3d\xd8\x00\xde", "😀"}, {"utf32", "\x00\x01\xf6\x00", "😀"}, {"utf32", "\x00\x11\x00\x00", "!"}, {"utf32", "\x00\x00\xd8\x00", "!"}, {"utf32", "\x00", "!"},
		{"sjis", "\x81\x5f\xb1", "\\ｱ"}, {"cp932", "\x81\x5f\xf0\x40", "＼\ue000"}, {"cp932", "\x81", "!"}, {"sjis", "\xa0", "!"},
		{"ujis", "\x8e\xb1\x8f\xb0\xa1\xa1\xc0", "ｱ丂\\"}, {"ujis", "\x8f\xb0", "!"}, {"eucjpms", "\xa1\xc0\x8f\xf3\xf3", "＼ⅰ"}, {"ujis", "\x8e\x40", "!"},
		{"gbk", "\xd6\xd0\x80", "!"}, {"gbk", "\xd6\xd0", "中"}, {"gb2312", "\xa1\xaa", "―"}, {"gb2312", "\x81\x40", "!"},
		{"gb18030", "\x94\x39\xda\x33", "💩"}, {"gb18030", "\x84\x31\xa4\x37", "\ufffd"}, {"gb18030", "\xff\x30\x81\x30", "!"}, {"gb18030", "\x81\x35\xf4\x37\xa8\xbc", "\ue7c7ḿ"}, {"gb18030", "\x81\x30\x81", "!"},
		{"big5", "\xa4\xa4\xc6\xe7", "中ゃ"}, {"big5", "\xfe\xa1", "!"}, {"euckr", "\xc7\xd1", "한"}, {"euckr", "\xff\xff", "!"},
	} {
		got, err := DecodeText([]byte("-"), c.charset, []byte(c.in))
		switch {
		case c.want == "!":
			if !errors.Is(err, ErrMalformed) || string(got) != "-" {
				t.Errorf("%s %q: %q, %v, wanted an error", c.charset, c.in, got, err)
			}
		case err != nil || string(got) != "-"+c.want:
			t.Errorf("%s %q: %q, %v, wanted %q", c.charset, c.in, got, err, c.want)
		}
	}
	for _, unknown := range []string{"", "utf7"} {
		if _, err := DecodeText(nil, unknown, nil); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%q: %v", unknown, err)
		}
	}
}

// TestServerCharsets compares every character of the small character sets, and all
// pairs of the large ones, with the servers'. Where the server has nothing ('?', or a
// replacement character) there may be a character.
func TestServerCharsets(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("SET NAMES utf8mb4", "SET sql_mode = ''")
		for _, row := range db.Query("SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS") {
			name := row[0]
			if name == "binary" {
				continue
			}
			if _, err := decoderOf(name); err != nil {
				t.Error(err)
			}
			switch c := doubleByte[name]; {
			case c != nil:
				compareCharset(t, db, name, doubleCodes(c))
			case row[1] == "1":
				var codes []string
				for i := range 256 {
					codes = append(codes, string([]byte{byte(i)}))
				}
				compareCharset(t, db, name, codes)
			}
		}
	})
}

// doubleCodes are all characters of up to three bytes, and some of four.
func doubleCodes(c *charset) (codes []string) {
	for i := range 128 {
		codes = append(codes, string([]byte{byte(i)}))
	}
	c.each(func(a, b byte) {
		codes = append(codes, string([]byte{a, b}))
		if c.euc {
			codes = append(codes, string([]byte{0x8F, a, b}))
		}
	})
	for i := byte(0xA1); i <= 0xDF; i++ {
		switch {
		case c.kana:
			codes = append(codes, string([]byte{i}))
		case c.euc:
			codes = append(codes, string([]byte{0x8E, i}))
		}
	}
	if c.four {
		for i := range 1 << 14 {
			codes = append(codes, string([]byte{0x81 + byte(i>>12), '0' + byte(i>>8&15%10), 0x81 + byte(i>>4&0x7F%126), '0' + byte(i&15%10)}))
		}
		codes = append(codes, "\x81\x35\xf4\x37", "\x84\x31\xa4\x37", "\x90\x30\x81\x30", "\xe3\x32\x9a\x35")
	}
	return codes
}

func compareCharset(t *testing.T, db *mysqltest.DB, name string, codes []string) {
	t.Helper()
	const atOnce = 1000
	for from := 0; from < len(codes); from += atOnce {
		part := codes[from:min(from+atOnce, len(codes))]
		var sql strings.Builder
		for i, code := range part {
			fmt.Fprintf(&sql, "%cCONVERT(CAST(x'%x' AS CHAR CHARACTER SET %s) USING utf8mb4)", " ,"[min(i, 1)], code, name)
		}
		result, err := db.Conn.Execute("SELECT" + sql.String())
		if err != nil {
			t.Fatal(err)
		}
		row := []byte(result.RowDatas[0])
		for _, code := range part {
			server, null, n, err := mysql.LengthEncodedString(row)
			if err != nil {
				t.Fatal(err)
			}
			row = row[n:]
			// Invalid bytes are NULL, '?', or cut away in MySQL 8.0.15.
			if null || len(server) == 0 || string(server) == "?" && code != "?" || strings.Contains(string(server), "?") && len(code) > 1 {
				continue
			}
			if r, _ := utf8.DecodeRune(server); r == utf8.RuneError && code != "\x84\x31\xa4\x37" {
				continue
			}
			if got, err := DecodeText(nil, name, []byte(code)); err != nil || string(got) != string(server) {
				t.Errorf("%s %x: %+q, %v; the server has %+q", name, code, got, err, server)
			}
		}
		result.Close()
	}
}
