package syntax

import "strings"

// skipBlanks goes to the next token, over blanks and comments. It returns false at
// a comment without an end.
func (l *lexer) skipBlanks() bool {
	for l.at < len(l.sql) {
		c := l.sql[l.at]
		switch {
		case isBlank(c):
			l.at++
		case c == '#', c == '-' && l.peek(1) == '-' && (l.at+2 >= len(l.sql) || l.peek(2) <= ' '):
			end := strings.IndexByte(l.sql[l.at:], '\n')
			if end < 0 {
				l.at = len(l.sql)
				return true
			}
			l.at += end
		case c == '*' && l.peek(1) == '/' && l.executed:
			l.at += 2
			l.executed = false
		case c == '/' && l.peek(1) == '*':
			if !l.comment() {
				return false
			}
		default:
			return true
		}
		l.afterDot = false
	}
	return !l.executed
}

// comment passes over a comment, or just over the opening of one that the server executes.
func (l *lexer) comment() bool {
	if opening := l.executes(); opening > 0 && !l.executed {
		l.at += opening
		l.executed = true
		return true
	}
	versioned := l.peek(2) == '!'
	l.at += 2
	for l.at < len(l.sql) {
		switch {
		case l.peek(0) == '*' && l.peek(1) == '/':
			l.at += 2
			return true
		case versioned && l.peek(0) == '/' && l.peek(1) == '*': // one level of nesting
			end := strings.Index(l.sql[l.at+2:], "*/")
			if end < 0 {
				return false
			}
			l.at += end + 4
		default:
			l.at++
		}
	}
	return false
}

// executes returns the length of the opening of a comment that this server
// executes, 0 for any other.
func (l *lexer) executes() int {
	n := 2
	if l.o.MariaDB && l.peek(n) == 'M' {
		n++
	}
	if l.peek(n) != '!' {
		return 0
	}
	n++
	version, digits := 0, 0
	for digits < 6 && isDigit(l.peek(n+digits)) {
		version = version*10 + int(l.peek(n+digits)-'0')
		digits++
	}
	switch {
	case digits < 5:
		return n // without a version: always, and the digits belong to the text
	case version > l.o.Version:
		return 0
	case l.o.MariaDB && n == 3 && version >= 50700 && version <= 99999:
		return 0 // MariaDB leaves to MySQL what only MySQL has
	}
	return n + digits
}
