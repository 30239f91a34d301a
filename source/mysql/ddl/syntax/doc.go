// Package syntax parses the statements of MySQL and MariaDB that define tables and
// databases, as far as a table's definition depends on them. Expressions are
// passed over; what is no such statement is recognised by its first words and not
// looked at further.
//
//	s, err := syntax.Parse("ALTER TABLE t ADD COLUMN c INT FIRST", syntax.Options{Version: 80400})
//	alter := s.(*syntax.AlterTable)
//
// The parser is our own: the usual one for Go knows TiDB's dialect, which has no
// spatial types, no invisible columns and nothing of MariaDB's.
package syntax
