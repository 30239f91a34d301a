package syntax

import "fmt"

// Error is a statement about tables or databases that can't be parsed.
type Error struct {
	// Tables are those that the statement is known to be about, as far as it was read.
	Tables []TableName
	// Names are all names in the statement, when not even the table was found.
	Names []string
	// Offset is where the unknown part begins, in bytes; Near shows it.
	Offset int
	Near   string
	// Want says what was expected.
	Want string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s was expected at byte %d near %q", e.Want, e.Offset, e.Near)
}
