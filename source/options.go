package source

import "fmt"

// OptionSpec describes one option of a source, for validation and for the docs.
type OptionSpec struct {
	// Key is the option's name; a family of keys ends in ".*".
	Key string
	// Type is string, int, bool, duration, bytes or enum.
	Type string
	// Default is printed in help, empty for none.
	Default string
	Doc     string
	// Required options have no default; Secret values are never printed.
	Required, Secret bool
	// Values are the allowed ones of an enum.
	Values []string
}

// OptionError is a bad option. The pipeline adds the place in the document.
type OptionError struct {
	Key string
	// Msg says what is wrong, Hint what to do.
	Msg, Hint string
}

func (e *OptionError) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("option %s: %s", e.Key, e.Msg)
	}
	return fmt.Sprintf("option %s: %s (%s)", e.Key, e.Msg, e.Hint)
}
