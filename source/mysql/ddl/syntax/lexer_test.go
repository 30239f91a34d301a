package syntax

import (
	"fmt"
	"strings"
	"testing"
)

// tokens cuts a statement and prints its tokens.
func tokens(sql string, o Options) string {
	l := lexer{sql: sql, o: o}
	var out []string
	for {
		t := l.next()
		switch t.Kind {
		case End:
			return strings.Join(out, " ")
		case Broken:
			return strings.Join(append(out, "broken"), " ")
		}
		out = append(out, fmt.Sprintf("%s%s", map[Kind]string{Word: "", Name: "name:", Text: "text:", Number: "#", Mark: "!"}[t.Kind], t.Text))
	}
}

func TestLexer(t *testing.T) {
	mysql, maria := Options{Version: 80400}, Options{Version: 101118, MariaDB: true}
	for _, c := range []struct {
		sql  string
		o    Options
		want string
	}{
		{"ALTER TABLE t", mysql, "ALTER TABLE t"},
		{"`a``b` \"c\" 'd''e'", mysql, "name:a`b text:c text:d'e"},
		{`"c""d" 'x'`, Options{ANSIQuotes: true}, `name:c"d text:x`},
		{`'a\'b\\' '\%\_\n\q'`, mysql, "text:a'b\\ text:\\%\\_\nq"},
		{`'a\' 'b'`, Options{NoBackslashEscapes: true}, `text:a\ text:b`},
		{`'a\'`, mysql, "broken"},
		{"`a", mysql, "broken"},
		{"a /* b ' */ c -- d ' e\n f # g `\n h --i", mysql, "a c f h !- !- i"},
		{"a --", mysql, "a"},
		{"a /* b", mysql, "a broken"},
		{"a; b", mysql, "a"},
		{"a /*! b */ c /*!80000 d*/ /*!80401 e */ /*!080399 f*/ g", mysql, "a b c d f g"},
		{"/*!80000 a /* x */ b */ c", mysql, "a b c"},
		{"/*!99999 a /* x */ b */ c", mysql, "c"},
		{"/*!80000 a", mysql, "a broken"},
		{"/*!8000 a */", mysql, "#8000 a"},
		{"/*M!100100 a */ b", mysql, "b"},
		{"/*M!100100 a */ /*M! b */ /*M!120000 c */ /*!50000 d */ /*!50701 e */ /*!100100 f */", maria, "a b d f"},
		{"1 2.5 .5 1e5 1.e-3 0x1F 0b01 x'4a' B'01' 4M 1a", mysql, "#1 #2.5 #.5 #1e5 #1.e-3 #0x1F #0b01 #x'4a' #B'01' 4M 1a"},
		{"t.1a d.`x`.5b", mysql, "t !. 1a d !. name:x !. 5b"},
		{"N'a' n 'b' _latin1'c' _utf8mb4 'd' _x y", mysql, "text:a n text:b text:c text:d _x y"},
		{"a=(b,c)@d", mysql, "a != !( b !, c !) !@ d"},
		{"größe ¿ 表", mysql, "größe ¿ 表"},
		{"", mysql, ""},
		{"a\x00b", mysql, "a"},
	} {
		if got := tokens(c.sql, c.o); got != c.want {
			t.Errorf("%q: %s, want %s", c.sql, got, c.want)
		}
	}
}
