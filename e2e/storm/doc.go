// Package storm changes the columns of MySQL and MariaDB tables while it changes
// their rows: what a copy that follows the log has to keep up with.
//
// Each worker owns some tables and takes turns between a statement of DDL and row
// changes: columns are added at any place, dropped, renamed, moved and widened, one
// at a time and several in one statement, names come back with other types, and
// statements in between change nothing that a copy would see. The same seed makes
// the same statements.
//
//	s := storm.New(url, storm.Config{Seed: 1, DDL: 300, Changes: 20_000})
//	_ = s.Create(ctx)
//	err := s.Run(ctx)
package storm
