// Package ddl keeps the history of table definitions: a [Catalog] of those in force
// at a place of the binlog, and what each statement of the log does to it.
//
//	c := ddl.NewCatalog(options, databases, definitions)
//	c, effects, err := c.Apply(ddl.Statement{SQL: "ALTER TABLE t ADD COLUMN c INT FIRST", Database: "shop", Position: pos})
//	for _, e := range effects {
//		if e.RewritesRows || e.Err != nil { ... }  // read the table again, or stop
//		for _, change := range e.Changes { ... }   // hand on
//	}
//	table, ok := c.Table(id) // what rows behind the statement are decoded with
//
// The catalogue is exact: it follows what the server does to the order of columns,
// their types, character sets and keys, so that a row is decoded with the definition
// that was in force where it was written. Where that can't be done, the table's
// definition is lost, which is an effect of its own, and never a guess.
//
// # Order of columns
//
// After of a change has the server's order, also for a column that was added FIRST
// or AFTER another, and Columns of an alter are also those that just moved. Sinks
// find columns by their names.
package ddl
