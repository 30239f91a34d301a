package registry

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrUnavailable is a registry that does not answer; another attempt may help.
	ErrUnavailable = errors.New("schema registry: it does not answer")
	// ErrRefused is what the registry will refuse again; see [Error].
	ErrRefused = errors.New("schema registry: refused")
)

// Error is what a registry has refused. Fields are those that break the compatibility, as far as
// the registry names them; Version is that of the schema that was compared with, 0 for none.
type Error struct {
	Subject   string
	Version   int
	Fields    []string
	Msg, Hint string
}

func (e *Error) Error() string {
	text := "schema registry"
	if e.Subject != "" {
		text += ": subject " + e.Subject
	}
	if e.Version > 0 {
		text += fmt.Sprintf(", version %d", e.Version)
	}
	if len(e.Fields) > 0 {
		text += ", field " + strings.Join(e.Fields, ", ")
	}
	text += ": " + e.Msg
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Is says that it is an ErrRefused.
func (e *Error) Is(target error) bool { return target == ErrRefused }
