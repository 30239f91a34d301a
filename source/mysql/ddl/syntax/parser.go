package syntax

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse parses a statement. The result is nil for a statement that is not about
// the definition of tables or databases and changes no rows, parsable or not. What
// can't be parsed is an [*Error].
func Parse(sql string, o Options) (s Statement, err error) {
	p := &parser{lexer: lexer{sql: sql, o: o}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			s, err = nil, e
		}
	}()
	return p.statement(), nil
}

// Tables returns the tables that a statement is about, as far as it can be read,
// and whether it is one that Parse returns.
func Tables(sql string, o Options) (tables []TableName, relevant bool) {
	p := &parser{lexer: lexer{sql: sql, o: o}}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(*Error); !ok {
				panic(r)
			}
			tables, relevant = p.tables, true
		}
	}()
	s := p.statement()
	return p.tables, s != nil
}

// parser reads tokens one after the other. It gives up by a panic with an *Error,
// which Parse catches: the grammar is deep and every step of it can fail.
type parser struct {
	lexer  lexer
	tokens []Token // read so far
	at     int
	tables []TableName // that the statement is about
}

// peekAt returns the token n ahead.
func (p *parser) peekAt(n int) Token {
	for p.at+n >= len(p.tokens) {
		if k := len(p.tokens); k > 0 && (p.tokens[k-1].Kind == End || p.tokens[k-1].Kind == Broken) {
			return p.tokens[k-1]
		}
		p.tokens = append(p.tokens, p.lexer.next())
	}
	return p.tokens[p.at+n]
}

func (p *parser) peek() Token { return p.peekAt(0) }

func (p *parser) next() Token {
	t := p.peekAt(0)
	if t.Kind != End && t.Kind != Broken {
		p.at++
	}
	return t
}

// words reports whether the next tokens are these keywords.
func (p *parser) words(words ...string) bool {
	for i, w := range words {
		if !p.peekAt(i).is(w) {
			return false
		}
	}
	return true
}

// accept passes over the keywords if they are next.
func (p *parser) accept(words ...string) bool {
	if !p.words(words...) {
		return false
	}
	p.at += len(words)
	return true
}

// acceptAny passes over one of the keywords.
func (p *parser) acceptAny(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return p.accept(w) })
}

func (p *parser) acceptMark(c byte) bool {
	if !p.peek().isMark(c) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(words ...string) {
	if !p.accept(words...) {
		p.fail(strings.Join(words, " "))
	}
}

func (p *parser) expectMark(c byte) {
	if !p.acceptMark(c) {
		p.fail(strconv.Quote(string(c)))
	}
}

// maxNear bounds the text that an error shows.
const maxNear = 60

func (p *parser) fail(want string) {
	t := p.peek()
	near := p.lexer.sql[min(t.Pos, len(p.lexer.sql)):]
	if len(near) > maxNear {
		near = near[:maxNear]
		for len(near) > 0 && !utf8.ValidString(near) && len(near) > maxNear-utf8.UTFMax {
			near = near[:len(near)-1]
		}
	}
	e := &Error{Tables: p.tables, Offset: t.Pos, Near: near, Want: want}
	if len(p.tables) == 0 {
		e.Names = p.names()
	}
	panic(e)
}

// names returns all words and names of the statement.
func (p *parser) names() []string {
	var out []string
	for p.at = 0; p.peek().Kind != End && p.peek().Kind != Broken; p.at++ {
		if t := p.peek(); t.isName() && !slices.Contains(out, t.Text) {
			out = append(out, t.Text)
		}
	}
	return out
}

// name reads a name of any kind.
func (p *parser) name(what string) string {
	if !p.peek().isName() {
		p.fail(what)
	}
	return p.next().Text
}

// table reads the name of a table that the statement is about.
func (p *parser) table() TableName {
	t := p.otherTable()
	p.tables = append(p.tables, t)
	return t
}

// otherTable reads the name of a table that the statement merely mentions.
func (p *parser) otherTable() TableName {
	p.acceptMark('.') // .t is t
	first := p.name("the name of a table")
	if p.acceptMark('.') {
		return TableName{Database: first, Table: p.name("the name of a table")}
	}
	return TableName{Table: first}
}

// text reads a string; strings that follow each other are one.
func (p *parser) text() string {
	if p.peek().Kind != Text {
		p.fail("a string")
	}
	s := p.next().Text
	for p.peek().Kind == Text {
		s += p.next().Text
	}
	return s
}

// number reads a number without fraction, at most what an int holds.
func (p *parser) number() int {
	t := p.peek()
	n, err := strconv.Atoi(t.Text)
	if t.Kind != Number || err != nil {
		p.fail("a number")
	}
	p.next()
	return n
}

// group passes over a pair of parentheses with all in it, and returns what is between them.
func (p *parser) group() string {
	open := p.peek()
	p.expectMark('(')
	for depth := 1; ; {
		switch t := p.peek(); {
		case t.Kind == End || t.Kind == Broken:
			p.fail(`")"`)
		case t.isMark('('):
			depth++
		case t.isMark(')'):
			if depth--; depth == 0 {
				p.next()
				return strings.TrimSpace(p.lexer.sql[open.End:t.Pos])
			}
		}
		p.next()
	}
}

// end fails unless the statement ends here.
func (p *parser) end() {
	if t := p.peek(); t.Kind != End {
		p.fail("the end of the statement")
	}
}
