package value

import (
	"errors"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
)

// What errors.Is finds in the errors of this package.
var (
	// ErrUnsupported: a type or a character set that can't be carried.
	ErrUnsupported = errors.New("not supported")
	// ErrMalformed: bytes that are no value of the column's type.
	ErrMalformed = errors.New("malformed value")
	// ErrRange: a value that the column's type in [schema] can't hold.
	ErrRange = errors.New("value out of range")
	// ErrMismatch: the binlog writes a column in another type than its definition
	// says, so the definition is of another time.
	ErrMismatch = errors.New("the binlog disagrees with the table's definition")
)

// ColumnError says which column an error is about.
type ColumnError struct {
	// Column is its name, Type the server's name of its type.
	Column, Type string
	Err          error
}

func (e *ColumnError) Error() string {
	return fmt.Sprintf("column %s (%s): %v", e.Column, e.Type, e.Err)
}

// Unwrap returns what went wrong.
func (e *ColumnError) Unwrap() error { return e.Err }

// place makes the errors of one column.
type place struct{ column, typ string }

func placeOf(c schema.Column) place { return place{c.Name, c.Source.Name} }

func (p place) fail(err error) error { return &ColumnError{Column: p.column, Type: p.typ, Err: err} }

// malformed says that v, shortened, is no value of a type.
func malformed(v []byte, what string) error {
	return fmt.Errorf("%w: %q is no %s", ErrMalformed, shorten(v), what)
}

func shorten(v []byte) []byte {
	if len(v) > 64 {
		v = append(append([]byte(nil), v[:64]...), "..."...)
	}
	return v
}

// errShort is returned where a value ends early.
var errShort = fmt.Errorf("%w: it ends early", ErrMalformed)
