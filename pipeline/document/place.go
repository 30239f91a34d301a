package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Place is a place in a document. Lines and columns count from 1; a zero Line
// means the document as a whole.
type Place struct {
	File         string
	Line, Column int
}

// String returns file:line:column.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one thing that is wrong with a document.
type Problem struct {
	Place Place
	// Msg says what is wrong, Hint what to do (it may be empty).
	Msg, Hint string
}

// Error returns place, cause and hint on one line.
func (p Problem) Error() string {
	if p.Hint == "" {
		return p.Place.String() + ": " + p.Msg
	}
	return p.Place.String() + ": " + p.Msg + "; " + p.Hint
}

// Problems is everything that is wrong with a document, in the order of places.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}

// sorted returns the problems by place, each once, or nil for none.
func (p Problems) sorted() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Place.Line, b.Place.Line), cmp.Compare(a.Place.Column, b.Place.Column))
	})
	return slices.CompactFunc(p, func(a, b Problem) bool { return a == b })
}
