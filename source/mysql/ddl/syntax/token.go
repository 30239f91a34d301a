package syntax

import "strings"

// Kind tells the kinds of [Token] apart.
type Kind uint8

// The kinds of token.
const (
	// End follows the last token; also a semicolon is one.
	End Kind = iota
	// Word is a keyword or a name without quotes.
	Word
	// Name is a name in backticks, or in double quotes under ANSI_QUOTES.
	Name
	// Text is a string literal; N'...' and _charset'...' too, without their prefix.
	Text
	// Number is a number without sign, hexadecimal and binary ones included.
	Number
	// Mark is one character of punctuation.
	Mark
	// Broken is a string, name or comment without an end.
	Broken
)

// Token is one piece of a statement. Comments are no tokens, and the content of a
// comment that the server executes is as if it stood there without.
type Token struct {
	Kind Kind
	// Text is the token without quotes and escapes.
	Text string
	// Pos and End are where in the statement it lies, in bytes.
	Pos, End int
}

// is reports whether t is the keyword word, given in capitals.
func (t Token) is(word string) bool { return t.Kind == Word && strings.EqualFold(t.Text, word) }

func (t Token) isMark(c byte) bool { return t.Kind == Mark && t.Text[0] == c }

// isName reports whether t may be the name of something.
func (t Token) isName() bool { return t.Kind == Word || t.Kind == Name }
