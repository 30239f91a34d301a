package debezium

import (
	"errors"
	"fmt"
	"strings"
)

// Reasons of a [ValueError].
var (
	// ErrNoNumber is a NaN or an infinity where only numbers can be.
	ErrNoNumber = errors.New("not a number")
	// ErrRange is a value outside what its type in the message holds.
	ErrRange = errors.New("out of range")
	// ErrText is a text that is not what its column's type says.
	ErrText = errors.New("malformed text")
	// ErrUnavailable is a value that the server did not send and for which no placeholder fits.
	ErrUnavailable = errors.New("value not sent by the server")
)

// OptionError is an option whose value means nothing.
type OptionError struct {
	Key, Value string
	Allowed    []string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: %q is none of %s", e.Key, e.Value, strings.Join(e.Allowed, ", "))
}

// TableError is a table that can't be written.
type TableError struct {
	Table, Column, Msg, Hint string
}

func (e *TableError) Error() string {
	return fmt.Sprintf("table %s, column %s: %s (%s)", e.Table, e.Column, e.Msg, e.Hint)
}

// ValueError is a value that the message can't hold. Err is one of the reasons above.
type ValueError struct {
	Table, Column string
	// Row is the number of the row in its batch.
	Row  int
	Err  error
	Hint string
}

func (e *ValueError) Error() string {
	text := fmt.Sprintf("table %s, column %s: %v", e.Table, e.Column, e.Err)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

func (e *ValueError) Unwrap() error { return e.Err }

// hintOf says what to do about a reason.
func hintOf(err error) string {
	switch {
	case errors.Is(err, ErrNoNumber):
		return "decimal.handling.mode=string or double holds it"
	case errors.Is(err, ErrRange):
		return "another time.precision.mode or decimal.handling.mode holds it"
	case errors.Is(err, ErrUnavailable):
		return "ALTER TABLE ... REPLICA IDENTITY FULL makes the server send it"
	}
	return ""
}
