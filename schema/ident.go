package schema

import (
	"fmt"
	"strings"
)

// TableID names a table. Namespace is the outermost part (a database or catalog)
// and may be empty, Schema may be empty, Table never is; the parts are kept as
// the server spells them, case and all.
type TableID struct {
	Namespace string
	Schema    string
	Table     string
}

// ParseTableID splits text on dots into one to three parts, as Flink CDC's
// TableId does. A part that itself holds a dot can't be written in this form.
func ParseTableID(text string) (TableID, error) {
	parts := strings.Split(text, ".")
	for _, p := range parts {
		if p == "" {
			return TableID{}, fmt.Errorf("schema: table identifier %q has an empty part", text)
		}
	}
	switch len(parts) {
	case 1:
		return TableID{Table: parts[0]}, nil
	case 2:
		return TableID{Schema: parts[0], Table: parts[1]}, nil
	case 3:
		return TableID{Namespace: parts[0], Schema: parts[1], Table: parts[2]}, nil
	}
	return TableID{}, fmt.Errorf("schema: table identifier %q has more than three parts", text)
}

// String joins the parts that are set with dots.
func (id TableID) String() string {
	switch {
	case id.Namespace != "":
		return id.Namespace + "." + id.Schema + "." + id.Table
	case id.Schema != "":
		return id.Schema + "." + id.Table
	}
	return id.Table
}

// IsZero reports whether id names nothing.
func (id TableID) IsZero() bool { return id == TableID{} }
