package syntax

import (
	"strings"
	"unicode/utf8"
)

// Options say how the server read the statement.
type Options struct {
	MariaDB bool
	// Version is the server's, for instance 80015 or 101118; comments like
	// /*!80000 ... */ depend on it.
	Version int
	// ANSIQuotes and NoBackslashEscapes are the modes of these names in sql_mode.
	ANSIQuotes, NoBackslashEscapes bool
}

// lexer cuts a statement, in UTF-8, into tokens.
type lexer struct {
	sql string
	at  int
	o   Options
	// executed is set inside of a comment that the server executes.
	executed bool
	// afterDot: a word behind a dot may begin with a digit and is no number.
	afterDot bool
	// nameEnd is the end of the last word or name: a dot there separates names.
	nameEnd int
}

// next returns the next token; End and Broken are the last.
func (l *lexer) next() Token {
	t := l.token()
	if t.isName() {
		l.nameEnd = t.End
	}
	return t
}

func (l *lexer) token() Token {
	if !l.skipBlanks() {
		return l.broken(l.at)
	}
	start, dot := l.at, l.afterDot
	l.afterDot = false
	if start >= len(l.sql) || l.sql[start] == ';' || l.sql[start] == 0 {
		return Token{Kind: End, Pos: start, End: start}
	}
	switch c := l.sql[start]; {
	case c == '\'' || c == '"' && !l.o.ANSIQuotes:
		return l.quoted(Text, start, start)
	case c == '`' || c == '"':
		return l.quoted(Name, start, start)
	case dot && isWordByte(c):
		return l.word(start)
	case isDigit(c), c == '.' && isDigit(l.peek(1)) && (start == 0 || start != l.nameEnd):
		return l.number(start)
	case isWordByte(c):
		return l.prefixed(start)
	}
	l.afterDot = l.sql[start] == '.'
	_, size := utf8.DecodeRuneInString(l.sql[start:])
	l.at += size
	return Token{Kind: Mark, Text: l.sql[start:l.at], Pos: start, End: l.at}
}

func (l *lexer) broken(pos int) Token {
	l.at = len(l.sql)
	return Token{Kind: Broken, Pos: pos, End: pos}
}

func (l *lexer) peek(n int) byte {
	if l.at+n < len(l.sql) {
		return l.sql[l.at+n]
	}
	return 0
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWordByte tells what names without quotes consist of.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// word reads a run of word characters.
func (l *lexer) word(start int) Token {
	for l.at < len(l.sql) && isWordByte(l.sql[l.at]) {
		l.at++
	}
	return Token{Kind: Word, Text: l.sql[start:l.at], Pos: start, End: l.at}
}

// prefixed reads a word, or a literal that begins like one: N'a', x'61', b'1', _latin1'a'.
func (l *lexer) prefixed(start int) Token {
	t := l.word(start)
	if l.peek(0) == '\'' {
		switch {
		case len(t.Text) == 1 && strings.ContainsAny(t.Text, "xXbB"):
			q := l.quoted(Number, start, l.at)
			q.Text = l.sql[start:l.at]
			return q
		case len(t.Text) == 1 && strings.ContainsAny(t.Text, "nN"):
			return l.quoted(Text, start, l.at)
		}
	}
	if t.Text[0] == '_' && len(t.Text) > 1 {
		return l.introduced(t)
	}
	return t
}

// introduced reads the string behind a word that is the name of a character set
// with an underscore. Where no string follows, it is a name like any other.
func (l *lexer) introduced(t Token) Token {
	at, executed := l.at, l.executed
	if !l.skipBlanks() || l.peek(0) != '\'' {
		l.at, l.executed = at, executed
		return t
	}
	return l.quoted(Text, t.Pos, l.at)
}

// number reads a number. Digits with letters behind them are a word, as 4M or 1a.
func (l *lexer) number(start int) Token {
	digits := func() {
		for isDigit(l.peek(0)) {
			l.at++
		}
	}
	digits()
	if l.peek(0) == '.' {
		l.at++
		digits()
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		n := 1
		if s := l.peek(1); s == '+' || s == '-' {
			n = 2
		}
		if isDigit(l.peek(n)) {
			l.at += n
			digits()
		}
	}
	if isWordByte(l.peek(0)) && !strings.Contains(l.sql[start:l.at], ".") {
		t := l.word(start)
		if len(t.Text) > 2 && t.Text[0] == '0' && (t.Text[1] == 'x' || t.Text[1] == 'b') {
			t.Kind = Number
		}
		return t
	}
	return Token{Kind: Number, Text: l.sql[start:l.at], Pos: start, End: l.at}
}

// quoted reads what stands between the quote at position open and its like.
func (l *lexer) quoted(kind Kind, start, open int) Token {
	quote := l.sql[open]
	escapes := kind != Name && !l.o.NoBackslashEscapes
	var b strings.Builder
	for i := open + 1; i < len(l.sql); i++ {
		c := l.sql[i]
		switch {
		case c == quote && i+1 < len(l.sql) && l.sql[i+1] == quote:
			b.WriteByte(c)
			i++
		case c == quote:
			l.at = i + 1
			return Token{Kind: kind, Text: b.String(), Pos: start, End: l.at}
		case c == '\\' && escapes && i+1 < len(l.sql):
			i++
			unescape(&b, l.sql[i])
		default:
			b.WriteByte(c)
		}
	}
	return l.broken(start)
}

// unescape writes what a backslash and c stand for.
func unescape(b *strings.Builder, c byte) {
	switch c {
	case '0':
		c = 0
	case 'b':
		c = '\b'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'Z':
		c = 26
	case '%', '_': // stay escaped, for LIKE
		b.WriteByte('\\')
	}
	b.WriteByte(c)
}
