// Package table collects the rows of messages into batches, one [Table] for each table, and
// derives schema changes when a message has other columns than those before it.
//
//	t, err := set.Open(id, []string{"id"}, schemaOfTheRow, at)
//	binding, err := t.Bind(schemaOfTheRow, at)
//	err = reader.Row(binding, t.Columns())
//	err = t.Append(schema.OpInsert, at)
//	...
//	err = set.Flush()
//
// A topic's partitions are read side by side, so a message with the columns of yesterday may
// come behind one with those of today. The definition of a table is therefore the union of
// all that was seen: columns are added at the end, types are widened, a column that is missing
// may be NULL from then on, and nothing is ever dropped. What can't be widened is a [ChangeError].
package table
