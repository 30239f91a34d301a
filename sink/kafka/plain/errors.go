package plain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// Reasons of a [ValueError], beside those of the package cell.
var (
	// ErrUnavailable is a value that the server did not send, since it had not changed.
	ErrUnavailable = errors.New("value not sent by the server")
	// ErrUnquoted is a text that CSV can't hold without quotes.
	ErrUnquoted = errors.New("text that needs quotes")
	// ErrElement is an element that CSV can't tell from others.
	ErrElement = errors.New("element that holds the delimiter of elements or reads as NULL")
	// ErrNull is a NULL in a column that is declared to have none.
	ErrNull = errors.New("NULL in a column that has none")
	// ErrNoKey is a delete from a table without a key, for which there is no tombstone.
	ErrNoKey = errors.New("delete from a table without a key")
)

// OptionError is an option whose value means nothing.
type OptionError struct {
	Key, Value, Hint string
}

func (e *OptionError) Error() string { return fmt.Sprintf("%s: %q: %s", e.Key, e.Value, e.Hint) }

func oneOf(key, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return &OptionError{Key: key, Value: value, Hint: "it must be one of " + strings.Join(allowed, ", ")}
}

// TableError is a table that can't be written.
type TableError struct {
	Table, Column, Msg, Hint string
}

func (e *TableError) Error() string {
	return fmt.Sprintf("table %s, column %s: %s (%s)", e.Table, e.Column, e.Msg, e.Hint)
}

// ValueError is a value that the message can't hold. Err is one of the reasons.
type ValueError struct {
	Table, Column string
	// Row is the number of the row in its batch.
	Row  int
	Err  error
	Hint string
}

// NewValueError returns the error of a value, with what can be done about its reason.
func NewValueError(table, column string, row int, err error) *ValueError {
	return &ValueError{Table: table, Column: column, Row: row, Err: err, Hint: hintOf(err)}
}

func (e *ValueError) Error() string {
	text := "table " + e.Table
	if e.Column != "" {
		text += ", column " + e.Column
	}
	text += fmt.Sprintf(": %v", e.Err)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

func (e *ValueError) Unwrap() error { return e.Err }

// hintOf says what to do about a reason.
func hintOf(err error) string {
	switch {
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrNull):
		return "ALTER TABLE ... REPLICA IDENTITY FULL makes the server send it"
	case errors.Is(err, ErrUnquoted):
		return "csv.disable-quote-character=false or csv.escape-character writes it"
	case errors.Is(err, ErrElement):
		return "choose another csv.array-element-delimiter and csv.null-literal"
	case errors.Is(err, ErrNoKey):
		return "give the table a key, or write deletes as rows or not at all"
	case errors.Is(err, cell.ErrRange):
		return "the server's value is outside what its type holds here"
	}
	return ""
}
