package wire

import "strings"

// Ident quotes an identifier for SQL.
func Ident(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// Table quotes the name of a table with its database.
func Table(database, table string) string { return Ident(database) + "." + Ident(table) }

// Literal quotes a string for SQL; sessions of this package have backslash escapes.
func Literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\0`).Replace(s) + "'"
}
